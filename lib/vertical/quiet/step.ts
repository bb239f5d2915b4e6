/**
 * What a reading makes of a container, in numbers: the same as `sampleUsage`, for the plain cases.
 *
 * `takeStep` only reads, `writeStep` writes. The steps of all containers of a pod are taken before one is written.
 */
import { type PodUsage, type Point, ROW, ROW_LENGTH, type RowsOfPod } from "../../api/usage.ts";
import { type Autoscaler, computeSilenceMs, SILENCE_MS } from "../../model/autoscaler.ts";
import type { NodeCapacity, SizeInput } from "../../model/decision.ts";
import { FLAT, FLAT_ANCHOR, FLAT_SAMPLE, type FlatView, toPressure } from "../../model/flat_state.ts";
import { type ContainerFacts, getActualSize, type PodFacts } from "../../model/pod.ts";
import type { AutoscalerView, ContainerState, Sample } from "../../model/state.ts";
import {
  copyRow,
  getNumber,
  isPressureKnown,
  NS_PER_UNIT,
  toRowPressure,
  writePodCpu,
  writePoint,
} from "../../units/usage_rows.ts";
import {
  BUSY_SHARE,
  computeHeldBack,
  fillsLimit,
  isCount,
  isNewInterval,
  isStalledPercent,
  isValidAmount,
  MAX_AMOUNT,
  MIN_RESOLUTIONS,
} from "../samples.ts";
import { DUE_TOLERANCE, nextDueAt } from "../streaks.ts";
import { writeEvidence } from "../windows.ts";

/** One reading of a pod, and what else a verdict depends on. The caller may use the object again. */
export interface QuietInput extends Pick<SizeInput, "now" | "pod" | "contenders" | "limits"> {
  /** Returns the headroom for a pod. Only some verdicts ask for it. */
  readonly findRoom: (pod: PodFacts) => SizeInput["room"];
  readonly wallAheadMs: SizeInput["wallAheadMs"] | undefined;
  readonly scaleInPending: SizeInput["scaleInPending"] | undefined;
  readonly scaledInAt: SizeInput["scaledInAt"] | undefined;
  readonly usage: PodUsage | RowsOfPod;
  readonly clockOffsetMs: number;
  readonly capacity: NodeCapacity;
  /** Room for one step of each container. They mean nothing between two readings, so that all pods may share them. */
  readonly steps: Step[];
}

/** A container that an autoscaler samples. */
export interface SampledContainer {
  readonly autoscaler: Autoscaler;
  readonly container: ContainerFacts;
  readonly containerState: Pick<ContainerState, "countsFrom">;
  readonly view: FlatView;
  /** Since when it runs alone in the pod, epoch ms by the node; Infinity = it does not. */
  readonly aloneAt: number;
}

/** What a reading makes of a container, before anything is written. */
export interface Step {
  /** sample: of the container; podCpu: of its CPU alone, from the pod's counter. */
  kind: "nothing" | "sample" | "podCpu";
  /** The pod's counter becomes the next one to compare with. */
  movesPodCpu: boolean;
  /** The rest is for a new sample; see `Sample`. NaN = `null`. */
  from: number;
  at: number;
  cpuMillicores: number;
  heldBack: number;
  isSaturated: boolean;
  demandMillicores: number;
  workingSetBytes: number;
  usageBytes: number;
  podUsageBytes: number;
  /** The streaks after it; `null` = those of before, but for what a verdict counts. */
  streaks: AutoscalerView["streaks"] | null;
  /** The container's row, then that of the pod's CPU. */
  readonly rows: Float64Array;
}

export function newStep(): Step {
  return {
    kind: "nothing",
    movesPodCpu: false,
    from: 0,
    at: 0,
    cpuMillicores: 0,
    heldBack: NaN,
    isSaturated: false,
    demandMillicores: 0,
    workingSetBytes: 0,
    usageBytes: 0,
    podUsageBytes: 0,
    streaks: null,
    rows: new Float64Array(2 * ROW_LENGTH),
  };
}

