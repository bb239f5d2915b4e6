// deno-lint-ignore-file no-console
/**
 * `deno task oracle:expr [--formulas M] [--seed N] [--sample FOLDER]`: made-up formulas, schedules and numbers through the code that KEDA runs on and
 * through podfit's; each answer must be the same. Half as many schedules as formulas, and as many numbers. `--sample` writes questions with the real
 * answers as the testdata that unit tests replay. The last line adds it up; exit code 1 unless there is no difference. Needs go 1.26.
 */
import { parseArgs } from "node:util";
import { createRandom, mixSeed } from "../random.ts";
import { askProgram, buildProgram } from "./ask.ts";
import { compare } from "./compare.ts";
import { generateFormula } from "./generate_formula.ts";
import { generateNumber } from "./generate_number.ts";
import { generateSchedule } from "./generate_schedule.ts";
import { KNOWN_FORMULAS } from "./known_formulas.ts";
import type { Question, Sample } from "./question.ts";

const MAX_SHOWN = 20;

const { values } = parseArgs({
  args: Deno.args,
  options: { formulas: { type: "string", default: "10000" }, seed: { type: "string" }, sample: { type: "string" } },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : toCount("--seed", values.seed);
const formulas = toCount("--formulas", values.formulas);

console.log(`oracle:expr: seed ${seed}`);
const program = await buildProgram();
const kinds = {
  formulas: [...KNOWN_FORMULAS, ...generate(formulas, generateFormula)],
  schedules: generate(Math.ceil(formulas / 2), generateSchedule),
  numbers: generate(formulas, generateNumber),
};
const counts: string[] = [];
let differences = 0;
for (const [kind, questions] of Object.entries(kinds)) {
  const samples = await ask(questions);
  const found = samples.flatMap(compare);
  for (const difference of found.slice(0, MAX_SHOWN)) console.log(`DIFFERENT ${difference}`);
  if (values.sample !== undefined) await writeSample(`${values.sample}/${kind}.jsonl`, samples);
  counts.push(`${kind}: ${samples.length}`);
  differences += found.length + Math.abs(questions.length - samples.length);
}
console.log(`${counts.join(", ")}, differences: ${differences}`);
Deno.exit(differences === 0 ? 0 : 1);

function generate<T extends Question>(
  count: number,
  make: (random: ReturnType<typeof createRandom>) => T,
): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(createRandom(mixSeed(seed, index))));
}

async function ask(questions: readonly Question[]): Promise<readonly Sample[]> {
  const answers = await Array.fromAsync(askProgram(program, questions));
  return answers.flatMap((answer, index) => {
    const question = questions[index];
    return question === undefined ? [] : [{ question, answer }];
  });
}

async function writeSample(path: string, samples: readonly Sample[]): Promise<void> {
  await Deno.writeTextFile(path, samples.map((sample) => `${JSON.stringify(sample)}\n`).join(""));
}

function toCount(option: string, text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new Error(`Cannot use ${option} "${text}": must be a whole number`);
}
