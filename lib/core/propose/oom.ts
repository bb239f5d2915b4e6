/**
 * The answer to an OOM kill (L10, L11, L13): the limit goes up at once, however little usage was ever read. Each kill is
 * answered once, by its containerID; one that cannot be answered has a word for why, which people are notified of.
 */
import { UNIT } from "../../units/resources.ts";
import { formatAmount } from "../../units/quantity.ts";
import type { Case } from "../case.ts";
import { type Ending, isKill, KILL_FACTOR, KILL_MS, NO_ENDINGS, type Reflex } from "../observe/ending.ts";
import { readShortfall } from "../pod/pod_cgroup.ts";
import { readActual } from "../pod/pod_facts.ts";
import { NO_PROPOSALS, type Proposal } from "./proposal.ts";

/** What is to be done about the newest kill of a container. */
export type KillVerdict = Raise | { readonly kind: "unanswered"; readonly kill: Ending; readonly why: Unanswered };

interface Raise {
  readonly kind: "raise";
  readonly kill: Ending;
  /** The limit as it stands in the spec, the wanted one, and what bounds let it become, bytes. */
  readonly from: number;
  readonly to: number;
  readonly most: number;
  /** What is remembered once it is accepted. */
  readonly reflex: Reflex;
}

/** Why a kill has no answer (L13); `unreached`: the pod's cgroup does not get the size. */
export type Unanswered = "ignored" | "unmanaged" | "unlimited" | "atMax" | "node" | "unreached";

/** A limit grows by no less than this after a kill, bytes. */
const LEAST_GROWTH = 100 * 1024 * 1024;
/** So often a size that did not reach the pod's cgroup is sent again. */
const MOST_RESENDS = 3;
/**
 * A resize ends the back-off, and of the start that follows at once podfit hears too late (docs/kubernetes-138760.md): it is sent again
 * to a run that lives for this long, or to the one after the next back-off, of 10 s at least; ms.
 */
const RESEND_MS = 5_000;
/** A run that lives for this long gets it however often it was sent in vain: a resize reaches the cgroup of one that lives, ms. */
const LIVING_MS = 10_000;

/** `null` where there was no kill for so long, or nothing is left to do about it. */
export function judgeKill(it: Case, withinMs = KILL_MS): KillVerdict | null {
  const { endings } = it.containerState;
  if (endings === NO_ENDINGS || endings.length === 0) return null;
  const kill = endings.findLast(isKill);
  if (kill === undefined || it.input.now - kill.at > withinMs) return null;
  const unanswered = (why: Unanswered) => ({ kind: "unanswered", kill, why }) as const;
  const limit = it.container.spec["memory.limits"];
  if (limit === null || kill.limitBytes === null) return unanswered("unlimited");
  if (kill.kind === "node") return unanswered("node");
  if (it.autoscaler.oom === "ignore") return unanswered("ignored");
  const rule = it.autoscaler.sides.find(({ key }) => key === "memory.limits");
  if (rule === undefined) return unanswered("unmanaged");
  const { reflex } = it.containerState;
  const most = rule.bounds.max ?? Infinity;
  const isShort = it.status.kind === "idle" && readShortfall(it.input.pod) > 0;
  const isAnswered = reflex?.kill === kill.id;
  if (isAnswered && (!isShort || reflex.instance === it.container.instance)) return null;
  if (isShort && it.input.now - (it.containerState.resizedAt ?? -Infinity) < RESEND_MS) return null;
  const resends = isShort ? (reflex?.resends ?? 0) + 1 : 0;
  const wanted = kill.limitBytes + readGrowth(kill, endings);
  // An equal size would be no change, and write nothing.
  const to = isShort ? Math.max(wanted, limit + UNIT.memory) : wanted;
  const isVain = resends > MOST_RESENDS && !isLiving(it);
  if (isShort && (isVain || Math.min(to, most) <= limit)) return unanswered("unreached");
  // A kill at a limit that has been raised since: by a person, or by an answer that is on its way.
  if (to <= limit) return null;
  if (most <= limit) return unanswered("atMax");
  const answer: Reflex = { kill: kill.id, instance: it.container.instance, resends };
  return { kind: "raise", kill, from: limit, to, most, reflex: answer };
}

function isLiving({ container: { runningAt }, containerState: { running }, input: { now } }: Case): boolean {
  return runningAt !== null && running !== null && now - running.since >= LIVING_MS;
}

/** The limit, and the request in the same ratio, each where it is managed; nothing where no kill waits for an answer. */
export function proposeAfterOom(it: Case): readonly Proposal[] {
  const verdict = judgeKill(it);
  if (verdict?.kind !== "raise") return NO_PROPOSALS;
  const { kill, from, to, most, reflex } = verdict;
  const why = `OOM-killed at a memory limit of ${formatAmount(kill.limitBytes ?? from, "memory")}`;
  const proposals: Proposal[] = [];
  for (const { key, resource, bounds } of it.autoscaler.sides) {
    const amount = readActual(it.container)[key];
    if (resource !== "memory" || amount === null || amount >= (bounds.max ?? Infinity)) continue;
    // The request follows what the limit may become.
    const wanted = key === "memory.limits" ? to : amount * Math.min(to, most) / from;
    proposals.push({ side: key, direction: "up", amount: wanted, why, cause: "oom", reflex });
  }
  return proposals;
}

/**
 * A fifth of the limit or 100Mi, twice as much for each larger limit that has killed within ten minutes before; bytes. A
 * second kill at the same limit says nothing new.
 */
function readGrowth({ limitBytes, at }: Ending, endings: readonly Ending[]): number {
  const limit = limitBytes ?? 0;
  const before = new Set<number>();
  for (const one of endings) {
    if (one.kind !== "oom" || one.limitBytes === null || one.limitBytes >= limit) continue;
    if (at - one.at <= KILL_MS) before.add(one.limitBytes);
  }
  return Math.max(limit * (KILL_FACTOR - 1), LEAST_GROWTH) * 2 ** before.size;
}
