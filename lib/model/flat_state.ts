/**
 * A pod's state as the daemon keeps it between two evaluations: flat, in little memory, and changed in place.
 *
 * The numbers of all samples are in one array for each view. `decideSize` reads and returns a plain `PodState`; a quiet
 * evaluation (`lib/vertical/quiet`) only writes numbers here. Measured with 9,000 pods: the heap peaks at 170 MiB
 * with flat states and at 255 MiB with plain ones.
 */
import type { Pressure, PsiHint } from "../api/usage.ts";
import { type Resource, RESOURCE_FIELDS, type ResourceField } from "../units/resources.ts";
import { findNumber, getNumber } from "../units/usage_rows.ts";
import {
  type Anchor,
  type AutoscalerView,
  type Evidence,
  type Histogram,
  type LimitedScaleUp,
  NO_EVIDENCE,
  NO_SHORTAGE,
  NO_STREAKS,
  type Peaks,
  type PodState,
  type ReadableState,
  type ReadableView,
  type RecommendedState,
  type Sample,
  type Sampling,
  type Shortage,
  type Streak,
} from "./state.ts";

/** A flat state. A later `flattenState` into it, and a quiet evaluation, overwrite it. */
export interface FlatState extends ReadableState {
  at: number;
  readonly views: Readonly<Record<string, FlatView>>;
  readonly shadow: FlatRecommendedState | null;
}

/** What one autoscaler has sampled of its container. */
export interface FlatView extends ReadableView {
  dueAt: number;
  streaks: Readonly<Partial<Record<ResourceField, Writable<Streak>>>>;
  shortage: FlatShortage;
  limited: Writable<LimitedScaleUp> | null;
  readonly sampling: FlatSampling;
  evidence: FlatEvidence;
}

/** As `Evidence.sides`. Both fields of a resource mostly share one object. */
export type FlatEvidence = Partial<Record<ResourceField, FlatPeaks | Histogram>>;

/** Peaks that may be written. Only the first `used` numbers of `pairs` count, so that later ones need no new array. */
export interface FlatPeaks {
  readonly kind: Peaks["kind"];
  windowMs: number;
  pairs: number[];
  used: number;
}

/** Counts that may be written, unless it is NO_SHORTAGE. */
interface FlatShortage extends Shortage {
  readonly atLimit: Record<Resource, number>;
  clipped: number;
  readonly held: Partial<Record<ResourceField, number>>;
}

export interface FlatSampling {
  newAt: number;
  readonly warming: boolean;
  /** The instances of `anchor` and `witness`; `null` where there is none. */
  readonly instance: string | null;
  witness: string | null;
  /** See `FLAT`. NaN = `null` or absent, which a state has nowhere else. */
  readonly numbers: number[];
}

/** Where the numbers of a view are: those of an anchor, of a sample and of the evidence begin at these. */
export const FLAT = { anchor: 0, witness: 8, sample: 16, evidence: 28, length: 30 } as const;

/** From the beginning of an anchor. `pressure`: NaN = none is known; otherwise the index in `PSI_UNITS`. */
export const FLAT_ANCHOR = {
  at: 0,
  counterNs: 1,
  oomKills: 2,
  pressure: 3,
  fullPercent: 4,
  fullNs: 5,
  throttledNs: 6,
  largestCpuNs: 7,
} as const;

/** From the beginning of the sample. `isSaturated`, `isMemoryStalled`: 1 = true. */
export const FLAT_SAMPLE = {
  at: 0,
  from: 1,
  seenAt: 2,
  cpuMillicores: 3,
  heldBack: 4,
  isSaturated: 5,
  demandMillicores: 6,
  workingSetBytes: 7,
  usageBytes: 8,
  podUsageBytes: 9,
  oomKills: 10,
  isMemoryStalled: 11,
} as const;

/**
 * Returns the flat state; `toPodState` returns an equal state. `into`: an earlier flat state of the same pod, which is
 * overwritten. Without it, old arrays would keep their memory until the next full garbage collection.
 */
export function flattenState(state: PodState, into: FlatState | null = null): FlatState {
  const { views, shadow } = state;
  const flat = {
    views: flattenViews(views, into?.views ?? null),
    shadow: shadow && { ...shadow, state: flattenState(shadow.state, into?.shadow?.state ?? null) },
  };
  return into === null ? { ...state, ...flat } : Object.assign(into, state, flat);
}

/** Returns the state that was flattened, with what was written since. It does not change with later writes. */
export function toPodState(flat: FlatState): PodState {
  const { shadow } = flat;
  const views: Record<string, AutoscalerView> = {};
  for (const [key, view] of Object.entries(flat.views)) views[key] = toView(view);
  return { ...flat, views, shadow: shadow && { ...shadow, state: toPodState(shadow.state) } };
}

