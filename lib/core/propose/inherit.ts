/**
 * A new pod gets the size that its siblings have come to (L40), before its own usage says anything: once, after its `after` and
 * `delay` or a few seconds of running, whichever comes first. Memory and limits go up only; a CPU request may go down, too,
 * where nothing goes up, as one resize has one direction.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { SideKey } from "../../units/resources.ts";
import type { Case } from "../case.ts";
import type { Input } from "../decision.ts";
import { readGateStart } from "../gate/eligibility.ts";
import { findContainer, type PodFacts, readActual } from "../pod/pod_facts.ts";
import { findSiblingSize, isResized, type SiblingSize } from "../pod/siblings.ts";
import { NO_REFUSALS } from "../settle/refusal.ts";
import { readKillFloor } from "../size/memory_floor.ts";
import { NO_PROPOSALS, type Proposal } from "./proposal.ts";

/** After so long it inherits, whatever `after` and `delay` say, ms: the sooner, the less it suffers from its template. */
const SOONEST_MS = 5_000;
/** For so long, and for two polls more, a container is new, ms: what held it up until then is left to the law. */
const NEW_MS = 60_000;

/** Whether siblings may matter to the pod now: it is new, and nobody has resized it. Cheap, for it is asked of every pod. */
export function wantsSiblings(pod: PodFacts, contenders: readonly Autoscaler[], now: number): boolean {
  for (const autoscaler of contenders) {
    if (autoscaler.newPods !== "inherit" || autoscaler.mode !== "apply") continue;
    const runningAt = findContainer(pod, autoscaler.containerName)?.runningAt ?? null;
    if (runningAt === null || now - Math.min(runningAt, now) >= readNewMs(autoscaler)) continue;
    if (!isResized(pod, autoscaler.containerName)) return true;
  }
  return false;
}

/** One proposal per managed side that differs from its siblings'; none once the container has inherited or is no longer new. */
export function proposeInheritance(it: Case): readonly Proposal[] {
  const { autoscaler, container, containerState, input } = it;
  if (autoscaler.newPods !== "inherit" || input.siblings === null || !isTime(it, input)) return NO_PROPOSALS;
  // What was refused is no longer the law's to wait for: usage goes first from here on.
  if (containerState.isInherited || containerState.refusals !== NO_REFUSALS) return NO_PROPOSALS;
  const found = findSiblingSize(input.siblings, container.name);
  if (found === null) return NO_PROPOSALS;
  const actual = readActual(container);
  const proposals: Proposal[] = [];
  for (const { key } of autoscaler.sides) {
    const [own, amount] = [actual[key], readAmount(key, found, it)];
    if (own === null || amount === null || amount === own) continue;
    const direction = amount > own ? "up" : "down";
    if (direction === "down" && !mayShrink(key, it)) continue;
    const why = `Inherited: ${key} of ${found.pods === 1 ? "1 sibling" : `${found.pods} siblings`}`;
    proposals.push({ side: key, direction, amount, why, cause: "newPod" });
  }
  return proposals.length === 0 ? NO_PROPOSALS : proposals;
}

/** No memory limit is inherited that has killed a sibling (L12, L14). */
function readAmount(key: SideKey, { median, floorBytes }: SiblingSize, it: Case): number | null {
  const amount = median[key];
  return amount === null || key !== "memory.limits" ? amount : Math.max(amount, floorBytes, readKillFloor(it));
}

function readNewMs({ pollIntervalMs }: Autoscaler): number {
  return NEW_MS + 2 * pollIntervalMs;
}

function isTime({ autoscaler, container, containerState }: Case, { now, pod }: Input): boolean {
  const { running } = containerState;
  if (running === null || isResized(pod, container.name) || now - running.since >= readNewMs(autoscaler)) return false;
  const start = readGateStart(autoscaler, containerState);
  return now - running.since >= SOONEST_MS || (start !== null && now >= start + autoscaler.delayMs);
}

/** A restart, or another QoS class, is no fair price for a smaller request. */
function mayShrink(key: SideKey, { container, input: { pod } }: Case): boolean {
  return key === "cpu.requests" && !container.restartsOn.cpu && pod.qosClass !== "Guaranteed";
}
