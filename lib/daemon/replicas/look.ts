/**
 * May an object be acted on now? Its manifest, its target's scale, who else writes, and the authentications that it names, in this order: the
 * first that is wrong stands in the way, and is said (R3, R6, R16, R30, R75 to R78).
 */
import type { Obstacle, Scale } from "../../core/replicas/input.ts";
import { listExternalTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { type Conflict, findConflict } from "./conflicts.ts";
import { type Objects, toTargetRef } from "./objects.ts";
import type { PodSet, PodSets } from "./pod_sets.ts";
import type { HpaFacts } from "./read_hpa.ts";
import type { HpaPods } from "./hpa_pods.ts";
import type { ScaleClient } from "./scale_client.ts";
import type { TargetPods } from "./target_pods.ts";
import type { DeleteHpa } from "./transfer.ts";

/** What is known of one object beside its facts. */
export interface Looker {
  readonly facts: ScaledObjectFacts;
  readonly pods: TargetPods;
  readonly transferredUid: string | null;
  /** Asks every trigger once, as before an HPA is taken over: `null`, or what they lack. */
  readonly tryTriggers: (object: ScaledObject) => Promise<string | null>;
  readonly signal: AbortSignal;
}

/** What the look came to. */
export type Looked =
  | {
    readonly kind: "clear";
    readonly object: ScaledObject;
    readonly scale: Scale;
    readonly warnings: readonly string[];
    /** The HPA that was deleted just now. */
    readonly transferred: HpaFacts | null;
  }
  | { readonly kind: "obstructed"; readonly obstacle: Obstacle; readonly warnings: readonly string[] };

/** Nothing stands in the way. */
export type Clear = Extract<Looked, { readonly kind: "clear" }>;

/** Where it looks. */
export interface LookOptions {
  readonly scales: Pick<ScaleClient, "read">;
  readonly objects: Objects;
  readonly sets: Pick<PodSets, "setsOf">;
  readonly hpaPods: Pick<HpaPods, "refresh">;
  readonly deleteHpa: DeleteHpa;
  /** Nothing is deleted either. */
  readonly dryRun: boolean;
}

/** Looks once; does not reject. */
export type Look = (looker: Looker) => Promise<Looked>;

export function createLook(options: LookOptions): Look {
  return async (looker) => {
    const { scaledObject, restoring, isDeleting } = looker.facts;
    const object = scaledObject ?? (isDeleting ? restoring : null);
    if (object === null) return toObstructed({ kind: "invalid" });
    const reading = await options.scales.read(object, looker.signal);
    if (reading.kind === "obstacle") return toObstructed(reading.obstacle);
    const set = looker.pods.follow({ selector: reading.selector, object });
    options.hpaPods.refresh(object.namespace);
    const conflict = judge({ object, set, transferredUid: looker.transferredUid }, options);
    const warnings = [...(looker.facts.limited ?? []), ...conflict.warnings];
    // What is restored at the end (R57) asks no trigger, and takes nothing over.
    const obstacle = conflict.obstacle ?? (isDeleting ? null : findMissing(object, options.objects));
    if (obstacle !== null) return toObstructed(obstacle, warnings);
    const toTransfer = isDeleting ? null : conflict.transfer;
    const refusal = toTransfer && (await looker.tryTriggers(object) ?? await transfer(toTransfer, looker, options));
    if (refusal !== null) return toObstructed({ kind: "check", reason: "OtherHPA", message: refusal }, warnings);
    return { kind: "clear", object, scale: reading.scale, warnings, transferred: toTransfer };
  };
}

function toObstructed(obstacle: Obstacle, warnings: readonly string[] = []): Looked {
  return { kind: "obstructed", obstacle, warnings };
}

/** Of what the watches show now, without asking anybody: to be called again right before each write. */
export function judge(
  { object, set, transferredUid }: {
    readonly object: ScaledObject;
    readonly set: PodSet | null;
    readonly transferredUid: string | null;
  },
  { objects, sets }: Pick<LookOptions, "objects" | "sets">,
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
function findMissing(object: ScaledObject, objects: Objects): Obstacle | null {
  const { namespace } = object;
  for (const { authentication: ref } of listExternalTriggers(object)) {
    if (ref === null) continue;
    const place = ref.kind === "TriggerAuthentication" ? namespace : null;
    const found = objects.findAuthentication({ ...ref, namespace: place });
    if (found === null) return toFailed(`${ref.kind} "${ref.name}" is not there: create it`);
    const [problem] = found.problems;
    if (found.authentication !== null) continue;
    const why = problem === undefined ? "" : `: ${problem.path}: ${problem.message}`;
    return toFailed(`${ref.kind} "${ref.name}" is invalid${why}`);
  }
  return null;
}

function toFailed(message: string): Obstacle {
  return { kind: "check", reason: "TriggerFailed", message };
}

async function transfer(hpa: HpaFacts, { signal }: Looker, { deleteHpa, dryRun }: LookOptions): Promise<string | null> {
  if (dryRun) return `The target would be taken over from hpa "${hpa.name}": nothing is deleted in a dry run`;
  return await deleteHpa(hpa, signal);
}
