/**
 * What is the value of a metric that external.metrics.k8s.io or custom.metrics.k8s.io serves?
 *
 * The HPA asks the same APIs with the same questions. KEDA serves each trigger of a paused ScaledObject through the
 * first one, fresh at each question.
 */
import { BodyTooLarge } from "../../kube/body.ts";
import type { ApiClient } from "../../kube/client.ts";
import { getErrorMessage, oneLine } from "../../kube/errors.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { PodValues } from "../../model/replicas_decision.ts";
import type { KedaSource, MetricSource } from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { AskTrigger, ListedPods, TriggerAnswer } from "../../triggers/value.ts";
import { MAX_MILLI, milliToDouble } from "../../units/numbers.ts";
import { parseMilli } from "../../units/quantity.ts";
import { formatSelector } from "../../units/selector.ts";
import { isRecord } from "../../units/untrusted.ts";

/** The API server itself waits for 60 s if the adapter does not answer. */
const TIMEOUT_MS = 10_000;

/** An answer has one item for each series, and KEDA has one. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** About 4,000 pods. */
const MAX_PODS_ANSWER_BYTES = 2 * 1024 * 1024;

interface AskMetricsOptions {
  readonly client: Pick<ApiClient, "untyped">;
  readonly clock: Pick<Clock, "timeout">;
  /** Returns the plural name of a kind. Rejects where the API server has none. */
  readonly findPlural: (object: KindOfObject, signal: AbortSignal) => Promise<string>;
}