/**
 * Gives the view its own objects for what is counted, so that they may be written. Until then they are shared with the
 * state that was flattened.
 */
export function ownCounts(view: FlatView): void {
  view.streaks = copyStreaks(view.streaks);
  view.shortage = copyShortage(view.shortage);
  view.limited = view.limited && { ...view.limited };
}

/** Returns peaks that may be written. `into`: older ones, which are overwritten. */
export function flattenPeaks(peaks: Peaks, into: FlatPeaks | null = null): FlatPeaks {
  return writePeaks(peaks, peaks.pairs.length, into);
}

/** Returns the peaks that were flattened, with what was written since. */
export function toPeaks({ kind, windowMs, pairs, used }: FlatPeaks): Peaks {
  return { kind, windowMs, pairs: pairs.slice(0, used) };
}

/**
 * Writes what a quiet evaluation may change into another flat state of the same pod. `into` was made of a state that
 * differs in nothing else.
 */
export function copyNumbers(from: FlatState, into: FlatState): void {
  into.at = from.at;
  for (const key in from.views) {
    const [view, copy] = [from.views[key], into.views[key]];
    if (view === undefined || copy === undefined) continue;
    copy.dueAt = view.dueAt;
    copy.sampling.newAt = view.sampling.newAt;
    copy.sampling.witness = view.sampling.witness;
    copy.evidence = copyEvidence(view.evidence, copy.evidence, copyPeaks);
    const { numbers } = view.sampling;
    for (let index = 0; index < FLAT.length; index++) copy.sampling.numbers[index] = getNumber(numbers, index);
    copyCounts(view, copy);
  }
}

const PSI_UNITS: readonly (PsiHint["unit"] | null)[] = [null, "us", "ns"];

/** Returns what an anchor stores for a pressure: NaN without one, else the index of its hint's unit. */
export function toPressureKind(pressure: Pressure | null): number {
  return pressure === null ? NaN : PSI_UNITS.indexOf(pressure.fullHint?.unit ?? null);
}

