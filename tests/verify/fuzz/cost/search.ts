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
  /** Of the largest legal input; `null` where it would take too long to try. */
  readonly legalMs: number | null;
  /** A text that only commands read, or a start; then the time of 64 KiB has no bound. */
  readonly isFile: boolean;
  /** By which power of its size the time grows; `null` where it is too short to tell, or larger ones are refused. */
  readonly exponent: number | null;
}

const KIB = 1024;
const UNIT = 64 * KIB;
const SEARCHED = 16 * KIB;
const KEPT = 6;

/** What 64 KiB may cost, and how it may grow. */
export const MAX_MS = 50;
export const MAX_EXPONENT = 1.5;

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
  return best.map(({ pattern }) => measureFinding(target, pattern, measure)).toSorted((a, b) => rank(b) - rank(a));
}

/** Why a finding is a failure; `null` where it is within bounds. */
export function findExcess({ ms, isFile, exponent, legalMs }: Finding): string | null {
  if (ms > MAX_MS && !isFile) return `${ms.toFixed(0)} ms of an input of 64 KiB or less, at most ${MAX_MS} expected`;
  if (exponent === null || exponent <= MAX_EXPONENT) return null;
  return `its time grows by the power ${exponent.toFixed(2)} of its size, at most ${MAX_EXPONENT} expected (${
    legalMs === null ? "more than a second" : `${legalMs.toFixed(0)} ms`
  } at its largest)`;
}

function rank(finding: Finding): number {
  return (findExcess(finding) === null ? 0 : 1e6) + finding.ms;
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

function measureFinding(target: CostTarget, pattern: Pattern, measure: Measure): Finding {
  const costAt = (length: number) => {
    const text = buildText(pattern, length);
    const { ms, mib } = measure(() => runText(target, text));
    return { ms: Math.max(0, ms), mib, length: text.length };
  };
  // A larger one may be refused at once.
  const costs = [UNIT, UNIT / 2, UNIT / 4, UNIT / 8].map((length) => costAt(Math.min(target.legal, length)));
  const { ms, mib, length } = costs.reduce((worst, one) => one.ms > worst.ms ? one : worst);
  let growth = measureGrowth(target, costAt);
  // What else the machine does, and the collector, make one run longer, and not all of them.
  for (let look = 1; look < LOOKS && (growth.exponent ?? 0) > MAX_EXPONENT; look++) {
    const again = measureGrowth(target, costAt);
    if ((again.exponent ?? 0) < (growth.exponent ?? 0)) growth = again;
  }
  const { exponent, legalMs } = growth;
  const bytes = new TextEncoder().encode(buildText(pattern, length)).length;
  return { target: target.name, isFile: target.isFile ?? false, pattern, bytes, ms, mib, legalMs, exponent };
}

/** Below this a run is too short to compare. */
const SHORTEST_MS = 4;
const LOOKS = 4;
const MIN_EXPONENT = 0.5;
const LONGEST_MS = 400;

/** Doubles the size until a run takes long enough, and compares it with that of four times the size. */
function measureGrowth(
  { legal }: CostTarget,
  costAt: (length: number) => { readonly ms: number; readonly length: number },
): Pick<Finding, "exponent" | "legalMs"> {
  let small = costAt(Math.min(legal, 4 * KIB));
  for (let length = 8 * KIB; length <= legal / 4 && small.ms < SHORTEST_MS; length *= 2) small = costAt(length);
  if (small.ms < SHORTEST_MS || 4 * small.length > legal) {
    return { exponent: null, legalMs: costAt(legal).ms };
  }
  const large = costAt(4 * small.length);
  // A pattern that does not grow with its size says nothing.
  if (large.length < 3 * small.length) return { exponent: null, legalMs: large.ms };
  const exponent = Math.log(large.ms / small.ms) / Math.log(large.length / small.length);
  // It is refused from some size on.
  if (exponent < MIN_EXPONENT) return { exponent: null, legalMs: costAt(legal).ms };
  const expectedMs = large.ms * (legal / large.length) ** Math.max(1, exponent);
  return { exponent, legalMs: expectedMs > LONGEST_MS ? null : costAt(legal).ms };
}
