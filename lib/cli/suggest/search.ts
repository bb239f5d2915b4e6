/** Searches for the best policy: first the profiles, then single numbers of the best one, while each gains. */
import { PROFILE_NAMES } from "../../resources/pod_resource_autoscaler/profiles.ts";
import { formatAmount } from "../../units/quantity.ts";
import type { Resource } from "../../units/resources.ts";
import {
  type Candidate,
  computeScore,
  computeUsageLevels,
  EXAMPLE_SPEC,
  isBetter,
  isClean,
  judge,
  type Ranked,
  type Subject,
  toSpec,
  type UsageLevels,
  type Value,
  type Verdict,
  withNumber,
} from "./judge.ts";

/** A policy with its verdict. */
export interface Tried extends Ranked {
  readonly candidate: Candidate;
}

/** A number, and the verdict without it. */
export interface Worth {
  readonly path: string;
  readonly value: Value;
  readonly without: Verdict;
}

export interface Suggestion {
  readonly best: Tried;
  readonly worths: readonly Worth[];
  readonly profiles: readonly Tried[];
  /** The verdict on the example of the document. */
  readonly example: Verdict;
  /** The verdict on a pod without resizes. */
  readonly fixed: Verdict;
  readonly seen: UsageLevels;
  /** How many policies were simulated. */
  readonly tried: number;
}

interface SearchOptions {
  /** The maximum number of simulated policies, before the worth of each number of the best is computed. */
  readonly budget: number;
  /** Called after each policy, and awaited. */
  readonly onTried?: (tried: number) => Promise<void> | void;
}

/** A step has to gain this share, and a kept number the other. */
const MIN_STEP_GAIN = 0.005;

const MIN_NUMBER_GAIN = 0.03;

/** A policy with numbers has to be better than its profile alone by this share. */
const MIN_TOTAL_GAIN = 0.05;

const MAX_ROUNDS = 3;

/** `null` where no profile is valid for the container, or without usage. */
export async function search(subject: Subject, { budget, onTried }: SearchOptions): Promise<Suggestion | null> {
  const [example, fixed] = [judge(subject, EXAMPLE_SPEC), judge(subject, null)];
  if (example === null || fixed === null) return null;
  const known = new Map<string, Tried | null>();
  let limit = budget;
  const attempt: Attempt = async (candidate) => {
    const key = JSON.stringify([candidate.profile, [...candidate.numbers].sort()]);
    const before = known.get(key);
    if (before !== undefined || known.size >= limit) return before ?? null;
    const spec = toSpec(candidate);
    const verdict = isClean(spec) ? judge(subject, spec) : null;
    const tried = verdict === null ? null : { candidate, verdict, score: computeScore(verdict, example) };
    known.set(key, tried);
    await onTried?.(known.size);
    return tried;
  };
  const profiles = await tryAll(PROFILE_NAMES.map((profile) => ({ profile, numbers: new Map() })), attempt);
  const [start] = profiles.toSorted(byRank);
  if (start === undefined) return null;
  const seen = computeUsageLevels(subject.loads);
  const climbed = await climb(start, listCoordinates(seen, subject.seen), attempt);
  // The rest is short, and without it the numbers would have no meaning.
  limit = Infinity;
  const pruned = await prune(climbed, attempt);
  const best = isBetter(pruned, start, { by: MIN_TOTAL_GAIN }) ? pruned : start;
  const worths = await findWorths(best, attempt);
  return { best, worths, profiles, example, fixed, seen, tried: known.size };
}

/** Simulates a policy; `null` where it is not valid or the budget is used up. */
export type Attempt = (candidate: Candidate) => Promise<Tried | null>;

function byRank(a: Tried, b: Tried): number {
  return isBetter(a, b) ? -1 : isBetter(b, a) ? 1 : 0;
}

async function tryAll(candidates: readonly Candidate[], attempt: Attempt): Promise<readonly Tried[]> {
  const tried: Tried[] = [];
  for (const candidate of candidates) {
    const one = await attempt(candidate);
    if (one !== null) tried.push(one);
  }
  return tried;
}

/**
 * Returns the better of two ways up, over the numbers in both orders: a small gain of one number can make a large gain of
 * two others impossible.
 */
export async function climb(start: Tried, coordinates: readonly Coordinate[], attempt: Attempt): Promise<Tried> {
  const first = await climbInOrder(start, coordinates, attempt);
  const second = await climbInOrder(start, coordinates.toReversed(), attempt);
  return isBetter(second, first) ? second : first;
}

