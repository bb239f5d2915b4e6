/**
 * Which of the wishing sides move, and where to: sizing, asked again without the sides whose size the API server
 * refuses for now, so that the others still move (C44); and what memory is in use below a limit (C46).
 */
import { formatAmount } from "../../units/quantity.ts";
import type { Resources, SideKey } from "../../units/resources.ts";
import type { Direction } from "../decision.ts";
import type { Case } from "../decide_container.ts";
import { readUsage } from "../propose/assess.ts";
import { computeQosWith, findRefusal } from "../gate/gates.ts";
import { readActual } from "../pod/pod_facts.ts";
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import { type MemoryFloor, type Mover, size, type Sized } from "./size.ts";
import type { Refusal, Sample } from "../state.ts";

export interface MoveContext extends Case {
  readonly direction: Direction;
  readonly base: Resources;
  readonly sample: Sample;
}

export interface Moves {
  readonly sized: readonly Sized[];
  /** Of the sides left out, when there are any. */
  readonly refusal: (Refusal & { readonly keys: readonly SideKey[] }) | null;
}

export function findMoves(sides: readonly SideRule[], context: MoveContext): Moves {
  const { direction, base, input: { now, pod }, policy, container, containerState } = context;
  const actual = readActual(container);
  let movers: readonly Mover[] = sides.flatMap((side) => {
    const [usage, amount] = [readUsage(side, context.sample), actual[side.key]];
    return usage === null || amount === null ? [] : [{ side, usage, actual: amount }];
  });
  let refusal: Refusal | null = null;
  const keys: SideKey[] = [];
  for (;;) {
    const sized = size(movers, {
      direction,
      base,
      memoryFloor: readMemoryFloor(context),
      makesGuaranteed: (to) => pod.qosClass !== "Guaranteed" && computeQosWith(pod, container, to) === "Guaranteed",
    });
    const refused = new Set<SideKey>();
    for (const one of sized) {
      const found = one.kind === "moves"
        ? findRefusal(one.key, one.to, { direction, now, pod, policy, containerState })
        : null;
      if (found === null) continue;
      refusal = refusal === null || found.until < refusal.until ? found : refusal;
      keys.push(one.key);
      refused.add(one.key);
    }
    if (refused.size === 0) return { sized, refusal: refusal === null ? null : { ...refusal, keys } };
    movers = movers.filter(({ side }) => !refused.has(side.key));
  }
}

const MARGIN_PERCENT = 10;
const MARGIN_BYTES = 8 * 1024 * 1024;

/**
 * The kernel refuses a limit at or below usage with page cache (usageBytes), and with it every other change of the pod
 * (kubelet: "cannot decrease memory limits"); so the floor is the streak's peak plus a margin, and the sum of the
 * pod's limits stays above what the pod uses.
 */
function readMemoryFloor({ view, container, sample, input: { pod } }: MoveContext): MemoryFloor {
  if (sample.usageBytes === null) {
    return { kind: "unknown", why: "memory.limits is not lowered: the usage source does not tell the page cache" };
  }
  const { peakUsageBytes, olderPeakUsageBytes } = view.streaks["memory.limits"] ?? {};
  const peak = Math.max(peakUsageBytes ?? 0, olderPeakUsageBytes ?? 0, sample.usageBytes);
  const own = peak + Math.max(peak * MARGIN_PERCENT / 100, MARGIN_BYTES);
  const others = readLimitsOfOthers(pod, container);
  const pods = others === null || sample.podUsageBytes === null ? 0 : sample.podUsageBytes + 1 - others;
  const used = formatAmount(Math.ceil(Math.max(own, pods)), "memory");
  return { kind: "floor", bytes: Math.max(own, pods), why: `memory.limits is not lowered: ${used} are in use` };
}

/** `null` when a container has no limit: then the pod has none either. */
function readLimitsOfOthers(pod: Case["input"]["pod"], container: Case["container"]): number | null {
  let sum = 0;
  for (const one of pod.containers) {
    if (one === container || one.kind === "init") continue;
    const limit = readActual(one)["memory.limits"];
    if (limit === null) return null;
    sum += limit;
  }
  return sum;
}
