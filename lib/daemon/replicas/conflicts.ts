/**
 * Who else sets the replicas of an object's target, or has pods in common with it (R75 to R78)? Of two ScaledObjects the older one acts; an
 * HPA is always in the way, unless somebody took that upon himself.
 */
import type { Obstacle } from "../../core/replicas/input.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import type { HpaFacts } from "./read_hpa.ts";

/** Who else there is; the object itself is not among them. */
export interface Others {
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
  readonly obstacle: Obstacle | null;
  /** The HPA that is to be deleted, once nothing else stands in the way. */
  readonly transfer: HpaFacts | null;
  /** What Ready's message is to warn of. */
  readonly warnings: readonly string[];
}

/** Looks for the first of them. */
export function findConflict(others: Others): Conflict {
  const { object, hpas, scaledObjects } = others;
  const warnings = listIgnored(object, hpas);
  const rivals = object.annotations.ignoresHpas
    ? []
    : hpas.filter((hpa) => !hpa.isUnchecked && hpa.uid !== others.transferredUid);
  const transfer = rivals.find((hpa) => isTransferred(hpa, others)) ?? null;
  const rival = rivals.find((hpa) => hpa !== transfer);
  const elder = findElder(object, scaledObjects);
  const obstacle = rival !== undefined ? toOtherHpa(rival, object) : elder && toConflict(elder);
  if (obstacle !== null) return { obstacle, transfer: null, warnings };
  const ambiguous = describeOverlap(others);
  if (ambiguous !== null) {
    return {
      obstacle: { kind: "selector", reason: "AmbiguousSelector", message: ambiguous },
      transfer: null,
      warnings,
    };
  }
  return { obstacle: null, transfer, warnings };
}

/** R77. */
function listIgnored(object: ScaledObject, hpas: readonly HpaFacts[]): readonly string[] {
  return hpas.filter(({ isUnchecked }) => isUnchecked || object.annotations.ignoresHpas).map(({ name }) =>
    `HPA "${name}" sets the replicas of the same target, and the check for it is turned off: both write`
  );
}

function isTransferred(hpa: HpaFacts, { object, transferredUid }: Others): boolean {
  return object.annotations.transfersHpa && object.hpaName === hpa.name && transferredUid === null;
}

/** R75. */
function toOtherHpa({ name, owners }: HpaFacts, { uid, target }: ScaledObject): Obstacle {
  const words =
    `the workload "${target.name}" of type "${target.apiVersion}.${target.kind}" is already managed by the hpa "${name}"`;
  const message = owners.includes(uid)
    ? `${words}, which KEDA has made for this ScaledObject: stop KEDA, then delete the hpa`
    : `${words}: delete it, or let it be taken over by annotation scaledobject.keda.sh/transfer-hpa-ownership`;
  return { kind: "check", reason: "OtherHPA", message };
}

/** R78: by creationTimestamp, then by name. */
function findElder(object: ScaledObject, others: readonly ScaledObjectFacts[]): ScaledObjectFacts | null {
  return others.find((other) => isElder(other, object)) ?? null;
}

function isElder(one: Pick<ScaledObjectFacts, "createdAt" | "name">, other: ScaledObject): boolean {
  return one.createdAt === other.createdAt ? one.name < other.name : one.createdAt < other.createdAt;
}

function toConflict({ name }: ScaledObjectFacts): Obstacle {
  const message = `the target is already managed by the ScaledObject "${name}", which is older: delete one of the two`;
  return { kind: "check", reason: "Conflict", message };
}

function describeOverlap({ object, overlapping }: Others): string | null {
  const { hpas, scaledObjects } = overlapping();
  const hpa = object.annotations.ignoresHpas ? undefined : hpas.find(({ isUnchecked }) => !isUnchecked);
  if (hpa !== undefined) return toAmbiguous(`HPA "${hpa.name}"`);
  const elder = findElder(object, scaledObjects);
  return elder && toAmbiguous(`ScaledObject "${elder.name}"`);
}

function toAmbiguous(other: string): string {
  return `pods of the target's selector are controlled by ${other} too: give each workload labels of its own`;
}
