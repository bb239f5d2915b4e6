/**
 * Usage from metrics.k8s.io: coarser than a kubelet's summary, as metrics-server reads that every 15 s and gives rates
 * over the time between two of them. It tells neither page cache nor pressure, kills or the node's clock, so no memory
 * limit is lowered by it (C46). One list serves all nodes.
 */
import type { PodUsage, Point, Reading } from "../../api/usage.ts";
import { abortable } from "@std/async/abortable";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import { computeOn } from "../../runtime/compute.ts";
import { readAtBeat } from "../beat.ts";
import type { UsageNode, UsagePod, WatchUsage, WatchUsageOptions } from "../watch_usage.ts";
import { fetchPodMetrics, type Part, type PodMetricsAnswer } from "./fetch_pod_metrics.ts";
import type { PodMetrics } from "./parse_pod_metrics.ts";
import { shareAnswer } from "./shared_answer.ts";

/** Whom is asked, and for which pods. */
export interface MetricsApiOptions {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly clock: Clock;
  /** Gives the phase of this process, so that of several podfits not all ask at once. */
  readonly random: () => number;
  /** Which pods are ever looked for: the list is no larger than need be. */
  readonly scope: {
    /** `null` = all. */
    readonly namespaces: readonly string[] | null;
    readonly node: string | null;
    readonly pod: { readonly namespace: string; readonly name: string } | null;
  };
  readonly limitBytes?: number;
  /**
   * Told when a namespace's list begins to fail, with the reason, and with `null` when it no longer does: other
   * namespaces' pods on a node are read all the same, so no reading says it.
   */
  readonly onNamespace?: (namespace: string, why: string | null) => void;
}

/** A source of usage; disposal ends what it has asked. */
export interface MetricsApi extends Disposable {
  readonly watchUsage: WatchUsage;
}

/** Needs `list` on `pods` of metrics.k8s.io; with one pod for a scope, `get`. */
export function openMetricsApi(options: MetricsApiOptions): MetricsApi {
  const { clock, random, scope } = options;
  const phaseMs = random() * RESOLUTION_MS;
  const ending = new AbortController();
  const watches = new Set<WatchUsageOptions>();
  const answers = new Map<string, () => Promise<PodMetricsAnswer>>();
  const failing = new Set<string>();
  const compute = computeOn(clock);

  /** By `namespace/name`, over all nodes. */
  function listWanted(): ReadonlySet<string> {
    const wanted = new Set<string>();
    for (const watch of watches) for (const pod of watch.pods()) wanted.add(toKey(pod));
    return wanted;
  }

  async function ask(part: Part): Promise<PodMetricsAnswer> {
    const wanted = listWanted();
    const isWanted = (namespace: string, name: string) => wanted.has(toKey({ namespace, name }));
    const answer = await fetchPodMetrics(part, { ...options, isWanted, signal: ending.signal });
    if (part.namespace !== null) note(part.namespace, answer);
    return answer;
  }

  function note(namespace: string, answer: PodMetricsAnswer): void {
    const isFailed = answer.kind === "failed";
    if (isFailed === failing.has(namespace)) return;
    if (isFailed) failing.add(namespace);
    else failing.delete(namespace);
    options.onNamespace?.(namespace, isFailed ? answer.why : null);
  }

  function read(part: Part): Promise<PodMetricsAnswer> {
    const key = part.namespace ?? "";
    const known = answers.get(key);
    if (known !== undefined) return known();
    const shared = shareAnswer(() => ask(part), clock);
    answers.set(key, shared);
    return shared();
  }

  async function readOnce({ name }: UsageNode, watch: WatchUsageOptions): Promise<Reading> {
    const startedMs = clock.monotonic();
    const pods = [...watch.pods()];
    try {
      const found = await abortable(Promise.all(listParts(pods, scope).map(read)), watch.signal);
      const durationMs = clock.monotonic() - startedMs;
      return await compute(() => toReading(name, { pods, found, readAt: clock.now(), durationMs }));
    } catch (error) {
      if (!watch.signal.aborted && !ending.signal.aborted) throw error;
      // Nobody looks at the reading: the watch ends, or all of them.
      return toFailedReading(name, { reason: "unreachable", why: "podfit is ending", readAt: clock.now() });
    }
  }

  return {
    async *watchUsage(node, watch) {
      const toBeatMs = (RESOLUTION_MS - (clock.monotonic() + phaseMs) % RESOLUTION_MS) % RESOLUTION_MS;
      watches.add(watch);
      try {
        yield* readAtBeat(() => readOnce(node, watch), {
          ...watch,
          clock,
          // All at one beat: an answer is then never older than the watch that gets it, and none is read twice.
          interval: () => Math.ceil(watch.interval() / RESOLUTION_MS) * RESOLUTION_MS,
          initialDelayMs: toBeatMs,
        });
      } finally {
        watches.delete(watch);
      }
    },
    [Symbol.dispose]: () => ending.abort(),
  };
}

