/** From the records of a pod to the reasons for its size: usage, thresholds, proposals, gates and past resizes. */
import type { Decision } from "../../model/decision.ts";
import { findContainer, findSiblingSize, getActualSize, isResized, type PodFacts } from "../../model/pod.ts";
import { describeChange, listChangedFields } from "../../model/resize_request.ts";
import { computeResizeStatus } from "../../model/resize_status.ts";
import type { PodLine } from "../../record/record.ts";
import { RESOURCE_FIELDS } from "../../units/resources.ts";
import { type ChoiceTrial, type ExplainedContainer, explainSize, type GateName } from "../../vertical/explain.ts";
import { findScaleUpLimit } from "../../vertical/outcome.ts";
import type { CAPS } from "../../vertical/sizing/caps.ts";
import { formatPodAnswer } from "./answers.ts";
import type {
  ContainerExplanation,
  FieldExplanation,
  PodExplanation,
  ResizeExplanation,
  TrialExplanation,
} from "./explanation.ts";
import { explainNextResize } from "./pod_needs.ts";

export interface ExplainOptions {
  /** Epoch ms. */
  readonly now: number;
  /** What the source of the records cannot know. */
  readonly unknown?: readonly string[];
}

/** Returns the explanation from the lines of one pod, oldest first; `null` without any. */
export function explainPod(
  lines: readonly PodLine[],
  { now: wallNow, unknown = [] }: ExplainOptions,
): PodExplanation | null {
  const newest = lines.at(-1);
  if (newest === undefined) return null;
  const { record: { input, outcome: { state } }, namespace, name } = newest;
  const { pod, room, wallAheadMs = 0 } = input;
  const now = getExplainedNow(wallNow - wallAheadMs, input.now);
  const containers = explainSize(state, input).map((one) => explainContainer(one, { lines, pod }));
  const status = computeResizeStatus(pod, state, input.now);
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
  return { ...explained, ...formatPodAnswer(explained, listHoldMessages(newest)) };
}

/** podfit's clock may be ahead of this computer's, as that of the demo is: then its newest record is of now. */
export function getExplainedNow(now: number, recordedAt: number): number {
  return Math.max(now, recordedAt);
}

/** Why podfit does not decide about the pod. */
function listHoldMessages({ record: { outcome: { decisions } } }: PodLine): readonly string[] {
  return decisions.flatMap(({ decision }) => decision.kind === "hold" ? [decision.message] : []);
}

interface PodRecords {
  readonly lines: readonly PodLine[];
  /** The actual size, also where podfit only recommends. */
  readonly pod: PodFacts;
}

function explainContainer(examined: ExplainedContainer, { lines, pod }: PodRecords): ContainerExplanation {
  const { it, decision, trials } = examined;
  const { autoscaler, container: { name }, containerState, view, input } = it;
  const { sample } = view.sampling;
  const siblings = findSiblingSize(input.siblings, name);
  const words = toDecisionText(decision);
  const isOfOthers = isOfOtherContainers(pod, name);
  const isUnresized = autoscaler.mode === "recommend" || isOfOthers;
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
    sides: RESOURCE_FIELDS.map((key) => explainField(examined, pod, key)),
    decision: words,
    ...computeDecisionAge(lines, { uid: autoscaler.uid, name, reason: words.reason }),
    trials: trials.map(explainTrial),
    resizes: listResizes(lines, name),
    resizedAt: isUnresized ? null : containerState.resizedAt,
    otherClient: isUnresized ? null : findOtherClient(pod, name, containerState.entryAt),
    siblingResizedAt: isOfOthers ? containerState.resizedAt : null,
    siblings: siblings === null ? null : { pods: siblings.pods },
    limited: findScaleUpLimit(view),
    next: explainNextResize(examined),
  };
}

