/**
 * Looks for the policy that does best on what was seen: the profiles first, then the numbers of the best one by one, as
 * long as each gains. In the end each number has to be worth its line.
 */
import { PROFILE_NAMES } from "../../autoscaler/profiles.ts";
import { type Candidate, isClean, toSpec, type Value, withNumber } from "./candidate.ts";
import { EXAMPLE } from "./example.ts";
import { isBetter, judge, type Ranked, type Subject, toScore, type Verdict } from "./judge.ts";
import { type Coordinate, listCoordinates } from "./numbers.ts";
import { readSeen, type Seen } from "./seen.ts";

/** A policy and how it did. */
export interface Tried extends Ranked {
  readonly candidate: Candidate;
}

/** A number, and how the policy did without it. */
export interface Worth {
  readonly path: string;
  readonly value: Value;
  readonly without: Verdict;
}

export interface Suggestion {
  readonly best: Tried;
  readonly worths: readonly Worth[];
  readonly profiles: readonly Tried[];
  /** What the document's example did. */
  readonly example: Verdict;
  /** What the pod's size did that nothing resizes. */
  readonly fixed: Verdict;
  readonly seen: Seen;
  /** How many policies were simulated. */
  readonly tried: number;
}

export interface SearchOptions {
  /** How many policies are simulated at most, until it is asked of each number of the best what it is worth. */
  readonly budget: number;
  /** Hears of each that was, and may take its time: it is waited for. */
  readonly onTried?: (tried: number) => Promise<void> | void;
}

/** A step has to gain this share, and a number, in the end, that. */
const LEAST_STEP = 0.005;
const LEAST_WORTH = 0.03;
/** A policy of a profile and numbers has to beat the profile alone by so much. */
const LEAST_GAIN = 0.05;
const MOST_ROUNDS = 3;

/** `null` where no profile is valid for the container, or nothing was seen. */
export async function search(subject: Subject, { budget, onTried }: SearchOptions): Promise<Suggestion | null> {
  const [example, fixed] = [judge(subject, EXAMPLE), judge(subject, null)];
  if (example === null || fixed === null) return null;
  const known = new Map<string, Tried | null>();
  let limit = budget;
  const attempt: Attempt = async (candidate) => {
    const key = JSON.stringify(toSpec(candidate));
    const before = known.get(key);
    if (before !== undefined || known.size >= limit) return before ?? null;
    const spec = toSpec(candidate);
    const verdict = isClean(spec) ? judge(subject, spec) : null;
    const tried = verdict === null
      ? null
      : { candidate, verdict, score: toScore(verdict, { measure: example, seen: subject.seen }) };
    known.set(key, tried);
    await onTried?.(known.size);
    return tried;
  };
  const profiles = await tryAll(PROFILE_NAMES.map((profile) => ({ profile, numbers: new Map() })), attempt);
  const [start] = profiles.toSorted(byRank);
  if (start === undefined) return null;
  const seen = readSeen(subject.loads);
  const climbed = await climb(start, listCoordinates(seen, subject.seen), attempt);
  // What is left is short, and without it numbers would stand there for nothing.
  limit = Infinity;
  const pruned = await prune(climbed, attempt);
  const best = isBetter(pruned, start, { by: LEAST_GAIN }) ? pruned : start;
  const worths = await findWorths(best, attempt);
  return { best, worths, profiles, example, fixed, seen, tried: known.size };
}

type Attempt = (candidate: Candidate) => Promise<Tried | null>;

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

/** Each number in turn to its best value, until a round changes nothing. */
async function climb(start: Tried, coordinates: readonly Coordinate[], attempt: Attempt): Promise<Tried> {
  let best = start;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const before = best;
    for (const { path, values } of coordinates) {
      const from = best.candidate;
      const others = await tryAll([null, ...values].map((value) => withNumber(from, path, value)), attempt);
      for (const one of others) if (isBetter(one, best, { by: LEAST_STEP })) best = one;
    }
    if (best === before) break;
  }
  return best;
}

/** Takes away what is not worth its line, the least first. */
async function prune(tried: Tried, attempt: Attempt): Promise<Tried> {
  let best = tried;
  for (const path of [...tried.candidate.numbers.keys()]) {
    const without = await attempt(withNumber(best.candidate, path, null));
    if (without !== null && !isBetter(best, without, { by: LEAST_WORTH })) best = without;
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
