/**
 * Below which memory limit the kernel, and so the kubelet, would refuse a container (C46): what is in use now or was
 * during the streak, page cache included.
 */
import { formatAmount } from "../../units/quantity.ts";
import type { Case } from "../case.ts";
import { type ContainerFacts, type PodFacts, readActual } from "../pod/pod_facts.ts";

/** The least that a memory limit may go down to, in bytes. */
export type MemoryFloor =
  | { readonly kind: "floor"; readonly bytes: number }
  /** The usage source does not say what the page cache holds. */
  | { readonly kind: "unknown" };

/** For a limit that goes up: no floor stops it. */
export const NO_FLOOR: MemoryFloor = { kind: "floor", bytes: 0 };

const MARGIN_PERCENT = 10;
const MARGIN_BYTES = 8 * 1024 * 1024;

/**
 * The kernel refuses a limit at or below usage with page cache (usageBytes), and with it every other change of the pod
 * (kubelet: "cannot decrease memory limits"); so the floor is the streak's peak plus a margin, and the sum of the
 * pod's limits stays above what the pod uses.
 */
export function readMemoryFloor({ view, container, input: { pod } }: Case): MemoryFloor {
  const { usageBytes = null, podUsageBytes = null } = view.sampling.sample ?? {};
  if (usageBytes === null) return { kind: "unknown" };
  const { peakUsageBytes, olderPeakUsageBytes } = view.streaks["memory.limits"] ?? {};
  const peak = Math.max(peakUsageBytes ?? 0, olderPeakUsageBytes ?? 0, usageBytes);
  const own = peak + Math.max(peak * MARGIN_PERCENT / 100, MARGIN_BYTES);
  const others = sumOtherLimits(pod, container);
  const rest = others === null || podUsageBytes === null ? 0 : podUsageBytes + 1 - others;
  return { kind: "floor", bytes: Math.max(own, rest) };
}

/** Why a limit does not go down that the floor holds. */
export function explainFloor(floor: MemoryFloor): string {
  const why = floor.kind === "unknown"
    ? "the usage source does not tell the page cache"
    : `${formatAmount(Math.ceil(floor.bytes), "memory")} are in use`;
  return `memory.limits is not lowered: ${why}`;
}

/** What a memory limit keeps after OOM kills of the container, or of its siblings (L12, L14), bytes; 0 = none. */
export function readKillFloor({ containerState: { killFloor }, container, input: { now, killFloors } }: Case): number {
  const own = killFloor === null || killFloor.until <= now ? 0 : killFloor.bytes;
  const { name } = container;
  const siblings = killFloors !== undefined && Object.hasOwn(killFloors, name) ? killFloors[name] ?? 0 : 0;
  return Math.max(own, siblings);
}

/** Bytes; `null` when a container has no limit: then the pod has none either. */
function sumOtherLimits(pod: PodFacts, container: ContainerFacts): number | null {
  let sum = 0;
  for (const one of pod.containers) {
    if (one === container || one.kind === "init") continue;
    const limit = readActual(one)["memory.limits"];
    if (limit === null) return null;
    sum += limit;
  }
  return sum;
}
