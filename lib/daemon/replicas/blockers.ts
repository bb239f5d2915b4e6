/**
 * May a ScaledObject be scaled now? It checks the manifest, the scale of the target, who else writes, and the
 * authentications, in this order. The first problem is the blocker that the status shows.
 */
import { findLack } from "../../horizontal/replica_calculator.ts";
import type { Blocker, Scale } from "../../model/replicas_decision.ts";
import {
  listExternalTriggers,
  listResourceTriggers,
  type ScaledObject,
  type ScaledObjectFacts,
} from "../../model/scaled_object.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { HpaFacts } from "../cluster/parse_objects.ts";
import { type ScaledObjectCache, toTargetRef } from "../cluster/scaled_objects.ts";
import type { HpaPodSets, PodSet, SelectorIndex } from "../cluster/selector_index.ts";
import { findAdoptionBlocker, type KeepRecord } from "./adoption.ts";
import { type Conflict, type DeleteHpa, findConflict } from "./conflicts.ts";
import type { ScaleClient } from "./scale_client.ts";
import type { TargetPods } from "./target_pods.ts";

interface BlockerCheckRequest {
  readonly facts: ScaledObjectFacts;
  readonly pods: TargetPods;
  readonly transferredUid: string | null;
  /**
   * Asks every trigger once, before an HPA is deleted. Resolves to `null` or to the reason why they cannot be asked.
   */
  readonly tryTriggers: (object: ScaledObject) => Promise<string | null>;
  readonly signal: AbortSignal;
}

export type BlockerCheckResult =
  | {
    readonly kind: "clear";
    readonly object: ScaledObject;
    readonly scale: Scale;
    readonly warnings: readonly string[];
    /** What pods lack for a cpu or memory trigger; `null` = nothing. */
    readonly lack: string | null;
    /** The HPA that was deleted by this check. */
    readonly transferred: HpaFacts | null;
  }
  | { readonly kind: "blocked"; readonly blocker: Blocker; readonly warnings: readonly string[] };

export type UnblockedResult = Extract<BlockerCheckResult, { readonly kind: "clear" }>;

export interface CheckBlockersContext {
  readonly scales: Pick<ScaleClient, "get">;
  readonly objects: ScaledObjectCache;
  readonly sets: Pick<SelectorIndex, "setsOf">;
  /** The formula of the object fails, which only its controller has found out: it sets no replicas. */
  readonly isInvalid: (uid: string) => boolean;
  readonly hpaPods: Pick<HpaPodSets, "refresh">;
  readonly deleteHpa: DeleteHpa;
  readonly keepRecord: KeepRecord;
  /** In a dry run no HPA is deleted. */
  readonly dryRun: boolean;
}

/**
 * Returns the first blocker, or what a reconcile needs. It may delete an HPA that is to be transferred. Does not
 * reject. Clauses: R3, R6, R16, R30, R75, R76, R77, R78, M2.
 */
export async function checkBlockers(
  request: BlockerCheckRequest,
  context: CheckBlockersContext,
): Promise<BlockerCheckResult> {
  const { facts: { scaledObject, restoring, isDeleting, limited }, pods, transferredUid, signal } = request;
  const { scales, objects, hpaPods } = context;
  const object = scaledObject ?? (isDeleting ? restoring : null);
  if (object === null) return toBlockedResult({ kind: "invalid" });
  const hpas = objects.listHpasOf(object.namespace, toTargetRef(object.target));
  const kedas = findAdoptionBlocker(request.facts, hpas);
  if (kedas !== null) {
    if (!context.dryRun) await context.keepRecord(request.facts, hpas, signal);
    return toBlockedResult(kedas);
  }
  // An object ends once, with its last write.
  const reading = await scales.get(object, signal, { isAsked: isDeleting });
  if (reading.kind === "obstacle") return toBlockedResult(reading.blocker);
  const set = pods.follow({ selector: reading.selector, object });
  hpaPods.refresh(object.namespace);
  const conflict = findCurrentConflict({ object, set, transferredUid }, context);
  const warnings = [...(limited ?? []), ...conflict.warnings];
  // The end of an object restores replicas only: it asks no trigger and deletes no HPA.
  const blocker = conflict.blocker ?? (isDeleting ? null : findMissingAuthentication(object, objects));
  if (blocker !== null) return toBlockedResult(blocker, warnings);
  const toTransfer = isDeleting ? null : conflict.transfer;
  const refusal = toTransfer && (
    await request.tryTriggers(object) ?? await transferHpa(toTransfer, context, signal)
  );
  if (refusal !== null) return toBlockedResult({ kind: "check", reason: "OtherHPA", message: refusal }, warnings);
  const lack = findLack(listResourceTriggers(object), set.pods.values());
  return { kind: "clear", object, scale: reading.scale, warnings, lack, transferred: toTransfer };
}

