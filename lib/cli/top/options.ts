/** The flags of `podfit top`, and by what rows can be sorted. */
import type { Selector } from "../../units/selector.ts";
import { createFlag, defineCommand, type GetEnv, type Typed } from "../command/command.ts";
import { parseChoice } from "../command/parse_values.ts";
import {
  ALL_NAMESPACES_FLAG,
  createFormatFlag,
  NO_HEADERS_FLAG,
  parseFormat,
  parseSelectorFlag,
  refuseNamespaceWithAll,
  SELECTOR_FLAG,
  WATCH_FLAG,
} from "../command/shared_flags.ts";
import { ACCESS_FLAGS, type AccessFlags, type AccessOptions, toAccess } from "../connection/access_options.ts";

const SORTS = ["cpu", "memory", "utilization", "wanted", "name"] as const;

const FORMATS = ["text", "wide", "json", "yaml"] as const;

export type Sort = typeof SORTS[number];

/** What is listed, from where, and how it is shown. */
export interface TopOptions {
  readonly isEveryNamespace: boolean;
  readonly sort: Sort;
  readonly filter: string;
  readonly watches: boolean;
  readonly format: typeof FORMATS[number];
  /** Labels of pods; `null` = all pods and workloads. */
  readonly selector: Selector | null;
  readonly hasHeaders: boolean;
  readonly access: AccessOptions;
}

const NOTES = `
One row per container that podfit tracks: its usage, request and limit, the utilization of its fullest managed resource
field, the wanted size (REQUEST/LIMIT), and what blocks it or why no change is wanted. One row per workload with a
ScaledObject: its pods, how far its triggers are from their targets (1.00x = at the target), and the wanted number.
Coloured rows wait for something. A narrow terminal leaves out the least important columns; -o wide prints all.
With --selector, only pods that have these labels are listed, and no workloads.

Asks podfit as "podfit explain" does: it must run with --debug-listen.
`;

type Given =
  & AccessFlags
  & Readonly<
    {
      allNamespaces?: boolean;
      sort: string;
      filter?: string;
      selector?: string;
      watch?: boolean;
      headers: boolean;
      output: string;
    }
  >;

export const createTopCommand = defineCommand({
  name: "top",
  description: "list usage, size and wanted size of pods, and what blocks them",
  flags: [
    ALL_NAMESPACES_FLAG,
    SELECTOR_FLAG,
    createFlag("--sort <by>", "order of the rows", { fallback: "name", choices: SORTS }),
    createFlag("--filter <text>", "only rows whose namespace, name, container or gate includes this text"),
    WATCH_FLAG,
    NO_HEADERS_FLAG,
    createFormatFlag(FORMATS),
    ...ACCESS_FLAGS,
  ],
  notes: NOTES,
  examples: [
    ["of all namespaces, the fullest first", "podfit top -A --sort utilization"],
    ["of one, in place", "podfit top -n shop -w"],
    ["containers without headroom on their node, as data", "podfit top -n shop --filter NodeCapacity -o json"],
  ],
  parse: ({ given, getEnv }: Typed<Given>) => toTopOptions(given, getEnv),
});

function toTopOptions(given: Given, getEnv: GetEnv): TopOptions {
  const { namespace, allNamespaces = false, sort, filter = "", selector, watch = false, headers, output } = given;
  refuseNamespaceWithAll(namespace, allNamespaces);
  return {
    isEveryNamespace: allNamespaces,
    sort: parseChoice({ name: "--sort", text: sort }, SORTS),
    filter,
    watches: watch,
    format: parseFormat(output, FORMATS),
    selector: parseSelectorFlag(selector),
    hasHeaders: headers,
    access: toAccess(given, getEnv),
  };
}
