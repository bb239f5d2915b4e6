/**
 * Requests and limits that may only move together (L35): in a Guaranteed pod a side that moved alone would turn the pod
 * Burstable, which a resize may not do (C35). So the two sides of a resource that are both managed are one pair.
 */
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import { partnerOf, type Resource, resourceOf, type SideKey, UNIT } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import type { Decision } from "../decision.ts";
import { isFull } from "../observe/streaks.ts";
import { readActual } from "../pod/pod_facts.ts";
import { readQosWith } from "../pod/qos.ts";
import type { Proposal } from "./proposal.ts";

const RESOURCES: readonly Resource[] = ["cpu", "memory"];
const NO_PAIRS: readonly Resource[] = [];

/** The resources whose request and limit are managed, and tied to each other by the pod's class. */
export function listPairs({ autoscaler: { sides }, container, input: { pod } }: Case): readonly Resource[] {
  if (pod.qosClass !== "Guaranteed" || sides.length === 1) return NO_PAIRS;
  const actual = readActual(container);
  return RESOURCES.filter((resource) => {
    const [request, limit] = [`${resource}.requests`, `${resource}.limits`] as const;
    if (!actual[request] || !actual[limit]) return false;
    if (findRule(sides, request) === undefined || findRule(sides, limit) === undefined) return false;
    // Where spec.resources of the pod is set, it alone makes the class, and nothing ties its containers' sides.
    const apart = { ...container.spec, [limit]: (container.spec[limit] ?? 0) + UNIT[resource] };
    return readQosWith(pod, container, apart) !== "Guaranteed";
  });
}

/**
 * Proposals with pairs settled: up when either side wants up, down only when both want down, and each proposal stands
 * for both sides. To the larger desired: by the side that wants most a pair would go to and fro for ever, with the
 * document's bands 133m, 143m, 133m, 143m.
 */
export function pairUp(it: Case, proposals: readonly Proposal[]): readonly Proposal[] {
  if (proposals.length === 0) return proposals;
  const pairs = listPairs(it);
  if (pairs.length === 0) return proposals;
  const settled = proposals.filter(({ side }) => !pairs.includes(resourceOf(side)));
  for (const resource of pairs) {
    const going = listGoing(proposals.filter(({ side }) => resourceOf(side) === resource))
      .map((one) => ({ ...one, isPaired: true, amount: readLarger(one, it.autoscaler.sides) }));
    settled.push(...going, ...going.map(mirror));
  }
  return settled;
}

/** Why a pair stays where it is though one side would scale down; `null` where no pair is the reason. */
export function explainPair(it: Case): Extract<Decision, { readonly kind: "hold" }> | null {
  const { autoscaler: { sides }, view: { streaks } } = it;
  for (const resource of listPairs(it)) {
    const rules = sides.filter((rule) => rule.resource === resource);
    const wanting = rules.find((rule) => isFull(rule, streaks));
    const other = rules.find((rule) => rule !== wanting);
    if (wanting === undefined || other === undefined) continue;
    const isShort = streaks[other.key] !== undefined;
    const message = `${wanting.key} would scale down, but ${other.key} ${isShort ? "not yet" : "is in its band"}: ` +
      "in a Guaranteed pod both move together";
    return { kind: "hold", reason: isShort ? "StreakShort" : "InBand", message };
  }
  return null;
}

/** Those of one pair that count. */
function listGoing(proposals: readonly Proposal[]): readonly Proposal[] {
  const up = proposals.filter(({ direction }) => direction === "up");
  if (up.length > 0) return up;
  return new Set(proposals.map(({ side }) => side)).size === 2 ? proposals : [];
}

/** On the way up the other side may be in its band, with a lower target: the pair goes to where both have theirs. */
function readLarger({ side, direction, cause, amount }: Proposal, rules: readonly SideRule[]): number {
  const target = findRule(rules, side)?.up.targetUtilizationPercent;
  const other = findRule(rules, partnerOf(side))?.up.targetUtilizationPercent;
  if (cause !== "usage" || direction === "down" || target === undefined || other === undefined) return amount;
  return other < target ? amount * target / other : amount;
}

function mirror(one: Proposal): Proposal {
  const side = partnerOf(one.side);
  return { ...one, side, why: `${side} with ${one.side}` };
}

function findRule(rules: readonly SideRule[], key: SideKey): SideRule | undefined {
  return rules.find((rule) => rule.key === key);
}
