// deno-lint-ignore-file no-console
/**
 * `deno task oracle [--courses N] [--seed S] [--from I] [--workers N]`: made-up courses through the HPA controller of Kubernetes, unmodified, and
 * through podfit's tick half; each tick must come out the same. A difference has its course and how to run it again. The last line adds it up;
 * exit code 1 unless there is none. `KUBERNETES=1.37` asks the controller of that version. Needs go 1.26.
 */
import { parseArgs } from "node:util";
import { buildOracle } from "./go_oracle.ts";
import type { Chunk, ChunkResult } from "./run.ts";

const CHUNK = 500;

const { values } = parseArgs({
  args: Deno.args,
  options: {
    courses: { type: "string", default: "2000" },
    seed: { type: "string" },
    from: { type: "string", default: "0" },
    workers: { type: "string" },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : toCount("--seed", values.seed);
const courses = toCount("--courses", values.courses);
const from = toCount("--from", values.from);
const workers = toCount("--workers", values.workers ?? String(navigator.hardwareConcurrency));

console.log(`oracle: seed ${seed}`);
const program = await buildOracle();
const results = await runAll(planChunks());
const sum = (key: "courses" | "ticks" | "writes") => results.reduce((total, result) => total + result[key], 0);
const differences = results.flatMap((result) => result.differences);
for (const difference of differences) {
  const index = /^\d+\/(\d+)/.exec(difference)?.[1];
  console.log(`DIFFERENT ${difference}\n  again: deno task oracle --seed ${seed} --from ${index} --courses 1`);
}
const counts = results.flatMap((result) => Object.entries(result.counts));
for (const what of [...new Set(counts.map(([what]) => what))].sort()) {
  const count = counts.filter(([one]) => one === what).reduce((total, [, number]) => total + number, 0);
  console.log(`${what}: ${count}`);
}
console.log(`writes: ${sum("writes")}`);
console.log(`courses: ${sum("courses")}, ticks: ${sum("ticks")}, differences: ${differences.length}`);
Deno.exit(differences.length === 0 && sum("courses") === courses ? 0 : 1);

function planChunks(): Chunk[] {
  const count = Math.ceil(courses / CHUNK);
  return Array.from({ length: count }, (_, at) => {
    const first = at * CHUNK;
    return { program, seed, from: from + first, count: Math.min(CHUNK, courses - first) };
  });
}

async function runAll(queue: Chunk[]): Promise<readonly ChunkResult[]> {
  const results: ChunkResult[] = [];
  await Promise.all(Array.from({ length: Math.min(workers, queue.length) }, async () => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    for (let chunk = queue.shift(); chunk !== undefined; chunk = queue.shift()) results.push(await ask(worker, chunk));
    worker.terminate();
  }));
  return results;
}

function ask(worker: Worker, chunk: Chunk): Promise<ChunkResult> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<ChunkResult>) => resolve(data);
    worker.onerror = (event) =>
      reject(new Error(`Cannot run courses ${chunk.from} and on of seed ${seed}: ${event.message}`));
    worker.postMessage(chunk);
  });
}

function toCount(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Error(`Cannot read ${name} "${text}": it is no whole number`);
  return value;
}
