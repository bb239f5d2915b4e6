/** The flags of `podfit lint`. */
import { Argument } from "commander";
import { createFlag, defineCommand, type GetEnv, type Typed } from "../command/command.ts";
import { parseChoice, parseNamespace } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import {
  ALL_NAMESPACES_FLAG,
  CONTEXT_FLAG,
  createFormatFlag,
  FILENAME_FLAG,
  KUBECONFIG_FLAG,
  NAMESPACE_FLAG,
  parseFormat,
  refuseNamespaceWithAll,
} from "../command/shared_flags.ts";
import { getServerEnvironment, type ServerChoice } from "../connection/api_server.ts";
import { COLOR_WHENS, type ColorWhen } from "../terminal/text.ts";

const FORMATS = ["text", "json", "yaml", "github"] as const;

export type Format = typeof FORMATS[number];

/** What is checked. */
export interface LintOptions {
  /** Files and directories, as arguments and of -f. */
  readonly paths: readonly string[];
  /** Of manifests without one; `null` = that of the context, or default without a cluster. */
  readonly namespace: string | null;
  /** `null` = only the files. */
  readonly cluster: ClusterOptions | null;
  readonly format: Format;
  readonly color: ColorWhen;
  /** NO_COLOR of the environment. */
  readonly noColor: string | undefined;
}

/** Which cluster, and which part of it. */
export interface ClusterOptions extends ServerChoice {
  readonly isEveryNamespace: boolean;
}

const NOTES = `
Checks PodResourceAutoscalers, ScaledObjects, TriggerAuthentications and ClusterTriggerAuthentications. Of other objects
it reads only the workloads that these are about. Without --cluster it checks the files only. With --cluster it compares
them with the cluster, and never writes: other autoscalers of the same pods, containers that do not exist, bounds outside
of limit ranges and nodes. Without files it checks what is in the cluster already. It needs list on podresourceautoscalers,
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
  argument: new Argument("[files...]", "files, directories, or - for stdin, as with -f"),
  flags: [
    FILENAME_FLAG,
    createFormatFlag(FORMATS),
    createFlag("--color <when>", "colour in text; auto: on a terminal, unless NO_COLOR is set", {
      fallback: "auto",
      choices: COLOR_WHENS,
    }),
    createFlag("--cluster", "check against the cluster too"),
    NAMESPACE_FLAG,
    ALL_NAMESPACES_FLAG,
    KUBECONFIG_FLAG,
    CONTEXT_FLAG,
  ],
  notes: NOTES,
  examples: [
    ["a directory, before it is applied", "podfit lint manifests/"],
    ["at the lines of a pull request, in a GitHub workflow", "podfit lint manifests/ -o github"],
    ["one file against the cluster of the kubeconfig", "podfit lint --cluster my-app.yaml -n shop"],
    ["everything in the cluster", "podfit lint --cluster -A"],
  ],
  found: "an error was found; warnings and advice do not count",
  parse: ({ args, given, getEnv }: Typed<Given>) => toLintOptions(args, given, getEnv),
});

/** Flags that have a meaning with --cluster only. */
const CLUSTER_FLAGS = {
  allNamespaces: "--all-namespaces",
  kubeconfig: "--kubeconfig",
  context: "--context",
} as const;

function toLintOptions(files: readonly string[], given: Given, getEnv: GetEnv): LintOptions {
  const { filename = [], cluster = false, namespace } = given;
  const paths = [...files, ...filename];
  if (!cluster && paths.length === 0) {
    throw new StartError("Cannot lint: name files or directories, - for stdin, or add --cluster");
  }
  const [, only] = Object.entries(CLUSTER_FLAGS).find(([name]) => name in given) ?? [];
  if (!cluster && only !== undefined) throw new StartError(`option '${only}' is about a cluster, add --cluster`);
  refuseNamespaceWithAll(namespace, given.allNamespaces ?? false);
  return {
    paths,
    namespace: namespace === undefined ? null : parseNamespace({ name: "--namespace", text: namespace }),
    cluster: cluster ? toClusterOptions(given, getEnv) : null,
    format: parseFormat(given.output, FORMATS),
    color: parseChoice({ name: "--color", text: given.color }, COLOR_WHENS),
    noColor: getEnv("NO_COLOR"),
  };
}

function toClusterOptions(given: Given, getEnv: GetEnv): ClusterOptions {
  const { allNamespaces = false, kubeconfig = [], context = null } = given;
  return {
    kubeconfigPaths: kubeconfig,
    context,
    environment: getServerEnvironment(getEnv),
    isEveryNamespace: allNamespaces,
  };
}
