/** What a mutation proves, and when it proves nothing. */
import { assertEquals } from "@std/assert";
import { applyMutation, findTestFault, judgeMutant, type Mutation, tally } from "../../tools/mutation.ts";
import type { TestOutcome } from "../../tools/test_results.ts";

const MUTATION: Mutation = {
  breaks: "rounds down",
  file: "lib/a.ts",
  find: "ceil",
  replace: "floor",
  testFile: "a_test.ts",
  test: "a() rounds up (C33)",
};

const ran = (outcomes: Readonly<Record<string, TestOutcome>>) => ({ outcomes: new Map(Object.entries(outcomes)) });

Deno.test("applyMutation() replaces what stands there once", () => {
  assertEquals(applyMutation("x = ceil(y);\n", MUTATION), { text: "x = floor(y);\n" });
  const literal = { ...MUTATION, replace: "$& $1" };
  assertEquals(applyMutation("ceil", literal), { text: "$& $1" });
});

Deno.test("applyMutation() refuses", async (t) => {
  const rows: readonly [string, string, Partial<Mutation>, string][] = [
    ["what is not there", "round", {}, "what it replaces no longer occurs in lib/a.ts: ceil"],
    ["what is there twice", "ceil ceil", {}, "what it replaces occurs 2 times in lib/a.ts: ceil"],
    ["nothing to find", "ceil", { find: "" }, "what it replaces no longer occurs in lib/a.ts: "],
    ["what is the same", "ceil", { replace: "ceil" }, "it changes nothing"],
  ];
  for (const [sentence, text, differs, fault] of rows) {
    await t.step(sentence, () => assertEquals(applyMutation(text, { ...MUTATION, ...differs }), { fault }));
  }
});

Deno.test("findTestFault() is content with a test that passes and names the clause", () => {
  assertEquals(findTestFault(MUTATION, "C33", ran({ [MUTATION.test]: "passed" })), null);
  const steps = ran({ [MUTATION.test]: "passed", [`${MUTATION.test} > never below C34`]: "passed" });
  assertEquals(findTestFault(MUTATION, "C34", steps), null);
});

Deno.test("findTestFault() says why a test proves nothing", async (t) => {
  const name = MUTATION.test;
  const rows: readonly [string, Parameters<typeof findTestFault>[2], string][] = [
    ["it is not there", ran({ other: "passed" }), `tests/a_test.ts has no test "${name}"`],
    ["it fails already", ran({ [name]: "failed" }), `without it "${name}" is not passed but failed`],
    ["it is ignored", ran({ [name]: "skipped" }), `without it "${name}" is not passed but skipped`],
    ["its file does not load", { fault: "no result" }, "no result"],
  ];
  for (const [sentence, run, fault] of rows) {
    await t.step(sentence, () => assertEquals(findTestFault(MUTATION, "C33", run), fault));
  }
  const elsewhere = ran({ [name]: "passed", "another (C34)": "passed" });
  assertEquals(findTestFault(MUTATION, "C34", elsewhere), `"${name}" does not name C34`);
});

Deno.test("judgeMutant() takes a mutant for killed only when its test fails as a test", async (t) => {
  const name = MUTATION.test;
  const rows: readonly [string, Parameters<typeof judgeMutant>[1], ReturnType<typeof judgeMutant>][] = [
    ["it fails", ran({ [name]: "failed" }), { kind: "killed" }],
    ["it passes", ran({ [name]: "passed", other: "failed" }), { kind: "survived" }],
    ["it was cancelled", ran({ [name]: "error" }), {
      kind: "broken",
      why: "its test is error, neither passed nor failed",
    }],
    ["it did not run", ran({ other: "failed" }), {
      kind: "broken",
      why: "its test is not there, neither passed nor failed",
    }],
    ["the module did not load, or not in time", { fault: "no result" }, { kind: "broken", why: "no result" }],
  ];
  for (const [sentence, run, verdict] of rows) {
    await t.step(sentence, () => assertEquals(judgeMutant(MUTATION, run), verdict));
  }
});

Deno.test("tally() takes a clause for proven when it has mutants and all of them were killed", () => {
  const kinds = { C1: ["killed", "killed"], C2: ["killed", "survived"], C3: ["skipped"], C5: ["killed"] } as const;
  const verdicts = Object.entries(kinds).flatMap(([clause, all]) => all.map((kind) => ({ clause, verdict: { kind } })));
  const broken = { clause: "C5", verdict: { kind: "broken", why: "no result" } } as const;
  const { proven, ...counts } = tally(["C1", "C2", "C3", "C4", "C5"], [...verdicts, broken]);
  assertEquals(proven, ["C1"]);
  assertEquals(counts, { killed: 4, survived: 1, skipped: 1, broken: 1 });
});
