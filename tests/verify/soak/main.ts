// deno-lint-ignore-file no-console
/**
 * `deno task soak [--hours 24] [--pods 1000] [--seed S] [--write] [--no-limits]`: virtual hours with drawn faults. The
 * last line says how much the heap has grown, how many timers wait, and where podfit's counters disagree with what the
 * API server saw. Exit code 1 unless all of it is as it should be. The whole suite, and podfit in it, runs under the
 * limits of the chart, unless `--no-limits` is given. `--write` puts the output into tests/verify/results/soak.md.
 */
import { parseArgs } from "node:util";
import { describeTaking } from "../../support/results.ts";
import { readUsage, runModuleLimited } from "../chaos/limited.ts";
import { formatReport, listWrong, summarize } from "./report.ts";
import { soak } from "./soak.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    hours: { type: "string", default: "24" },
    pods: { type: "string", default: "1000" },
    seed: { type: "string", default: "podfit" },
    write: { type: "boolean", default: false },
    "no-limits": { type: "boolean", default: false },
  },
});
/** The cluster and the harness share the process, so V8 collects their garbage before the limit of memory is reached. */
const HEAP_FLAG = "--max-old-space-size=140";
const bound = Deno.env.get("PODFIT_BOUND") ?? null;
if (bound === null && !values["no-limits"]) {
  const code = await runModuleLimited({ url: import.meta.url, args: Deno.args, flags: ["--expose-gc", HEAP_FLAG] });
  if (code > 128) console.log(`soak: signal ${code - 128} has ended it; 9 means that it reached its limit of memory`);
  Deno.exit(code);
}

const { hours, pods, seed } = values;
const taken = await describeTaking();
console.log(`soak: seed ${seed}`);
const began = performance.now();
const getSeconds = () => (performance.now() - began) / 1000;
const lines: string[] = [];
const say = (text: string) => {
  lines.push(`${text} (${getSeconds().toFixed(0)} s)`);
  console.log(`  ${lines.at(-1)}`);
};
const result = await soak({ minutes: Number(hours) * 60, pods: Number(pods), seed, say });
const wrong = listWrong(result);
for (const line of wrong) console.log(`WRONG ${line}`);
const peakMiB = (await readUsage(Deno.pid))?.peakMiB ?? null;
if (values.write) {
  const text = formatReport({ taken, seed, seconds: getSeconds(), bound, peakMiB, lines, result });
  await Deno.writeTextFile(new URL("../results/soak.md", import.meta.url), text);
}
console.log(`soak: limits: ${bound ?? "none"}, peak: ${peakMiB === null ? "not known" : `${Math.round(peakMiB)} MiB`}`);
console.log(summarize(result));
Deno.exit(wrong.length === 0 ? 0 : 1);