/** Each number in turn to its best value, until a round changes nothing. */
async function climbInOrder(start: Tried, coordinates: readonly Coordinate[], attempt: Attempt): Promise<Tried> {
  let best = start;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = best;
    for (const { path, values } of coordinates) {
      const from = best.candidate;
      const others = await tryAll([null, ...values].map((value) => withNumber(from, path, value)), attempt);
      for (const one of others) if (isBetter(one, best, { by: MIN_STEP_GAIN })) best = one;
    }
    if (best === before) break;
  }
  return best;
}

/** Removes numbers that gain too little, the smallest gain first. */
async function prune(tried: Tried, attempt: Attempt): Promise<Tried> {
  let best = tried;
  for (const path of [...tried.candidate.numbers.keys()]) {
    const without = await attempt(withNumber(best.candidate, path, null));
    if (without !== null && !isBetter(best, without, { by: MIN_NUMBER_GAIN })) best = without;
  }
  return best;
}

async function findWorths({ candidate }: Tried, attempt: Attempt): Promise<readonly Worth[]> {
  const worths: Worth[] = [];
  for (const [path, value] of candidate.numbers) {
    const without = await attempt(withNumber(candidate, path, null));
    if (without !== null) worths.push({ path, value, without: without.verdict });
  }
  return worths;
}

/** A number of the manifest. */
export interface Coordinate {
  /** Within the spec. */
  readonly path: string;
  readonly resource: Resource;
  readonly values: readonly Value[];
}

/** Those of the measured resources, the most important first. Each changes the policy of its own resource alone. */
export function listCoordinates(seen: UsageLevels, resources: readonly Resource[]): readonly Coordinate[] {
  const { half, most95, most99, max } = seen.cpu;
  const all: readonly Coordinate[] = [
    // First: kills count more than everything else.
    memoryCoordinate("bounds.memory.limits.min", listLimits(seen.memory.max)),
    cpuCoordinate("bounds.cpu.requests.min", listMins([half, most95, most99, max], 10)),
    cpuCoordinate("bounds.cpu.limits.min", listMins([most95, most99, max, 1.5 * max], 25)),
    cpuCoordinate("policy.cpu.requests.scaleDown.window", ["2m", "4m", "10m", "30m", "2h"]),
    cpuCoordinate("policy.cpu.requests.targetUtilization", [66, 72, 80, 88]),
    cpuCoordinate("policy.cpu.requests.scaleDown.targetUtilization", [72, 80, 86, 92]),
    cpuCoordinate("policy.cpu.requests.scaleUpThreshold", [93, 99, 105, 115, 125]),
    cpuCoordinate("policy.cpu.requests.scaleDownThreshold", [45, 55, 62, 69]),
    cpuCoordinate("policy.cpu.limits.scaleDown.window", ["30m", "2h", "6h"]),
    cpuCoordinate("policy.cpu.limits.targetUtilization", [25, 30, 40, 50]),
    cpuCoordinate("policy.cpu.requests.scaleDown.cooldown", ["1m", "4m", "10m", "30m"]),
    memoryCoordinate("policy.memory.requests.targetUtilization", [80, 85, 90, 94]),
    memoryCoordinate("policy.memory.limits.targetUtilization", [35, 50, 60, 70]),
    memoryCoordinate("policy.memory.requests.scaleDown.window", ["1h", "6h", "24h"]),
  ];
  return all.filter(({ resource, values }) => resources.includes(resource) && values.length > 0);
}

function cpuCoordinate(path: string, values: readonly Value[]): Coordinate {
  return { path, resource: "cpu", values };
}

function memoryCoordinate(path: string, values: readonly Value[]): Coordinate {
  return { path, resource: "memory", values };
}

const STEP_BYTES = 16 * 2 ** 20;

/** Limits somewhat above the highest usage. */
function listLimits(most: number): readonly Value[] {
  return [1.1, 1.3, 1.6].map((factor) => formatAmount(Math.ceil(factor * most / STEP_BYTES) * STEP_BYTES, "memory"));
}

/** Round amounts of at least 10m; `least` is the profiles' own minimum, below which a min has no effect. */
function listMins(millicores: readonly number[], least: number): readonly Value[] {
  const amounts = millicores.map((one) => Math.max(5, Math.ceil(one / 5) * 5)).filter((one) => one > least);
  return [...new Set(amounts)].map((amount) => formatAmount(amount, "cpu"));
}
