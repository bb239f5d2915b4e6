/** The options of `podfit top`. A wrong option ends with code 2. */
import { Command } from "commander";
import { readServerEnvironment } from "../connect_to.ts";
import { type AccessFlags, type AccessOptions, addAccessFlags, toAccess } from "../explain/access_options.ts";
import { parseChoice, parseNamespace, parseOptional } from "../run/parse_values.ts";
import { StartError } from "../run/start_error.ts";
import { checked, endAsUnusable, refuseDaemonFlags, type Subcommand } from "../subcommand.ts";
import { type Sort, SORTS } from "./sort.ts";

/** What is listed, from where, and how it is shown. */
export interface TopOptions {
  /** `null` = that of the context, or default. */
  readonly namespace: string | null;
  readonly isEveryNamespace: boolean;
  readonly sort: Sort;
  readonly filter: string;
  readonly watches: boolean;
  readonly isJson: boolean;
  readonly access: AccessOptions;
}

export interface TopCommand extends Subcommand {
  readonly top: (options: TopOptions) => Promise<void>;
  readonly getEnv: (name: string) => string | undefined;
}

const NOTES = `
One row per container that podfit tracks: what it uses, its request and limit, how full the fullest managed side is, what
is wanted (REQUEST/LIMIT), and what stands in the way of it or why nothing is wanted. One row per workload with a
ScaledObject: its pods, how far its triggers are from their targets (1.00x = on it), and how many are wanted. Yellow rows
wait for something. On a narrow terminal what matters least is left out.

Asks podfit as "podfit explain" does: it must run with --debug-listen.

Examples:
  podfit top -A --sort utilization
  podfit top -n shop --watch
  podfit top -n shop --filter NodeCapacity -o json

Exit codes: 0 listed, 1 it cannot be (stderr says why), 2 a flag that is no good.
`;

type Given =
  & AccessFlags
  & Readonly<
    { namespace?: string; allNamespaces?: boolean; sort: string; filter?: string; watch?: boolean; output: string }
  >;

/** The command for commander's program. */
export function createTopCommand({ top, getEnv, toComplaint }: TopCommand): Command {
  const command = new Command("top")
    .description("list what tracked pods use, have and want, and what holds them")
    .option("-n, --namespace <name>", "of that namespace; that of the context without")
    .option("-A, --all-namespaces", "of all namespaces")
    .option("--sort <by>", SORTS.join(", "), "name")
    .option("--filter <text>", "rows whose namespace, name, container or gate has it")
    .option("--watch", "go on, in place")
    .option("-o, --output <format>", "text or json", "text");
  return addAccessFlags(command)
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit top")) })
    .allowExcessArguments(false)
    .exitOverride(endAsUnusable)
    .action(async (given: Given, command: Command) => {
      refuseDaemonFlags(command);
      await top(checked(command, () => toTopOptions(given, getEnv)));
    });
}

function toTopOptions(given: Given, getEnv: TopCommand["getEnv"]): TopOptions {
  const { namespace, allNamespaces = false, sort, filter = "", watch = false, output } = given;
  if (allNamespaces && namespace !== undefined) {
    throw new StartError("Cannot use --all-namespaces with --namespace: one of them is enough");
  }
  return {
    namespace: parseOptional(namespace === undefined ? null : { name: "--namespace", text: namespace }, parseNamespace),
    isEveryNamespace: allNamespaces,
    sort: parseChoice({ name: "--sort", text: sort }, SORTS),
    filter,
    watches: watch,
    isJson: parseChoice({ name: "--output", text: output }, ["text", "json"]) === "json",
    access: toAccess(given, readServerEnvironment(getEnv)),
  };
}
