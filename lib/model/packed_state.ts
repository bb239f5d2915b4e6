/**
 * A pod's state in less memory, for the time between two decisions.
 *
 * The numbers of all samples are in one array that is overwritten at each decision. Measured with 9,000 pods: the heap
 * peaks at 170 MiB with packed states and at 255 MiB with plain ones.
 */
import type { Pressure, PsiHint } from "../api/usage.ts";
import {
  type Anchor,
  type AutoscalerView,
  type Evidence,
  NO_EVIDENCE,
  type PodState,
  type ReadableState,
  type ReadableView,
  type RecommendedState,
  type Sample,
  type Sampling,
} from "./state.ts";

/** A packed state. A later `packState` may overwrite it. */
export interface PackedState extends ReadableState {
  readonly views: Readonly<Record<string, PackedView>>;
  readonly shadow: PackedRecommendedState | null;
}

/**
 * Returns the state in packed form; `unpackState` returns an equal state. `into`: an earlier packed state of the same
 * pod, which is overwritten. Without it, old arrays would keep their memory until the next full garbage collection.
 */
export function packState(state: PodState, into: PackedState | null = null): PackedState {
  const { views, shadow } = state;
  const rested = {
    views: packViews(views, into?.views ?? null),
    shadow: shadow && { ...shadow, state: packState(shadow.state, into?.shadow?.state ?? null) },
  };
  return into === null ? { ...state, ...rested } : Object.assign(into, state, rested);
}

/** Returns the state that was packed. */
export function unpackState(resting: PackedState): PodState {
  const { shadow } = resting;
  const views: Record<string, AutoscalerView> = {};
  for (const [key, view] of Object.entries(resting.views)) views[key] = unpackView(view);
  return { ...resting, views, shadow: shadow && { ...shadow, state: unpackState(shadow.state) } };
}

interface PackedRecommendedState extends Omit<RecommendedState, "state"> {
  readonly state: PackedState;
}

interface PackedView extends ReadableView {
  readonly sampling: PackedSampling;
  readonly evidence: Evidence["sides"];
}

interface PackedSampling {
  readonly newAt: number;
  readonly warming: boolean;
  /** The instances of `anchor` and `witness`; `null` where there is none. */
  readonly instance: string | null;
  readonly witness: string | null;
  /** See `writeNumbers`. NaN = `null` or absent, which a state has nowhere else. */
  readonly numbers: number[];
}

function packViews(views: PodState["views"], into: PackedState["views"] | null): PackedState["views"] {
  const keys = Object.keys(views);
  const isSame = into !== null && Object.keys(into).length === keys.length && keys.every((key) => key in into);
  const rested: Record<string, PackedView> = isSame ? into : {};
  for (const [key, view] of Object.entries(views)) rested[key] = packView(view, into?.[key] ?? null);
  return rested;
}

function packView(view: AutoscalerView, into: PackedView | null): PackedView {
  const { sampling: { newAt, warming, anchor, witness, sample }, evidence } = view;
  const numbers = into?.sampling.numbers ?? NO_NUMBERS.slice();
  writeNumbers(numbers, { anchor, witness, sample }, evidence);
  const rested = { newAt, warming, instance: anchor?.instance ?? null, witness: witness?.instance ?? null, numbers };
  const sampling = into === null ? rested : Object.assign(into.sampling, rested);
  return into === null
    ? { ...view, sampling, evidence: evidence.sides }
    : Object.assign(into, view, { sampling, evidence: evidence.sides });
}

function unpackView(view: PackedView): AutoscalerView {
  const { newAt, warming, instance, witness, numbers } = view.sampling;
  const sampling = {
    anchor: instance === null ? null : unpackAnchor(instance, numbers, ANCHOR),
    witness: witness === null ? null : unpackAnchor(witness, numbers, POD_CPU),
    sample: unpackSample(numbers),
    newAt,
    warming,
  };
  return { ...view, sampling, evidence: unpackEvidence(numbers, view.evidence) };
}

const ANCHOR = 0;

const POD_CPU = 8;

const SAMPLE = 16;

const EVIDENCE = 27;

/** V8 stores the numbers without an object for each, as long as the array holds only numbers. */
const NO_NUMBERS: readonly number[] = Array.from({ length: 29 }, () => NaN);

