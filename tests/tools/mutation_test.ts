/** What a mutation proves, and when it proves nothing. */
import { assertEquals } from "#assert";
import { findTestFault, judgeMutant, type Mutation, placeMutation, tally } from "../../tools/mutation.ts";
import { indexSources } from "../../tools/source_index.ts";
import type { TestOutcome } from "../../tools/test_results.ts";

const MUTATION = {
  breaks: "rounds down",
  in: "round",
  find: "ceil(x)",
  replace: "floor(x)",
  test: "round() rounds up (C33)",
} as const;

const ROUND = `/** Rounds up. */
export function round(x: number): number {
  return ceil(x) + myceil(x) + pair(
    x,
    [1, 2],
  );
}

function again(x: number): number {
  return ceil(x);
}
`;

const LIMITS = `const LIMIT = 3;

export class Count {
  readonly #step = 3;

  async add(n: number): Promise<void> {
    await this.save(n + 3);
  }
}
`;

const TEXTS: Readonly<Record<string, string>> = {
  "lib/units/round.ts": ROUND,
  "lib/units/limits.ts": LIMITS,
  "lib/sim/limits.ts": "const LIMIT = 4;\n",
  "deploy/install.yaml": "verbs: [get]\nrules:\n  verbs: [get]\n",
  "tests/units/round_test.ts": `Deno.test("${MUTATION.test}", () => {});\nDeno.test("both (C1)", f);\n`,
  "tests/sim/both_test.ts": 'Deno.test("both (C1)", f);\nfor (const n of ALL) Deno.test(`counts ${n} (C1)`, f);\n',
};

const RAN = { test: MUTATION.test, testFile: "units/round_test.ts" };

const INDEX = indexSources(new Map(Object.entries(TEXTS)));

const place = (differs: Partial<Mutation>) => placeMutation({ ...MUTATION, ...differs }, INDEX);

const ran = (outcomes: Readonly<Record<string, TestOutcome>>) => ({ outcomes: new Map(Object.entries(outcomes)) });

Deno.test("placeMutation() changes the one place in the function, and finds the file of its test", () => {
  const text = ROUND.replace("ceil(x) +", "floor(x) +");
  assertEquals(place({}), { file: "lib/units/round.ts", text, ...RAN });
});

Deno.test("placeMutation() finds", async (t) => {
  const rows: readonly [string, Partial<Mutation>, file: string, text: string][] = [
    [
      "code that is laid out otherwise",
      { find: "pair(x, [1, 2])", replace: "$& $1" },
      "lib/units/round.ts",
      [
        "/** Rounds up. */\nexport function round(x: number): number {",
        "  return ceil(x) + myceil(x) + $& $1;",
        "}",
        "",
        ROUND.slice(ROUND.indexOf("function again")),
      ].join("\n"),
    ],
    ["a method", { in: "Count.add", find: "3", replace: "4" }, "lib/units/limits.ts", LIMITS.replace("n + 3", "n + 4")],
    [
      "a private field",
      { in: "Count.#step", find: "3", replace: "4" },
      "lib/units/limits.ts",
      LIMITS.replace("step = 3", "step = 4"),
    ],
    [
      "one of two constants by what is in it",
      { in: "LIMIT", find: "4", replace: "5" },
      "lib/sim/limits.ts",
      "const LIMIT = 5;\n",
    ],
    [
      "one of two constants by its folder",
      { in: "LIMIT", under: "lib/sim", find: "const", replace: "let" },
      "lib/sim/limits.ts",
      "let LIMIT = 4;\n",
    ],
    [
      "a function that was moved from where the hint says",
      { under: "lib/sim", find: "ceil(x)", replace: "x" },
      "lib/units/round.ts",
      ROUND.replace("ceil(x)", "x"),
    ],
  ];
  for (const [sentence, differs, file, text] of rows) {
    await t.step(sentence, () => assertEquals(place(differs), { file, text, ...RAN }));
  }
});

Deno.test("placeMutation() takes a file that is not TypeScript letter for letter", () => {
  const { in: _, ...slip } = MUTATION;
  const mutation = { ...slip, file: "deploy/install.yaml", find: "  verbs: [get]", replace: "  verbs: []" };
  const text = "verbs: [get]\nrules:\n  verbs: []\n";
  assertEquals(placeMutation(mutation, INDEX), { file: "deploy/install.yaml", text, ...RAN });
  assertEquals(placeMutation({ ...mutation, file: "deploy/gone.yaml" }, INDEX), {
    fault: "there is no deploy/gone.yaml",
  });
  assertEquals(placeMutation({ ...mutation, find: "verbs: [get]" }, INDEX), {
    fault: '"verbs: [get]" occurs 2 times in deploy/install.yaml',
  });
});

