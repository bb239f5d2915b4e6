/**
 * `podfit suggest`: finds the policy that fits the usage of a workload, and prints its manifest.
 *
 * Usage is watched in the cluster, or read from files or Prometheus.
 */
import type { ApiServer } from "../../kube/transport.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { EXIT, listenForSignals, StartError, toStartError, toWriteError } from "../command/process.ts";
import { connectTo, openUsage } from "../connection/api_server.ts";
import { openPrometheus } from "../loads/loads.ts";
import { formatCount } from "../terminal/numbers.ts";
import { writeError, writeOutput } from "../terminal/output.ts";
import { openProgressLine } from "../terminal/screen.ts";
import { formatManifest, takeName } from "./manifest.ts";
import {
  fetchWorkload,
  type FoundWorkload,
  listWorkloads,
  MIN_SECONDS,
  type ObservedWorkload,
  readHistory,
  toSubjects,
  watchWorkloads,
} from "./observed.ts";
import type { SuggestOptions } from "./options.ts";
import { search } from "./search.ts";

/** Resolves to the exit code: 0 = suggested, 2 = too little usage. Rejects with a StartError for other reasons. */
export async function suggest(options: SuggestOptions): Promise<number> {
  const { loads, records, prometheus } = options;
  const hasHistory = loads.length + records.length > 0 || prometheus !== null;
  const watched = hasHistory ? [await readEarlier(options)] : await watchCluster(options);
  const manifests = (await suggestAll(watched, options)).join("---\n");
  if (manifests === "") return EXIT.failed;
  await write(manifests, options.output);
  return EXIT.ok;
}

async function readEarlier(options: SuggestOptions): Promise<ObservedWorkload> {
  const { workload, namespace, loads, records, percentOfCores, noise, prometheus, forMs } = options;
  if (workload === null) throw new StartError("Cannot suggest by a history: name the workload that it is of");
  return await readHistory({
    ...options,
    target: { ...workload, namespace: namespace ?? "default" },
    files: {
      csv: loads,
      records,
      percentOfCores,
      noise,
      prometheus: prometheus === null ? null : openPrometheus(prometheus, forMs),
    },
  });
}

async function watchCluster(options: SuggestOptions): Promise<readonly ObservedWorkload[]> {
  using ending = listenForSignals();
  await using server = await connectTo(options.server, ending.signal);
  const namespace = options.namespace ?? server.namespace;
  const { workload, isEveryNamespace, selector } = options;
  using progress = openProgressLine();
  const fetched = workload === null
    ? listWorkloads(server, {
      namespace: isEveryNamespace ? null : namespace,
      selector,
      signal: ending.signal,
      onFound: (count) => progress.show(`Listing pods, ${formatCount(count, "workload")} so far`),
    })
    : fetchWorkload(server, { ...workload, namespace }, ending.signal).then((one) => [one]);
  // A cluster that does not answer is not a fault of podfit: one line, and no stack.
  const found = await fetched.catch((error: unknown) => {
    throw error instanceof StartError ? error : toStartError(error);
  });
  const running = found.filter(({ pods }) => pods.length > 0);
  if (running.length === 0) {
    const what = workload === null ? "a workload" : `${workload.kind}/${workload.name}`;
    const where = isEveryNamespace ? "any namespace" : `namespace "${namespace}"`;
    throw new StartError(
      `Cannot watch ${what} of ${where}: no pod of it runs; name another, or read a history (--load)`,
    );
  }
  return await watch(running, { server, clock: systemClock, forMs: options.forMs, signal: ending.signal });
}

interface ClusterWatch {
  readonly server: ApiServer;
  readonly clock: Clock;
  readonly forMs: number;
  readonly signal: AbortSignal;
}

/** Uses the kubelets' summaries through the API server; where those may not be read, metrics.k8s.io. */
async function watch(
  workloads: readonly FoundWorkload[],
  { server, clock, forMs, signal }: ClusterWatch,
): Promise<readonly ObservedWorkload[]> {
  const namespaces = [...new Set(workloads.map(({ target }) => target.namespace))];
  using usage = await openUsage(server, { clock, namespaces });
  using progress = openProgressLine();
  let failure: string | null = null;
  const watched = await watchWorkloads(workloads, {
    watchUsage: usage.watchUsage,
    clock,
    forMs,
    signal,
    onReading(reading) {
      failure = reading.failure;
      progress.show(`Watching, ${Math.round(reading.passedMs / 1000)} of ${forMs / 1000} s`);
    },
  });
  if (failure !== null) writeError(`Usage could not be read at last: ${failure}`);
  return watched;
}

async function suggestAll(
  watched: readonly ObservedWorkload[],
  { budget }: SuggestOptions,
): Promise<readonly string[]> {
  using progress = openProgressLine();
  const manifests: string[] = [];
  const taken = new Set<string>();
  for (const [at, one] of watched.entries()) {
    const { target, source } = one;
    const place = watched.length === 1 ? "" : `${at + 1} of ${watched.length}, `;
    const subjects = toSubjects(one);
    if (subjects.length === 0) {
      const long = `${MIN_SECONDS} s of usage of a container at least`;
      writeError(`Cannot suggest for ${target.kind}/${target.name}: it takes ${long}, and less was seen`);
    }
    for (const subject of subjects) {
      const most = budget ?? toBudget(subject.loads.reduce((sum, { seconds }) => sum + seconds, 0));
      const onTried = async (tried: number) => {
        progress.show(
          `${place}${target.kind}/${target.name} ${subject.container}: ${tried} of at most ${most} policies`,
        );
        // A signal takes effect between two policies.
        await systemClock.sleep(0);
      };
      const suggestion = await search(subject, { budget: most, onTried });
      const { container, seen } = subject;
      if (suggestion === null) {
        writeError(
          `Cannot suggest for ${target.kind}/${target.name}: no autoscaler is valid for container "${container}"; ` +
            "correct its name in the load",
        );
        continue;
      }
      const name = takeName({ target, container, isOnly: subjects.length === 1 }, taken);
      manifests.push(formatManifest({ target, container, name, suggestion, seen, source }));
    }
  }
  return manifests;
}

/** About a minute of simulating on one core. */
const SIMULATED_SECONDS = 40_000_000;

function toBudget(seconds: number): number {
  return Math.min(200, Math.max(20, Math.floor(SIMULATED_SECONDS / Math.max(1, seconds))));
}

async function write(manifests: string, path: string | null): Promise<void> {
  if (path === null) {
    writeOutput(manifests);
    return;
  }
  try {
    await Deno.writeTextFile(path, manifests);
  } catch (error) {
    // What was watched for hours is not lost.
    writeOutput(manifests);
    throw toWriteError(path, error, `leave -o out and write > ${path}`);
  }
}
