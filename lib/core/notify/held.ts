/**
 * What people are notified of when node, namespace or Kubernetes version hold a side while the others go on (L30 to L33):
 * once per side and reason, until the side moves or nothing is wanted of it any more.
 */
import type { ContainerDecision } from "../decision.ts";
import { SIDE_KEYS, type SideKey } from "../../units/resources.ts";
import type { Objection } from "../gate/objection.ts";
import { BLOCK_NOTICE, type BlockReason } from "../reasons.ts";
import type { Weighed } from "../settle/requests.ts";
import type { PodState } from "../state.ts";
import type { Draft } from "./draft.ts";
import { NOTHING_NOTIFIED, type Notified } from "./edge.ts";
import { PASSING } from "./passing.ts";
import * as words from "./words.ts";

/** What a gate knows before a PATCH is sent, and what does not pass by itself. */
const KNOWN_BEFORE: ReadonlySet<string> = new Set<BlockReason>(["NodeCapacity", "Quota", "LimitRange", "Unsupported"]);

/** Whether people know of a side that is held for that reason. */
export function isHeld(notified: Notified, reason: string): boolean {
  return notified !== NOTHING_NOTIFIED && SIDE_KEYS.some((key) => notified[`held ${key}`] === reason);
}

/** Whether some side of the pod waits for room on the node (L30). */
export function isWaitingForRoom({ views }: PodState): boolean {
  for (const key in views) {
    const notified = views[key]?.notified ?? NOTHING_NOTIFIED;
    if (isHeld(notified, "NodeCapacity")) return true;
  }
  return false;
}

/** For one container that was asked about, and what was decided about it. */
export function notifyOfHeld(weighed: Weighed, decisions: readonly ContainerDecision[], draft: Draft): void {
  const { it, asked } = weighed;
  const { autoscaler: { uid, key: view }, container, input: { pod } } = it;
  if (asked !== null) {
    for (const objection of asked.objections) {
      if (!isLasting(objection)) continue;
      const { reason, message: why } = objection;
      const action = asked.kind === "passed" ? asked.candidate.action : readAction(asked.decision);
      const name = BLOCK_NOTICE[reason] ?? "ScaleFailed";
      const subject = { autoscaler: uid, container: container.name, pod: pod.name };
      objection.sides.forEach((side, index) => {
        // Of several sides that one reason holds, people are told once.
        const say = index > 0 ? null : () => words.blocked(subject, { name, action, reason, why });
        draft.note(view, `held ${side}`, reason, say);
      });
    }
  }
  const before = draft.read(view);
  if (before === undefined || before === NOTHING_NOTIFIED) return;
  for (const side of SIDE_KEYS) {
    if (before[`held ${side}`] !== undefined && isOver(side, weighed, decisions)) {
      draft.note(view, `held ${side}`, null);
    }
  }
}

type Lasting = Extract<Objection, { kind: "blocked" }>;

/** A refusal, which says when it is over, was told when it came. */
function isLasting(objection: Objection): objection is Lasting {
  return objection.kind === "blocked" && objection.until === undefined && KNOWN_BEFORE.has(objection.reason);
}

/** The side moves, or something else than what passes says why it does not. */
function isOver(side: SideKey, { it, asked }: Weighed, decisions: readonly ContainerDecision[]): boolean {
  if (asked === null) {
    const own = decisions.find((one) => one.container === it.container.name && one.autoscaler === it.autoscaler.uid);
    return own?.decision.kind === "hold" && !PASSING.has(own.decision.reason);
  }
  const objection = asked.objections.find(({ sides }) => sides.includes(side));
  if (objection !== undefined) return !isLasting(objection) && !PASSING.has(objection.reason);
  return asked.kind === "passed" && asked.candidate.moving.includes(side);
}

function readAction(decision: { readonly kind: string; readonly action?: string }): string {
  return decision.action ?? "scale";
}
