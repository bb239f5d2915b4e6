/** The flags of `podfit lint`. */
import { createFlag, defineCommand, type GetEnv, type Typed } from "../command/command.ts";
import { parseChoice, parseNamespace } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { getServerEnvironment, type ServerChoice } from "../connection/api_server.ts";
import { COLOR_WHENS, type ColorWhen } from "../terminal/text.ts";

const FORMATS = ["text", "json", "github"] as const;

export type Format = typeof FORMATS[number];

/** What is checked. */
export interface LintOptions {
  /** Files and directories of -f. */
  readonly paths: readonly string[];
  /** `null` = only the files. */
  readonly cluster: ClusterOptions | null;
  readonly format: Format;
  readonly color: ColorWhen;
  /** NO_COLOR of the environment. */
  readonly noColor: string | undefined;
}

/** Which cluster, and which part of it. */
export interface ClusterOptions extends ServerChoice {
  /** `null` = that of the context. */
  readonly namespace: string | null;
  readonly isEveryNamespace: boolean;
}

const NOTES = `
Checks PodResourceAutoscalers, ScaledObjects, TriggerAuthentications and ClusterTriggerAuthentications. Of other objects
it reads only the workloads that these are about. Without --cluster it checks the files only. With --cluster it compares
them with the cluster, and never writes: other autoscalers of the same pods, containers that do not exist, bounds outside
of limit ranges and nodes. Without -f it checks what is in the cluster already. It needs list on podresourceautoscalers,
scaledobjects, workloads, pods, HPAs, VPAs, limit ranges and nodes, and get on secrets that triggers name. It reports
what it could not check because a right is missing.

An error is refused or cannot work. A warning does not do what its author expects. Advice works and could be better.
Findings go to stdout as FILE:LINE:COLUMN: error|warning|advice: OBJECT: FIELD: MESSAGE [NAME], a summary to stderr.
`;

type Given = Readonly<{
  filename?: readonly string[];
  output: string;
  color: string;
  cluster?: true;
  namespace?: string;
  allNamespaces?: true;
  kubeconfig?: readonly string[];
  context?: string;
}>;

export const createLintCommand = defineCommand({
  name: "lint",
  description: "check autoscalers and ScaledObjects, in files or in a cluster",
  flags: [
    createFlag(
      "-f, --filename <path...>",
      "file, directory (its *.yaml, *.yml and *.json), or - for stdin; repeatable",
    ),
    createFlag("-o, --output <format>", "how findings are printed", { fallback: "text", choices: FORMATS }),
    createFlag("--color <when>", "colour in text; auto: on a terminal, unless NO_COLOR is set", {
      fallback: "auto",
      choices: COLOR_WHENS,
    }),
    createFlag("--cluster", "check against the cluster too"),
    createFlag(
      "-n, --namespace <name>",
      "namespace in the cluster, and of manifests without one (default: the context's)",
    ),
    createFlag("-A, --all-namespaces", "check all namespaces of the cluster"),
    createFlag("--kubeconfig <path...>", "kubeconfig file (default: KUBECONFIG, the service account, ~/.kube/config)"),
    createFlag("--context <name>", "context of the kubeconfig (default: its current-context)"),
  ],
  notes: NOTES,
  examples: [
    ["a directory, before it is applied", "podfit lint -f manifests/"],
    ["at the lines of a pull request, in a GitHub workflow", "podfit lint -f manifests/ -o github"],
    ["one file against the cluster of the kubeconfig", "podfit lint --cluster -f my-app.yaml -n shop"],
    ["everything in the cluster", "podfit lint --cluster --all-namespaces"],
  ],
  found: "an error was found; warnings and advice do not count",
  parse: ({ given, getEnv }: Typed<Given>) => toLintOptions(given, getEnv),
});

/** Flags that have a meaning with --cluster only. */
const CLUSTER_FLAGS = {
  namespace: "--namespace",
  allNamespaces: "--all-namespaces",
  kubeconfig: "--kubeconfig",
  context: "--context",
} as const;

function toLintOptions(given: Given, getEnv: GetEnv): LintOptions {
  const { filename: paths = [], cluster = false } = given;
  if (!cluster && paths.length === 0) {
    throw new StartError("Cannot lint: name files or directories, - for stdin, or add --cluster");
  }
  const [, only] = Object.entries(CLUSTER_FLAGS).find(([name]) => name in given) ?? [];
  if (!cluster && only !== undefined) throw new StartError(`option '${only}' is about a cluster, add --cluster`);
  if (given.namespace !== undefined && given.allNamespaces) {
    throw new StartError("options '--namespace' and '--all-namespaces' exclude each other");
  }
  return {
    paths,
    cluster: cluster ? toClusterOptions(given, getEnv) : null,
    format: parseChoice({ name: "--output", text: given.output }, FORMATS),
    color: parseChoice({ name: "--color", text: given.color }, COLOR_WHENS),
    noColor: getEnv("NO_COLOR"),
  };
}

function toClusterOptions(given: Given, getEnv: GetEnv): ClusterOptions {
  const { namespace, allNamespaces = false, kubeconfig = [], context = null } = given;
  return {
    kubeconfigPaths: kubeconfig,
    context,
    environment: getServerEnvironment(getEnv),
    namespace: namespace === undefined ? null : parseNamespace({ name: "--namespace", text: namespace }),
    isEveryNamespace: allNamespaces,
  };
}
