/**
 * Until when, and within which usage, does the last verdict about a pod hold?
 *
 * Most evaluations come to the verdict of the one before: the pod is in its band, at its bound or at its target, or a
 * change waits for its window or its cooldown. `findVerdict` looks at an evaluation by `decideSize`, and returns the time
 * and the usage for which the next one comes to the same. Until then `HeldVerdict.advance` writes the numbers of a
 * reading into the pod's flat state: a quiet evaluation. For any other reading it returns false and has changed nothing,
 * and `decideSize` decides. The tests compare both for each quiet evaluation of many courses.
 *
 * Never quiet is a pod with one of these: an autoscaler in mode recommend; usage in rates (metrics.k8s.io); two
 * autoscalers for one container; a resize or a request under way; an ending in the last half hour; memory next to its
 * limit; a streak that is not full; a scale-up that is held by more than its bound or target, or by more than its
 * cooldown; a memory limit that waits to shrink; a wanted change of a Guaranteed pod with several managed fields;
 * replicas that are about to be removed.
 */
import type { Autoscaler } from "../../model/autoscaler.ts";
import { ENDINGS_MS, KILL_FACTOR } from "../../model/container_history.ts";
import type { ContainerDecision, Observation, SizeInput, SizeOutcome } from "../../model/decision.ts";
import {
  copyNumbers,
  FLAT,
  FLAT_SAMPLE,
  type FlatState,
  flattenState,
  ownCounts,
  toPodState,
} from "../../model/flat_state.ts";
import { type ContainerFacts, findContainer, getActualSize } from "../../model/pod.ts";
import { computeResizeStatus } from "../../model/resize_status.ts";
import {
  type AutoscalerView,
  type ContainerState,
  findContainerState,
  isStreakFull,
  NEW_POD_STATE,
  NO_EVIDENCE,
  NO_SHORTAGE,
  NO_STREAKS,
  type PodState,
} from "../../model/state.ts";
import type { ResourceField } from "../../units/resources.ts";
import { findNumber } from "../../units/usage_rows.ts";
import { decideSize } from "../decide.ts";
import { computeFieldCooldownEnd } from "../gates/gates.ts";
import { MIN_LIMITED_SAMPLES } from "../outcome.ts";
import { isNearLimit } from "../pressure.ts";
import { wantsSiblings } from "../proposals.ts";
import { fillsLimit, findAloneSince } from "../samples.ts";
import { nextStreaksOfSample } from "../streaks.ts";
import { findWindowWait } from "../windows.ts";
import {
  type Band,
  computeBand,
  fitRising,
  type HeldField,
  isHeldRequest,
  isInBand,
  isUp,
  keepsField,
  listFields,
} from "./fields.ts";
import { KeptReading } from "./kept_reading.ts";
import {
  isDue,
  newStep,
  type QuietInput,
  type SampledContainer,
  type Step,
  takeStep,
  toSample,
  writeStep,
} from "./step.ts";

/** One evaluation by `decideSize`. */
export interface DecidedPod {
  readonly before: PodState;
  readonly input: SizeInput;
  readonly outcome: SizeOutcome;
}

/**
 * Returns how long the verdict of an evaluation holds; `null` if the next evaluation needs `decideSize`. `flat`: the
 * pod's flat state after the evaluation, into which the verdict writes.
 */
export function findVerdict(decided: DecidedPod, flat: FlatState, options: VerdictOptions = {}): HeldVerdict | null {
  const { input: { contenders }, outcome: { decisions, state } } = decided;
  if (decisions.length !== contenders.length || !decisions.every(isHolding) || !isCalm(decided)) return null;
  const views: HeldView[] = [];
  const { canReplay = true } = options;
  for (const autoscaler of contenders) {
    const view = findHeldView(autoscaler, decided, { flat, canReplay });
    if (view === null || views.some(({ container }) => container === view.container)) return null;
    views.push(view);
  }
  return Object.keys(state.containers).length === views.length
    ? new HeldVerdict(decided, flat, { canReplay, views: trim(views) })
    : null;
}

interface VerdictOptions {
  /**
   * Whether a reader may ask for `replay`; true by default. It needs the last reading and the state before it. Without
   * it the verdict InBand also holds while usage is outside of the band for fewer samples than a streak needs.
   */
  readonly canReplay?: boolean;
}

