/** Tries policies in parallel: each worker takes the next one. Where no worker can be had, in this process. */
import type { Candidate } from "./grid.ts";
import { type Trial, type Tried, tryPolicy } from "./try_policy.ts";
import { type PolicyWorker, startWorker } from "./worker.ts";

/** How they are tried. */
export interface PoolOptions {
  readonly workers: number;
  /** Hears how many are done. Must not throw. */
  readonly onDone: (count: number) => void;
  /** Hears why a worker cannot be had, or broke. Must not throw. */
  readonly onLost: (error: unknown) => void;
  readonly start?: (trial: Trial) => PolicyWorker;
}

/** What each candidate came to, in their order. */
export async function tryAll(
  trial: Trial,
  candidates: readonly Candidate[],
  { workers, onDone, onLost, start = startWorker }: PoolOptions,
): Promise<readonly Tried[]> {
  const tried: Tried[] = [];
  let [next, done] = [0, 0];
  const work = async (tryOne: (candidate: Candidate) => Promise<Tried>) => {
    for (let index = next++; index < candidates.length; index = next++) {
      const candidate = candidates[index];
      if (candidate !== undefined) tried[index] = await tryOne(candidate);
      onDone(++done);
    }
  };
  const lanes = Math.max(1, Math.min(workers, candidates.length));
  if (lanes === 1) await work((candidate) => tryHere(trial, candidate));
  else await Promise.all(Array.from({ length: lanes }, () => workApart(trial, { start, work, onLost })));
  return tried;
}

interface Lane extends Pick<Required<PoolOptions>, "start" | "onLost"> {
  readonly work: (tryOne: (candidate: Candidate) => Promise<Tried>) => Promise<void>;
}

/** Who has lost its worker goes on here. */
async function workApart(trial: Trial, { start, work, onLost }: Lane): Promise<void> {
  using worker = startOrNull(trial, { start, onLost });
  let isLost = worker === null;
  await work(async (candidate) => {
    if (worker === null || isLost) return await tryHere(trial, candidate);
    try {
      return await worker.tryPolicy(candidate.manifests);
    } catch (error) {
      isLost = true;
      onLost(error);
      return await tryHere(trial, candidate);
    }
  });
}

function startOrNull(trial: Trial, { start, onLost }: Pick<Lane, "start" | "onLost">): PolicyWorker | null {
  try {
    return start(trial);
  } catch (error) {
    onLost(error);
    return null;
  }
}

/** Lets others go first: progress is to be seen. */
async function tryHere(trial: Trial, { manifests }: Candidate): Promise<Tried> {
  await new Promise((resolve) => setTimeout(resolve, 0));
  return tryPolicy(trial, manifests);
}
