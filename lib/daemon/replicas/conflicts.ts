/**
 * Who else sets the replicas of a target? An HPA always conflicts, unless an annotation says otherwise; of two
 * ScaledObjects the older one acts. It also deletes an HPA that is taken over, and sets podfit's finalizer.
 */
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { ApiError, getErrorMessage, toApiError } from "../../kube/errors.ts";
import type { Blocker } from "../../model/replicas_decision.ts";
import { FINALIZER, type ScaledObject, type ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { HpaFacts } from "../cluster/parse_objects.ts";
import { REQUEST_TIMEOUT_MS } from "./scale_client.ts";

/** The other writers of a target. The object itself is not one of them. */
export interface ConflictQuery {
  readonly object: ScaledObject;
  /** HPAs of the same target. */
  readonly hpas: readonly HpaFacts[];
  /** Valid ScaledObjects of the same target that are not being deleted. */
  readonly scaledObjects: readonly ScaledObjectFacts[];
  /** Writers of other targets whose pods are partly the pods of this object. */
  readonly overlapping: () => {
    readonly hpas: readonly HpaFacts[];
    readonly scaledObjects: readonly ScaledObjectFacts[];
  };
  /**
   * The HPA that was deleted for this object; the watch may still show it. `null` = none. An HPA with a new uid is a
   * conflict. Clauses: R76.
   */
  readonly transferredUid: string | null;
}

export interface Conflict {
  /** `null` = nothing blocks the object. */
  readonly blocker: Blocker | null;
  /** The HPA to delete, when nothing else blocks the object. */
  readonly transfer: HpaFacts | null;
  /** Warnings for the message of the Ready condition. */
  readonly warnings: readonly string[];
}

/**
 * Returns the first conflict. An HPA always conflicts, unless an annotation says otherwise. The older of two
 * ScaledObjects acts. Clauses: R75, R76, R77, R78.
 */
export function findConflict(others: ConflictQuery): Conflict {
  const { object, hpas, scaledObjects } = others;
  const warnings = listIgnoredWarnings(object, hpas);
  const rivals = object.annotations.ignoresHpas
    ? []
    : hpas.filter((hpa) => !hpa.isCheckDisabled && hpa.uid !== others.transferredUid);
  const transfer = rivals.find((hpa) => isTransferred(hpa, others)) ?? null;
  const rival = rivals.find((hpa) => hpa !== transfer);
  const older = findOlder(object, scaledObjects);
  const blocker = rival !== undefined ? toHpaConflict(rival, object) : older && toConflict(older);
  if (blocker !== null) return { blocker, transfer: null, warnings };
  const ambiguous = describeOverlap(others);
  if (ambiguous !== null) {
    return {
      blocker: { kind: "selector", reason: "AmbiguousSelector", message: ambiguous },
      transfer: null,
      warnings,
    };
  }
  return { blocker: null, transfer, warnings };
}

/** Clauses: R77. */
function listIgnoredWarnings(object: ScaledObject, hpas: readonly HpaFacts[]): readonly string[] {
  return hpas.filter(({ isCheckDisabled }) => isCheckDisabled || object.annotations.ignoresHpas).map(({ name }) =>
    `HPA "${name}" sets the replicas of the same target, and the check for it is turned off: both write`
  );
}

function isTransferred(hpa: HpaFacts, { object, transferredUid }: ConflictQuery): boolean {
  return object.annotations.transfersHpa && object.hpaName === hpa.name && transferredUid === null;
}

/** Clauses: R75. */
function toHpaConflict({ name, owners }: HpaFacts, { uid, target }: ScaledObject): Blocker {
  const prefix =
    `the workload "${target.name}" of type "${target.apiVersion}.${target.kind}" is already managed by the hpa "${name}"`;
  const message = owners.includes(uid)
    ? `${prefix}, which KEDA has made for this ScaledObject: stop KEDA, then delete the hpa`
    : `${prefix}: delete it, or let it be taken over by annotation scaledobject.keda.sh/transfer-hpa-ownership`;
  return { kind: "check", reason: "OtherHPA", message };
}

/** Older by creationTimestamp, then by name. Clauses: R78. */
function findOlder(object: ScaledObject, others: readonly ScaledObjectFacts[]): ScaledObjectFacts | null {
  return others.find((other) => isOlder(other, object)) ?? null;
}

function isOlder(one: Pick<ScaledObjectFacts, "createdAt" | "name">, other: ScaledObject): boolean {
  return one.createdAt === other.createdAt ? one.name < other.name : one.createdAt < other.createdAt;
}

function toConflict({ name }: ScaledObjectFacts): Blocker {
  const message = `the target is already managed by the ScaledObject "${name}", which is older: delete one of the two`;
  return { kind: "check", reason: "Conflict", message };
}

function describeOverlap({ object, overlapping }: ConflictQuery): string | null {
  const { hpas, scaledObjects } = overlapping();
  const hpa = object.annotations.ignoresHpas ? undefined : hpas.find(({ isCheckDisabled }) => !isCheckDisabled);
  if (hpa !== undefined) return toAmbiguousSelector(`HPA "${hpa.name}"`);
  const older = findOlder(object, scaledObjects);
  return older && toAmbiguousSelector(`ScaledObject "${older.name}"`);
}

function toAmbiguousSelector(other: string): string {
  return `pods of the target's selector are controlled by ${other} too: give each workload labels of its own`;
}

/** Deletes the HPA. Resolves to `null` when it is gone, otherwise to the reason why not. Never rejects. */
export type DeleteHpa = (hpa: HpaFacts, signal: AbortSignal) => Promise<string | null>;

/** Deletes only the HPA that was read, and only if it has not changed. */
export function createDeleteHpa(
  { client, clock }: { readonly client: Pick<ApiClient, "core">; readonly clock: Pick<Clock, "timeout"> },
): DeleteHpa {
  return async ({ namespace, name, uid, resourceVersion }, signal) => {
    using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
    try {
      const { error, response } = await client.core.DELETE(
        "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/{name}",
        {
          params: { path: { namespace, name } },
          body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid, resourceVersion } },
          signal: AbortSignal.any([signal, timeout.signal]),
        },
      );
      if (response.ok || response.status === 404) return null;
      throw toApiError(response, error);
    } catch (error) {
      const isForbidden = error instanceof ApiError && error.code === 403;
      const advice = isForbidden ? "grant delete of horizontalpodautoscalers, or delete it" : "podfit tries again";
      return `Cannot take the target over from hpa "${name}": ${getErrorMessage(error)}; ${advice}`;
    }
  };
}