/** The verdict of an evaluation, for as long as `advance` returns true. */
export class HeldVerdict {
  /** The pod and its autoscalers, as `decideSize` had them. */
  readonly pod: SizeInput["pod"];
  readonly contenders: SizeInput["contenders"];
  readonly #limits: SizeInput["limits"];
  readonly #room: SizeInput["room"];
  readonly #wallAheadMs: number;
  readonly #decisions: readonly ContainerDecision[];
  readonly #flat: FlatState;
  readonly #views: readonly HeldView[];
  readonly #until: number;
  readonly #dependsOnLimits: boolean;
  /** Whether the last quiet evaluation had decisions; that of `decideSize` had. */
  #hasDecisions = true;
  /** `null` = no reader asks. */
  readonly #replay: Replay | null;

  constructor(
    decided: DecidedPod,
    flat: FlatState,
    { views, canReplay }: Required<VerdictOptions> & { readonly views: readonly HeldView[] },
  ) {
    const { pod, contenders, limits, room, wallAheadMs = 0 } = decided.input;
    this.pod = pod;
    this.contenders = contenders;
    this.#limits = limits;
    this.#room = room;
    this.#wallAheadMs = wallAheadMs;
    this.#decisions = decided.outcome.decisions;
    this.#flat = flat;
    this.#views = views;
    this.#until = Math.min(...views.map(({ until }) => until));
    this.#dependsOnLimits = views.some(({ fields }) => fields.some(({ isMoving }) => isMoving));
    this.#replay = canReplay ? new Replay(decided, flat) : null;
    for (const { view } of views) ownCounts(view);
  }

  /** When the last quiet evaluation was, epoch ms. */
  get now(): number {
    return this.#flat.at;
  }

  /**
   * The decisions of the last quiet evaluation are these, but for numbers in their texts. None: no container was due. If
   * the verdict cannot be replayed, StreakShort counts as InBand: both change nothing, and are reported alike.
   */
  get decisions(): readonly ContainerDecision[] {
    return this.#hasDecisions ? this.#decisions : NO_DECISIONS;
  }

