/**
 * How is usage fetched from metrics.k8s.io? One list serves all nodes.
 *
 * It is coarser than a summary: metrics-server reads every 15 s and returns rates over the time between two reads. It
 * has no page cache, pressure, kills or node clock, so no memory limit is lowered with it. A failure is a value; its
 * message says what is missing and what to do.
 * https://kubernetes.io/docs/tasks/debug/debug-cluster/resource-metrics-pipeline/
 *
 * Clauses: C46.
 */
import type { FailureReason, PodUsage, Point, Reading } from "../../api/usage.ts";
import { BodyTooLarge, readBytes, readErrorText } from "../../kube/body.ts";
import { type ApiError, getErrorMessage, oneLine, toApiError } from "../../kube/errors.ts";
import { parseJsonOrText } from "../../kube/list.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { AnswerCache, type CacheableAnswer } from "../../runtime/cache.ts";
import { type Clock, computeWallAheadMs } from "../../runtime/clock.ts";
import { getComputeQueue } from "../../runtime/event_loop.ts";
import { abortable } from "../../runtime/tasks.ts";
import { readAtInterval, type UsageNode, type UsagePod, type WatchUsage, type WatchUsageOptions } from "../source.ts";
import { parsePodMetrics, parsePodMetricsList, type PodMetrics, type PodMetricsOptions } from "./parse_pod_metrics.ts";

/** The API server, the scope, and the callbacks. */
export interface MetricsApiOptions {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly clock: Clock;
  /** Returns a number for the phase of this process, so that several podfits do not ask at the same time. */
  readonly random: () => number;
  /** The possible pods: the list is as small as possible. */
  readonly scope: {
    /** `null` = all. */
    readonly namespaces: readonly string[] | null;
    readonly node: string | null;
    readonly pod: { readonly namespace: string; readonly name: string } | null;
  };
  readonly limitBytes?: number;
  /**
   * Called when a namespace's list begins to fail, with the reason, and with `null` when it works again. Pods of other
   * namespaces on a node are still read, so no reading reports it.
   */
  readonly onNamespace?: (namespace: string, why: string | null) => void;
}

/** A source of usage; disposal ends its requests. */
export interface MetricsApi extends Disposable {
  readonly watchUsage: WatchUsage;
}

/** Needs `list` on `pods` of metrics.k8s.io; `get` if the scope is one pod. */
export function openMetricsApi(options: MetricsApiOptions): MetricsApi {
  const { clock, random, scope } = options;
  const phaseMs = random() * RESOLUTION_MS;
  const ending = new AbortController();
  const watches = new Set<WatchUsageOptions>();
  const answers = new AnswerCache<PodMetricsAnswer>({ clock, maxEntries: MAX_PARTS });
  const failing = new Set<string>();
  const compute = getComputeQueue(clock);

  let wanted: WantedPods | null = null;

  /** All namespaces are asked at the same moments, and a list of all pods for each of them would be much work. */
  function getWanted(): WantedPods["names"] {
    const nowMs = clock.monotonic();
    if (wanted === null || nowMs >= wanted.untilMs) {
      wanted = { names: groupNames(watches), untilMs: nowMs + WANTED_MS };
    }
    return wanted.names;
  }

  /** Callers within SHARED_MS of a request share its answer, whatever it was. */
  async function ask(part: Part): Promise<CacheableAnswer<PodMetricsAnswer>> {
    const askedAtMs = clock.monotonic();
    const names = getWanted();
    const isWanted = (namespace: string, name: string) => names.get(namespace)?.has(name) === true;
    const value = await fetchPodMetrics(part, { ...options, isWanted, signal: ending.signal });
    if (part.namespace !== null) note(part.namespace, value);
    return { value, keepMs: askedAtMs + SHARED_MS - clock.monotonic() };
  }

  function note(namespace: string, answer: PodMetricsAnswer): void {
    const isFailed = answer.kind === "failed";
    if (isFailed === failing.has(namespace)) return;
    if (isFailed) failing.add(namespace);
    else failing.delete(namespace);
    options.onNamespace?.(namespace, isFailed ? answer.why : null);
  }

  function read(part: Part): Promise<PodMetricsAnswer> {
    return answers.get(part.namespace ?? "", () => ask(part));
  }

  async function readOnce({ name }: UsageNode, watch: WatchUsageOptions): Promise<Reading> {
    const startedMs = clock.monotonic();
    const pods = [...watch.pods()];
    try {
      const found = await abortable(Promise.all(listParts(pods, scope).map(read)), watch.signal);
      const durationMs = clock.monotonic() - startedMs;
      return await compute(() => {
        const readAt = clock.steady();
        return toReading(name, { pods, found, readAt, wallAheadMs: computeWallAheadMs(clock, readAt), durationMs });
      });
    } catch (error) {
      if (!watch.signal.aborted && !ending.signal.aborted) throw error;
      // The reading is not used: the watch ends, or all of them.
      return toFailedReading(name, { reason: "unreachable", why: "podfit is ending", readAt: clock.steady() });
    }
  }

  return {
    async *watchUsage(node, watch) {
      const beat = Math.ceil((clock.monotonic() + phaseMs) / RESOLUTION_MS);
      watches.add(watch);
      try {
        yield* readAtInterval(() => readOnce(node, watch), {
          ...watch,
          clock,
          // All nodes are read at the same moments: an answer is never older than its watch, and none is read twice.
          interval: () => Math.ceil(watch.interval() / RESOLUTION_MS) * RESOLUTION_MS,
          firstMs: beat * RESOLUTION_MS - phaseMs,
        });
      } finally {
        watches.delete(watch);
      }
    },
    [Symbol.dispose]: () => ending.abort(),
  };
}