/**
 * Returns whether the object lacks the finalizer that it needs, or has one that it does not need. Where KEDA runs, the
 * finalizer is KEDA's. Clauses: R57, M7.
 */
export function needsFinalizerChange({ finalizers, isDeleting, scaledObject, adoption }: ScaledObjectFacts): boolean {
  if (adoption !== null) return false;
  return !isDeleting && scaledObject !== null && finalizers.includes(FINALIZER) !== scaledObject.restoresReplicas;
}

/** Adds or removes the finalizer. Resolves to whether that is done. Never rejects. */
export type SetFinalizer = (facts: ScaledObjectFacts, isWanted: boolean, signal: AbortSignal) => Promise<boolean>;

interface MetadataOptions {
  readonly client: Pick<ApiClient, "scaledObjects">;
  readonly clock: Pick<Clock, "timeout">;
}

/**
 * Patches metadata of an object as it was read: the resourceVersion guards the PATCH. An object that is gone is no
 * error. Rejects with an ApiError; 409 = the object has changed since.
 */
export async function patchMetadata(
  { client, clock }: MetadataOptions,
  { namespace, name, resourceVersion }: ScaledObjectFacts,
  metadata: { readonly annotations: Record<string, string> } | { readonly finalizers: string[] },
  signal: AbortSignal,
): Promise<void> {
  using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
  const { error, response } = await client.scaledObjects.PATCH(
    "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{name}",
    {
      params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
      body: { metadata: { resourceVersion, ...metadata } },
      signal: AbortSignal.any([signal, timeout.signal]),
    },
  );
  if (!response.ok && response.status !== 404) throw toApiError(response, error);
}

/** A merge patch replaces the list, and other controllers have finalizers in it. */
export function createSetFinalizer(
  { onAnswer, ...options }: MetadataOptions & {
    /** `error`: `null` = done. */
    readonly onAnswer: (facts: ScaledObjectFacts, error: unknown) => void;
  },
): SetFinalizer {
  return async (facts, isWanted, signal) => {
    const others = facts.finalizers.filter((one) => one !== FINALIZER);
    try {
      await patchMetadata(options, facts, { finalizers: isWanted ? [...others, FINALIZER] : others }, signal);
      onAnswer(facts, null);
      return true;
    } catch (error) {
      // The object is gone once its last finalizer is, which ends the controller before the answer arrives.
      if (signal.aborted) return false;
      // Another writer has changed the object: the controller reads its next version.
      if (!(error instanceof ApiError) || error.code !== 409) onAnswer(facts, error);
      return false;
    }
  };
}
