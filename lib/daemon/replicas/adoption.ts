/**
 * podfit next to KEDA: may podfit set the replicas of an object, what does KEDA ask of its triggers, and what are their
 * values?
 *
 * KEDA serves each trigger of a paused ScaledObject through external.metrics.k8s.io, fresh at each question.
 */
import { formatAdoptionRecord, KEDA_METRICS, toAdoptionRecord } from "../../resources/scaled_object/adoption.ts";
import { isOwnCondition } from "../../horizontal/status.ts";
import { BodyTooLarge } from "../../kube/body.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { ApiError, getErrorMessage, oneLine, toApiError } from "../../kube/errors.ts";
import type { Blocker } from "../../model/replicas_decision.ts";
import type { KedaSource, ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { AskTrigger, TriggerAnswer } from "../../triggers/value.ts";
import { milliToDouble } from "../../units/numbers.ts";
import { parseMilli } from "../../units/quantity.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { HpaFacts } from "../cluster/parse_objects.ts";
import { REQUEST_TIMEOUT_MS } from "./scale_client.ts";

/**
 * Returns why podfit leaves an object to KEDA; `null` = podfit sets its replicas. `hpas` are those of the target.
 * Clauses: M2, M4.
 */
export function findAdoptionBlocker(
  { adoption, namespace, name, uid }: ScaledObjectFacts,
  hpas: readonly HpaFacts[],
): Blocker | null {
  if (adoption === null) return null;
  const command = (verb: string) => `podfit ${verb} so/${name} -n ${namespace}`;
  if (!adoption.isKedaPaused) {
    const message = `KEDA sets the replicas of this object. Run "${command("adopt")}": it pauses the object for KEDA`;
    return { kind: "check", reason: "KEDAIsScaling", message };
  }
  const own = hpas.find(({ owners }) => owners.includes(uid));
  if (own !== undefined) {
    const message = `KEDA's HPA "${own.name}" still sets the replicas. KEDA deletes it when the object is paused: ` +
      "look whether KEDA's operator runs";
    return { kind: "check", reason: "KEDAIsScaling", message };
  }
  if (!adoption.lacksRecord) return null;
  const message = "The object was paused before podfit saw what KEDA asks of its triggers. " +
    `Run "${command("release")}" and then "${command("adopt")}"`;
  return { kind: "check", reason: "NoRecord", message };
}

interface RecordOptions {
  readonly client: Pick<ApiClient, "scaledObjects" | "untyped">;
  readonly clock: Pick<Clock, "timeout">;
  readonly onError: (facts: ScaledObjectFacts, error: unknown) => void;
}

/** Writes the adoption record, if it differs from the one that the object has. Never rejects. */
export type KeepRecord = (
  facts: ScaledObjectFacts,
  hpas: readonly HpaFacts[],
  signal: AbortSignal,
) => Promise<void>;

/**
 * The record is that of KEDA's HPA, so it is written while there is one. The resourceVersion guards the PATCH: the
 * triggers must be those that the HPA was made for. Clauses: M4.
 */
export function createKeepRecord({ client, clock, onError }: RecordOptions): KeepRecord {
  return async (facts, hpas, signal) => {
    const { adoption, namespace, name, resourceVersion, uid } = facts;
    const hpa = hpas.find(({ owners }) => owners.includes(uid));
    if (adoption === null || hpa === undefined || hpa.metrics.length === 0) return;
    const text = formatAdoptionRecord(toAdoptionRecord(hpa.metrics, adoption.triggersHash));
    if (adoption.record !== null && text === formatAdoptionRecord(adoption.record)) return;
    using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
    try {
      const { error, response } = await client.scaledObjects.PATCH(
        "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{name}",
        {
          params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
          body: { metadata: { resourceVersion, annotations: { [KEDA_METRICS]: text } } },
          signal: AbortSignal.any([signal, timeout.signal]),
        },
      );
      if (!response.ok && response.status !== 404) throw toApiError(response, error);
    } catch (error) {
      if (error instanceof ApiError ? error.code !== 409 : !signal.aborted) onError(facts, error);
    }
  };
}

/** Removes podfit's conditions from an object that it no longer scales. Never rejects. */
export type RemoveConditions = (facts: ScaledObjectFacts, signal: AbortSignal) => Promise<void>;

const MAX_TRIES = 3;

/** Clauses: M7. */
export function createRemoveConditions({ client, clock, onError }: RecordOptions): RemoveConditions {
  async function tryOnce({ namespace, name, uid }: ScaledObjectFacts, signal: AbortSignal): Promise<boolean> {
    const path = `/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/${name}`;
    const found = await client.untyped({ method: "GET", path, signal });
    if (found.response.status === 404) return true;
    if (!found.response.ok) throw toApiError(found.response, found.error);
    const { metadata, status } = isRecord(found.data) ? found.data : {};
    const conditions: unknown = isRecord(status) ? status["conditions"] : null;
    const isSame = isRecord(metadata) && metadata["uid"] === uid && metadata["deletionTimestamp"] === undefined;
    if (!isSame || !Array.isArray(conditions) || !conditions.some(isOwnCondition)) return true;
    const kept = conditions.filter((one) => !isOwnCondition(one));
    const { error, response } = await client.scaledObjects.PATCH(
      "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{name}/status",
      {
        params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
        body: { metadata: { resourceVersion: metadata["resourceVersion"] }, status: { conditions: kept } } as never,
        signal,
      },
    );
    if (response.ok || response.status === 404) return true;
    if (response.status === 409) return false;
    throw toApiError(response, error);
  }

  return async (facts, signal) => {
    try {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
        if (await tryOnce(facts, AbortSignal.any([signal, timeout.signal]))) return;
      }
    } catch (error) {
      if (!signal.aborted) onError(facts, error);
    }
  };
}