Deno.test("placeMutation() refuses", async (t) => {
  const limits = "lib/sim/limits.ts, lib/units/limits.ts";
  const rows: readonly [string, Partial<Mutation>, string][] = [
    ["a function that is not there", { in: "gone" }, 'there is no function, method or constant "gone" in lib'],
    ["a class as a whole", { in: "Count" }, 'there is no function, method or constant "Count" in lib'],
    [
      "what stands in two declarations of the name",
      { in: "LIMIT", find: "const" },
      `"const" occurs 2 times in "LIMIT" of ${limits}`,
    ],
    [
      "what stands in none of them",
      { in: "LIMIT", find: "5" },
      `"5" does not occur in "LIMIT" of ${limits}`,
    ],
    [
      "a hint that is wrong where it is needed",
      { in: "LIMIT", under: "lib/core", find: "3" },
      `there is no "LIMIT" under lib/core, but in ${limits}`,
    ],
    ["what is not there", { find: "trunc" }, '"trunc" does not occur in "round" of lib/units/round.ts'],
    [
      "what is in another function",
      { in: "again", find: "pair" },
      '"pair" does not occur in "again" of lib/units/round.ts',
    ],
    ["a part of a word", { find: "eil" }, '"eil" does not occur in "round" of lib/units/round.ts'],
    ["what is there twice", { find: "(x)" }, '"(x)" occurs 2 times in "round" of lib/units/round.ts'],
    ["nothing to find", { find: " " }, '" " does not occur in "round" of lib/units/round.ts'],
    ["what is the same", { replace: "ceil(x)" }, "it changes nothing"],
    ["a test that is not there", { test: "gone (C1)" }, 'there is no test "gone (C1)"'],
    [
      "a test whose name stands in two files",
      { test: "both (C1)" },
      'test "both (C1)" stands in several files, say in which: sim/both_test.ts, units/round_test.ts',
    ],
  ];
  for (const [sentence, differs, fault] of rows) await t.step(sentence, () => assertEquals(place(differs), { fault }));
});

Deno.test("placeMutation() finds the file of a test that a table names, and of one of two by the hint", () => {
  const readTestFile = (differs: Partial<Mutation>) => {
    const placed = place(differs);
    return "fault" in placed ? placed.fault : placed.testFile;
  };
  assertEquals(readTestFile({ test: "counts 5 apples (C1)" }), "sim/both_test.ts");
  assertEquals(readTestFile({ test: "both (C1)", testFile: "units/round_test.ts" }), "units/round_test.ts");
  assertEquals(readTestFile({ testFile: "sim/both_test.ts" }), "units/round_test.ts", "the test was moved");
});

Deno.test("findTestFault() is content with a test that passes and names the clause", () => {
  assertEquals(findTestFault(RAN, "C33", ran({ [MUTATION.test]: "passed" })), null);
  const steps = ran({ [MUTATION.test]: "passed", [`${MUTATION.test} > never below C34`]: "passed" });
  assertEquals(findTestFault(RAN, "C34", steps), null);
});

Deno.test("findTestFault() says why a test proves nothing", async (t) => {
  const name = MUTATION.test;
  const rows: readonly [string, Parameters<typeof findTestFault>[2], string][] = [
    ["it is not there", ran({ other: "passed" }), `tests/units/round_test.ts has no test "${name}"`],
    ["it fails already", ran({ [name]: "failed" }), `without it "${name}" is not passed but failed`],
    ["it is ignored", ran({ [name]: "skipped" }), `without it "${name}" is not passed but skipped`],
    ["its file does not load", { fault: "no result" }, "no result"],
  ];
  for (const [sentence, run, fault] of rows) {
    await t.step(sentence, () => assertEquals(findTestFault(RAN, "C33", run), fault));
  }
  const elsewhere = ran({ [name]: "passed", "another (C34)": "passed" });
  assertEquals(findTestFault(RAN, "C34", elsewhere), `"${name}" does not name C34`);
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
    await t.step(sentence, () => assertEquals(judgeMutant(RAN, run), verdict));
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
