/** Does code with mutants in it do what it did, and each mutant what it says? The code is run. */
import { assert, assertEquals } from "#assert";
import { instrument } from "../../../tools/mutants/instrument.ts";
import { readSyntax } from "../../../tools/mutants/syntax.ts";

interface Switches {
  podfitMutant?: number;
  podfitEnter?: (block: number) => void;
  podfitRound?: () => void;
}

const switches = globalThis as unknown as Switches;

const TEXT = `(function f(a, b, c) {
  const all = [...(a > 1 ? [a] : []), b && a, b];
  if (c === null) return { ...{ a }, b: b + 1, all };
  let sum = 0;
  for (const one of all) { if (one > 2) sum += one; }
  for (const one of all) sum += one * 2;
  g(sum);
  return sum;
})`;

/** What the code gives with one mutant on, or none. */
function run(code: string, mutant: number, args: readonly unknown[]): string {
  const given: unknown[] = [];
  switches.podfitMutant = mutant;
  try {
    const f = new Function("g", `return ${code}`)((value: unknown) => given.push(value));
    return JSON.stringify([f(...args), given]);
  } catch (error) {
    return String(error);
  } finally {
    delete switches.podfitMutant;
  }
}

const CALLS = [[3, 4, 1], [3, 4, null], [1, 0, 1], [9, 9, 9]];

Deno.test("instrument() keeps what code does, and each mutant does what its text says", () => {
  const syntax = readSyntax(TEXT);
  const mutants = syntax.mutants.map((mutant, id) => ({ id, mutant }));
  const code = instrument(TEXT, syntax, { firstBlock: 0, mutants });
  assert(mutants.length > 20, `${mutants.length}`);
  for (const args of CALLS) assertEquals(run(code, -1, args), run(TEXT, -1, args));
  for (const { id, mutant } of mutants) {
    const { start, end, kind, code: changed } = mutant;
    // What leaves out an element leaves a comma, which of an array is a hole: the empty spread has none.
    const put = kind === "expression"
      ? `(${changed})`
      : kind === "statement"
      ? "{}"
      : kind === "array"
      ? "...[]"
      : "...{}";
    const alone = TEXT.slice(0, start) + put + TEXT.slice(end);
    for (const args of CALLS) assertEquals(run(code, id, args), run(alone, -1, args), mutant.key);
  }
});

Deno.test("instrument() counts entries of blocks and rounds of loops", () => {
  const syntax = readSyntax(TEXT);
  const code = instrument(TEXT, syntax, { firstBlock: 10, mutants: [] });
  const entered = new Set<number>();
  let rounds = 0;
  switches.podfitEnter = (block) => void entered.add(block);
  switches.podfitRound = () => void rounds++;
  try {
    run(code, -1, [3, 4, null]);
    assertEquals([[...entered].sort(), rounds], [[10, 11, 13, 14], 0]);
    entered.clear();
    run(code, -1, [9, 9, 9]);
    assertEquals(rounds, 3 + 3);
    assertEquals([entered.has(10), entered.has(14), Math.max(...entered)], [true, false, 9 + syntax.blocks.length]);
  } finally {
    delete switches.podfitEnter;
    delete switches.podfitRound;
  }
});

Deno.test("instrument() leaves a text without blocks, loops and mutants as it is", () => {
  const nothing = { blocks: [], loops: [] };
  assertEquals(instrument("const a = 1;\n", nothing, { firstBlock: null, mutants: [] }), "const a = 1;\n");
});