interface KindOfObject {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * Returns a function that asks an API for the metric of a trigger. It never rejects. Clauses: M11, M13, M17, M23.
 */
export function createAskMetrics(
  { client, clock, findPlural }: AskMetricsOptions,
): AskTrigger<KedaSource | MetricSource> {
  return async (trigger, { namespace = "", signal, work, pods = null }) => {
    const { metricName, source } = trigger;
    const from = source.kind === "keda" ? " from KEDA" : "";
    const fail = (cause: string, isSlow = false): TriggerAnswer => ({
      kind: "failed",
      message: `Cannot read trigger "${metricName}"${from}: ${oneLine(cause)}`,
      isEmpty: false,
      ...(isSlow && { isSlow }),
    });
    if (source.kind === "keda" && source.problem !== null) return fail(source.problem, true);
    const metric: MetricSource = source.kind === "metric" ? source : {
      kind: "metric",
      metric: metricName,
      selector: `scaledobject.keda.sh/name=${source.object}`,
      of: { kind: "external" },
    };
    const isOfPods = metric.of.kind === "pods";
    if (isOfPods && pods === null) return fail("the pods of the target are not known yet", true);
    // Without pods there is nothing to ask for, and an adapter would answer that it has no metric.
    if (isOfPods && pods?.pods.length === 0) {
      return { kind: "value", value: 0, isEmpty: false, byPod: { pods: [], others: [] } };
    }
    const limitBytes = isOfPods ? MAX_PODS_ANSWER_BYTES : MAX_ANSWER_BYTES;
    using timeout = clock.timeout(TIMEOUT_MS);
    const ended = AbortSignal.any([signal, timeout.signal]);
    try {
      const plural = await findPluralOf(metric, findPlural, ended);
      const path = toMetricPath(metric, { namespace, plural, podSelector: pods && formatSelector(pods.selector) });
      const { data, error, response } = await client.untyped({ method: "GET", path, limitBytes, signal: ended });
      if (!response.ok) return fail(describeRefusal(response.status, error?.message ?? "", source));
      const read = () => toAnswer(parseMetricAnswer(data, metric), pods);
      const parsed = work === undefined ? read() : await work.run(read);
      return typeof parsed === "string" ? fail(parsed) : parsed;
    } catch (error) {
      if (signal.aborted) return fail("stopped before it answered");
      if (timeout.signal.aborted) {
        return fail(`no answer within ${TIMEOUT_MS / 1000} s; look at ${nameAdapter(source)}`);
      }
      if (error instanceof BodyTooLarge) return fail(`the answer is larger than ${limitBytes / 1024} KiB`);
      return fail(getErrorMessage(error));
    }
  };
}

async function findPluralOf(
  { of }: MetricSource,
  findPlural: AskMetricsOptions["findPlural"],
  signal: AbortSignal,
): Promise<string | null> {
  if (of.kind !== "object" || isNamespace(of)) return null;
  return await findPlural({ apiVersion: of.apiVersion, kind: of.objectKind }, signal);
}

function isNamespace({ apiVersion, objectKind }: Extract<MetricSource["of"], { readonly kind: "object" }>): boolean {
  return objectKind === "Namespace" && !apiVersion.includes("/");
}

interface QuestionContext {
  readonly namespace: string;
  /** Of the object; `null` for other metrics, and for a Namespace. */
  readonly plural: string | null;
  /** Of the target's pods. */
  readonly podSelector: string | null;
}

/**
 * Returns the path and the query of the HPA's question.
 * https://github.com/kubernetes/metrics/tree/v0.36.3/pkg/client
 * Clauses: M17.
 */
export function toMetricPath(
  { metric, selector, of }: MetricSource,
  { namespace, plural, podSelector }: QuestionContext,
): string {
  const join = (...parts: readonly string[]) => ["/apis", ...parts.map(encodeURIComponent)].join("/");
  const toQuery = (query: Readonly<Record<string, string>>) => {
    const given = Object.entries(query).filter(([, value]) => value !== "");
    return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  };
  if (of.kind === "external") {
    const path = join("external.metrics.k8s.io", "v1beta1", "namespaces", namespace, metric);
    return path + toQuery({ labelSelector: selector });
  }
  const ofMetric = { metricLabelSelector: selector };
  const custom = ["custom.metrics.k8s.io", "v1beta2", "namespaces", namespace];
  if (of.kind === "pods") {
    return join(...custom, "pods", "*", metric) + toQuery({ labelSelector: podSelector ?? "", ...ofMetric });
  }
  if (isNamespace(of)) return join(...custom, "metrics", metric) + toQuery(ofMetric);
  const [group = "", version] = of.apiVersion.split("/");
  const resource = version === undefined ? plural ?? "" : `${plural}.${group}`;
  return join(...custom, resource, of.name, metric) + toQuery(ofMetric);
}

function nameAdapter(source: KedaSource | MetricSource): string {
  return source.kind === "keda" ? "KEDA's metrics adapter" : `the adapter that serves ${nameApi(source)}`;
}

function nameApi(source: KedaSource | MetricSource): string {
  const isCustom = source.kind === "metric" && source.of.kind !== "external";
  return isCustom ? "custom.metrics.k8s.io" : "external.metrics.k8s.io";
}

/** Says in plain words who did not answer. */
function describeRefusal(status: number, message: string, source: KedaSource | MetricSource): string {
  const said = message === "" ? "" : `: ${message}`;
  const isKedas = source.kind === "keda";
  const [api, adapter] = [nameApi(source), nameAdapter(source)];
  switch (status) {
    case 403:
      return `podfit has no right to get ${api}; the chart gives it with ` +
        (isKedas ? "scaledObjects.mode=selected" : "metricsApis.enabled=true");
    case 404:
      return `the API ${api} does not have it (404); look whether ${adapter} is installed${said}`;
    case 500:
      return `${isKedas ? "KEDA" : "the adapter"} could not read this ${isKedas ? "trigger" : "metric"} (500)${said}`;
    case 503:
    case 504:
      return `${adapter} does not answer (${status})${said}`;
    default:
      return `HTTP ${status}${said}`;
  }
}

/** Thousandths: the sum, and for the metric of pods the value of each. A text says why there is none. */
type ParsedValues =
  | { readonly ok: true; readonly milli: bigint; readonly byName: ReadonlyMap<string, bigint> }
  | { readonly ok: false; readonly cause: string };

/**
 * Returns the items and their sum, as the HPA's clients read them. Any shape is accepted.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/metrics/client.go
 * Clauses: M11, M17, M23.
 */
export function parseMetricAnswer(answer: unknown, { metric, of }: MetricSource): ParsedValues {
  const items = isRecord(answer) ? answer["items"] : null;
  if (!Array.isArray(items)) return { ok: false, cause: "the answer is no list of metric values" };
  if (items.length === 0) return { ok: false, cause: "the answer has no item" };
  if (of.kind === "object" && items.length > 1) {
    return { ok: false, cause: `the answer has ${items.length} items, and one object has one` };
  }
  let sum = 0n;
  const byName = new Map<string, bigint>();
  for (const item of items) {
    const { metricName = null, metric: identifier = null, describedObject = null, value = null } = isRecord(item)
      ? item
      : {};
    const name = of.kind === "external" ? metricName : isRecord(identifier) ? identifier["name"] : null;
    if (typeof name === "string" && name !== "" && name !== metric) {
      return { ok: false, cause: "the answer has items of another metric" };
    }
    const parsed = parseMilli(value, { floats: true });
    if (!parsed.ok) return { ok: false, cause: "an item has no quantity" };
    if (parsed.milli < 0n) return { ok: false, cause: "an item is negative" };
    sum += parsed.milli;
    if (of.kind !== "pods") continue;
    const pod: unknown = isRecord(describedObject) ? describedObject["name"] : null;
    if (typeof pod !== "string" || pod === "") return { ok: false, cause: "an item names no pod" };
    byName.set(pod, parsed.milli);
  }
  if (sum > MAX_MILLI) return { ok: false, cause: "the value is too large" };
  return { ok: true, milli: sum, byName };
}

/** A text says why the value is missing. */
function toAnswer(parsed: ParsedValues, pods: ListedPods | null): TriggerAnswer | string {
  if (!parsed.ok) return parsed.cause;
  const { milli, byName } = parsed;
  const byPod = pods === null || byName.size === 0 ? null : toPodValues(byName, pods.pods);
  return { kind: "value", value: milliToDouble(milli), isEmpty: false, milli, ...(byPod !== null && { byPod }) };
}

/** Joins the values of an answer with the pods that the selector lists. Clauses: M17. */
export function toPodValues(byName: ReadonlyMap<string, bigint>, pods: readonly PodFacts[]): PodValues {
  const listed = new Set(pods.map(({ name }) => name));
  return {
    pods: pods.map(({ name, phase, deleting, startAt, ready }) => {
      const milli = byName.get(name);
      return {
        name,
        phase,
        isDeleting: deleting,
        startAt,
        ready,
        metric: milli === undefined ? null : { milli, at: 0, windowMs: 0 },
        requests: NO_REQUESTS,
        isClipped: false,
      };
    }),
    others: [...byName].flatMap(([name, milli]) => listed.has(name) ? [] : [milli]),
  };
}

/** An average value is compared with no request. */
const NO_REQUESTS = { born: 0n, full: 0n };
