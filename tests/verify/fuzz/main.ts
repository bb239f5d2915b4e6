// deno-lint-ignore-file no-console
/**
 * `deno task fuzz [--cases N] [--seed S] [--only TARGET,...] [--workers N]`: hostile and random texts and objects through
 * the real parsers, and for a part of the cases through the whole fold. The seed stands at the start; a failure has the
 * smallest case and how to run it again. The last line adds it up; exit code 1 unless nothing failed.
 * `--cost [--tries 300] [--write]` searches the costliest inputs instead: see cost/main.ts.
 */
import { parseArgs } from "node:util";
import { runCostSearch } from "./cost/main.ts";
import { type Batch, type BatchResult, planBatches, TARGETS } from "./run.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    cases: { type: "string", default: "100000" },
    seed: { type: "string" },
    only: { type: "string" },
    workers: { type: "string" },
    cost: { type: "boolean", default: false },
    tries: { type: "string", default: "300" },
    write: { type: "boolean", default: false },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : toCount("--seed", values.seed);
const cases = toCount("--cases", values.cases);
const workers = toCount("--workers", values.workers ?? String(navigator.hardwareConcurrency));
const only = values.only?.split(",");
if (values.cost) {
  Deno.exit(await runCostSearch({ only, seed, tries: toCount("--tries", values.tries), isWritten: values.write }));
}
const unknown = only?.filter((name) => !TARGETS.some((target) => target.name === name)) ?? [];
if (unknown.length > 0) {
  throw new Error(`Cannot fuzz "${unknown.join()}": there are ${TARGETS.map(({ name }) => name).join(", ")}`);
}

console.log(`fuzz: seed ${seed}, ${cases} cases`);
const results = await runAll(planBatches({ cases, seed, only }));
for (const { name } of TARGETS) tellTarget(name, results.filter(({ target }) => target === name));
const failures = results.filter(({ failure }) => failure !== null);
for (const { target, seed, cases, failure } of failures) {
  console.log(`FAILED ${target}: ${failure}\n  again: deno task fuzz --only ${target} --seed ${seed} --cases ${cases}`);
}
const done = results.reduce((sum, result) => sum + result.cases, 0);
const slowest = Math.max(...results.map(({ slowestMs }) => slowestMs)).toFixed(1);
console.log(`fuzz: cases: ${done}, failures: ${failures.length}, seed: ${seed}, slowest: ${slowest} ms`);
Deno.exit(failures.length === 0 ? 0 : 1);

async function runAll(batches: readonly Batch[]): Promise<readonly BatchResult[]> {
  const queue = [...batches];
  const results: BatchResult[] = [];
  await Promise.all(Array.from({ length: Math.min(workers, batches.length) }, async () => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) results.push(await ask(worker, batch));
    worker.terminate();
  }));
  return results;
}

function ask(worker: Worker, batch: Batch): Promise<BatchResult> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<BatchResult>) => resolve(data);
    worker.onerror = (event) =>
      reject(new Error(`Cannot fuzz "${batch.target}" under seed ${batch.seed}: ${event.message}`));
    worker.postMessage(batch);
  });
}

function tellTarget(name: string, own: readonly BatchResult[]): void {
  if (own.length === 0) return;
  const count = own.reduce((sum, result) => sum + result.cases, 0);
  const slowest = Math.max(...own.map(({ slowestMs }) => slowestMs)).toFixed(1);
  console.log(`  ${name}: ${count} cases, slowest ${slowest} ms`);
}

function toCount(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Error(`Cannot read ${name} "${text}": it is no whole number`);
  return value;
}
