/**
 * May a ScaledObject be scaled now? It checks the manifest, the scale of the target, who else writes, and the
 * authentications, in this order. The first problem is the blocker that the status shows.
 */
import type { Blocker, Scale } from "../../model/replicas_decision.ts";
import { listExternalTriggers, type ScaledObject, type ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { HpaFacts } from "../cluster/parse_objects.ts";
import { type ScaledObjectCache, toTargetRef } from "../cluster/scaled_objects.ts";
import type { HpaPodSets, PodSet, SelectorIndex } from "../cluster/selector_index.ts";
import { type Conflict, type DeleteHpa, findConflict } from "./conflicts.ts";
import type { ScaleClient } from "./scale_client.ts";
import type { TargetPods } from "./target_pods.ts";

// May an object be acted on now? Its manifest, its target's scale, who else writes, and the authentications that it
// names, in this order: the first that is wrong stands in the way, and is said (R3, R6, R16, R30, R75 to R78).

/** What is known of one object beside its facts. */
interface BlockerCheckRequest {
  readonly facts: ScaledObjectFacts;
  readonly pods: TargetPods;
  readonly transferredUid: string | null;
  /** Asks every trigger once, as before an HPA is taken over: `null`, or what they lack. */
  readonly tryTriggers: (object: ScaledObject) => Promise<string | null>;
  readonly signal: AbortSignal;
}

/** What the look came to. */
export type BlockerCheckResult =
  | {
    readonly kind: "clear";
    readonly object: ScaledObject;
    readonly scale: Scale;
    readonly warnings: readonly string[];
    /** The HPA that was deleted just now. */
    readonly transferred: HpaFacts | null;
  }
  | { readonly kind: "blocked"; readonly blocker: Blocker; readonly warnings: readonly string[] };

/** Nothing stands in the way. */
export type UnblockedResult = Extract<BlockerCheckResult, { readonly kind: "clear" }>;

/** Where it looks. */
export interface CheckBlockersContext {
  readonly scales: Pick<ScaleClient, "get">;
  readonly objects: ScaledObjectCache;
  readonly sets: Pick<SelectorIndex, "setsOf">;
  readonly hpaPods: Pick<HpaPodSets, "refresh">;
  readonly deleteHpa: DeleteHpa;
  /** Nothing is deleted either. */
  readonly dryRun: boolean;
}

/** Does not reject. */
export async function checkBlockers(
  request: BlockerCheckRequest,
  context: CheckBlockersContext,
): Promise<BlockerCheckResult> {
  const { facts: { scaledObject, restoring, isDeleting, limited }, pods, transferredUid, signal } = request;
  const { scales, objects, sets, hpaPods } = context;
  const object = scaledObject ?? (isDeleting ? restoring : null);
  if (object === null) return toBlockedResult({ kind: "invalid" });
  const reading = await scales.get(object, signal);
  if (reading.kind === "obstacle") return toBlockedResult(reading.blocker);
  const set = pods.follow({ selector: reading.selector, object });
  hpaPods.refresh(object.namespace);
  const conflict = findCurrentConflict({ object, set, transferredUid }, { objects, sets });
  const warnings = [...(limited ?? []), ...conflict.warnings];
  // What is restored at the end (R57) asks no trigger, and takes nothing over.
  const blocker = conflict.blocker ?? (isDeleting ? null : findMissingAuthentication(object, objects));
  if (blocker !== null) return toBlockedResult(blocker, warnings);
  const toTransfer = isDeleting ? null : conflict.transfer;
  const refusal = toTransfer && (await request.tryTriggers(object) ?? await transferHpa(toTransfer, context, signal));
  if (refusal !== null) return toBlockedResult({ kind: "check", reason: "OtherHPA", message: refusal }, warnings);
  return { kind: "clear", object, scale: reading.scale, warnings, transferred: toTransfer };
}

function toBlockedResult(blocker: Blocker, warnings: readonly string[] = []): BlockerCheckResult {
  return { kind: "blocked", blocker, warnings };
}

/** Of what the watches show now, without asking anybody: to be called again right before each write. */
export function findCurrentConflict(
  { object, set, transferredUid }: {
    readonly object: ScaledObject;
    readonly set: PodSet | null;
    readonly transferredUid: string | null;
  },
  { objects, sets }: Pick<CheckBlockersContext, "objects" | "sets">,
): Conflict {
  const { uid, namespace } = object;
  const target = toTargetRef(object.target);
  return findConflict({
    object,
    transferredUid,
    hpas: objects.listHpasOf(namespace, target),
    scaledObjects: objects.listObjectsOf(namespace, target).filter((other) => other.uid !== uid),
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
          one.scaledObject !== null && !one.isDeleting
        ),
      };
    },
  });
}

/** Of the same target there is a clearer word. */
function isSameTarget({ target }: HpaFacts, object: ScaledObject): boolean {
  const own = toTargetRef(object.target);
  return target.group === own.group && target.kind === own.kind && target.name === own.name;
}

/** R16: heals by itself once it is there. */
function findMissingAuthentication(object: ScaledObject, objects: ScaledObjectCache): Blocker | null {
  const { namespace } = object;
  for (const { authentication: ref } of listExternalTriggers(object)) {
    if (ref === null) continue;
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