function toBlockedResult(blocker: Blocker, warnings: readonly string[] = []): BlockerCheckResult {
  return { kind: "blocked", blocker, warnings };
}

/** Returns the conflict that the watches show now, without a request. To be called again right before each write. */
export function findCurrentConflict(
  { object, set, transferredUid }: {
    readonly object: ScaledObject;
    readonly set: PodSet | null;
    readonly transferredUid: string | null;
  },
  { objects, sets, isInvalid }: Pick<CheckBlockersContext, "objects" | "sets" | "isInvalid">,
): Conflict {
  const { uid, namespace } = object;
  const target = toTargetRef(object.target);
  return findConflict({
    object,
    transferredUid,
    hpas: objects.listHpasOf(namespace, target),
    scaledObjects: objects.listObjectsOf(namespace, target).filter((one) => one.uid !== uid && !isInvalid(one.uid)),
    overlapping() {
      const holders = new Set<string>();
      for (const pod of set?.pods.keys() ?? []) {
        for (const other of sets.setsOf(pod)) for (const holder of other.holders) holders.add(holder);
      }
      holders.delete(uid);
      const known = [...holders].map((holder) => ({ namespace, uid: holder }));
      return {
        hpas: known.flatMap((key) => objects.findHpa(key) ?? []).filter((hpa) => !isSameTarget(hpa, object)),
        scaledObjects: known.flatMap((key) => objects.find(key) ?? []).filter((one) =>
          one.scaledObject !== null && !one.isDeleting && !isInvalid(one.uid)
        ),
      };
    },
  });
}

/** An HPA of the same target is reported as such. */
function isSameTarget({ target }: HpaFacts, object: ScaledObject): boolean {
  const own = toTargetRef(object.target);
  return target.group === own.group && target.kind === own.kind && target.name === own.name;
}

/** Returns the object if the replicas from before podfit are put back at its end, also where it is invalid now. */
export function findRestored({ scaledObject, restoring }: ScaledObjectFacts): ScaledObject | null {
  const object = scaledObject ?? restoring;
  return object?.restoresReplicas === true ? object : null;
}

/** Returns whether the status has the replicas from before podfit. */
export function hasOriginalReplicas({ status }: ScaledObjectFacts): boolean {
  return isRecord(status) && status["originalReplicaCount"] !== undefined;
}

/**
 * Returns why the replicas of a deleted object are not restored; `null` = they are, or need not be: another autoscaler of the
 * target, or a target that is gone, needs no replicas from podfit.
 */
export function findRefusal(checked: BlockerCheckResult | null): string | null {
  if (checked?.kind !== "blocked") return null;
  const { blocker } = checked;
  const isRefused = blocker.kind === "selector" || (blocker.kind === "check" && blocker.reason === "Rights");
  return isRefused ? blocker.message : null;
}

/** The blocker ends when the authentication appears. Clauses: R16. */
function findMissingAuthentication(object: ScaledObject, objects: ScaledObjectCache): Blocker | null {
  const { namespace } = object;
  for (const { authentication: ref, isServedByKeda, source } of listExternalTriggers(object)) {
    if (ref === null || isServedByKeda || source.kind === "invalid") continue;
    const place = ref.kind === "TriggerAuthentication" ? namespace : null;
    const found = objects.findAuthentication({ ...ref, namespace: place });
    if (found === null) return toTriggerFailed(`${ref.kind} "${ref.name}" does not exist: create it`);
    const [problem] = found.problems;
    if (found.authentication !== null) continue;
    const why = problem === undefined ? "" : `: ${problem.path}: ${problem.message}`;
    return toTriggerFailed(`${ref.kind} "${ref.name}" is invalid${why}`);
  }
  return null;
}

export function toTriggerFailed(message: string): Blocker {
  return { kind: "check", reason: "TriggerFailed", message };
}

async function transferHpa(
  hpa: HpaFacts,
  { deleteHpa, dryRun }: CheckBlockersContext,
  signal: AbortSignal,
): Promise<string | null> {
  if (dryRun) return `The target would be taken over from hpa "${hpa.name}": nothing is deleted in a dry run`;
  return await deleteHpa(hpa, signal);
}
