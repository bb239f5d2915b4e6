/**
 * The flags of `podfit lint`. A wrong flag ends with code 2, because 1 means a problem in a manifest.
 */
import { Command, Option } from "commander";
import { addExamples, exitUnusable, orFlagError, refuseDaemonFlags, type Subcommand } from "../command/command.ts";
import { parseNamespace } from "../command/parse_values.ts";
import { COLOR_WHENS, type ColorWhen } from "../terminal/text.ts";

// How findings may be printed. Apart from what prints them: the daemon's start loads the options of every command.

const FORMATS = ["text", "json", "github"] as const;

export type Format = typeof FORMATS[number];

// The options of `podfit lint`. A wrong option ends with code 2, because 1 means a problem in a manifest.

/** What to look at, checked. */
export interface LintOptions {
  /** Files and directories of -f. */
  readonly paths: readonly string[];
  /** `null` = what is in the files alone. */
  readonly cluster: ClusterOptions | null;
  readonly format: Format;
  readonly color: ColorWhen;
}

/** Which cluster, and what of it. */
export interface ClusterOptions {
  readonly kubeconfigPaths: readonly string[];
  readonly context: string | null;
  /** `null` = that of the context. */
  readonly namespace: string | null;
  readonly isEveryNamespace: boolean;
}

const NOTES = `
Checks PodResourceAutoscalers, ScaledObjects, TriggerAuthentications and ClusterTriggerAuthentications; other kinds of
objects are passed over, but for the workloads that they are about. Without --cluster it reads what is written in the files
alone. With --cluster it lists what the cluster has beside them (it never writes): other autoscalers of the same pods,
containers that do not exist, bounds outside of limit ranges and nodes; without -f it checks what is in the cluster already.
It needs list of podresourceautoscalers, scaledobjects, workloads, pods, HPAs, VPAs, limit ranges and nodes, and get of
secrets that triggers name; what it could not check for want of a right it says.

An error is refused or cannot work; a warning will not do what its author expects; advice works, and could be better.
Findings go to stdout as FILE:LINE:COLUMN: error|warning|advice: OBJECT: FIELD: MESSAGE [NAME], a summary to stderr.

Exit codes: 0 no error (warnings and advice do not count), 1 an error or nothing to check, 2 a file, flag or cluster that
is no good.
`;

const EXAMPLES = [
  ["a directory, before it is applied", "podfit lint -f manifests/"],
  ["beside the lines of a pull request, in a GitHub workflow", "podfit lint -f manifests/ -o github"],
  ["what one file would meet in the cluster of the kubeconfig", "podfit lint --cluster -f my-app.yaml -n shop"],
  ["everything that is in the cluster", "podfit lint --cluster --all-namespaces"],
] as const;

interface LintCommand extends Subcommand {
  readonly lint: (options: LintOptions) => Promise<void>;
}

interface Given {
  readonly filename?: readonly string[];
  readonly output: Format;
  readonly color: ColorWhen;
  readonly cluster?: true;
  readonly namespace?: string;
  readonly allNamespaces?: true;
  readonly kubeconfig?: readonly string[];
  readonly context?: string;
}

/** Makes the command for commander. Its parse throws CommanderError with the exit code. */
export function createLintCommand({ lint, toComplaint }: LintCommand): Command {
  const paths = "file, directory (its *.yaml, *.yml and *.json), or - for stdin; repeatable";
  const command = new Command("lint")
    .description("check PodResourceAutoscalers and ScaledObjects, in files before they are applied or in a cluster")
    .option("-f, --filename <path...>", paths)
    .addOption(new Option("-o, --output <format>", "how findings are printed").choices(FORMATS).default("text"))
    .addOption(
      new Option("--color <when>", "colour in text; auto: on a terminal, unless NO_COLOR is set").choices(COLOR_WHENS)
        .default("auto"),
    )
    .option("--cluster", "look into the cluster too")
    .option(
      "-n, --namespace <name>",
      "of what is looked at there, and of manifests without one (default: the context's)",
    )
    .option("-A, --all-namespaces", "look at all namespaces of the cluster")
    .option("--kubeconfig <path...>", "kubeconfig file (default: KUBECONFIG, the service account, ~/.kube/config)")
    .option("--context <name>", "context of the kubeconfig (default: its current-context)")
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit lint")) })
    .allowExcessArguments(false)
    .exitOverride(exitUnusable)
    .action(async (given: Given, command: Command) => {
      refuseDaemonFlags(command);
      await lint(toLintOptions(given, command));
    });
  return addExamples(command, EXAMPLES);
}

function toLintOptions(given: Given, command: Command): LintOptions {
  const { filename: paths = [], output: format, color, cluster = false } = given;
  if (!cluster && paths.length === 0) {
    command.error("required option '-f, --filename <path...>' not specified, unless with --cluster");
  }
  const only = (["namespace", "allNamespaces", "kubeconfig", "context"] as const).find((name) =>
    given[name] !== undefined
  );
  if (!cluster && only !== undefined) {
    const flag = command.options.find((option) => option.attributeName() === only)?.long;
    command.error(`option '${flag}' is about a cluster, add --cluster`);
  }
  if (given.namespace !== undefined && given.allNamespaces) {
    command.error("options '--namespace' and '--all-namespaces' exclude each other");
  }
  return { paths, cluster: cluster ? toClusterOptions(given, command) : null, format, color };
}

function toClusterOptions(given: Given, command: Command): ClusterOptions {
  const { namespace, allNamespaces = false, kubeconfig = [], context = null } = given;
  return {
    kubeconfigPaths: kubeconfig,
    context,
    namespace: namespace === undefined
      ? null
      : orFlagError(command, () => parseNamespace({ name: "--namespace", text: namespace })),
    isEveryNamespace: allNamespaces,
  };
}