  /** Makes a quiet evaluation of the reading; false, and nothing has changed, if the verdict may be another. */
  advance(next: QuietInput): boolean {
    const { now, steps } = next;
    if (now >= this.#until || now < this.#flat.at || !this.#isSamePod(next)) return false;
    let due = 0;
    for (const one of this.#views) if (isDue(one, now)) due++;
    if (due !== 0 && (due !== this.#views.length || !this.#holds(next))) return false;
    this.#hasDecisions = due !== 0;
    this.#replay?.keep(next, this.#hasDecisions);
    if (due !== 0) this.#write(steps, now);
    this.#flat.at = now;
    return true;
  }

  #write(steps: readonly Step[], now: number): void {
    let index = 0;
    for (const one of this.#views) {
      const step = steps[index++];
      if (step === undefined) continue;
      one.isNewSample = step.kind !== "nothing";
      writeStep(one, step, now);
      if (step.streaks !== null) one.view.streaks = step.streaks;
      if (one.isNewSample) writeCounts(one, step);
    }
  }

  /** Returns whether the last quiet evaluation had new usage for the decision. */
  isNewSample(decision: ContainerDecision): boolean {
    return this.#hasDecisions && this.#findView(decision)?.isNewSample === true;
  }

  /** Returns the size that the decision asks for after the last quiet evaluation. */
  findWanted(decision: ContainerDecision): ContainerDecision["wanted"] {
    const { wanted } = decision;
    if (wanted === undefined) return wanted;
    const now: Partial<Record<ResourceField, number>> = { ...wanted };
    for (const { rule: { key }, amount, decidedAmount } of this.#findView(decision)?.fields ?? []) {
      // The other fields have the size that sizing came to, which stays.
      if (wanted[key] === decidedAmount) now[key] = amount;
    }
    return now;
  }

  /** What the last quiet evaluations would have decided. Throws unless the verdict can be replayed. */
  get replay(): Replay {
    if (this.#replay === null) throw new Error("No reading was kept of the quiet evaluations");
    return this.#replay;
  }

  #findView({ autoscaler, container }: ContainerDecision): HeldView | undefined {
    return this.#views.find((one) => one.autoscaler.uid === autoscaler && one.container.name === container);
  }

  #isSamePod({ pod, contenders, limits, scaleInPending, scaledInAt, wallAheadMs = 0 }: QuietInput): boolean {
    if (pod !== this.pod || wallAheadMs !== this.#wallAheadMs || scaleInPending !== undefined) return false;
    if (scaledInAt !== undefined && scaledInAt !== this.#flat.scaledIn?.at) return false;
    if (this.#dependsOnLimits && limits !== this.#limits) return false;
    return contenders === this.contenders || isSameList(contenders, this.contenders);
  }

  #holds(next: QuietInput): boolean {
    const { now, steps } = next;
    while (steps.length < this.#views.length) steps.push(newStep());
    let index = 0;
    for (const one of this.#views) {
      const step = steps[index++];
      if (step === undefined || !takeStep(one, step, next) || !keepsVerdict(one, step, now)) return false;
      if (one.rising.length > 0 && !fitRising(one, step, { next, decidedRoom: this.#room })) return false;
    }
    return true;
  }
}

/** The quiet evaluations under a verdict, for a reader of records or of a log at debug. It needs memory for each pod. */
export class Replay {
  /** The evaluation by `decideSize` without its states and its usage. */
  readonly decided: DecidedPod;
  readonly #flat: FlatState;
  /** The flat state before the last quiet evaluation with decisions. */
  #before: FlatState | null = null;
  #decided: KeptReading | null = null;
  #silent: KeptReading | null = null;
  /** One of the two. */
  #last: KeptReading | null = null;

  constructor({ input, outcome }: DecidedPod, flat: FlatState) {
    this.decided = {
      before: NEW_POD_STATE,
      input: { ...input, observation: NO_USAGE },
      outcome: { ...outcome, state: NEW_POD_STATE },
    };
    this.#flat = flat;
  }

  /** Called before the flat state changes. What has no decisions is kept apart, so that the last one with decisions stays. */
  keep(next: QuietInput, hasDecisions: boolean): void {
    this.#last = hasDecisions
      ? this.#decided ??= new KeptReading(next.pod)
      : this.#silent ??= new KeptReading(next.pod);
    this.#last.keep(next, this.#flat.at);
    if (!hasDecisions) return;
    this.#before ??= flattenState(toPodState(this.#flat));
    copyNumbers(this.#flat, this.#before);
  }

  /**
   * Returns the last quiet evaluation as `decideSize` decides it: for a reader of records, for one. Surroundings are
   * those of the last evaluation by `decideSize`; the verdict does not depend on them.
   */
  decideLast(): DecidedPod {
    const [last, before] = [this.#last, this.#before];
    if (last === null) throw new Error("No quiet evaluation was made");
    const known = last === this.#decided && before !== null
      ? toPodState(before)
      : { ...toPodState(this.#flat), at: last.lastAt };
    return this.#decide(known, last);
  }

  /** Returns the last one that had decisions. */
  decideAgain(): DecidedPod {
    const [decided, before] = [this.#decided, this.#before];
    if (decided === null || before === null) throw new Error("No quiet evaluation had decisions");
    return this.#decide(toPodState(before), decided);
  }

  #decide(before: PodState, reading: KeptReading): DecidedPod {
    const input: SizeInput = { ...this.decided.input, now: reading.now, observation: reading.toObservation() };
    return { before, input, outcome: decideSize(before, input) };
  }
}

const NO_DECISIONS: readonly ContainerDecision[] = [];

const NO_FIELDS: readonly HeldField[] = [];

const NO_USAGE: Observation = Object.freeze({ kind: "tick" });

/** One container of the pod under its verdict. */
interface HeldView extends SampledContainer {
  /** From then on the verdict may be another, epoch ms. */
  readonly until: number;
  /** Usage within both points in the same directions. */
  readonly cpu: Band;
  readonly memory: Band;
  /** Memory from which on the floor after an OOM kill is renewed, bytes; Infinity without one. */
  readonly killedAtBytes: number;
  /** The fields of which a change is wanted, and those with a percentile. */
  readonly fields: readonly HeldField[];
  /** What holds the scale-up; `null` if none is wanted. */
  readonly heldUp: "AtBound" | "AtTarget" | "Cooldown" | null;
  /** The fields that would go up after the cooldown. */
  readonly rising: readonly HeldField[];
  /** CPU was at its limit, and was at it or throttled. */
  readonly isFull: boolean;
  readonly isSaturated: boolean;
  /** Streaks that are not full may begin and end under the verdict. */
  readonly allowsStreaks: boolean;
  /** The last quiet evaluation had new usage. */
  isNewSample: boolean;
}

/** Reasons that hold until a time or another usage. */
const HOLDING: ReadonlySet<string> = new Set(["InBand", "AtBound", "AtTarget", "ScaleDownWindow", "Cooldown"]);

function isHolding({ decision, isNewSample }: ContainerDecision): boolean {
  return isNewSample && (decision.kind === "hold" || decision.kind === "blocked") && HOLDING.has(decision.reason);
}

/** Returns whether nothing is under way that time, or something else than usage, may change. */
function isCalm({ input, outcome }: DecidedPod): boolean {
  const { now, wallAheadMs = 0, pod, contenders, observation } = input;
  const { request, scaled, enacted, notices, implausible, state } = outcome;
  if (observation.kind !== "usage" || request !== null || scaled !== null || enacted !== null) return false;
  if (notices.length > 0 || implausible > 0 || input.inFlight || input.scaleInPending !== undefined) return false;
  if (state.command !== null || state.unconfirmed.length > 0 || state.conflict !== null) return false;
  if (state.differingSince !== null || state.pendingSince !== null || state.inProgressSince !== null) return false;
  if (state.shadow !== null || contenders.some(({ mode }) => mode !== "apply")) return false;
  if (computeResizeStatus(pod, state, now).kind !== "idle") return false;
  return !wantsSiblings(pod, contenders, now + wallAheadMs);
}

function findHeldView(
  autoscaler: Autoscaler,
  decided: DecidedPod,
  { flat, canReplay }: Required<VerdictOptions> & { readonly flat: FlatState },
): HeldView | null {
  const { before, input: { now, pod }, outcome: { state, decisions } } = decided;
  const { key, uid, containerName } = autoscaler;
  const [view, flatView] = [state.views[key], flat.views[key]];
  const container = findContainer(pod, containerName);
  const containerState = findContainerState(state, containerName);
  const decision = decisions.find((one) => one.autoscaler === uid && one.container === containerName);
  if (view === undefined || flatView === undefined || containerState === undefined || decision === undefined) {
    return null;
  }
  if (container === null || container.runningAt === null || !isSettled(view, { containerState, now })) return null;
  // What is reported may change what is reported next.
  if (before.views[key]?.notified !== view.notified || !hasOwnWindows(autoscaler, view)) return null;
  const fields = listFields({ autoscaler, view, container });
  if (fields === null) return null;
  const wanted = fields.filter(({ isWanted }) => isWanted);
  if (wanted.length > 0 === (decision.decision.reason === "InBand")) return null;
  // The fields of a pair move together.
  const mayBePaired = pod.qosClass === "Guaranteed" && autoscaler.sides.length > 1;
  if (wanted.length > 0 && (decision.wanted === undefined || mayBePaired)) return null;
  const { killFloor } = containerState;
  const hasFloor = killFloor !== null && killFloor.until > now;
  const heldUp = findHeldUp(wanted, autoscaler);
  if (heldUp === "other" || (heldUp === "Cooldown") !== isScaleUpInCooldown(decision.decision)) return null;
  const rising = heldUp === "Cooldown" ? wanted.filter(isUp) : NO_FIELDS;
  // A field that need not wait may be held by the size of one that waits.
  if (rising.some(({ rule }) => computeFieldCooldownEnd(containerState, rule, "up") <= now)) return null;
  for (const field of rising) field.amount = field.decidedAmount = decision.wanted?.[field.rule.key] ?? NaN;
  const counted = fields.filter(({ isWanted, rule }) => isWanted || rule.down.percentile !== null);
  const ends = wanted.map((one) => computeUntil(one, { now, view, container, containerState, state }));
  const held: HeldView = {
    autoscaler,
    container,
    containerState,
    view: flatView,
    aloneAt: findAloneSince(pod, container),
    until: Math.min(hasFloor ? killFloor.until : Infinity, ...ends),
    cpu: computeBand(fields, "cpu"),
    memory: computeBand(fields, "memory"),
    killedAtBytes: hasFloor ? killFloor.bytes / KILL_FACTOR : Infinity,
    fields: trim(counted),
    heldUp,
    rising,
    isFull: fillsLimit(view.sampling.sample?.cpuMillicores ?? 0, getActualSize(container)["cpu.limits"]),
    isSaturated: view.sampling.sample?.isSaturated === true,
    allowsStreaks: !canReplay && counted.length === 0,
    isNewSample: false,
  };
  // A sample of CPU alone keeps the memory of the one before.
  return isCounted(view, held) && isBelowMemoryLimits(held, view.sampling.sample?.workingSetBytes ?? 0) ? held : null;
}

/** Returns whether the decision is that a scale-up waits for its cooldown. */
function isScaleUpInCooldown(decision: ContainerDecision["decision"]): boolean {
  return decision.kind === "blocked" && decision.reason === "Cooldown" && decision.action === "scaleUp";
}

/** Returns whether the container is sampled, and its past has no more to say. */
function isSettled(
  { sampling: { anchor, warming, sample }, silentSince }: AutoscalerView,
  { containerState: { endings }, now }: { readonly containerState: ContainerState; readonly now: number },
): boolean {
  if (anchor === null || sample === null || warming || silentSince !== null) return false;
  if (sample.oomKills || sample.isMemoryStalled === true) return false;
  return endings.every((one) => now - one.at > ENDINGS_MS);
}

/** Returns whether all windows are as their rules say. Those of others end, or change, with the next sample. */
function hasOwnWindows({ sides }: Autoscaler, { evidence }: AutoscalerView): boolean {
  return Object.entries(evidence.sides).every(([key, side]) =>
    sides.some(({ key: own, down: { windowMs, percentile } }) => {
      if (own !== key) return false;
      return side.kind === "peaks" ? percentile === null && side.windowMs === windowMs : percentile !== null;
    })
  );
}

function findHeldUp(wanted: readonly HeldField[], { veto }: Autoscaler): HeldView["heldUp"] | "other" {
  const ups = wanted.filter(isUp);
  if (ups.length === 0) return null;
  if (ups.every(({ isMoving }) => isMoving)) {
    return veto === "all" || ups.length === wanted.length ? "Cooldown" : "other";
  }
  if (ups.some(({ isMoving }) => isMoving)) return "other";
  return ups.some(({ end }) => end === "bound") ? "AtBound" : "AtTarget";
}

/** Returns whether the view counts what one more sample under the verdict would count on. */
function isCounted(
  { shortage: { atLimit, clipped, held }, limited }: AutoscalerView,
  { fields, heldUp, isFull, isSaturated }: HeldView,
): boolean {
  if ((atLimit.cpu > 0) !== isFull || (clipped > 0) !== (isFull || isSaturated) || atLimit.memory > 0) return false;
  if (heldUp === null) return limited === null && Object.keys(held).length === 0;
  if (heldUp === "AtTarget") return true;
  // A container that stays at its CPU limit would begin to count as held.
  if (heldUp === "Cooldown") return !isFull;
  // The first samples of a limit lead to an event.
  if (limited?.reason !== "AtBound" || limited.samples < MIN_LIMITED_SAMPLES) return false;
  return fields.every((one) => !isHeldRequest(one) || held[one.rule.key] !== undefined);
}

/** Returns whether memory is neither next to its limit nor as high as when it was killed. */
function isBelowMemoryLimits({ container, killedAtBytes }: HeldView, workingSetBytes: number): boolean {
  const limit = getActualSize(container)["memory.limits"];
  return workingSetBytes < killedAtBytes && !(limit !== null && isNearLimit(workingSetBytes, limit));
}

interface UntilContext extends Pick<SizeInput, "now"> {
  readonly view: AutoscalerView;
  readonly container: ContainerFacts;
  readonly containerState: ContainerState;
  readonly state: PodState;
}

/** Returns when the cooldown or a wait for the window ends, epoch ms; Infinity where neither ends by time alone. */
function computeUntil({ rule, direction }: HeldField, context: UntilContext): number {
  if (direction === null) return Infinity;
  const cooldownEnd = computeFieldCooldownEnd(context.containerState, rule, direction);
  const until = cooldownEnd > context.now ? cooldownEnd : Infinity;
  return direction === "up" ? until : Math.min(until, findWindowWait(rule, context)?.until ?? Infinity);
}

/** Returns whether the step leads to the same directions and sizes. Sets what is next in the fields. */
function keepsVerdict(one: HeldView, step: Step, now: number): boolean {
  const { view, container } = one;
  if (step.kind === "nothing") return true;
  const { cpuMillicores, demandMillicores, workingSetBytes } = step;
  const isFull = fillsLimit(cpuMillicores, getActualSize(container)["cpu.limits"]);
  if (step.isSaturated !== one.isSaturated || isFull !== one.isFull) return false;
  const hasMemory = step.kind === "sample";
  if (hasMemory && !isBelowMemoryLimits(one, workingSetBytes)) return false;
  const isInside = isInBand(one.cpu, demandMillicores) && (!hasMemory || isInBand(one.memory, workingSetBytes));
  if (one.allowsStreaks && (!isInside || view.streaks !== NO_STREAKS)) return keepsStreaksShort(one, step, now);
  if (!isInside) return false;
  for (const field of one.fields) {
    const isMemory = field.rule.resource === "memory";
    if (isMemory && !hasMemory) continue;
    if (!keepsField(field, view, { at: now, usage: isMemory ? workingSetBytes : demandMillicores })) return false;
  }
  return true;
}

/** Sets the streaks after the step. Returns false if one of them is full. */
function keepsStreaksShort({ autoscaler, container, view }: HeldView, step: Step, now: number): boolean {
  if (step.isSaturated) return false;
  const streaks = nextStreaksOfSample(autoscaler, view.streaks, {
    sample: toSample(step, view, now),
    actual: getActualSize(container),
    // Only fields with a percentile ask for it.
    evidence: NO_EVIDENCE,
    isCpuAlone: step.kind === "podCpu",
  });
  if (autoscaler.sides.some((rule) => isStreakFull(rule, streaks))) return false;
  step.streaks = streaks;
  return true;
}

/** Writes what a new sample adds to the streaks, and to the counts of samples in a row. As `nextStreaks` and others. */
function writeCounts({ view, fields, heldUp, isFull, isSaturated }: HeldView, step: Step): void {
  const usageBytes = findNumber(view.sampling.numbers, FLAT.sample + FLAT_SAMPLE.usageBytes);
  const { shortage } = view;
  for (const field of fields) {
    const { rule, direction, isWanted } = field;
    const { key, resource } = rule;
    const streak = view.streaks[key];
    if (!isWanted || direction === null || streak === undefined) continue;
    if (heldUp === "AtBound" && isHeldRequest(field)) shortage.held[key] = (shortage.held[key] ?? 0) + 1;
    // The pod's counter has no memory: that streak goes on with the next sample of the container.
    if (resource === "memory" && step.kind === "podCpu") continue;
    const isRenewed = streak.count % rule[direction].consecutiveSamples === 0;
    if (isRenewed) streak.olderPeakUsageBytes = streak.peakUsageBytes;
    streak.peakUsageBytes = isRenewed ? usageBytes : maxOrNull(streak.peakUsageBytes, usageBytes);
    streak.peakUsage = field.nextPeak;
    streak.olderPeakUsage = field.nextOlderPeak;
    streak.count++;
    field.amount = field.nextAmount;
  }
  if (heldUp === "AtBound" && view.limited !== null) view.limited.samples++;
  if (shortage === NO_SHORTAGE) return;
  if (isFull) shortage.atLimit.cpu++;
  if (isFull || isSaturated) shortage.clipped++;
}

/** Returns the same list without the room for more that push() and filter() leave in it: there is one for each pod. */
function trim<T>(list: readonly T[]): readonly T[] {
  return list.slice();
}

function maxOrNull(a: number | null, b: number | null): number | null {
  return a === null || b === null ? a ?? b : Math.max(a, b);
}

function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}
