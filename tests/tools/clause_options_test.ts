import { assertEquals, assertThrows } from "#assert";
import { type ClauseOptions, readClauseOptions } from "../../tools/clause_options.ts";

const CLAUSES = ["C1", "C12", "L1", "R1", "R2"];

Deno.test("readClauseOptions() asks for", async (t) => {
  const rows: readonly [string, readonly string[], ClauseOptions["mutants"], readonly string[]][] = [
    ["all", [], "none", CLAUSES],
    ["all, broken", ["--mutate"], "all", CLAUSES],
    ["all, broken by what is written down", ["--mutate-written"], "written", CLAUSES],
    ["one", ["--only", "C1", "--mutate"], "all", ["C1"]],
    ["several in the order of the contract", ["--only", "R1,C12"], "none", ["C12", "R1"]],
    ["a family", ["--mutate", "--family", "R"], "all", ["R1", "R2"]],
    ["what both take", ["--only", "C1,R1", "--family", "R"], "none", ["R1"]],
  ];
  for (const [sentence, args, mutants, asked] of rows) {
    await t.step(
      sentence,
      () => assertEquals(readClauseOptions(args, CLAUSES), { mutants, asked, testsPassed: false, place: "any" }),
    );
  }
});

Deno.test("readClauseOptions() reads that the tests have just passed", () => {
  const { mutants, testsPassed } = readClauseOptions(["--mutate-written", "--tests-passed"], CLAUSES);
  assertEquals({ mutants, testsPassed }, { mutants: "written", testsPassed: true });
});

Deno.test("readClauseOptions() reads where the written mutants are tested", () => {
  const places = [[], ["--unit"], ["--cluster"]].map((args) => readClauseOptions(args, CLAUSES).place);
  assertEquals(places, ["any", "unit", "cluster"]);
});

Deno.test("readClauseOptions() refuses", async (t) => {
  const usage = "[--mutate | --mutate-written] [--unit | --cluster] [--tests-passed] [--only C33,C34] [--family C]";
  const rows: readonly [string, readonly string[], string][] = [
    ["a word", ["C1"], `Cannot read argument "C1": ${usage}`],
    ["a flag without its value", ["--only"], `Cannot read the arguments: ${usage}`],
    ["a flag in place of a value", ["--family", "--mutate"], `Cannot read the arguments: ${usage}`],
    ["clauses that are not there", ["--only", "C1,C2,L9"], "Cannot find C2, L9 in the contract"],
    ["a family that is not there", ["--family", "X"], "Cannot find any clause of --family X in the contract"],
  ];
  for (const [sentence, args, message] of rows) {
    await t.step(sentence, () => {
      assertThrows(() => readClauseOptions(args, CLAUSES), Error, message);
    });
  }
});

Deno.test("readClauseOptions() refuses a contract without clauses", () => {
  assertThrows(() => readClauseOptions([], []), Error, "Cannot find any clause");
});