/** Returns whether the container's pollInterval has passed. */
export function isDue({ autoscaler: { pollIntervalMs }, view }: SampledContainer, now: number): boolean {
  return now >= view.dueAt - DUE_TOLERANCE * pollIntervalMs;
}

/**
 * Sets the step to what the reading makes of the container: a sample, or nothing for a repeat and a point too close.
 * Returns false for anything else.
 */
export function takeStep(one: SampledContainer, step: Step, next: QuietInput): boolean {
  const { numbers, newAt } = one.view.sampling;
  const { now, clockOffsetMs, wallAheadMs = 0, usage } = next;
  const silenceMs = computeSilenceMs(one.autoscaler);
  const countsFrom = one.containerState.countsFrom + clockOffsetMs;
  step.kind = "nothing";
  step.movesPodCpu = false;
  step.streaks = null;
  if (!sampleContainer(one, step, next)) return false;
  if (one.aloneAt < Infinity && hasPodCpu(usage) && !samplePodCpu(one, step, next)) return false;
  if (step.kind !== "nothing") {
    // After a gap, windows are watched again from the start.
    return countsFrom <= (step.from + step.at) / 2 && now - getNumber(numbers, FLAT.evidence + 1) <= silenceMs;
  }
  const from = getNumber(numbers, FLAT.sample + FLAT_SAMPLE.from);
  if (countsFrom > (from + getNumber(numbers, FLAT.sample + FLAT_SAMPLE.at)) / 2) return false;
  // What is wanted needs a fresh sample.
  if (one.view.wantedSince !== null && now - getNumber(numbers, FLAT.sample + FLAT_SAMPLE.seenAt) >= SILENCE_MS) {
    return false;
  }
  return now - Math.max(newAt, Math.min((one.container.runningAt ?? now) - wallAheadMs, now)) < silenceMs;
}

/** Returns the step as a sample. The pod's counter has no memory, which is that of the sample before. */
export function toSample(step: Step, { sampling: { numbers } }: FlatView, now: number): Sample {
  const { at, from, cpuMillicores, isSaturated, demandMillicores } = step;
  const before = (field: number) => getNumber(numbers, FLAT.sample + field);
  const isOfAll = step.kind === "sample";
  return {
    at,
    from,
    seenAt: now,
    cpuMillicores,
    heldBack: toAmount(step.heldBack),
    isSaturated,
    demandMillicores,
    workingSetBytes: isOfAll ? step.workingSetBytes : before(FLAT_SAMPLE.workingSetBytes),
    usageBytes: toAmount(isOfAll ? step.usageBytes : before(FLAT_SAMPLE.usageBytes)),
    podUsageBytes: toAmount(isOfAll ? step.podUsageBytes : before(FLAT_SAMPLE.podUsageBytes)),
  };
}

function toAmount(number: number): number | null {
  return Number.isNaN(number) ? null : number;
}

/** Writes the step into the flat view, but for what a verdict counts. */
export function writeStep({ autoscaler, view }: SampledContainer, step: Step, now: number): void {
  const { pollIntervalMs } = autoscaler;
  const { numbers } = view.sampling;
  view.dueAt = nextDueAt(view.dueAt, pollIntervalMs, now + DUE_TOLERANCE * pollIntervalMs);
  if (step.kind !== "nothing") {
    writeSample(numbers, step, now);
    view.sampling.newAt = now;
    numbers[FLAT.evidence + 1] = now;
    // The pod's counter has no memory.
    const memory = step.kind === "sample" ? step.workingSetBytes : null;
    writeEvidence(view, autoscaler.sides, { at: now, cpu: step.demandMillicores, memory });
  }
  if (!step.movesPodCpu) return;
  writeAnchor(numbers, FLAT.witness, { rows: step.rows, row: POD_ROW });
  numbers[FLAT.witness + FLAT_ANCHOR.oomKills] = getNumber(numbers, FLAT.anchor + FLAT_ANCHOR.oomKills);
  view.sampling.witness = view.sampling.instance;
}