/** How often metrics-server looks, unless it was told to look less often; all nodes are read at the same beat. */
const RESOLUTION_MS = 15_000;
const SOURCE = "metrics.k8s.io";

function toKey({ namespace, name }: Pick<UsagePod, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** One list for all nodes; of a part of the cluster those of the namespaces that the node's pods are in. */
function listParts(pods: readonly UsagePod[], { namespaces, node, pod }: MetricsApiOptions["scope"]): readonly Part[] {
  if (pod !== null) return [{ namespace: pod.namespace, pod: pod.name }];
  if (namespaces === null && node === null) return [{ namespace: null, pod: null }];
  return [...new Set(pods.map(({ namespace }) => namespace))].map((namespace) => ({ namespace, pod: null }));
}

interface Found {
  readonly pods: readonly UsagePod[];
  readonly found: readonly PodMetricsAnswer[];
  readonly readAt: number;
  readonly durationMs: number;
}

/** Failed when nothing was answered: of several namespaces those that were are read. */
function toReading(node: string, { pods, found, readAt, durationMs }: Found): Reading {
  const usages = found.flatMap((one) => one.kind === "usage" ? [one] : []);
  const [failure] = found.flatMap((one) => one.kind === "failed" ? [one] : []);
  if (usages.length === 0 && failure !== undefined) return toFailedReading(node, { ...failure, readAt });
  const read = new Map<string, PodUsage>();
  let clockOffsetMs = 0;
  let skipped = 0;
  for (const pod of pods) {
    const answer = usages.find((one) => one.pods.has(toKey(pod)));
    const metrics = answer?.pods.get(toKey(pod));
    if (answer === undefined || metrics === undefined) continue;
    skipped += metrics.skipped;
    // That it is ahead is all that can be known of the node's clock.
    if (metrics.at - readAt >= LEAST_OFFSET_MS) clockOffsetMs = Math.max(clockOffsetMs, metrics.at - readAt);
    const points = listPoints(pod, metrics);
    if (points.length > 0) read.set(pod.uid, { usageBytes: null, points });
  }
  return { kind: "usage", node, readAt, clockOffsetMs, pods: read, skipped, durationMs };
}

const LEAST_OFFSET_MS = 2_000;
/** Times are cut off to whole seconds. */
const TIME_RESOLUTION_MS = 1_000;

function listPoints({ containers }: UsagePod, { at, windowMs, containers: measured }: PodMetrics): readonly Point[] {
  return containers.flatMap(({ name, instance, runningAt }): readonly Point[] => {
    const metrics = measured.get(name);
    if (metrics === undefined || instance === null || runningAt === null) return [];
    // Most of the window was before this instance: it is another's usage, or that of a pod of the same name.
    if (at - windowMs / 2 < runningAt) return [];
    const { millicores, workingSetBytes } = metrics;
    return [{
      container: name,
      // Other sources count CPU, so none of their points is of the same series.
      instance: `${SOURCE} ${instance}`,
      at,
      resolutionMs: TIME_RESOLUTION_MS,
      cpu: { kind: "rate", millicores, windowMs },
      workingSetBytes,
      usageBytes: null,
      pressure: null,
    }];
  });
}

function toFailedReading(
  node: string,
  { reason, why, readAt }: Pick<Extract<PodMetricsAnswer, { kind: "failed" }>, "reason" | "why"> & { readAt: number },
): Reading {
  return {
    kind: "failed",
    node,
    readAt,
    reason,
    message: `Cannot read usage of node "${node}" from ${SOURCE}: ${why}`,
  };
}
