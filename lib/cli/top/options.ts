/** The flags of `podfit top`, and by what rows can be sorted. */
import { createFlag, defineCommand, FORMAT_FLAG, type GetEnv, parseIsJson, type Typed } from "../command/command.ts";
import { parseChoice } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { ACCESS_FLAGS, type AccessFlags, type AccessOptions, toAccess } from "../connection/access_options.ts";

const SORTS = ["cpu", "memory", "utilization", "wanted", "name"] as const;

export type Sort = typeof SORTS[number];

/** What is listed, from where, and how it is shown. */
export interface TopOptions {
  readonly isEveryNamespace: boolean;
  readonly sort: Sort;
  readonly filter: string;
  readonly watches: boolean;
  readonly isJson: boolean;
  readonly access: AccessOptions;
}

const NOTES = `
One row per container that podfit tracks: its usage, request and limit, the utilization of its fullest managed resource
field, the wanted size (REQUEST/LIMIT), and what blocks it or why no change is wanted. One row per workload with a
ScaledObject: its pods, how far its triggers are from their targets (1.00x = at the target), and the wanted number.
Yellow rows wait for something. A narrow terminal leaves out the least important columns.

Asks podfit as "podfit explain" does: it must run with --debug-listen.
`;

type Given =
  & AccessFlags
  & Readonly<
    { allNamespaces?: boolean; sort: string; filter?: string; watch?: boolean; output: string }
  >;

export const createTopCommand = defineCommand({
  name: "top",
  description: "list usage, size and wanted size of pods, and what blocks them",
  flags: [
    createFlag("-A, --all-namespaces", "list all namespaces"),
    createFlag("--sort <by>", "order of the rows", { fallback: "name", choices: SORTS }),
    createFlag("--filter <text>", "only rows whose namespace, name, container or gate includes this text"),
    createFlag("--watch", "refresh in place"),
    FORMAT_FLAG,
    ...ACCESS_FLAGS,
  ],
  notes: NOTES,
  examples: [
    ["of all namespaces, the fullest first", "podfit top -A --sort utilization"],
    ["of one, in place", "podfit top -n shop --watch"],
    ["containers without headroom on their node, as data", "podfit top -n shop --filter NodeCapacity -o json"],
  ],
  parse: ({ given, getEnv }: Typed<Given>) => toTopOptions(given, getEnv),
});

function toTopOptions(given: Given, getEnv: GetEnv): TopOptions {
  const { namespace, allNamespaces = false, sort, filter = "", watch = false, output } = given;
  if (allNamespaces && namespace !== undefined) {
    throw new StartError("Cannot use --all-namespaces with --namespace: one of them is enough");
  }
  return {
    isEveryNamespace: allNamespaces,
    sort: parseChoice({ name: "--sort", text: sort }, SORTS),
    filter,
    watches: watch,
    isJson: parseIsJson(output),
    access: toAccess(given, getEnv),
  };
}