const POD_ROW = ROW_LENGTH;

/** As `nextSampling`. */
function sampleContainer({ autoscaler, container, view }: SampledContainer, step: Step, next: QuietInput): boolean {
  const { numbers, instance } = view.sampling;
  const { rows } = step;
  if (!fillContainer(rows, next.usage, { name: container.name, instance })) return false;
  const counterNs = getNumber(rows, ROW.counterNs);
  const workingSetBytes = getNumber(rows, ROW.workingSetBytes);
  if (counterNs === 0 && workingSetBytes === 0) return false;
  const elapsedMs = getNumber(rows, ROW.at) - getNumber(numbers, FLAT_ANCHOR.at);
  if (elapsedMs <= 0) return true;
  const usedNs = counterNs - getNumber(numbers, FLAT_ANCHOR.counterNs);
  if (usedNs < 0) return false;
  if (elapsedMs < MIN_RESOLUTIONS * getNumber(rows, ROW.resolutionMs)) return true;
  const { cpuMillicores: nodeMillicores, memoryBytes } = next.capacity;
  const usageBytes = getNumber(rows, ROW.usageBytes);
  if (usedNs / (elapsedMs + getNumber(rows, ROW.resolutionMs)) / 1000 > (nodeMillicores ?? MAX_AMOUNT)) return false;
  if (workingSetBytes > (memoryBytes ?? MAX_AMOUNT) || usageBytes > (memoryBytes ?? MAX_AMOUNT)) return false;
  // Absent counts are NaN, and never above another.
  if (getNumber(rows, ROW.oomKills) > getNumber(numbers, FLAT_ANCHOR.oomKills)) return false;
  if (isStalledPercent(getNumber(rows, ROW.memoryStallPercent))) return false;
  if (elapsedMs >= computeSilenceMs(autoscaler)) return false;
  step.kind = "sample";
  step.from = getNumber(numbers, FLAT_ANCHOR.at);
  step.at = getNumber(rows, ROW.at);
  step.workingSetBytes = workingSetBytes;
  step.usageBytes = usageBytes;
  const podBytes = getPodBytes(next.usage);
  step.podUsageBytes = isValidAmount(podBytes) && podBytes <= (memoryBytes ?? MAX_AMOUNT) ? podBytes : NaN;
  const cpuMillicores = usedNs / elapsedMs / 1000;
  judgeCpu(
    { autoscaler, container, numbers, from: FLAT.anchor, row: 0, elapsedMs, cpuMillicores, nodeMillicores },
    step,
  );
  return true;
}

/** As `nextPodCpuSeries`. */
function samplePodCpu(
  { autoscaler, container, view, aloneAt }: SampledContainer,
  step: Step,
  next: QuietInput,
): boolean {
  const { numbers, instance, witness } = view.sampling;
  const { rows } = step;
  const { cpuMillicores: nodeMillicores } = next.capacity;
  if (!fillPodCpu(rows, next.usage)) return false;
  const cpuAt = getNumber(rows, POD_ROW + ROW.at);
  if (cpuAt < aloneAt) return true;
  const resolutionMs = getNumber(rows, POD_ROW + ROW.resolutionMs);
  const from = getNumber(numbers, FLAT.witness + FLAT_ANCHOR.at);
  const isOwn = witness !== null && witness === instance && from >= aloneAt;
  const elapsedMs = isOwn ? cpuAt - from : -Infinity;
  if (elapsedMs >= 0 && elapsedMs < MIN_RESOLUTIONS * resolutionMs) return true;
  step.movesPodCpu = true;
  if (step.kind === "sample" || elapsedMs < 0 || elapsedMs >= computeSilenceMs(autoscaler)) return true;
  const usedNs = getNumber(rows, POD_ROW + ROW.counterNs) - getNumber(numbers, FLAT.witness + FLAT_ANCHOR.counterNs);
  if (usedNs < 0) return true;
  const cpuMillicores = usedNs / elapsedMs / 1000;
  if (cpuMillicores * elapsedMs / (elapsedMs + resolutionMs) > (nodeMillicores ?? Infinity)) return true;
  const last = {
    from: getNumber(numbers, FLAT.sample + FLAT_SAMPLE.from),
    at: getNumber(numbers, FLAT.sample + FLAT_SAMPLE.at),
  };
  if (!isNewInterval(last, { from, at: cpuAt })) return true;
  const use = {
    autoscaler,
    container,
    numbers,
    from: FLAT.witness,
    row: POD_ROW,
    elapsedMs,
    cpuMillicores,
    nodeMillicores,
  };
  judgeCpu(use, step);
  const hasPressure = !Number.isNaN(getNumber(numbers, FLAT.anchor + FLAT_ANCHOR.pressure));
  if (step.isSaturated && Number.isNaN(step.heldBack) && hasPressure) return true;
  step.kind = "podCpu";
  step.from = from;
  step.at = cpuAt;
  return true;
}

