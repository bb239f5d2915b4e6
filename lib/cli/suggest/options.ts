/**
 * The flags of `podfit suggest`. A wrong flag ends with code 2.
 */
import { Command } from "commander";
import { WORKLOAD_KINDS } from "../../daemon/cluster/tables.ts";
import type { WorkloadKind } from "../../model/autoscaler.ts";
import { collectValues, exitUnusable, orFlagError, refuseDaemonFlags, type Subcommand } from "../command/command.ts";
import {
  describeSubjects,
  parseBetween,
  parseNamespace,
  parseOptional,
  parsePrometheusFlags,
  parseSubject,
  parseTimeSpan,
  parseWhole,
  type PrometheusQuery,
  type Subject,
} from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";

// The options of `podfit suggest`. A wrong option ends with code 2.

/** The command's options, checked. */
export interface SuggestOptions {
  /** `null` = all of the namespace. */
  readonly workload: Subject<WorkloadKind> | null;
  /** `null` = that of the kubeconfig's context, or `default` without a cluster. */
  readonly namespace: string | null;
  /** How long it is watched, or how far back Prometheus is asked. */
  readonly forMs: number;
  /** Manifests that may hold the workload. */
  readonly filenames: readonly string[];
  readonly container: string | null;
  readonly loads: readonly string[];
  readonly records: readonly string[];
  readonly prometheus: PrometheusQuery | null;
  readonly percentOfCores: number;
  /** The seed; `null` = none. */
  readonly noise: string | null;
  /** How many policies are simulated at most; `null` = as many as what was seen allows. */
  readonly budget: number | null;
  /** `null` = stdout. */
  readonly output: string | null;
  readonly kubeconfigPaths: readonly string[];
  readonly context: string | null;
}

/** What the command does with them. */
interface SuggestCommand extends Subcommand {
  readonly suggest: (options: SuggestOptions) => Promise<void>;
}

const NOTES = `
Watches the pods of a workload for a while, or reads what was seen of them earlier, simulates policies on that with the
daemon's own rules, and prints the PodResourceAutoscaler that does best, with the reasons as comments. A profile comes
first; numbers are there only where they gain. Nothing is written to the cluster. Ctrl-C ends the watching: what was
seen by then counts.

Reading usage takes get on nodes/proxy, or list on pods of metrics.k8s.io. --from prometheus takes a query that gives CPU
cores by container (with --memory-query one of bytes), or a selector of cAdvisor's series such as '{namespace="shop"}'.
Usage is what limits let it be: where CPU was throttled, more was wanted.

Exit codes: 0 suggested, 1 nothing to suggest by what was seen, 2 a file, a flag or a cluster that is no good.

Examples:
  podfit suggest deployment/web -n shop --for 2h
  podfit suggest --all -n shop --for 30m -o policies.yaml
  podfit suggest deployment/web --for 7d --from prometheus http://localhost:9090 '{namespace="shop",pod=~"web-.*"}'
  podfit suggest deployment/web --load monday.csv -f web.yaml
  podfit suggest statefulset/db --from-record db.jsonl
`;

type Given = Readonly<{
  namespace?: string;
  all?: boolean;
  for: string;
  filename?: readonly string[];
  container?: string;
  load?: readonly string[];
  fromRecord?: readonly string[];
  from?: readonly string[];
  memoryQuery?: string;
  percentOf: string;
  noise?: boolean;
  seed: string;
  policies?: string;
  output?: string;
  kubeconfig?: string;
  context?: string;
}>;

/** Makes the command for commander. Its parse throws CommanderError with the exit code. */
export function createSuggestCommand({ suggest, toComplaint }: SuggestCommand): Command {
  return new Command("suggest")
    .description("find the policy that fits what a workload really uses, and print its manifest")
    .argument("[workload]", describeSubjects(WORKLOAD_KINDS))
    .option("-n, --namespace <name>", "the workload's (default: that of the context)")
    .option("--all", "every workload of the namespace")
    .option("--for <duration>", "how long to watch, or how far back to ask Prometheus: 30m, 2h, 7d", "30m")
    .option("--from <source...>", "prometheus URL QUERY: ask Prometheus instead of watching")
    .option("--memory-query <query>", "what gives Prometheus' bytes of memory by container")
    .option("--from-record <file>", "records as `podfit record` writes them; repeatable", collectValues)
    .option("--load <file>", "CSV of what containers want; CONTAINER=FILE for one of them; repeatable", collectValues)
    .option(
      "-f, --filename <path>",
      "manifests that hold the workload, for a suggestion without a cluster",
      collectValues,
    )
    .option("-c, --container <name>", "the container of a load that names none")
    .option("--percent-of <cores>", "what 100 percent in a load are", "1")
    .option("--noise", "add the seconds that five-minute means hide: 10 % of noise upon CPU")
    .option("--seed <text>", "of the noise", "1")
    .option("--policies <n>", "how many policies to simulate at most (default: what takes about a minute)")
    .option("-o, --output <file>", "where the manifest goes (default: stdout)")
    .option("--kubeconfig <file>", "which cluster is watched")
    .option("--context <name>", "which context of the kubeconfig")
    .helpOption("-h, --help", "print this help and exit")
    .addHelpText("after", NOTES)
    .configureOutput({ outputError: (text, write) => write(toComplaint(text, "podfit suggest")) })
    .allowExcessArguments(false)
    .exitOverride(exitUnusable)
    .action(async (workload: string | undefined, given: Given, command: Command) => {
      refuseDaemonFlags(command);
      await suggest(orFlagError(command, () => toSuggestOptions(workload ?? null, given)));
    });
}

function toSuggestOptions(workload: string | null, given: Given): SuggestOptions {
  const written = (name: string, text: string | undefined) => text === undefined ? null : { name, text };
  const { load: loads = [], fromRecord: records = [], all = false } = given;
  const prometheus = parsePrometheusFlags(given.from, given.memoryQuery);
  const hasHistory = loads.length + records.length > 0 || prometheus !== null;
  if (all === (workload !== null)) {
    throw new StartError("Cannot suggest: name one workload, such as deployment/web, or give --all");
  }
  if (all && hasHistory) throw new StartError("Cannot use --all with a history: name the workload that it is of");
  return {
    workload: workload === null ? null : parseSubject(workload, WORKLOAD_KINDS),
    namespace: parseOptional(written("--namespace", given.namespace), parseNamespace),
    forMs: parseTimeSpan(given.for),
    filenames: given.filename ?? [],
    container: given.container ?? null,
    loads,
    records,
    prometheus,
    percentOfCores: parseBetween({ name: "--percent-of", text: given.percentOf }, [0.001, 10_000]),
    noise: given.noise === true ? given.seed : null,
    budget: parseOptional(written("--policies", given.policies), (one) => parseWhole(one, [3, 10_000])),
    output: given.output ?? null,
    kubeconfigPaths: given.kubeconfig === undefined ? [] : [given.kubeconfig],
    context: given.context ?? null,
  };
}
