/**
 * The flags of `podfit top`, and by what rows can be sorted.
 */
import { Command } from "commander";
import {
  addExamples,
  addFormatFlag,
  createChoice,
  exitUnusable,
  orFlagError,
  parseIsJson,
  refuseDaemonFlags,
  type Subcommand,
} from "../command/command.ts";
import { parseChoice } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { type AccessFlags, type AccessOptions, addAccessFlags, toAccess } from "../connection/access_options.ts";
import { getServerEnvironment } from "../connection/api_server.ts";

// By what rows can be sorted; for the options, which load nothing else of top.

const SORTS = ["cpu", "memory", "utilization", "wanted", "name"] as const;

export type Sort = typeof SORTS[number];

// The options of `podfit top`. A wrong option ends with code 2.

/** What is listed, from where, and how it is shown. */
export interface TopOptions {
  readonly isEveryNamespace: boolean;
  readonly sort: Sort;
  readonly filter: string;
  readonly watches: boolean;
  readonly isJson: boolean;
  readonly access: AccessOptions;
}

interface TopCommand extends Subcommand {
  readonly top: (options: TopOptions) => Promise<void>;
  readonly getEnv: (name: string) => string | undefined;
}

const NOTES = `
One row per container that podfit tracks: what it uses, its request and limit, how full the fullest managed side is, what
is wanted (REQUEST/LIMIT), and what stands in the way of it or why nothing is wanted. One row per workload with a
ScaledObject: its pods, how far its triggers are from their targets (1.00x = on it), and how many are wanted. Yellow rows
wait for something. On a narrow terminal what matters least is left out.

Asks podfit as "podfit explain" does: it must run with --debug-listen.

Exit codes: 0 listed, 1 it cannot be (stderr says why), 2 a flag that is no good.
`;

const EXAMPLES = [
  ["of all namespaces, the fullest first", "podfit top -A --sort utilization"],
  ["of one, in place", "podfit top -n shop --watch"],
  ["what a node has no room for, as data", "podfit top -n shop --filter NodeCapacity -o json"],
] as const;

type Given =
  & AccessFlags
  & Readonly<
    { allNamespaces?: boolean; sort: string; filter?: string; watch?: boolean; output: string }
  >;

/** The command for commander's program. */
export function createTopCommand({ top, getEnv, toComplaint }: TopCommand): Command {
  const command = new Command("top")
    .description("list what tracked pods use, have and want, and what holds them")
    .option("-A, --all-namespaces", "of all namespaces")
    .addOption(createChoice("--sort <by>", "what comes first", SORTS).default("name"))
    .option("--filter <text>", "rows whose namespace, name, container or gate has it")
    .option("--watch", "go on, in place");
  addAccessFlags(addFormatFlag(command))
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit top")) })
    .allowExcessArguments(false)
    .exitOverride(exitUnusable)
    .action(async (given: Given, command: Command) => {
      refuseDaemonFlags(command);
      await top(orFlagError(command, () => toTopOptions(given, getEnv)));
    });
  return addExamples(command, EXAMPLES);
}

function toTopOptions(given: Given, getEnv: TopCommand["getEnv"]): TopOptions {
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
    access: toAccess(given, getServerEnvironment(getEnv)),
  };
}