interface CpuUse extends Pick<SampledContainer, "autoscaler" | "container"> {
  readonly numbers: readonly number[];
  /** Where the older counter's numbers begin in `numbers`, and the newer one's in the rows. */
  readonly from: number;
  readonly row: number;
  readonly elapsedMs: number;
  readonly cpuMillicores: number;
  readonly nodeMillicores: number | null;
}

/** Writes what `computeHeldBack` makes of an interval. For most of them nothing is measured that concerns the limit. */
function judgeCpu(use: CpuUse, step: Step): void {
  const { autoscaler: { throttling }, container, numbers, from, row, elapsedMs, cpuMillicores, nodeMillicores } = use;
  const { rows } = step;
  const cpuLimitMillicores = getActualSize(container)["cpu.limits"];
  const measures = throttling === "measure";
  step.cpuMillicores = cpuMillicores;
  step.heldBack = NaN;
  step.isSaturated = measures && fillsLimit(cpuMillicores, cpuLimitMillicores);
  step.demandMillicores = cpuMillicores;
  if (!measures || Number.isNaN(getNumber(numbers, from + FLAT_ANCHOR.pressure))) return;
  const isThrottlingKnown = !Number.isNaN(getNumber(rows, row + ROW.throttledNs)) &&
    !Number.isNaN(getNumber(numbers, from + FLAT_ANCHOR.throttledNs));
  const isBusy = cpuLimitMillicores !== null && cpuMillicores >= BUSY_SHARE * cpuLimitMillicores;
  if (!isThrottlingKnown && !isBusy) return;
  const held = computeHeldBack({
    elapsedMs,
    cpuMillicores,
    resolutionMs: getNumber(rows, row + ROW.resolutionMs),
    before: toPressure(numbers, from),
    after: toRowPressure(rows, row),
  }, { cpuLimitMillicores, nodeMillicores, measures });
  step.heldBack = held.heldBack ?? NaN;
  step.isSaturated = held.isSaturated;
  step.demandMillicores = held.demandMillicores;
}

function writeSample(numbers: number[], step: Step, now: number): void {
  const from = FLAT.sample;
  numbers[from + FLAT_SAMPLE.at] = step.at;
  numbers[from + FLAT_SAMPLE.from] = step.from;
  numbers[from + FLAT_SAMPLE.seenAt] = now;
  numbers[from + FLAT_SAMPLE.cpuMillicores] = step.cpuMillicores;
  numbers[from + FLAT_SAMPLE.heldBack] = step.heldBack;
  numbers[from + FLAT_SAMPLE.isSaturated] = step.isSaturated ? 1 : 0;
  numbers[from + FLAT_SAMPLE.demandMillicores] = step.demandMillicores;
  // The pod's counter has no memory.
  if (step.kind === "podCpu") return;
  numbers[from + FLAT_SAMPLE.workingSetBytes] = step.workingSetBytes;
  numbers[from + FLAT_SAMPLE.usageBytes] = step.usageBytes;
  numbers[from + FLAT_SAMPLE.podUsageBytes] = step.podUsageBytes;
  numbers[from + FLAT_SAMPLE.oomKills] = NaN;
  numbers[from + FLAT_SAMPLE.isMemoryStalled] = 0;
  writeAnchor(numbers, FLAT.anchor, { rows: step.rows, row: 0 });
}

