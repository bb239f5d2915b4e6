/**
 * A pod's state between two decisions, in less memory. Nearly all of it are the numbers of its samples: each of them an object of
 * its own costs the garbage collector more than all else of tens of thousands of pods, so they rest in one array. What is asked of
 * every pod all the time can be read as it is.
 */
import { type Evidence, NO_EVIDENCE } from "./observe/evidence.ts";
import type { Standing, StandingView } from "./standing.ts";
import type { Anchor, PodState, Sample, Sampling, Shadow, View } from "./state.ts";
import type { Pressure, PsiHint } from "../api/usage.ts";

/** A state that rests, until `rest` is told to overwrite it. */
export interface RestingState extends Standing {
  readonly views: Readonly<Record<string, RestingView>>;
  readonly shadow: RestingShadow | null;
}

interface RestingShadow extends Omit<Shadow, "state"> {
  readonly state: RestingState;
}

interface RestingView extends StandingView {
  readonly sampling: RestingSampling;
  readonly evidence: Evidence["sides"];
}

interface RestingSampling {
  readonly newAt: number;
  readonly warming: boolean;
  /** The instances of `anchor` and `witness`; `null` where there is none. */
  readonly instance: string | null;
  readonly witness: string | null;
  /** See `writeNumbers`. NaN = `null` or absent, which a state has nowhere else. */
  readonly numbers: number[];
}

/**
 * `wake` makes an equal one of it. `into`: where an earlier state of the pod has rested, which is overwritten: what is old when
 * it is replaced keeps its memory until V8 collects everything.
 */
export function rest(state: PodState, into: RestingState | null = null): RestingState {
  const { views, shadow } = state;
  const rested = {
    views: restViews(views, into?.views ?? null),
    shadow: shadow && { ...shadow, state: rest(shadow.state, into?.shadow?.state ?? null) },
  };
  return into === null ? { ...state, ...rested } : Object.assign(into, state, rested);
}

/** The state that `rest` was given. */
export function wake(resting: RestingState): PodState {
  const { shadow } = resting;
  const views: Record<string, View> = {};
  for (const [key, view] of Object.entries(resting.views)) views[key] = wakeView(view);
  return { ...resting, views, shadow: shadow && { ...shadow, state: wake(shadow.state) } };
}

function restViews(views: PodState["views"], into: RestingState["views"] | null): RestingState["views"] {
  const keys = Object.keys(views);
  const isSame = into !== null && Object.keys(into).length === keys.length && keys.every((key) => key in into);
  const rested: Record<string, RestingView> = isSame ? into : {};
  for (const [key, view] of Object.entries(views)) rested[key] = restView(view, into?.[key] ?? null);
  return rested;
}

function restView(view: View, into: RestingView | null): RestingView {
  const { sampling: { newAt, warming, anchor, witness, sample }, evidence } = view;
  const numbers = into?.sampling.numbers ?? NO_NUMBERS.slice();
  writeNumbers(numbers, { anchor, witness, sample }, evidence);
  const rested = { newAt, warming, instance: anchor?.instance ?? null, witness: witness?.instance ?? null, numbers };
  const sampling = into === null ? rested : Object.assign(into.sampling, rested);
  return into === null
    ? { ...view, sampling, evidence: evidence.sides }
    : Object.assign(into, view, { sampling, evidence: evidence.sides });
}

function wakeView(view: RestingView): View {
  const { newAt, warming, instance, witness, numbers } = view.sampling;
  const sampling = {
    anchor: instance === null ? null : wakeAnchor(instance, numbers, ANCHOR),
    witness: witness === null ? null : wakeAnchor(witness, numbers, WITNESS),
    sample: wakeSample(numbers),
    newAt,
    warming,
  };
  return { ...view, sampling, evidence: wakeEvidence(numbers, view.evidence) };
}

const ANCHOR = 0;
const WITNESS = 8;
const SAMPLE = 16;
const EVIDENCE = 27;
/** V8 keeps them as numbers, without an object for each, as long as nothing else is written there. */
const NO_NUMBERS: readonly number[] = Array.from({ length: 29 }, () => NaN);

function writeNumbers(
  numbers: number[],
  { anchor, witness, sample }: Pick<Sampling, "anchor" | "witness" | "sample">,
  { since, until }: Evidence,
): void {
  writeAnchor(numbers, ANCHOR, anchor);
  writeAnchor(numbers, WITNESS, witness);
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
  numbers[from + 3] = toKind(pressure);
  numbers[from + 4] = pressure?.fullHint?.percent ?? NaN;
  numbers[from + 5] = pressure?.fullNs ?? NaN;
  numbers[from + 6] = pressure?.throttledNs ?? NaN;
  numbers[from + 7] = pressure?.largestCpuNs ?? NaN;
}

const UNITS: readonly (PsiHint["unit"] | null)[] = [null, "us", "ns"];

/** NaN = no pressure; else the index of its hint's unit. */
function toKind(pressure: Pressure | null): number {
  return pressure === null ? NaN : UNITS.indexOf(pressure.fullHint?.unit ?? null);
}

function wakeAnchor(instance: string, numbers: readonly number[], from: number): Anchor {
  const oomKills = readOne(numbers, from + 2);
  const anchor = {
    instance,
    at: readKnown(numbers, from),
    counterNs: readKnown(numbers, from + 1),
    pressure: wakePressure(numbers, from + 3),
  };
  return oomKills === null ? anchor : { ...anchor, oomKills };
}

function wakePressure(numbers: readonly number[], from: number): Pressure | null {
  const kind = readOne(numbers, from);
  if (kind === null) return null;
  const unit = UNITS[kind] ?? null;
  const fullNs = readOne(numbers, from + 2);
  const throttledNs = readOne(numbers, from + 3);
  const largestCpuNs = readOne(numbers, from + 4);
  if (unit === null) return { fullNs, throttledNs, largestCpuNs };
  return { fullNs, fullHint: { unit, percent: readKnown(numbers, from + 1) }, throttledNs, largestCpuNs };
}

function wakeSample(numbers: readonly number[]): Sample | null {
  const at = readOne(numbers, SAMPLE);
  if (at === null) return null;
  const oomKills = readOne(numbers, SAMPLE + 10);
  const sample = {
    at,
    from: readKnown(numbers, SAMPLE + 1),
    seenAt: readKnown(numbers, SAMPLE + 2),
    cpuMillicores: readKnown(numbers, SAMPLE + 3),
    heldBack: readOne(numbers, SAMPLE + 4),
    isSaturated: numbers[SAMPLE + 5] === 1,
    demandMillicores: readKnown(numbers, SAMPLE + 6),
    workingSetBytes: readKnown(numbers, SAMPLE + 7),
    usageBytes: readOne(numbers, SAMPLE + 8),
    podUsageBytes: readOne(numbers, SAMPLE + 9),
  };
  return oomKills === null ? sample : { ...sample, oomKills };
}

function wakeEvidence(numbers: readonly number[], sides: Evidence["sides"]): Evidence {
  const since = readOne(numbers, EVIDENCE);
  const until = readKnown(numbers, EVIDENCE + 1);
  const isNone = since === null && until === 0 && sides === NO_EVIDENCE.sides;
  return isNone ? NO_EVIDENCE : { since, until, sides };
}

function readOne(numbers: readonly number[], index: number): number | null {
  const value = readKnown(numbers, index);
  return Number.isNaN(value) ? null : value;
}

function readKnown(numbers: readonly number[], index: number): number {
  return numbers[index] ?? NaN;
}
