// deno-lint-ignore-file no-console
/**
 * `deno task soak [--hours 24] [--pods 2000] [--seed S]`: virtual hours with drawn faults; the last line says how much the
 * heap has grown, how many timers wait and where podfit's counters disagree with what the API server saw. Exit code 1
 * unless all of it is as it should be.
 */
import { parseArgs } from "node:util";
import { soak, type SoakResult } from "./soak.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    hours: { type: "string", default: "24" },
    pods: { type: "string", default: "2000" },
    seed: { type: "string", default: "podfit" },
  },
});

/** From the second quarter to the last, percent. */
const MOST_GROWTH = 5;

const { hours, pods, seed } = values;
console.log(`soak: seed ${seed}`);
const began = performance.now();
const say = (text: string) => console.log(`  ${text} (${((performance.now() - began) / 1000).toFixed(0)} s)`);
const result = await soak({ minutes: Number(hours) * 60, pods: Number(pods), seed, say });
const wrong = listWrong(result);
for (const line of wrong) console.log(`WRONG ${line}`);
console.log(summarize(result));
Deno.exit(wrong.length === 0 ? 0 : 1);

function listWrong(
  { disagreements, complaints, heapGrowthPercent, timerGrowthPercent }: SoakResult,
): readonly string[] {
  return [
    ...disagreements,
    ...complaints.slice(0, 10),
    ...(heapGrowthPercent === null ? ["the heap was not measured: run it with --v8-flags=--expose-gc"] : []),
    ...((heapGrowthPercent ?? 0) > MOST_GROWTH ? [`the heap grows by ${heapGrowthPercent?.toFixed(1)} %`] : []),
    ...(timerGrowthPercent > MOST_GROWTH ? [`timers grow by ${timerGrowthPercent.toFixed(1)} %`] : []),
  ];
}

function summarize({ minutes, pods, faults, heapGrowthPercent, timers, disagreements }: SoakResult): string {
  const heap = heapGrowthPercent === null ? "not measured" : `${heapGrowthPercent.toFixed(1)} %`;
  return `soak: hours: ${minutes / 60}, pods: ${pods}, faults: ${faults}, heap growth: ${heap}, timers: ${timers}, ` +
    `disagreements: ${disagreements.length}`;
}