/** The API server itself waits for 60 s if KEDA's adapter does not answer. */
const TIMEOUT_MS = 10_000;

/** An answer has one item for each series, and KEDA has one. */
const MAX_ANSWER_BYTES = 64 * 1024;

interface AskKedaOptions {
  readonly client: Pick<ApiClient, "untyped">;
  readonly clock: Pick<Clock, "timeout">;
}

/** Returns a function that asks KEDA for the value of a trigger. It never rejects. Clauses: M11, M13, M23. */
export function createAskKeda({ client, clock }: AskKedaOptions): AskTrigger<KedaSource> {
  return async (trigger, { namespace = "", signal, work }) => {
    const { metricName, source: { object, problem } } = trigger;
    const fail = (cause: string, isSlow = false): TriggerAnswer => ({
      kind: "failed",
      message: `Cannot read trigger "${metricName}" from KEDA: ${oneLine(cause)}`,
      isEmpty: false,
      ...(isSlow && { isSlow }),
    });
    if (problem !== null) return fail(problem, true);
    using timeout = clock.timeout(TIMEOUT_MS);
    try {
      const selector = encodeURIComponent(`scaledobject.keda.sh/name=${object}`);
      const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/` +
        `${encodeURIComponent(metricName)}?labelSelector=${selector}`;
      const { data, error, response } = await client.untyped({
        method: "GET",
        path,
        limitBytes: MAX_ANSWER_BYTES,
        signal: AbortSignal.any([signal, timeout.signal]),
      });
      if (!response.ok) return fail(describeRefusal(response.status, error?.message ?? ""));
      const read = () => parseMetricValues(data, metricName);
      const parsed = work === undefined ? read() : await work.run(read);
      return parsed.ok ? { kind: "value", value: parsed.value, isEmpty: false } : fail(parsed.cause);
    } catch (error) {
      if (signal.aborted) return fail("stopped before it answered");
      if (timeout.signal.aborted) {
        return fail(`no answer within ${TIMEOUT_MS / 1000} s; look at KEDA's metrics adapter`);
      }
      if (error instanceof BodyTooLarge) return fail(`the answer is larger than ${MAX_ANSWER_BYTES / 1024} KiB`);
      return fail(getErrorMessage(error));
    }
  };
}

/** Says in plain words who did not answer. */
function describeRefusal(status: number, message: string): string {
  const said = message === "" ? "" : `: ${message}`;
  switch (status) {
    case 403:
      return "podfit has no right to get external.metrics.k8s.io; the chart gives it with scaledObjects.mode=selected";
    case 404:
      return `the API external.metrics.k8s.io does not have it (404); look whether KEDA's metrics adapter is installed${said}`;
    case 500:
      return `KEDA could not read this trigger (500)${said}`;
    case 503:
    case 504:
      return `KEDA's metrics adapter does not answer (${status})${said}`;
    default:
      return `HTTP ${status}${said}`;
  }
}

type ParsedValues = { readonly ok: true; readonly value: number } | { readonly ok: false; readonly cause: string };

/** The sum cannot be larger in the HPA, which counts in thousandths of an int64. */
const MAX_MILLI = 2n ** 63n - 1n;

/**
 * Returns the sum of the items, as the HPA's client adds them up. Any shape is accepted.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/metrics/client.go
 * Clauses: M11, M23.
 */
export function parseMetricValues(answer: unknown, metricName: string): ParsedValues {
  const items = isRecord(answer) ? answer["items"] : null;
  if (!Array.isArray(items)) return { ok: false, cause: "the answer is no list of metric values" };
  if (items.length === 0) return { ok: false, cause: "the answer has no item" };
  let sum = 0n;
  for (const item of items) {
    const { metricName: name = null, value = null } = isRecord(item) ? item : {};
    if (typeof name === "string" && name !== "" && name !== metricName) {
      return { ok: false, cause: "the answer has items of another metric" };
    }
    const parsed = parseMilli(value);
    if (!parsed.ok) return { ok: false, cause: "an item has no quantity" };
    if (parsed.milli < 0n) return { ok: false, cause: "an item is negative" };
    sum += parsed.milli;
  }
  if (sum > MAX_MILLI) return { ok: false, cause: "the value is too large" };
  return { ok: true, value: milliToDouble(sum) };
}
