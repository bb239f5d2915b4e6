/**
 * podfit next to KEDA: may podfit set the replicas of an object, and what does KEDA ask of its triggers?
 *
 * metrics_apis.ts asks KEDA for the values.
 */
import {
  formatAdoptionRecord,
  isSelected,
  KEDA_METRICS,
  toAdoptionRecord,
} from "../../resources/scaled_object/adoption.ts";
import { isOwnCondition, listConditions } from "../../horizontal/status.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { ApiError, toApiError } from "../../kube/errors.ts";
import type { Blocker } from "../../model/replicas_decision.ts";
import type { ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { HpaFacts } from "../cluster/parse_objects.ts";
import { patchMetadata } from "./conflicts.ts";
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
  readonly clock: Pick<Clock, "timeout" | "sleep">;
  readonly onError: (facts: ScaledObjectFacts, error: unknown) => void;
}

/** Writes the adoption record, if it differs from the one that the object has. Never rejects. */
export type KeepRecord = (
  facts: ScaledObjectFacts,
  hpas: readonly HpaFacts[],
  signal: AbortSignal,
) => Promise<void>;

/**
 * The record is that of KEDA's HPA, and written before the pause: KEDA does not change the HPA of a paused object, so it may
 * be that of other triggers, also where they changed together with the pause. Clauses: M4, M5.
 */
export function createKeepRecord({ client, clock, onError }: RecordOptions): KeepRecord {
  return async (facts, hpas, signal) => {
    const { adoption, uid } = facts;
    const hpa = hpas.find(({ owners }) => owners.includes(uid));
    if (adoption === null || adoption.isKedaPaused || hpa === undefined || hpa.metrics.length === 0) return;
    const { record, triggersHash } = adoption;
    const text = formatAdoptionRecord(toAdoptionRecord(hpa.metrics, triggersHash));
    if (record !== null && text === formatAdoptionRecord(record)) return;
    try {
      await patchMetadata({ client, clock }, facts, { annotations: { [KEDA_METRICS]: text } }, signal);
    } catch (error) {
      if (error instanceof ApiError ? error.code !== 409 : !signal.aborted) onError(facts, error);
    }
  };
}

/** Removes podfit's conditions from an object that it no longer scales. Never rejects. */
export type RemoveConditions = (facts: ScaledObjectFacts, signal: AbortSignal) => Promise<void>;

const MAX_TRIES = 3;

/** A reconcile of KEDA ends with the list of conditions that it began with, and so may write podfit's back. */
const LOOK_AGAIN_MS = [5_000, 30_000];

/** Clauses: M7. */
export function createRemoveConditions({ client, clock, onError }: RecordOptions): RemoveConditions {
  async function tryOnce({ namespace, name, uid }: ScaledObjectFacts, signal: AbortSignal): Promise<boolean> {
    const path = `/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/${name}`;
    const found = await client.untyped({ method: "GET", path, signal });
    if (found.response.status === 404) return true;
    if (!found.response.ok) throw toApiError(found.response, found.error);
    const { metadata, status } = isRecord(found.data) ? found.data : {};
    const conditions = listConditions(status);
    const isSame = isRecord(metadata) && metadata["uid"] === uid && metadata["deletionTimestamp"] === undefined;
    if (!isSame || isSelected(found.data) || !conditions.some(isOwnCondition)) return true;
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

  async function remove(facts: ScaledObjectFacts, signal: AbortSignal): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
      if (await tryOnce(facts, AbortSignal.any([signal, timeout.signal]))) return;
    }
  }

  return async (facts, signal) => {
    try {
      await remove(facts, signal);
      for (const waitMs of LOOK_AGAIN_MS) {
        await clock.sleep(waitMs, signal);
        await remove(facts, signal);
      }
    } catch (error) {
      if (!signal.aborted) onError(facts, error);
    }
  };
}
