import { assertEquals, assertThrows } from "#assert";
import { readClauseOptions } from "../../tools/clause_options.ts";

const CLAUSES = ["C1", "C12", "L1", "R1", "R2"];

Deno.test("readClauseOptions() asks for", async (t) => {
  const rows: readonly [string, readonly string[], boolean, readonly string[]][] = [
    ["all", [], false, CLAUSES],
    ["all, broken", ["--mutate"], true, CLAUSES],
    ["one", ["--only", "C1", "--mutate"], true, ["C1"]],
    ["several in the order of the contract", ["--only", "R1,C12"], false, ["C12", "R1"]],
    ["a family", ["--mutate", "--family", "R"], true, ["R1", "R2"]],
    ["each second", ["--part", "1/2"], false, ["C1", "L1", "R2"]],
    ["each second from the second on", ["--mutate", "--part", "2/2"], true, ["C12", "R1"]],
    ["each second of a family", ["--part", "2/2", "--family", "R"], false, ["R2"]],
    ["what both take", ["--only", "C1,R1", "--family", "R"], false, ["R1"]],
  ];
  for (const [sentence, args, isMutating, asked] of rows) {
    await t.step(sentence, () => assertEquals(readClauseOptions(args, CLAUSES), { isMutating, asked }));
  }
});

Deno.test("readClauseOptions() refuses", async (t) => {
  const usage = "[--mutate] [--only C33,C34] [--family C] [--part 1/4]";
  const rows: readonly [string, readonly string[], string][] = [
    ["a word", ["C1"], `Cannot read argument "C1": ${usage}`],
    ["a flag without its value", ["--only"], `Cannot read the arguments: ${usage}`],
    ["a flag in place of a value", ["--family", "--mutate"], `Cannot read the arguments: ${usage}`],
    ["no part", ["--part", "2"], `Cannot read --part "2": ${usage}`],
    ["a part beyond the last", ["--part", "3/2"], `Cannot read --part "3/2": ${usage}`],
    ["a part without a clause", ["--only", "C1", "--part", "2/2"], "Cannot find any clause of --only C1 --part 2/2"],
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
