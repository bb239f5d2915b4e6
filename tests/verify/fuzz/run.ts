/** Runs cases of one target under a seed, and says what failed, the smallest case that does, and how long one took. */
import * as fc from "fast-check";
import type { Target } from "./target.ts";
import { FOLD_TARGETS } from "./targets/fold.ts";
import { MANIFEST_TARGETS } from "./targets/manifests.ts";
import { NEXT_TO_KEDA_TARGETS } from "./targets/next_to_keda.ts";
import { SCALED_OBJECT_TARGETS } from "./targets/scaled_objects.ts";
import { OBJECT_TARGETS } from "./targets/objects.ts";
import { UNIT_TARGETS } from "./targets/units.ts";
import { USAGE_TARGETS } from "./targets/usage.ts";
import { WATCH_TARGETS } from "./targets/watches.ts";

/** Everything that is fuzzed. */
export const TARGETS: readonly Target[] = [
  ...USAGE_TARGETS,
  ...WATCH_TARGETS,
  ...OBJECT_TARGETS,
  ...MANIFEST_TARGETS,
  ...SCALED_OBJECT_TARGETS,
  ...NEXT_TO_KEDA_TARGETS,
  ...UNIT_TARGETS,
  ...FOLD_TARGETS,
];

/** Some cases of one target, in a row. */
export interface Batch {
  readonly target: string;
  readonly seed: number;
  readonly cases: number;
}

/** What came of them. */
export interface BatchResult extends Batch {
  /** What is wrong with the smallest case that fails, and that case; `null` where none does. */
  readonly failure: string | null;
  readonly slowestMs: number;
}

/** What a case may cost: a base, and more by its size. A busy machine is told apart by a second and third look. */
const BASE_MS = 100;
const PER_CHARACTER_MS = 0.01;
const LOOKS = 3;
/** Cases as text, in a report. */
const MOST_SHOWN = 3000;

/** The cases of a batch, all of them unless one fails. Never rejects. */
export async function runBatch(batch: Batch): Promise<BatchResult> {
  const one = TARGETS.find(({ name }) => name === batch.target);
  if (one === undefined) return { ...batch, failure: `There is no target "${batch.target}"`, slowestMs: 0 };
  let slowestMs = 0;
  const property = fc.asyncProperty(one.arbitrary, async (value) => {
    const tookMs = await time(one, value);
    slowestMs = Math.max(slowestMs, tookMs);
    await checkCost(one, value, tookMs);
  });
  const { failed, counterexample, errorInstance } = await fc.check(property, {
    seed: batch.seed,
    numRuns: batch.cases,
  });
  if (!failed) return { ...batch, failure: null, slowestMs };
  const why = errorInstance instanceof Error ? errorInstance.stack ?? errorInstance.message : String(errorInstance);
  return { ...batch, failure: `${why}\n  case: ${fc.stringify(counterexample?.[0]).slice(0, MOST_SHOWN)}`, slowestMs };
}

async function time(one: Target, value: unknown): Promise<number> {
  const began = performance.now();
  const checked = one.check(value);
  if (checked !== undefined) await checked;
  return performance.now() - began;
}

async function checkCost(one: Target, value: unknown, tookMs: number): Promise<void> {
  if (tookMs <= BASE_MS) return;
  const most = BASE_MS + PER_CHARACTER_MS * fc.stringify(value).length;
  let least = tookMs;
  for (let look = 1; look < LOOKS && least > most; look++) least = Math.min(least, await time(one, value));
  if (least > most) throw new Error(`It takes ${Math.round(least)} ms, at most ${Math.round(most)} expected`);
}

/** The batches of so many cases: each target has its share, in parts that keep all workers busy. */
export function planBatches(
  { cases, seed, only, size = 5000 }: {
    readonly cases: number;
    readonly seed: number;
    readonly only?: readonly string[] | undefined;
    readonly size?: number;
  },
): readonly Batch[] {
  const chosen = TARGETS.filter(({ name }) => only === undefined || only.includes(name));
  const weights = chosen.reduce((sum, { weight }) => sum + weight, 0);
  let left = cases;
  return chosen.flatMap(({ name, weight }, index) => {
    const share = index === chosen.length - 1 ? left : Math.round(cases * weight / weights);
    left -= share;
    return split(share, size).map((part, at): Batch => ({ target: name, seed: seed + at, cases: part }));
  });
}

function split(cases: number, size: number): readonly number[] {
  const parts = Math.max(1, Math.ceil(cases / size));
  return Array.from({ length: parts }, (_, index) => index < parts - 1 ? size : cases - size * (parts - 1));
}
