/**
 * The gates of memory on its way down (L6, L7): not where that restarts the container, unless it is allowed to, and not while
 * the container ends again and again. A limit that comes down under a container that is in trouble makes it worse.
 */
import { resourceOf, type SideKey } from "../../units/resources.ts";
import { ENDINGS_MS, isKill, KILL_MS } from "../observe/ending.ts";
import type { Candidate } from "./candidate.ts";
import { formatWait } from "./format_wait.ts";
import type { Objection } from "./objection.ts";

/** resizePolicy RestartContainer restarts for a smaller request, too (C43). */
export function restartAllowed(candidate: Candidate): Objection | null {
  const { autoscaler, container } = candidate;
  if (autoscaler.restartToShrink || !container.restartsOn.memory) return null;
  const sides = listShrinking(candidate);
  if (sides.length === 0) return null;
  const message = `less memory would restart container "${container.name}" (resizePolicy RestartContainer): set ` +
    "policy.memory.restartToShrink to allow it, or NotRequired in the pod template";
  return { kind: "blocked", reason: "RestartRequired", message, sides };
}

/** Killed or crashed a short while ago, or restarted twice in a longer one. */
export function crashFree(candidate: Candidate): Objection | null {
  const { containerState: { endings }, container, input: { now } } = candidate;
  if (endings.length === 0) return null;
  const bad = endings.findLast((one) => isKill(one) || one.kind === "crash");
  const calmAt = bad === undefined ? -Infinity : bad.at + KILL_MS;
  const steadyAt = (endings.at(-2)?.at ?? -Infinity) + ENDINGS_MS;
  const until = Math.max(calmAt, steadyAt);
  if (until <= now) return null;
  const sides = listShrinking(candidate);
  if (sides.length === 0) return null;
  const left = formatWait(until - now);
  const what = calmAt > now ? bad !== undefined && isKill(bad) ? "was OOM-killed" : "crashed" : "was restarted twice";
  const message = `container "${container.name}" ${what} a short while ago: its memory stays for ${left}`;
  return { kind: "blocked", reason: "CrashLoop", message, until, sides };
}

function listShrinking({ direction, moving }: Candidate): readonly SideKey[] {
  return direction === "up" ? NONE : moving.filter((key) => resourceOf(key) === "memory");
}

const NONE: readonly SideKey[] = [];
