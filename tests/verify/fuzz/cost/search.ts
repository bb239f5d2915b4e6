/**
 * Which inputs of a parser cost most? Hill climbing over patterns: the worst ones so far are changed, and what costs
 * more stays. The worst of all are then measured at doubled sizes, because growth is the same on a busy machine.
 */
import { buildText, type Pattern } from "./pattern.ts";
import type { CostTarget } from "./targets.ts";

/** What one input costs: CPU of this process, and memory that was allocated or is held. */
export interface Cost {
  readonly ms: number;
  readonly mib: number;
}

/** Measures one run; the least of several is taken. */
export type Measure = (run: () => unknown) => Cost;

/** How a search goes. */
export interface SearchOptions {
  /** Patterns that are tried after the seeds. */
  readonly tries: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly measure: Measure;
}

/** The worst input that was found. */
export interface Finding {
  readonly target: string;
  readonly pattern: Pattern;
  readonly bytes: number;
  /** Of an input of 64 KiB, or the largest legal one where that is smaller. */
  readonly ms: number;
  readonly mib: number;
  /** Of the largest input that can reach the parser; `null` where a worse input of the same parser was measured. */
  readonly largest: Largest | null;
  /** A text that only commands read, or a start; then the time of 64 KiB has no bound. */
  readonly isFile: boolean;
  /** By which power of its size the time grows; `null` where it is too short to tell, or larger ones are refused. */
  readonly exponent: number | null;
}

/** The cost of the largest input. */
export interface Largest {
  readonly bytes: number;
  readonly ms: number;
  readonly mib: number;
  /** What JSON.parse alone takes for the same text, ms; `null` for texts that are not JSON. */
  readonly jsonMs: number | null;
}

const KIB = 1024;
const UNIT = 64 * KIB;
const SEARCHED = 16 * KIB;
const KEPT = 6;

/** What 64 KiB and the largest input may cost, and how time may grow. */
export const MAX_MS = 50;
export const MAX_EXPONENT = 1.5;

/** The largest JSON may take longer than MAX_MS, if JSON.parse alone does: this many times as long. */
export const MAX_JSON_RATIO = 4;

/** Bytes that a run may add to the heap for each byte of the largest input, next to MIN_MIB. */
export const MAX_HEAP_RATIO = 64;
const MIN_MIB = 16;

/** The worst inputs, by time and by growth: the first is the worst. */
export function searchCost(target: CostTarget, { tries, random, measure }: SearchOptions): readonly Finding[] {
  const length = Math.min(target.legal, SEARCHED);
  const judge = (pattern: Pattern) => {
    const text = buildText(pattern, length);
    return { pattern, ms: measure(() => runText(target, text)).ms };
  };
  let best = keepWorst(target.seeds.map(judge));
  for (let left = tries; left > 0; left--) {
    const parent = best[Math.floor(random() * best.length)];
    if (parent === undefined) break;
    best = keepWorst([...best, judge(mutate(parent.pattern, target, random))]);
  }
  return best.map(({ pattern }, index) => measureFinding(target, pattern, { measure, hasLargest: index < LARGEST }))
    .toSorted((a, b) => rank(b) - rank(a));
}

/** The worst inputs that are measured at the largest size. */
const LARGEST = 2;

/** Why a finding is a failure; `null` where it is within bounds. */
export function findExcess(finding: Finding): string | null {
  const { ms, isFile, exponent, largest } = finding;
  if (ms > MAX_MS && !isFile) return `${ms.toFixed(0)} ms of an input of 64 KiB or less, at most ${MAX_MS} expected`;
  const excess = largest === null ? null : findExcessOfLargest(largest, isFile);
  if (excess !== null) return excess;
  if (exponent === null || exponent <= MAX_EXPONENT) return null;
  return `its time grows by the power ${exponent.toFixed(2)} of its size, at most ${MAX_EXPONENT} expected`;
}

function findExcessOfLargest({ bytes, ms, mib, jsonMs }: Largest, isFile: boolean): string | null {
  const maxMs = Math.max(MAX_MS, MAX_JSON_RATIO * (jsonMs ?? 0));
  if (ms > maxMs && !isFile) {
    const json = jsonMs === null ? "" : ` (JSON.parse alone takes ${jsonMs.toFixed(0)})`;
    return `${ms.toFixed(0)} ms of its largest input, ${bytes} bytes, at most ${maxMs.toFixed(0)} expected${json}`;
  }
  const maxMib = MIN_MIB + MAX_HEAP_RATIO * bytes / 2 ** 20;
  if (mib <= maxMib) return null;
  return `${mib.toFixed(0)} MiB of its largest input, ${bytes} bytes, at most ${maxMib.toFixed(0)} expected`;
}

