/** The gate of what the pod's ScaledObject is about to do (R86). */
import type { Candidate } from "./candidate.ts";
import type { Objection } from "./objection.ts";

/** While replicas are about to fall their pods keep what they have: those that stay are about to get more (R86). */
export function scaledInFirst(
  { input: { scaleInPending = {} }, container, direction, proposals }: Candidate,
): Objection | null {
  if (direction === "up" || !Object.hasOwn(scaleInPending, container.name)) return null;
  const held = scaleInPending[container.name] ?? [];
  const sides = proposals.map(({ side }) => side).filter((side) => held.includes(side));
  if (sides.length === 0) return null;
  const message = `${sides.join(", ")} would scale down, but replicas are about to: they go first`;
  return { kind: "blocked", reason: "ScaleInPending", message, sides };
}