/** Returns the pressure of the anchor that begins at `from`. */
export function toPressure(numbers: ArrayLike<number>, from: number): Pressure | null {
  const kind = findNumber(numbers, from + FLAT_ANCHOR.pressure);
  if (kind === null) return null;
  const unit = PSI_UNITS[kind] ?? null;
  const fullNs = findNumber(numbers, from + FLAT_ANCHOR.fullNs);
  const throttledNs = findNumber(numbers, from + FLAT_ANCHOR.throttledNs);
  const largestCpuNs = findNumber(numbers, from + FLAT_ANCHOR.largestCpuNs);
  if (unit === null) return { fullNs, throttledNs, largestCpuNs };
  const percent = getNumber(numbers, from + FLAT_ANCHOR.fullPercent);
  return { fullNs, fullHint: { unit, percent }, throttledNs, largestCpuNs };
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

interface FlatRecommendedState extends Omit<RecommendedState, "state"> {
  readonly state: FlatState;
}

function flattenViews(views: PodState["views"], into: FlatState["views"] | null): FlatState["views"] {
  const keys = Object.keys(views);
  const isSame = into !== null && Object.keys(into).length === keys.length && keys.every((key) => key in into);
  const flat: Record<string, FlatView> = isSame ? into : {};
  for (const [key, view] of Object.entries(views)) flat[key] = flattenView(view, into?.[key] ?? null);
  return flat;
}

function flattenView(view: AutoscalerView, into: FlatView | null): FlatView {
  const { sampling: { newAt, warming, anchor, witness, sample }, evidence } = view;
  const numbers = into?.sampling.numbers ?? NO_NUMBERS.slice();
  writeNumbers(numbers, { anchor, witness, sample }, evidence);
  const flat = { newAt, warming, instance: anchor?.instance ?? null, witness: witness?.instance ?? null, numbers };
  const sampling = into === null ? flat : Object.assign(into.sampling, flat);
  const own = { sampling, evidence: copyEvidence(evidence.sides, into?.evidence ?? null, flattenPeaks) };
  return into === null ? { ...view, ...own } : Object.assign(into, view, own);
}

function toView(view: FlatView): AutoscalerView {
  const { newAt, warming, instance, witness, numbers } = view.sampling;
  const sampling = {
    anchor: instance === null ? null : toAnchor(instance, numbers, FLAT.anchor),
    witness: witness === null ? null : toAnchor(witness, numbers, FLAT.witness),
    sample: toSample(numbers),
    newAt,
    warming,
  };
  return {
    ...view,
    sampling,
    evidence: toEvidence(numbers, view.evidence),
    streaks: copyStreaks(view.streaks),
    shortage: copyShortage(view.shortage),
    limited: view.limited && { ...view.limited },
  };
}

function copyStreaks(streaks: FlatView["streaks"]): FlatView["streaks"] {
  if (streaks === NO_STREAKS) return NO_STREAKS;
  const copies: Partial<Record<ResourceField, Writable<Streak>>> = {};
  for (const key of RESOURCE_FIELDS) {
    const streak = streaks[key];
    if (streak !== undefined) copies[key] = { ...streak };
  }
  return copies;
}

function copyShortage(shortage: FlatShortage): FlatShortage {
  const { atLimit, clipped, held } = shortage;
  if (shortage === NO_SHORTAGE) return shortage;
  return { atLimit: { ...atLimit }, clipped, held: held === NO_SHORTAGE.held ? held : { ...held } };
}

function copyCounts(view: FlatView, copy: FlatView): void {
  if (view.streaks === NO_STREAKS && view.shortage === NO_SHORTAGE) return;
  for (const key of RESOURCE_FIELDS) {
    const [from, into] = [view.streaks[key], copy.streaks[key]];
    if (from !== undefined && into !== undefined) copyStreak(from, into);
  }
  if (view.limited !== null && copy.limited !== null) copy.limited.samples = view.limited.samples;
  if (view.shortage === NO_SHORTAGE) return;
  copy.shortage.clipped = view.shortage.clipped;
  copy.shortage.atLimit.cpu = view.shortage.atLimit.cpu;
  for (const key of RESOURCE_FIELDS) {
    const count = view.shortage.held[key];
    if (count !== undefined) copy.shortage.held[key] = count;
  }
}

function copyStreak(from: Streak, into: Writable<Streak>): void {
  into.count = from.count;
  into.peakUsage = from.peakUsage;
  into.olderPeakUsage = from.olderPeakUsage;
  into.peakUsageBytes = from.peakUsageBytes;
  into.olderPeakUsageBytes = from.olderPeakUsageBytes;
}

/** V8 stores the numbers without an object for each, as long as the array holds only numbers. */
const NO_NUMBERS: readonly number[] = Array.from({ length: FLAT.length }, () => NaN);

function writeNumbers(
  numbers: number[],
  { anchor, witness, sample }: Pick<Sampling, "anchor" | "witness" | "sample">,
  { since, until }: Evidence,
): void {
  writeAnchor(numbers, FLAT.anchor, anchor);
  writeAnchor(numbers, FLAT.witness, witness);
  const from = FLAT.sample;
  numbers[from + FLAT_SAMPLE.at] = sample?.at ?? NaN;
  numbers[from + FLAT_SAMPLE.from] = sample?.from ?? NaN;
  numbers[from + FLAT_SAMPLE.seenAt] = sample?.seenAt ?? NaN;
  numbers[from + FLAT_SAMPLE.cpuMillicores] = sample?.cpuMillicores ?? NaN;
  numbers[from + FLAT_SAMPLE.heldBack] = sample?.heldBack ?? NaN;
  numbers[from + FLAT_SAMPLE.isSaturated] = sample?.isSaturated === true ? 1 : 0;
  numbers[from + FLAT_SAMPLE.demandMillicores] = sample?.demandMillicores ?? NaN;
  numbers[from + FLAT_SAMPLE.workingSetBytes] = sample?.workingSetBytes ?? NaN;
  numbers[from + FLAT_SAMPLE.usageBytes] = sample?.usageBytes ?? NaN;
  numbers[from + FLAT_SAMPLE.podUsageBytes] = sample?.podUsageBytes ?? NaN;
  numbers[from + FLAT_SAMPLE.oomKills] = sample?.oomKills ?? NaN;
  numbers[from + FLAT_SAMPLE.isMemoryStalled] = sample?.isMemoryStalled === true ? 1 : 0;
  numbers[FLAT.evidence] = since ?? NaN;
  numbers[FLAT.evidence + 1] = until;
}

function writeAnchor(numbers: number[], from: number, anchor: Anchor | null): void {
  const pressure = anchor?.pressure ?? null;
  numbers[from + FLAT_ANCHOR.at] = anchor?.at ?? NaN;
  numbers[from + FLAT_ANCHOR.counterNs] = anchor?.counterNs ?? NaN;
  numbers[from + FLAT_ANCHOR.oomKills] = anchor?.oomKills ?? NaN;
  numbers[from + FLAT_ANCHOR.pressure] = toPressureKind(pressure);
  numbers[from + FLAT_ANCHOR.fullPercent] = pressure?.fullHint?.percent ?? NaN;
  numbers[from + FLAT_ANCHOR.fullNs] = pressure?.fullNs ?? NaN;
  numbers[from + FLAT_ANCHOR.throttledNs] = pressure?.throttledNs ?? NaN;
  numbers[from + FLAT_ANCHOR.largestCpuNs] = pressure?.largestCpuNs ?? NaN;
}

function toAnchor(instance: string, numbers: readonly number[], from: number): Anchor {
  const oomKills = findNumber(numbers, from + FLAT_ANCHOR.oomKills);
  const anchor = {
    instance,
    at: getNumber(numbers, from + FLAT_ANCHOR.at),
    counterNs: getNumber(numbers, from + FLAT_ANCHOR.counterNs),
    pressure: toPressure(numbers, from),
  };
  return oomKills === null ? anchor : { ...anchor, oomKills };
}

function toSample(numbers: readonly number[]): Sample | null {
  const from = FLAT.sample;
  const at = findNumber(numbers, from + FLAT_SAMPLE.at);
  if (at === null) return null;
  const oomKills = findNumber(numbers, from + FLAT_SAMPLE.oomKills);
  const sample = {
    at,
    from: getNumber(numbers, from + FLAT_SAMPLE.from),
    seenAt: getNumber(numbers, from + FLAT_SAMPLE.seenAt),
    cpuMillicores: getNumber(numbers, from + FLAT_SAMPLE.cpuMillicores),
    heldBack: findNumber(numbers, from + FLAT_SAMPLE.heldBack),
    isSaturated: numbers[from + FLAT_SAMPLE.isSaturated] === 1,
    demandMillicores: getNumber(numbers, from + FLAT_SAMPLE.demandMillicores),
    workingSetBytes: getNumber(numbers, from + FLAT_SAMPLE.workingSetBytes),
    usageBytes: findNumber(numbers, from + FLAT_SAMPLE.usageBytes),
    podUsageBytes: findNumber(numbers, from + FLAT_SAMPLE.podUsageBytes),
  };
  const isMemoryStalled = numbers[from + FLAT_SAMPLE.isMemoryStalled] === 1;
  if (oomKills === null && !isMemoryStalled) return sample;
  return { ...sample, ...(oomKills !== null && { oomKills }), ...(isMemoryStalled && { isMemoryStalled }) };
}

function toEvidence(numbers: readonly number[], evidence: FlatEvidence): Evidence {
  const since = findNumber(numbers, FLAT.evidence);
  const until = getNumber(numbers, FLAT.evidence + 1);
  if (since === null && until === 0 && evidence === NO_FLAT_EVIDENCE) return NO_EVIDENCE;
  return { since, until, sides: copyEvidence<FlatPeaks, Peaks>(evidence, null, toPeaks) };
}

const NO_FLAT_EVIDENCE: FlatEvidence = Object.freeze({});

type SideEvidence<P> = Partial<Record<ResourceField, P | Histogram>>;

/** Copies the peaks one by one; histograms are never written. Fields that share an object share its copy. */
function copyEvidence<From extends { readonly kind: "peaks" }, To extends { readonly kind: "peaks" }>(
  from: Readonly<SideEvidence<From>>,
  into: SideEvidence<To> | null,
  toCopy: (peaks: From, into: To | null) => To,
): SideEvidence<To> {
  const copies: SideEvidence<To> = into !== null && hasSameKeys(from, into) ? into : {};
  let last: From | Histogram | undefined;
  let lastCopy: To | Histogram | undefined;
  let isEmpty = true;
  for (const key of RESOURCE_FIELDS) {
    const side = from[key];
    if (side === undefined) continue;
    isEmpty = false;
    if (side !== last) {
      // The peaks of the field before may be shared with this one.
      const older = into?.[key];
      const mayWrite = older !== undefined && older !== lastCopy && older.kind === "peaks";
      lastCopy = side.kind === "peaks" ? toCopy(side, mayWrite ? older : null) : side;
      last = side;
    }
    if (lastCopy !== undefined) copies[key] = lastCopy;
  }
  return isEmpty ? NO_FLAT_EVIDENCE as SideEvidence<To> : copies;
}

function hasSameKeys(a: Readonly<SideEvidence<unknown>>, b: Readonly<SideEvidence<unknown>>): boolean {
  return RESOURCE_FIELDS.every((key) => (a[key] === undefined) === (b[key] === undefined));
}

function copyPeaks(peaks: FlatPeaks, into: FlatPeaks | null): FlatPeaks {
  return writePeaks(peaks, peaks.used, into);
}

function writePeaks({ kind, windowMs, pairs }: Peaks, used: number, into: FlatPeaks | null): FlatPeaks {
  if (into === null) return { kind, windowMs, pairs: pairs.slice(0, used), used };
  if (into.pairs.length < used) into.pairs = pairs.slice(0, used);
  else for (let index = 0; index < used; index++) into.pairs[index] = getNumber(pairs, index);
  into.windowMs = windowMs;
  into.used = used;
  return into;
}
