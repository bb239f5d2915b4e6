/**
 * Which mutants are tried for a clause, and in which order? Those in blocks that its tests enter; first those where most of
 * its tests come by and few others, for there its own tests are most likely what proves the code. Names and paths do not count,
 * so that a rename or a move changes no choice. Pure.
 */
import type { Operator, SyntaxMutant } from "./syntax.ts";

export interface CoveredTest {
  /** Its file, its name, and which of that name. */
  readonly key: string;
  readonly clauses: readonly string[];
  /** Rounds of loops that it takes. */
  readonly rounds: number;
  /** Numbers of the blocks that it enters. */
  readonly blocks: readonly number[];
}

export interface Candidate {
  /** By its place in the list of all. */
  readonly id: number;
  readonly file: string;
  readonly mutant: SyntaxMutant;
  /** The number of its block among those of all files. */
  readonly block: number;
}

export interface Choice {
  readonly clause: string;
  readonly candidates: readonly Candidate[];
}

/** How much less a block's further mutants count: code is visited widely, and some of it twice. */
const FURTHER = 0.8;

/** These change nothing more often than others do: a bound that is never met, a check for the type checker alone. */
const DOUBTFUL: ReadonlySet<Operator> = new Set(["boundary moved", "left dropped", "number changed"]);
const DOUBT = 0.7;

/** No candidate is chosen for two clauses. `count`: how many a clause may try at most. */
export function chooseMutants(
  { clauses, tests, candidates, count }: {
    readonly clauses: readonly string[];
    readonly tests: readonly CoveredTest[];
    readonly candidates: readonly Candidate[];
    readonly count: (clause: string) => number;
  },
): readonly Choice[] {
  const byBlock = Map.groupBy(candidates, ({ block }) => block);
  for (const [block, own] of byBlock) byBlock.set(block, own.toSorted(byKey));
  const weights = weighBlocks(tests);
  const queues = clauses.map((clause) => ({
    clause,
    most: count(clause),
    queue: rank(clause, { tests, weights, byBlock }).values(),
    chosen: [] as Candidate[],
  }));
  const taken = new Set<number>();
  let open = queues;
  while (open.length > 0) {
    open = open.filter(({ most, queue, chosen }) => {
      if (chosen.length >= most) return false;
      const next = queue.find(({ id }) => !taken.has(id));
      if (next === undefined) return false;
      taken.add(next.id);
      chosen.push(next);
      return true;
    });
  }
  return queues.map(({ clause, chosen }) => ({ clause, candidates: chosen }));
}

/** By block: the tests that enter it. One that enters little says more about each block than one that enters all. */
function weighBlocks(tests: readonly CoveredTest[]): ReadonlyMap<number, number> {
  const weights = new Map<number, number>();
  for (const { blocks } of tests) {
    for (const block of blocks) weights.set(block, (weights.get(block) ?? 0) + 1 / blocks.length);
  }
  return weights;
}

/**
 * A block is the clause's own as far as its tests enter it and others do not: Ochiai's measure, which is used to find
 * the code that makes tests fail.
 */
function rank(
  clause: string,
  { tests, weights, byBlock }: {
    readonly tests: readonly CoveredTest[];
    readonly weights: ReadonlyMap<number, number>;
    readonly byBlock: ReadonlyMap<number, readonly Candidate[]>;
  },
): readonly Candidate[] {
  const own = weighBlocks(tests.filter(({ clauses }) => clauses.includes(clause)));
  const ranked = [...own].flatMap(([block, weight]) => {
    const share = weight / Math.sqrt(weights.get(block) ?? weight);
    return (byBlock.get(block) ?? []).map((candidate, i) => {
      const doubt = DOUBTFUL.has(candidate.mutant.operator) ? DOUBT : 1;
      return { candidate, score: share * doubt * FURTHER ** i };
    });
  });
  return ranked.sort((a, b) => b.score - a.score || byKey(a.candidate, b.candidate)).map(({ candidate }) => candidate);
}

/** An order that is none of names, and spreads over operators. */
function byKey(a: Candidate, b: Candidate): number {
  return a.mutant.hash - b.mutant.hash || a.id - b.id;
}
