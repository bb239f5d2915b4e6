/**
 * Gates about what node, namespace and Kubernetes version allow (L30 to L33): each holds the sides that it is about, so
 * that the others go. They know before a PATCH is sent, so nothing is refused for them.
 */
import { resourceOf, type SideKey } from "../../units/resources.ts";
import { findViolation } from "../pod/namespace_limits.ts";
import { listStuck } from "../propose/revert.ts";
import type { ShortReason, Sized } from "../size/sized.ts";
import type { Candidate } from "./candidate.ts";
import type { Objection } from "./objection.ts";

/** Sizing found no room for these, or hardly any (L30, L32). */
export function enoughLeft({ sized }: Candidate): Objection | null {
  const short = sized.filter(isShort);
  const [first] = short;
  if (first === undefined) return null;
  const held = short.filter(({ reason }) => reason === first.reason);
  const message = held.map((one) => one.message).join("; ");
  return { kind: "blocked", reason: first.reason, message, sides: held.map(({ key }) => key) };
}

/** Sizing leaves these where they are: at their bound, or at their target. */
export function withRoom({ sized }: Candidate): Objection | null {
  const sides: SideKey[] = [];
  let [isAtBound, message] = [false, ""];
  for (const one of sized) {
    if (!isAtEnd(one)) continue;
    sides.push(one.key);
    isAtBound ||= one.reason === "AtBound";
    message += message === "" ? one.message : `; ${one.message}`;
  }
  return sides.length === 0 ? null : { kind: "hold", reason: isAtBound ? "AtBound" : "AtTarget", message, sides };
}

type Held = Extract<Sized, { kind: "holds" }>;
type Short = Held & { readonly reason: ShortReason };

/** Whether its bound or its target holds the side. */
function isAtEnd(one: Sized): one is Held {
  return one.kind === "holds" && (one.reason === "AtBound" || one.reason === "AtTarget");
}

/** Whether node or namespace hold the side. */
function isShort(one: Sized): one is Short {
  return one.kind === "holds" && one.reason !== "MemoryInUse" && !isAtEnd(one);
}

/** A limit range is asked about every container of the pod at each resize (L32). */
export function limitRangeKept({ input: { pod, limits }, container, to, moving }: Candidate): Objection | null {
  const violation = limits === null ? null : findViolation(limits, pod, { container, to });
  if (violation === null) return null;
  const { key, message } = violation;
  return { kind: "blocked", reason: "LimitRange", message, sides: listAbout(key, moving) };
}

/** The side itself, or what moves of its resource, or else everything. */
function listAbout(key: SideKey | null, moving: readonly SideKey[]): readonly SideKey[] {
  if (key === null) return moving;
  if (moving.includes(key)) return [key];
  const same = moving.filter((one) => resourceOf(one) === resourceOf(key));
  return same.length > 0 ? same : moving;
}

/** Before Kubernetes 1.34 a memory limit goes down with a restart only (L33). */
export function memoryLowered({ input, container, direction, moving }: Candidate): Objection | null {
  if (direction === "up" || input.lowersMemoryLimits || container.restartsOn.memory) return null;
  if (!moving.includes("memory.limits")) return null;
  const message = "memory.limits is not lowered: API server or kubelet are older than Kubernetes 1.34; give the " +
    "container the resizePolicy RestartContainer for memory, or no memory.limits policy";
  return { kind: "blocked", reason: "Unsupported", message, sides: ["memory.limits"] };
}

/** Of the sides that move, those that wait for room already and would wait on: the same size, or one not known to fit. */
export function listWaitingOn({ input: { pod, room }, container, to, moving }: Candidate): readonly SideKey[] {
  const own = listStuck(pod, container);
  return moving.filter((key) => own.includes(key) && (room === null || (to[key] ?? 0) >= (container.spec[key] ?? 0)));
}
