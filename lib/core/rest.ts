/**
 * A pod's state between two decisions, in less memory. Nearly all of it are the numbers of its samples: each of them an object of
 * its own costs the garbage collector more than all else of tens of thousands of pods, so they rest in one array. What is asked of
 * every pod all the time can be read as it is.
 */
import { type Evidence, NO_EVIDENCE } from "./observe/evidence.ts";
import type { Standing, StandingView } from "./standing.ts";
import type { Anchor, PodState, Sample, Sampling, Shadow, View } from "./state.ts";
import type { Pressure, PsiHint } from "../api/usage.ts";

/** A state that rests. Immutable, as the state is. */
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
  /** See `toNumbers`. NaN = `null` or absent, which a state has nowhere else. */
  readonly numbers: readonly number[];
}

/** `wake` makes an equal one of it. */
export function rest(state: PodState): RestingState {
  const { views, shadow } = state;
  return { ...state, views: mapViews(views, restView), shadow: shadow && { ...shadow, state: rest(shadow.state) } };
}

/** The state that `rest` was given. */
export function wake(resting: RestingState): PodState {
  const { views, shadow } = resting;
  return { ...resting, views: mapViews(views, wakeView), shadow: shadow && { ...shadow, state: wake(shadow.state) } };
}

function mapViews<From, To>(views: Readonly<Record<string, From>>, map: (view: From) => To): Record<string, To> {
  const mapped: Record<string, To> = {};
  for (const [key, view] of Object.entries(views)) mapped[key] = map(view);
  return mapped;
}

function restView(view: View): RestingView {
  const { sampling, evidence } = view;
  const { newAt, warming, anchor, witness } = sampling;
  const instances = { instance: anchor?.instance ?? null, witness: witness?.instance ?? null };
  const numbers = toNumbers(sampling, evidence);
  return { ...view, sampling: { newAt, warming, ...instances, numbers }, evidence: evidence.sides };
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

/** Written at one place, and whole, so that V8 keeps them as numbers without an object for each. */
function toNumbers({ anchor, witness, sample }: Sampling, evidence: Evidence): readonly number[] {
  const [a, w] = [anchor?.pressure ?? null, witness?.pressure ?? null];
  return [
    anchor?.at ?? NaN,
    anchor?.counterNs ?? NaN,
    anchor?.oomKills ?? NaN,
    toKind(a),
    a?.fullHint?.percent ?? NaN,
    a?.fullNs ?? NaN,
    a?.throttledNs ?? NaN,
    a?.largestCpuNs ?? NaN,
    witness?.at ?? NaN,
    witness?.counterNs ?? NaN,
    witness?.oomKills ?? NaN,
    toKind(w),
    w?.fullHint?.percent ?? NaN,
    w?.fullNs ?? NaN,
    w?.throttledNs ?? NaN,
    w?.largestCpuNs ?? NaN,
    sample?.at ?? NaN,
    sample?.from ?? NaN,
    sample?.seenAt ?? NaN,
    sample?.cpuMillicores ?? NaN,
    sample?.heldBack ?? NaN,
    sample?.isSaturated === true ? 1 : 0,
    sample?.demandMillicores ?? NaN,
    sample?.workingSetBytes ?? NaN,
    sample?.usageBytes ?? NaN,
    sample?.podUsageBytes ?? NaN,
    sample?.oomKills ?? NaN,
    evidence.since ?? NaN,
    evidence.until,
  ];
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