function writeNumbers(
  numbers: number[],
  { anchor, witness, sample }: Pick<Sampling, "anchor" | "witness" | "sample">,
  { since, until }: Evidence,
): void {
  writeAnchor(numbers, ANCHOR, anchor);
  writeAnchor(numbers, POD_CPU, witness);
  numbers[SAMPLE] = sample?.at ?? NaN;
  numbers[SAMPLE + 1] = sample?.from ?? NaN;
  numbers[SAMPLE + 2] = sample?.seenAt ?? NaN;
  numbers[SAMPLE + 3] = sample?.cpuMillicores ?? NaN;
  numbers[SAMPLE + 4] = sample?.heldBack ?? NaN;
  numbers[SAMPLE + 5] = sample?.isSaturated === true ? 1 : 0;
  numbers[SAMPLE + 6] = sample?.demandMillicores ?? NaN;
  numbers[SAMPLE + 7] = sample?.workingSetBytes ?? NaN;
  numbers[SAMPLE + 8] = sample?.usageBytes ?? NaN;
  numbers[SAMPLE + 9] = sample?.podUsageBytes ?? NaN;
  numbers[SAMPLE + 10] = sample?.oomKills ?? NaN;
  numbers[EVIDENCE] = since ?? NaN;
  numbers[EVIDENCE + 1] = until;
}

function writeAnchor(numbers: number[], from: number, anchor: Anchor | null): void {
  const pressure = anchor?.pressure ?? null;
  numbers[from] = anchor?.at ?? NaN;
  numbers[from + 1] = anchor?.counterNs ?? NaN;
  numbers[from + 2] = anchor?.oomKills ?? NaN;
  numbers[from + 3] = toPressureKind(pressure);
  numbers[from + 4] = pressure?.fullHint?.percent ?? NaN;
  numbers[from + 5] = pressure?.fullNs ?? NaN;
  numbers[from + 6] = pressure?.throttledNs ?? NaN;
  numbers[from + 7] = pressure?.largestCpuNs ?? NaN;
}

const PSI_UNITS: readonly (PsiHint["unit"] | null)[] = [null, "us", "ns"];

/** Returns NaN without pressure, else the index of its hint's unit. */
function toPressureKind(pressure: Pressure | null): number {
  return pressure === null ? NaN : PSI_UNITS.indexOf(pressure.fullHint?.unit ?? null);
}

function unpackAnchor(instance: string, numbers: readonly number[], from: number): Anchor {
  const oomKills = findNumber(numbers, from + 2);
  const anchor = {
    instance,
    at: getNumber(numbers, from),
    counterNs: getNumber(numbers, from + 1),
    pressure: unpackPressure(numbers, from + 3),
  };
  return oomKills === null ? anchor : { ...anchor, oomKills };
}

function unpackPressure(numbers: readonly number[], from: number): Pressure | null {
  const kind = findNumber(numbers, from);
  if (kind === null) return null;
  const unit = PSI_UNITS[kind] ?? null;
  const fullNs = findNumber(numbers, from + 2);
  const throttledNs = findNumber(numbers, from + 3);
  const largestCpuNs = findNumber(numbers, from + 4);
  if (unit === null) return { fullNs, throttledNs, largestCpuNs };
  return { fullNs, fullHint: { unit, percent: getNumber(numbers, from + 1) }, throttledNs, largestCpuNs };
}

function unpackSample(numbers: readonly number[]): Sample | null {
  const at = findNumber(numbers, SAMPLE);
  if (at === null) return null;
  const oomKills = findNumber(numbers, SAMPLE + 10);
  const sample = {
    at,
    from: getNumber(numbers, SAMPLE + 1),
    seenAt: getNumber(numbers, SAMPLE + 2),
    cpuMillicores: getNumber(numbers, SAMPLE + 3),
    heldBack: findNumber(numbers, SAMPLE + 4),
    isSaturated: numbers[SAMPLE + 5] === 1,
    demandMillicores: getNumber(numbers, SAMPLE + 6),
    workingSetBytes: getNumber(numbers, SAMPLE + 7),
    usageBytes: findNumber(numbers, SAMPLE + 8),
    podUsageBytes: findNumber(numbers, SAMPLE + 9),
  };
  return oomKills === null ? sample : { ...sample, oomKills };
}

function unpackEvidence(numbers: readonly number[], sides: Evidence["sides"]): Evidence {
  const since = findNumber(numbers, EVIDENCE);
  const until = getNumber(numbers, EVIDENCE + 1);
  const isNone = since === null && until === 0 && sides === NO_EVIDENCE.sides;
  return isNone ? NO_EVIDENCE : { since, until, sides };
}

function findNumber(numbers: readonly number[], index: number): number | null {
  const value = getNumber(numbers, index);
  return Number.isNaN(value) ? null : value;
}

function getNumber(numbers: readonly number[], index: number): number {
  return numbers[index] ?? NaN;
}
