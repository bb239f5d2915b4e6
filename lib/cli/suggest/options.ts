/** The flags of `podfit suggest`. */
import { WORKLOAD_KINDS } from "../../daemon/cluster/tables.ts";
import type { WorkloadKind } from "../../model/autoscaler.ts";
import type { Selector } from "../../units/selector.ts";
import { createFlag, defineCommand, type GetEnv, SubjectArgument, type Typed } from "../command/command.ts";
import { LOAD_FLAGS, type LoadGiven, type LoadOptions, toLoadOptions } from "../command/load_flags.ts";
import {
  parseContainer,
  parseNamespace,
  parseOptional,
  parseSubject,
  parseTimeSpan,
  parseWhole,
  type Subject,
} from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import {
  ALL_NAMESPACES_FLAG,
  CONTEXT_FLAG,
  FILENAME_FLAG,
  KUBECONFIG_FLAG,
  NAMESPACE_FLAG,
  parseOutputFile,
  parseSelectorFlag,
  refuseNamespaceWithAll,
  SELECTOR_FLAG,
} from "../command/shared_flags.ts";
import { getServerEnvironment, type ServerChoice } from "../connection/api_server.ts";

/** The command's options, checked. */
export interface SuggestOptions extends LoadOptions {
  /** `null` = all of the namespace. */
  readonly workload: Subject<WorkloadKind> | null;
  /** `null` = that of the kubeconfig's context, or `default` without a cluster. */
  readonly namespace: string | null;
  /** With `workload` null: of all namespaces. */
  readonly isEveryNamespace: boolean;
  /** With `workload` null: labels of the workloads; `null` = all. */
  readonly selector: Selector | null;
  /** How long it is watched, or how far back Prometheus is asked. */
  readonly forMs: number;
  /** Manifests that may hold the workload. */
  readonly filenames: readonly string[];
  readonly container: string | null;
  /** The seed; `null` = none. */
  readonly noise: string | null;
  /** The maximum number of simulated policies; `null` = by the length of the usage. */
  readonly budget: number | null;
  /** `null` = stdout. */
  readonly output: string | null;
  /** The cluster that is watched. */
  readonly server: ServerChoice;
}

const NOTES = `
Watches the pods of a workload for a while, or reads earlier usage. It simulates policies on it with the daemon's
decisions, and prints the best PodResourceAutoscaler, with the reasons as comments. It starts from a profile, and adds
numbers only where they gain. It writes nothing to the cluster. Ctrl-C ends the watch: the samples up to then count.

Reading usage takes get on nodes/proxy, or list on pods of metrics.k8s.io. --from prometheus takes a query that returns
CPU cores by container (with --memory-query one of bytes), or a selector of cAdvisor's series such as '{namespace="shop"}'.
Limits cap usage: where CPU was throttled, the container wanted more.
`;

type Given =
  & LoadGiven
  & Readonly<{
    namespace?: string;
    all?: boolean;
    allNamespaces?: boolean;
    selector?: string;
    for: string;
    filename?: readonly string[];
    container?: string;
    seed: string;
    policies?: string;
    output?: string;
    kubeconfig?: readonly string[];
    context?: string;
  }>;

export const createSuggestCommand = defineCommand({
  name: "suggest",
  description: "find the policy that fits a workload, and print its manifest",
  argument: new SubjectArgument("[workload...]", WORKLOAD_KINDS),
  flags: [
    NAMESPACE_FLAG,
    createFlag("--all", "every workload of the namespace"),
    ALL_NAMESPACES_FLAG,
    SELECTOR_FLAG,
    createFlag("--for <duration>", "how long to watch, or how far back to ask Prometheus: 30m, 2h, 7d", {
      fallback: "30m",
    }),
    ...LOAD_FLAGS,
    FILENAME_FLAG,
    createFlag("-c, --container <name>", "the container of a load without a name"),
    createFlag("--seed <text>", "seed of the noise", { fallback: "1" }),
    createFlag("--policies <n>", "how many policies to simulate at most (default: what takes about a minute)"),
    createFlag("-o, --output <file>", "file for the manifest (default: stdout)"),
    KUBECONFIG_FLAG,
    CONTEXT_FLAG,
  ],
  notes: NOTES,
  examples: [
    ["by two hours of the cluster", "podfit suggest deployment/web -n shop --for 2h"],
    ["all workloads of a namespace, into a file", "podfit suggest --all -n shop --for 30m -o policies.yaml"],
    ["all of the cluster that a team has", "podfit suggest -A -l team=web --for 2h"],
    [
      "by a week of Prometheus",
      `podfit suggest deployment/web --for 7d --from prometheus http://localhost:9090 '{namespace="shop",pod=~"web-.*"}'`,
    ],
    ["by files, without a cluster", "podfit suggest deployment/web --load monday.csv -f web.yaml"],
    ["by what podfit recorded", "podfit suggest statefulset/db --from-record db.jsonl"],
  ],
  parse: ({ args, given, getEnv }: Typed<Given>) => toSuggestOptions(args, given, getEnv),
});

function toSuggestOptions(workload: readonly string[], given: Given, getEnv: GetEnv): SuggestOptions {
  const written = (name: string, text: string | undefined) => text === undefined ? null : { name, text };
  const { allNamespaces = false, all = allNamespaces } = given;
  refuseNamespaceWithAll(given.namespace, allNamespaces);
  const selector = parseSelectorFlag(given.selector);
  const { hasLoad, ...load } = toLoadOptions(given);
  if (all === workload.length > 0) {
    throw new StartError("Cannot suggest: name one workload, such as deployment/web, or give --all");
  }
  if (selector !== null && !all) throw new StartError("Cannot use --selector without --all or --all-namespaces");
  if (given.container !== undefined && !hasLoad) {
    throw new StartError(
      "Cannot use --container without a load: it is the container of a load without a name; leave it out",
    );
  }
  if (all && hasLoad) throw new StartError("Cannot use --all with a history: name the workload that it is of");
  return {
    workload: workload.length === 0 ? null : parseSubject(workload, WORKLOAD_KINDS),
    isEveryNamespace: allNamespaces,
    selector,
    namespace: parseOptional(written("--namespace", given.namespace), parseNamespace),
    forMs: parseTimeSpan(given.for),
    filenames: given.filename ?? [],
    container: parseOptional(written("--container", given.container), parseContainer),
    ...load,
    noise: given.noise === true ? given.seed : null,
    budget: parseOptional(written("--policies", given.policies), (one) => parseWhole(one, [3, 10_000])),
    output: parseOptional(written("--output", given.output), (one) => parseOutputFile(one, "a YAML manifest")),
    server: {
      kubeconfigPaths: given.kubeconfig ?? [],
      context: given.context ?? null,
      environment: getServerEnvironment(getEnv),
    },
  };
}