function writeAnchor(
  numbers: number[],
  to: number,
  { rows, row }: { readonly rows: Float64Array; readonly row: number },
): void {
  const unitNs = getNumber(rows, row + ROW.fullUnitNs);
  const kind = Number.isNaN(unitNs) ? 0 : unitNs === NS_PER_UNIT.us ? 1 : 2;
  numbers[to + FLAT_ANCHOR.at] = getNumber(rows, row + ROW.at);
  numbers[to + FLAT_ANCHOR.counterNs] = getNumber(rows, row + ROW.counterNs);
  numbers[to + FLAT_ANCHOR.oomKills] = getNumber(rows, row + ROW.oomKills);
  numbers[to + FLAT_ANCHOR.pressure] = isPressureKnown(rows, row) ? kind : NaN;
  numbers[to + FLAT_ANCHOR.fullPercent] = getNumber(rows, row + ROW.fullPercent);
  numbers[to + FLAT_ANCHOR.fullNs] = getNumber(rows, row + ROW.fullNs);
  numbers[to + FLAT_ANCHOR.throttledNs] = getNumber(rows, row + ROW.throttledNs);
  numbers[to + FLAT_ANCHOR.largestCpuNs] = getNumber(rows, row + ROW.largestCpuNs);
}

function hasPodCpu(usage: QuietInput["usage"]): boolean {
  return "rows" in usage ? !Number.isNaN(getNumber(usage.rows.numbers, usage.row + ROW.at)) : usage.cpu !== undefined;
}

function getPodBytes(usage: QuietInput["usage"]): number {
  return "rows" in usage ? getNumber(usage.rows.numbers, usage.row + ROW.usageBytes) : usage.usageBytes ?? NaN;
}

/** Fills the container's row; false for another instance, numbers that are impossible, and a rate. */
function fillContainer(
  rows: Float64Array,
  usage: QuietInput["usage"],
  { name, instance }: { readonly name: string; readonly instance: string | null },
): boolean {
  if (!("rows" in usage)) {
    const point = findPoint(usage, name);
    if (point === null || point.instance !== instance || point.cpu.kind !== "counter") return false;
    if (!isValidAmount(point.usageBytes ?? 0)) return false;
    writePoint(rows, 0, point);
    if (!isCount(point.oomKills)) rows[ROW.oomKills] = NaN;
    if (point.pressure !== null && !isPressureKnown(rows, 0)) return false;
  } else {
    const row = usage.rows.findContainer(usage.row, name);
    if (row < 0 || usage.rows.getInstance(row) !== instance) return false;
    copyRow(usage.rows.numbers, row, { rows, to: 0 });
  }
  const usageBytes = getNumber(rows, ROW.usageBytes);
  return isValidCpu(rows, 0) && isValidAmount(getNumber(rows, ROW.workingSetBytes)) &&
    (Number.isNaN(usageBytes) || isValidAmount(usageBytes));
}

/** Fills the row of the pod's CPU; false for numbers that are impossible. */
function fillPodCpu(rows: Float64Array, usage: QuietInput["usage"]): boolean {
  if ("rows" in usage) {
    copyRow(usage.rows.numbers, usage.row, { rows, to: POD_ROW });
  } else {
    if (usage.cpu === undefined) return false;
    writePodCpu(rows, POD_ROW, usage.cpu);
    if (usage.cpu.pressure !== null && !isPressureKnown(rows, POD_ROW)) return false;
  }
  return isValidCpu(rows, POD_ROW);
}

function isValidCpu(rows: Float64Array, row: number): boolean {
  return isValidAmount(getNumber(rows, row + ROW.at)) && isValidAmount(getNumber(rows, row + ROW.counterNs));
}

function findPoint({ points }: PodUsage, container: string): Point | null {
  for (const point of points) if (point.container === container) return point;
  return null;
}
