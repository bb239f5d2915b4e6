/** From the records of a pod to why it has its size. */
import { examine, type Examined, type Trial } from "../../core/explain/examine.ts";
import type { Decision } from "../../core/decision.ts";
import { findContainer, type PodFacts, readActual } from "../../core/pod/pod_facts.ts";
import { readResizeStatus } from "../../core/pod/resize_status.ts";
import { findSiblingSize } from "../../core/pod/siblings.ts";
import { readLimit } from "../../core/settle/limited.ts";
import type { PodLine } from "../../record/line.ts";
import { SIDE_KEYS } from "../../units/resources.ts";
import { answerPod } from "./answer_pod.ts";
import type { ContainerExplanation, PodExplanation, SideExplanation, TrialExplanation } from "./explanation.ts";
import { GATE_WORDS } from "./gate_words.ts";
import { explainNext } from "./next.ts";
import { listResizes } from "./resizes.ts";

export interface ExplainOptions {
  /** Epoch ms. */
  readonly now: number;
  /** What the source of the records cannot know. */
  readonly unknown?: readonly string[];
}

/** Lines of one pod, oldest first; `null` without any. */
export function explainPod(lines: readonly PodLine[], { now, unknown = [] }: ExplainOptions): PodExplanation | null {
  const newest = lines.at(-1);
  if (newest === undefined) return null;
  const { record: { input, outcome: { state } }, namespace, name } = newest;
  const { pod, room } = input;
  const containers = examine(state, input).map((one) => explainContainer(one, { lines, pod }));
  const status = readResizeStatus(pod, state, input.now);
  const explained = {
    kind: "pod",
    namespace,
    name,
    at: input.now,
    now,
    unknown,
    node: pod.nodeName,
    qosClass: pod.qosClass,
    since: lines[0]?.since ?? newest.since,
    resize: status.kind === "idle" ? null : status,
    room,
    containers,
  } as const;
  return { ...explained, answer: answerPod(explained, listBystanders(newest)) };
}

/** Why podfit does not decide about the pod. */
function listBystanders({ record: { outcome: { decisions } } }: PodLine): readonly string[] {
  return decisions.flatMap(({ decision }) => decision.kind === "hold" ? [decision.message] : []);
}

interface Known {
  readonly lines: readonly PodLine[];
  /** As it is, also where podfit only recommends. */
  readonly pod: PodFacts;
}

function explainContainer(examined: Examined, { lines, pod }: Known): ContainerExplanation {
  const { it, decision, trials } = examined;
  const { autoscaler, container: { name }, containerState, view, input } = it;
  const { sample } = view.sampling;
  const siblings = findSiblingSize(input.siblings, name);
  const words = toWords(decision);
  return {
    name,
    autoscaler: `${autoscaler.namespace}/${autoscaler.name}`,
    mode: autoscaler.mode,
    usage: sample === null ? null : {
      at: sample.seenAt,
      overMs: sample.at - sample.from,
      cpuMillicores: sample.cpuMillicores,
      memoryBytes: sample.workingSetBytes,
      heldBackPercent: sample.heldBack === null ? null : sample.heldBack * 100,
    },
    sides: SIDE_KEYS.map((key) => explainSide(examined, pod, key)),
    decision: words,
    ...readStanding(lines, { uid: autoscaler.uid, name, reason: words.reason }),
    trials: trials.map(explainTrial),
    resizes: listResizes(lines, name),
    resizedAt: autoscaler.mode === "recommend" ? null : containerState.resizedAt,
    siblings: siblings === null ? null : { pods: siblings.pods },
    limited: readLimit(view),
    next: explainNext(examined),
  };
}

function toWords(decision: Decision): ContainerExplanation["decision"] {
  switch (decision.kind) {
    case "hold":
    case "blocked":
      return { kind: decision.kind, reason: decision.reason, message: decision.message };
    case "resize":
      return { kind: "resize", reason: decision.reason ?? decision.action, message: "nothing is in its way" };
    case "revert":
      return { kind: "revert", reason: decision.reason, message: "a stuck resize is given up" };
  }
}

function explainSide(
  { it, assessments }: Examined,
  pod: PodFacts,
  key: SideExplanation["key"],
): SideExplanation {
  const real = findContainer(pod, it.container.name);
  const actual = real === null ? null : readActual(real)[key];
  const size = readActual(it.container)[key];
  const rule = it.autoscaler.sides.find((one) => one.key === key);
  if (rule === undefined) return { ...UNMANAGED, key, actual, size };
  const { min, max } = rule.bounds;
  const streak = it.view.streaks[key];
  return {
    key,
    actual,
    size,
    isManaged: true,
    usedPercent: assessments.find((one) => one.key === key)?.utilizationPercent ?? null,
    upAbovePercent: rule.scaleUpThresholdPercent,
    downBelowPercent: rule.scaleDownThresholdPercent,
    targetPercent: rule[streak?.direction ?? "up"].targetUtilizationPercent,
    min,
    max,
    streak: streak === undefined
      ? null
      : { direction: streak.direction, count: streak.count, of: rule[streak.direction].consecutiveSamples },
  };
}

const UNMANAGED = {
  isManaged: false,
  usedPercent: null,
  upAbovePercent: null,
  downBelowPercent: null,
  targetPercent: null,
  min: null,
  max: null,
  streak: null,
} as const;

interface Standing {
  readonly uid: string;
  readonly name: string;
  readonly reason: string;
}

/** For how many evaluations in a row, and since when, the decision has had that reason. */
function readStanding(lines: readonly PodLine[], { uid, name, reason }: Standing): { count: number; since: number } {
  let [count, since] = [0, lines.at(-1)?.since ?? 0];
  for (const line of lines.toReversed()) {
    const own = line.record.outcome.decisions.find((one) => one.autoscaler === uid && one.container === name);
    if (own === undefined) continue;
    if (toWords(own.decision).reason !== reason) break;
    count += line.count;
    since = line.since;
  }
  return { count, since };
}

function explainTrial({ direction, isWanted, proposals, candidate, caps, gates }: Trial): TrialExplanation {
  const actual = readActual(candidate.container);
  const sides = proposals.map(({ side, why, amount }) => {
    const from = actual[side] ?? 0;
    const sized = candidate.sized.find(({ key }) => key === side);
    let before = amount;
    const steps = caps.filter(({ key }) => key === side).map(({ cap, to }) => {
      const step = { cap, from: before, to };
      before = to;
      return step;
    });
    const moved = sized?.kind === "moves" ? { to: sized.to, cappedBy: sized.cappedBy } : { to: from, cappedBy: null };
    return { key: side, why, from, wanted: amount, ...moved, caps: steps };
  });
  const answers = gates.map(({ gate, objection }) => ({
    gate,
    asks: GATE_WORDS[gate],
    passes: objection === null,
    reason: objection?.reason ?? null,
    message: objection?.message ?? null,
    until: objection?.kind === "blocked" ? objection.until ?? null : null,
    sides: objection?.sides ?? [],
  }));
  return { direction, isWanted, sides, gates: answers };
}