function toDecisionText(decision: Decision): ContainerExplanation["decision"] {
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

function explainField(
  { it, assessments }: ExplainedContainer,
  pod: PodFacts,
  key: FieldExplanation["key"],
): FieldExplanation {
  const real = findContainer(pod, it.container.name);
  const actual = real === null ? null : getActualSize(real)[key];
  const size = getActualSize(it.container)[key];
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

interface DecisionKey {
  readonly uid: string;
  readonly name: string;
  readonly reason: string;
}

/** For how many evaluations in a row, and since when, the decision has had this reason. */
function computeDecisionAge(
  lines: readonly PodLine[],
  { uid, name, reason }: DecisionKey,
): { count: number; since: number } {
  let [count, since] = [0, lines.at(-1)?.since ?? 0];
  for (const line of lines.toReversed()) {
    const own = line.record.outcome.decisions.find((one) => one.autoscaler === uid && one.container === name);
    if (own === undefined) continue;
    if (toDecisionText(own.decision).reason !== reason) break;
    count += line.count;
    since = line.since;
  }
  return { count, since };
}

function explainTrial({ direction, isWanted, proposals, candidate, caps, gates }: ChoiceTrial): TrialExplanation {
  const actual = getActualSize(candidate.container);
  const sides = proposals.map(({ side, why, amount }) => {
    const from = actual[side] ?? 0;
    const sized = candidate.sized.find(({ key }) => key === side);
    let before = amount;
    const steps = caps.filter(({ key }) => key === side).map(({ cap, to }) => {
      const step = { cap: CAP_TEXTS[cap], from: before, to };
      before = to;
      return step;
    });
    const moved = sized?.kind === "moves" ? { to: sized.to, cappedBy: sized.cappedBy } : { to: from, cappedBy: null };
    return { key: side, why, from, wanted: amount, ...moved, caps: steps };
  });
  const answers = gates.map(({ gate, objection }) => ({
    asks: GATE_TEXTS[gate],
    passes: objection === null,
    reason: objection?.reason ?? null,
    message: objection?.message ?? null,
    until: objection?.kind === "blocked" ? objection.until ?? null : null,
    sides: objection?.sides ?? [],
  }));
  return { direction, isWanted, sides, gates: answers };
}

/**
 * Returns whether all resizes of the pod were those of other containers. The state of the container has the time of such
 * a resize, so that its cooldown begins then.
 */
function isOfOtherContainers(pod: PodFacts, container: string): boolean {
  const { resizes } = pod;
  return resizes.length > 0 && !isResized(pod, container) &&
    resizes.every(({ manager }) => manager !== `podfit.${container}`);
}

/** `entryAt`: the time of the newest entry of managedFields that is about the container. */
function findOtherClient({ resizes }: PodFacts, container: string, entryAt: number | null): string | null {
  const managers = resizes.flatMap(({ at, manager }) => at === entryAt ? [manager] : []);
  if (managers.includes(`podfit.${container}`)) return null;
  return managers.find((manager) => !manager.startsWith("podfit.")) ?? null;
}

/** The maximum number of resizes in an explanation, and the last accepted one. */
const MAX_RESIZES = 5;

/** The newest first, with refused ones. */
function listResizes(lines: readonly PodLine[], container: string): readonly ResizeExplanation[] {
  const found: ResizeExplanation[] = [];
  for (const { record: { input: { now, observation }, outcome } } of lines) {
    if (outcome.enacted !== null) setTookMs(found, outcome.enacted.tookMs);
    if (observation.kind !== "answered" || observation.request.container !== container) continue;
    const { request: { action, from, to, why }, answer } = observation;
    const isRefused = answer.kind === "refused";
    if (!isRefused && answer.kind !== "accepted" && answer.kind !== "unconfirmed") continue;
    const change = describeChange(from, to, listChangedFields(from, to));
    const refused = isRefused ? `${answer.reason}: ${answer.message}` : null;
    found.push({ at: now, action, change, why, tookMs: null, refused });
  }
  // Where the newest were all refused, the size is still that of the last accepted one.
  const lastAccepted = found.findLastIndex(({ refused }) => refused === null);
  return found.filter((_, index) => index === lastAccepted || index >= found.length - MAX_RESIZES).reverse();
}

/** A pod has one resize in progress at a time: the last accepted one. */
function setTookMs(found: ResizeExplanation[], tookMs: number): void {
  const last = found.findLastIndex(({ refused }) => refused === null);
  const one = found[last];
  if (one !== undefined && one.tookMs === null) found[last] = { ...one, tookMs };
}

/** The description of a gate that passes. */
const GATE_TEXTS: Readonly<Record<GateName, string>> = {
  fresh: "usage is not older than 60s",
  seenTwice: "a new leader has seen two samples",
  lowForLong: "usage was low for the whole window",
  withRoom: "bounds, step and target leave a way to go",
  cooledDown: "the cooldown is over",
  scaledInFirst: "replicas are not about to fall",
  memoryFree: "memory above the new limit is free",
  restartAllowed: "it restarts nothing",
  crashFree: "not killed or crashed a short while ago",
  refusalsOver: "the API server has not refused this size",
  enoughLeft: "node and quotas have room",
  memoryLowered: "Kubernetes lowers memory limits in place",
  limitRangeKept: "limit ranges allow it",
  notCommanded: "it is not on its way already",
  running: "the container runs",
  started: "it is ready (after)",
  delayed: "the delay is over",
  resizeIdle: "no other resize of the pod is under way",
  conflictSettled: "the pod is seen as it is",
  qosUnchanged: "the QoS class stays",
  restartBudget: "a restart leaves enough pods of the workload ready",
  notDryRun: "no --dry-run",
  siblingDone: "no other container goes first",
};

/** The rule that changed a size. */
const CAP_TEXTS: Readonly<Record<keyof typeof CAPS, string>> = {
  bounds: "bounds",
  worthAUnit: "the smallest change",
  step: "step",
  allowed: "the node, quotas, limit ranges or the pod's own resources",
  memoryInUse: "the memory in use",
  killFloor: "the limit of the last OOM kill",
  partner: "its request or limit",
};
