/** Do formulas, schedules and numbers come out as the real modules gave them? The answers are committed: tests/verify/oracle/expr/main.ts --sample. */
import { assert, assertEquals } from "#assert";
import { compare } from "../verify/oracle/expr/compare.ts";
import { KNOWN_FORMULAS } from "../verify/oracle/expr/known_formulas.ts";
import type { Sample } from "../verify/oracle/expr/question.ts";

Deno.test("compileExpr() and run() give what expr 1.17.8 gave for formulas of documents, edges, and made-up ones (R62, R63)", async () => {
  const samples = await readSamples("formulas");
  assert(samples.length >= 400);
  // Each kind of answer is among them.
  const results = samples.flatMap(({ answer }) => answer.Results ?? []);
  assert(
    results.some(({ Value }) => Value !== undefined) && results.some(({ Nil }) => Nil) &&
      results.some(({ Error }) => Error),
  );
  assert(samples.some(({ answer }) => answer.Error !== undefined));
  assertEquals(samples.flatMap(compare), []);
});

Deno.test("the samples have every known formula (R62)", async () => {
  const asked = (await readSamples("formulas")).map(({ question }) => "formula" in question ? question.formula : "");
  assertEquals(KNOWN_FORMULAS.map(({ formula }) => formula).filter((formula) => !asked.includes(formula)), []);
});

Deno.test("nextCronTime() and isWithinCron() give what robfig/cron 3.0.1 gave, also where clocks change (R11)", async () => {
  const samples = await readSamples("schedules");
  assert(samples.length >= 200);
  assert(
    samples.some(({ answer }) => answer.Within?.includes(true)) &&
      samples.some(({ answer }) => answer.Next !== undefined),
  );
  assertEquals(samples.flatMap(compare), []);
});

Deno.test("toMilli() and parsers of numbers give what Kubernetes and Go gave (R15, R17, R63)", async () => {
  const samples = await readSamples("numbers");
  assert(samples.length >= 400);
  assertEquals(samples.flatMap(compare), []);
});

Deno.test("compare() notices another value, another milli and another time (R11, R17, R62)", () => {
  const values = [{ a: 1 }];
  const wrong: readonly Sample[] = [
    { question: { formula: "a + 1", names: ["a"], values }, answer: { Results: [{ Value: "3" }] } },
    { question: { formula: "a + 1", names: ["a"], values }, answer: { Results: [{ Error: "no" }] } },
    { question: { formula: "a + 1", names: ["a"], values }, answer: { Error: "no" } },
    { question: { formula: "a +", names: ["a"], values }, answer: { Results: [{ Value: "3" }] } },
    { question: { number: "0.0625" }, answer: { Milli: "63", Double: "0.062", Cut: "62" } },
    { question: { cron: "0 8 * * *", timezone: "UTC", times: [0] }, answer: { Next: [1] } },
    { question: { cron: "0 8 * *", timezone: "UTC", times: [0] }, answer: { Next: [1] } },
  ];
  assertEquals(wrong.map((sample) => compare(sample).length), wrong.map(() => 1));
});

async function readSamples(kind: string): Promise<readonly Sample[]> {
  const text = await Deno.readTextFile(new URL(`../testdata/expr/${kind}.jsonl`, import.meta.url));
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}
