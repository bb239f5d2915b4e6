/**
 * Who else sets the replicas of a target? An HPA always conflicts, unless an annotation says otherwise; of two
 * ScaledObjects the older one acts. It also deletes an HPA that is taken over, and sets podfit's finalizer.
 */
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { ApiError, getErrorMessage, toApiError } from "../../kube/errors.ts";
import type { Blocker } from "../../model/replicas_decision.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { HpaFacts } from "../cluster/parse_objects.ts";
import { REQUEST_TIMEOUT_MS } from "./scale_client.ts";

// Who else sets the replicas of an object's target, or has pods in common with it (R75 to R78)? Of two ScaledObjects
// the older one acts; an HPA is always in the way, unless somebody took that upon himself.

/** Who else there is; the object itself is not among them. */
export interface ConflictQuery {
  readonly object: ScaledObject;
  /** HPAs of the same target. */
  readonly hpas: readonly HpaFacts[];
  /** Valid ScaledObjects of the same target that are not being deleted. */
  readonly scaledObjects: readonly ScaledObjectFacts[];
  /** Whose pods are some of this object's, though their target is another one. */
  readonly overlapping: () => {
    readonly hpas: readonly HpaFacts[];
    readonly scaledObjects: readonly ScaledObjectFacts[];
  };
  /** The HPA that was taken over (R76), which the watch may still show; `null` = none was. One that comes back is a conflict. */
  readonly transferredUid: string | null;
}

/** What comes of it. */
export interface Conflict {
  /** `null` = nothing stands in the way. */
  readonly blocker: Blocker | null;
  /** The HPA that is to be deleted, once nothing else stands in the way. */
  readonly transfer: HpaFacts | null;
  /** What Ready's message is to warn of. */
  readonly warnings: readonly string[];
}

/** Looks for the first of them. */
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

/** R77. */
function listIgnoredWarnings(object: ScaledObject, hpas: readonly HpaFacts[]): readonly string[] {
  return hpas.filter(({ isCheckDisabled }) => isCheckDisabled || object.annotations.ignoresHpas).map(({ name }) =>
    `HPA "${name}" sets the replicas of the same target, and the check for it is turned off: both write`
  );
}

function isTransferred(hpa: HpaFacts, { object, transferredUid }: ConflictQuery): boolean {
  return object.annotations.transfersHpa && object.hpaName === hpa.name && transferredUid === null;
}

/** R75. */
function toHpaConflict({ name, owners }: HpaFacts, { uid, target }: ScaledObject): Blocker {
  const prefix =
    `the workload "${target.name}" of type "${target.apiVersion}.${target.kind}" is already managed by the hpa "${name}"`;
  const message = owners.includes(uid)
    ? `${prefix}, which KEDA has made for this ScaledObject: stop KEDA, then delete the hpa`
    : `${prefix}: delete it, or let it be taken over by annotation scaledobject.keda.sh/transfer-hpa-ownership`;
  return { kind: "check", reason: "OtherHPA", message };
}

/** R78: by creationTimestamp, then by name. */
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

// Takes a target over from an HPA by deleting it (R76): no HPA may live on beside podfit.

/** Resolves to `null` when the HPA is gone, and else to why it is not. Never rejects. */
export type DeleteHpa = (hpa: HpaFacts, signal: AbortSignal) => Promise<string | null>;

/** It must be the very HPA that was looked at, as it was. */
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
      return `Cannot take the target over from hpa "${name}": ${
        getErrorMessage(error)
      }; grant delete of horizontalpodautoscalers, or delete it`;
    }
  };
}

// podfit's finalizer on ScaledObjects: `finalizer.keda.sh`, as KEDA has it, and only where there is something to
// restore (R57).

export const FINALIZER = "finalizer.keda.sh";

/** Whether the object lacks the finalizer that it needs, or has one that it needs not. */
export function needsFinalizerChange({ finalizers, isDeleting, scaledObject }: ScaledObjectFacts): boolean {
  return !isDeleting && scaledObject !== null && finalizers.includes(FINALIZER) !== scaledObject.restoresReplicas;
}

/** Adds or removes it. Resolves to whether that is done, as far as it is known; never rejects. */
export type SetFinalizer = (facts: ScaledObjectFacts, isWanted: boolean, signal: AbortSignal) => Promise<boolean>;

/** Guarded by the resourceVersion: a merge patch replaces the list, and others have theirs in it. */
export function createSetFinalizer(
  { client, clock, onError }: {
    readonly client: Pick<ApiClient, "scaledObjects">;
    readonly clock: Pick<Clock, "timeout">;
    readonly onError: (facts: ScaledObjectFacts, error: unknown) => void;
  },
): SetFinalizer {
  return async (facts, isWanted, signal) => {
    const { namespace, name, resourceVersion, finalizers } = facts;
    const others = finalizers.filter((one) => one !== FINALIZER);
    using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
    try {
      const { error, response } = await client.scaledObjects.PATCH(
        "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{name}",
        {
          params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
          body: { metadata: { resourceVersion, finalizers: isWanted ? [...others, FINALIZER] : others } },
          signal: AbortSignal.any([signal, timeout.signal]),
        },
      );
      if (response.ok || response.status === 404) return true;
      throw toApiError(response, error);
    } catch (error) {
      // Somebody else has changed the object: its next version is looked at anew.
      if (!(error instanceof ApiError) || error.code !== 409) onError(facts, error);
      return false;
    }
  };
}
