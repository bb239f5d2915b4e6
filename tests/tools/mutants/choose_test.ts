/** Which mutants a clause gets. */
import { assertEquals } from "#assert";
import { type Candidate, chooseMutants, type CoveredTest } from "../../../tools/mutants/choose.ts";

const test = (clauses: readonly string[], blocks: readonly number[]): CoveredTest => ({
  key: `${clauses} ${blocks}`,
  clauses,
  rounds: 0,
  blocks,
});

const candidate = (id: number, block: number, differs: Partial<Candidate["mutant"]> = {}): Candidate => ({
  id,
  block,
  file: "lib/a.ts",
  mutant: {
    operator: "statement dropped",
    key: `${id}`,
    hash: id,
    block,
    start: 0,
    end: 1,
    kind: "statement",
    code: "",
    line: 1,
    ...differs,
  },
});

function choose(tests: readonly CoveredTest[], candidates: readonly Candidate[], count = 9) {
  const choices = chooseMutants({ clauses: ["C1", "C2"], tests, candidates, count: () => count });
  return Object.fromEntries(choices.map(({ clause, candidates }) => [clause, candidates.map(({ id }) => id)]));
}

Deno.test("chooseMutants() takes first where the clause's tests come by and others do not", () => {
  const tests = [test(["C1"], [1, 2]), test(["C1"], [2, 3]), test(["C2"], [3]), test([], [1])];
  assertEquals(choose(tests, [candidate(1, 1), candidate(2, 2), candidate(3, 3), candidate(4, 4)]), {
    C1: [2, 1],
    C2: [3],
  });
});

Deno.test("chooseMutants() counts a test that enters little for more than one that enters all", () => {
  const tests = [test(["C1"], [1]), test(["C1"], [2, 3, 4, 5])];
  assertEquals(choose(tests, [candidate(2, 2), candidate(1, 1)]).C1, [1, 2]);
});

Deno.test("chooseMutants() gives a mutant to one clause, in turn, and no clause more than it may try", () => {
  const tests = [test(["C1", "C2"], [1])];
  const candidates = [1, 2, 3, 4, 5].map((id) => candidate(id, 1));
  assertEquals(choose(tests, candidates, 2), { C1: [1, 3], C2: [2, 4] });
});

Deno.test("chooseMutants() puts off a block's further mutants, and those that often change nothing", () => {
  const tests = [test(["C1"], [1, 2])];
  assertEquals(choose(tests, [candidate(1, 1), candidate(2, 1), candidate(3, 2)]).C1, [1, 3, 2]);
  assertEquals(choose(tests, [candidate(1, 1, { operator: "number changed" }), candidate(2, 2)]).C1, [2, 1]);
});

Deno.test("chooseMutants() chooses alike after a move", () => {
  const tests = [test(["C1"], [1, 2])];
  const moved = [test(["C1"], [7, 8])];
  const hashes = [30, 10, 20];
  const before = hashes.map((hash, i) => candidate(i, 1 + (i % 2), { hash }));
  const after = hashes.map((hash, i) => candidate(5 - i, 7 + (i % 2), { hash }));
  const hashesOf = (ids: readonly number[] | undefined, all: readonly Candidate[]) =>
    ids?.map((id) => all.find((one) => one.id === id)?.mutant.hash);
  assertEquals(hashesOf(choose(moved, after).C1, after), hashesOf(choose(tests, before).C1, before));
});