/** The default interval of metrics-server; all nodes are read at the same moments. */
const RESOLUTION_MS = 15_000;

const SOURCE = "metrics.k8s.io";

/** Longer than the first questions of one moment take. */
const WANTED_MS = 1_000;

interface WantedPods {
  /** Of all nodes, by namespace. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
  readonly untilMs: number;
}

function groupNames(watches: Iterable<WatchUsageOptions>): WantedPods["names"] {
  const names = new Map<string, Set<string>>();
  for (const watch of watches) {
    for (const { namespace, name } of watch.pods()) {
      const group = names.get(namespace);
      if (group === undefined) names.set(namespace, new Set([name]));
      else group.add(name);
    }
  }
  return names;
}

function toKey({ namespace, name }: Pick<UsagePod, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** One list for all nodes. With a part of the cluster, the lists of the namespaces of the node's pods. */
function listParts(pods: readonly UsagePod[], { namespaces, node, pod }: MetricsApiOptions["scope"]): readonly Part[] {
  if (pod !== null) return [{ namespace: pod.namespace, pod: pod.name }];
  if (namespaces === null && node === null) return [{ namespace: null, pod: null }];
  return [...new Set(pods.map(({ namespace }) => namespace))].map((namespace) => ({ namespace, pod: null }));
}

interface Found {
  readonly pods: readonly UsagePod[];
  readonly found: readonly PodMetricsAnswer[];
  readonly readAt: number;
  readonly wallAheadMs: number;
  readonly durationMs: number;
}

/** A reading fails if every request failed: with several namespaces, the answered ones are read. */
function toReading(node: string, { pods, found, readAt, wallAheadMs, durationMs }: Found): Reading {
  const usages = found.flatMap((one) => one.kind === "usage" ? [one] : []);
  const [failure] = found.flatMap((one) => one.kind === "failed" ? [one] : []);
  if (usages.length === 0 && failure !== undefined) return toFailedReading(node, { ...failure, readAt });
  const read = new Map<string, PodUsage>();
  let clockOffsetMs = wallAheadMs;
  let skipped = 0;
  for (const pod of pods) {
    const answer = usages.find((one) => one.pods.has(toKey(pod)));
    const metrics = answer?.pods.get(toKey(pod));
    if (answer === undefined || metrics === undefined) continue;
    skipped += metrics.skipped;
    // Only a clock that is ahead can be detected.
    if (metrics.at - wallAheadMs - readAt >= MIN_OFFSET_MS) {
      clockOffsetMs = Math.max(clockOffsetMs, metrics.at - readAt);
    }
    const points = listPoints(pod, metrics);
    if (points.length > 0) read.set(pod.uid, { usageBytes: null, points });
  }
  return { kind: "usage", node, readAt, clockOffsetMs, pods: read, skipped, durationMs };
}

const MIN_OFFSET_MS = 2_000;

/** Times are truncated to whole seconds. */
const TIME_RESOLUTION_MS = 1_000;

function listPoints({ containers }: UsagePod, { at, windowMs, containers: measured }: PodMetrics): readonly Point[] {
  return containers.flatMap(({ name, instance, runningAt }): readonly Point[] => {
    const metrics = measured.get(name);
    if (metrics === undefined || instance === null || runningAt === null) return [];
    // Most of the window was before this instance: the usage belongs to another instance, or to another pod of the same
    // name.
    if (at - windowMs / 2 < runningAt) return [];
    const { millicores, workingSetBytes } = metrics;
    return [{
      container: name,
      // Other sources count CPU time, so their points belong to another series.
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

/** The requested part: everything, a namespace, or a pod. */
interface Part {
  readonly namespace: string | null;
  readonly pod: string | null;
}

/** Usage by `namespace/name`, or why there is none. */
type PodMetricsAnswer =
  | { readonly kind: "usage"; readonly pods: ReadonlyMap<string, PodMetrics> }
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly why: string };

interface FetchContext {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly clock: Clock;
  readonly isWanted: PodMetricsOptions["isWanted"];
  readonly limitBytes?: number;
  readonly signal: AbortSignal;
}

/** Rejects with the signal's reason only. */
async function fetchPodMetrics(part: Part, context: FetchContext): Promise<PodMetricsAnswer> {
  const { server: { origin, transport }, clock, signal: ending, limitBytes = LIMIT_BYTES } = context;
  using timeout = clock.timeout(TIMEOUT_MS);
  const signal = AbortSignal.any([ending, timeout.signal]);
  try {
    const url = `${origin}${toPath(part)}`;
    const response = await transport(new Request(url, { headers: { accept: "application/json" }, signal }));
    if (response.status !== 200) {
      const body = parseJsonOrText(await readErrorText(response, signal));
      return toRefused(toApiError(response, body), part);
    }
    const bytes = (await readBytes(response, { limitBytes, signal })).bytes();
    return await parseAnswer(bytes, part, context);
  } catch (error) {
    ending.throwIfAborted();
    if (timeout.signal.aborted) return fail("timeout", `no answer within ${TIMEOUT_MS / 1000} s`);
    if (error instanceof BodyTooLarge) return fail("too_large", `the answer has ${error.message}`);
    return fail("unreachable", getErrorMessage(error));
  }
}

/** A list of 30,000 pods has some 15 MB. */
const LIMIT_BYTES = 48 * 2 ** 20;

const TIMEOUT_MS = 10_000;

const API = "/apis/metrics.k8s.io/v1beta1";

/** How many entries are parsed between two checks of the clock, and how long the event loop is blocked at most. */
const LOOK_EVERY = 128;

const HOLD_MS = 10;

function toPath({ namespace, pod }: Part): string {
  if (namespace === null) return `${API}/pods`;
  const pods = `${API}/namespaces/${encodeURIComponent(namespace)}/pods`;
  return pod === null ? pods : `${pods}/${encodeURIComponent(pod)}`;
}

async function parseAnswer(
  bytes: Uint8Array,
  { namespace, pod }: Part,
  context: FetchContext,
): Promise<PodMetricsAnswer> {
  const { clock, isWanted, signal } = context;
  const now = clock.now();
  const pods = new Map<string, PodMetrics>();
  const take = (one: PodMetrics | null) => {
    // Pods that were not requested are ignored.
    if (one === null || one.namespace !== (namespace ?? one.namespace) || one.name !== (pod ?? one.name)) return;
    pods.set(`${one.namespace}/${one.name}`, one);
  };
  try {
    if (pod !== null) take(parsePodMetrics(bytes, { now }));
    else {
      const entries = parsePodMetricsList(bytes, { now, isWanted });
      let startedMs = clock.monotonic();
      for (let count = 1;; count++) {
        const { done, value } = entries.next();
        if (done === true) break;
        take(value);
        if (count % LOOK_EVERY !== 0 || clock.monotonic() - startedMs < HOLD_MS) continue;
        await clock.sleep(0, signal);
        startedMs = clock.monotonic();
      }
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail("malformed", `the answer is not a ${pod === null ? "PodMetricsList" : "PodMetrics"}: ${error.message}`);
  }
  return { kind: "usage", pods };
}

function toRefused({ code, message, details }: ApiError, { namespace, pod }: Part): PodMetricsAnswer {
  const said = `${code} ${oneLine(message)}`;
  switch (code) {
    case 401:
      return fail("unauthorized", `${said}; check podfit's credential`);
    case 403: {
      const where = namespace === null ? "a ClusterRole" : `a Role of namespace "${namespace}", or a ClusterRole`;
      const right = `the verb "${pod === null ? "list" : "get"}" on "pods" of API group "metrics.k8s.io"`;
      return fail("forbidden", `${said}; grant that user ${right} in ${where}`);
    }
    case 404:
      // A young pod without two points yet: a list would not have it either.
      if (pod !== null && details?.name !== undefined) return { kind: "usage", pods: new Map() };
      return fail("http", `${said}; install metrics-server, or choose another --stats-source, such as kubelet`);
    case 503:
      return fail("http", `${said}; look at \`kubectl get apiservice v1beta1.metrics.k8s.io\` and at metrics-server`);
    default:
      return fail("http", said);
  }
}

function fail(reason: FailureReason, why: string): PodMetricsAnswer {
  return { kind: "failed", reason, why };
}

/** The time that metrics-server needs for a newer point, minus the tolerance of timers, ms. */
const SHARED_MS = 14_000;

/** Above the number of namespaces of a cluster. */
const MAX_PARTS = 10_000;