function rank(finding: Finding): number {
  return (findExcess(finding) === null ? 0 : 1e6) + (finding.largest === null ? 0 : 1e5) + finding.ms;
}

interface Judged {
  readonly pattern: Pattern;
  readonly ms: number;
}

function keepWorst(all: readonly Judged[]): readonly Judged[] {
  return all.toSorted((a, b) => b.ms - a.ms).slice(0, KEPT);
}

function runText(target: CostTarget, text: string): unknown {
  try {
    return target.run(text);
  } catch (error) {
    // What is no JSON is refused before a parser has it.
    if (error instanceof SyntaxError || error instanceof RangeError) return error;
    throw error;
  }
}

/** Inserts, removes or replaces a token of one part. */
function mutate(pattern: Pattern, { tokens }: CostTarget, random: () => number): Pattern {
  const parts = ["unit", "unit", "unit", "open", "close"] as const;
  const part = parts[Math.floor(random() * parts.length)] ?? "unit";
  const text = pattern[part];
  const at = Math.floor(random() * (text.length + 1));
  const token = tokens[Math.floor(random() * tokens.length)] ?? "";
  const kind = random();
  const end = kind < 0.5 ? at : Math.min(text.length, at + 1 + Math.floor(random() * 4));
  const changed = text.slice(0, at) + (kind < 0.75 ? token : "") + text.slice(end);
  return changed.length > MAX_PART ? pattern : { ...pattern, [part]: changed };
}

const MAX_PART = 3000;

function measureFinding(
  target: CostTarget,
  pattern: Pattern,
  { measure, hasLargest }: { readonly measure: Measure; readonly hasLargest: boolean },
): Finding {
  const costAt = (length: number) => {
    const text = buildText(pattern, length);
    const { ms, mib } = measure(() => runText(target, text));
    return { ms: Math.max(0, ms), mib, length: text.length };
  };
  // A larger one may be refused at once.
  const costs = [UNIT, UNIT / 2, UNIT / 4, UNIT / 8].map((length) => costAt(Math.min(target.legal, length)));
  const { ms, mib, length } = costs.reduce((worst, one) => one.ms > worst.ms ? one : worst);
  let exponent = measureGrowth(target, costAt);
  // What else the machine does, and the collector, make one run longer, and not all of them.
  for (let look = 1; look < LOOKS && (exponent ?? 0) > MAX_EXPONENT; look++) {
    const again = measureGrowth(target, costAt);
    if ((again ?? 0) < (exponent ?? 0)) exponent = again;
  }
  const isFile = target.isFile ?? false;
  let largest = hasLargest ? measureLargest(target, pattern, measure) : null;
  for (let look = 1; look < LOOKS && largest !== null && findExcessOfLargest(largest, isFile) !== null; look++) {
    const again = measureLargest(target, pattern, measure);
    largest = { ...again, ms: Math.min(largest.ms, again.ms), mib: Math.min(largest.mib, again.mib) };
  }
  const bytes = countBytes(buildText(pattern, length));
  return { target: target.name, isFile, pattern, bytes, ms, mib, largest, exponent };
}

function measureLargest(target: CostTarget, pattern: Pattern, measure: Measure): Largest {
  const text = buildText(pattern, target.legal);
  // A text that is not quite JSON takes its time too.
  const jsonMs = /^[[{]"/.test(text) ? measure(() => isJson(text)).ms : null;
  return { bytes: countBytes(text), ...measure(() => runText(target, text)), jsonMs };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function countBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Below this a run is too short to compare. */
const SHORTEST_MS = 4;
const LOOKS = 4;
const MIN_EXPONENT = 0.5;

/**
 * Doubles the size until a run takes long enough, and compares it with that of four times the size. Returns `null` where
 * that says nothing.
 */
function measureGrowth(
  { legal }: CostTarget,
  costAt: (length: number) => { readonly ms: number; readonly length: number },
): number | null {
  let small = costAt(Math.min(legal, 4 * KIB));
  for (let length = 8 * KIB; length <= legal / 4 && small.ms < SHORTEST_MS; length *= 2) small = costAt(length);
  if (small.ms < SHORTEST_MS || 4 * small.length > legal) return null;
  const large = costAt(4 * small.length);
  // A pattern that does not grow with its size says nothing.
  if (large.length < 3 * small.length) return null;
  const exponent = Math.log(large.ms / small.ms) / Math.log(large.length / small.length);
  // It is refused from some size on.
  return exponent < MIN_EXPONENT ? null : exponent;
}
