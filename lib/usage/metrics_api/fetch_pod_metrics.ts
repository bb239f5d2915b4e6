/**
 * Asks metrics.k8s.io for usage: of all pods, of a namespace's, or of one pod. A failure is a value whose message says
 * what is missing and what to do.
 * https://kubernetes.io/docs/tasks/debug/debug-cluster/resource-metrics-pipeline/
 */
import type { FailureReason } from "../../api/usage.ts";
import { type ApiError, toApiError } from "../../kube/api_error.ts";
import { BodyTooLarge, readBytes, readErrorText } from "../../kube/body.ts";
import { parseJsonOrText } from "../../kube/collection.ts";
import { oneLine, readMessage } from "../../kube/network_error.ts";
import type { ApiServer } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import { parsePodMetrics, parsePodMetricsList, type PodMetrics, type PodMetricsOptions } from "./parse_pod_metrics.ts";

/** What is asked for: everything, a namespace, or a pod. */
export interface Part {
  readonly namespace: string | null;
  readonly pod: string | null;
}

/** Usage by `namespace/name`, or why there is none. */
export type PodMetricsAnswer =
  | { readonly kind: "usage"; readonly pods: ReadonlyMap<string, PodMetrics> }
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly why: string };

/** How it is asked. */
export interface FetchContext {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly clock: Clock;
  readonly isWanted: PodMetricsOptions["isWanted"];
  readonly limitBytes?: number;
  readonly signal: AbortSignal;
}

/** Rejects with nothing but the signal's reason. */
export async function fetchPodMetrics(part: Part, context: FetchContext): Promise<PodMetricsAnswer> {
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
    return await read(bytes, part, context);
  } catch (error) {
    ending.throwIfAborted();
    if (timeout.signal.aborted) return fail("timeout", `no answer within ${TIMEOUT_MS / 1000} s`);
    if (error instanceof BodyTooLarge) return fail("too_large", `the answer has ${error.message}`);
    return fail("unreachable", readMessage(error));
  }
}

/** A list of 30,000 pods has some 15 MB. */
const LIMIT_BYTES = 48 * 2 ** 20;
const TIMEOUT_MS = 10_000;
const API = "/apis/metrics.k8s.io/v1beta1";
/** How many entries are read between two looks at the clock, and how long the event loop is held up at most. */
const LOOK_EVERY = 128;
const HOLD_MS = 10;

function toPath({ namespace, pod }: Part): string {
  if (namespace === null) return `${API}/pods`;
  const pods = `${API}/namespaces/${encodeURIComponent(namespace)}/pods`;
  return pod === null ? pods : `${pods}/${encodeURIComponent(pod)}`;
}

async function read(bytes: Uint8Array, { namespace, pod }: Part, context: FetchContext): Promise<PodMetricsAnswer> {
  const { clock, isWanted, signal } = context;
  const now = clock.now();
  const pods = new Map<string, PodMetrics>();
  const take = (one: PodMetrics | null) => {
    // What was not asked for is not believed either.
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
    return fail("malformed", `the answer is no ${pod === null ? "PodMetricsList" : "PodMetrics"}: ${error.message}`);
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
      // A young pod, which has no two points yet: it is missing as it would be in a list.
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
