// deno-lint-ignore-file no-console
/**
 * `deno task noisy [--attack f1,f2,...|each|all] [--workloads 2000] [--seconds 60] [--write]`: does one hostile namespace
 * hurt the others? podfit runs under the chart's limits, with honest workloads, a while alone and then with each attack
 * of attacks.ts, and with all of them at once. `--podfit-arg=FLAG`, repeatable, gives podfit another flag. `--write` puts
 * the table into tests/verify/results/noisy.md. Exit code 1 when a goal is missed.
 */
import { parseArgs } from "node:util";
import { describeTaking } from "../../support/results.ts";
import { readMemoryLimit } from "../chaos/limited.ts";
import { formatReport, parseRuns } from "./report.ts";
import { type NoisyResult, runAttack } from "./run.ts";
import { listMissed } from "./table.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    attack: { type: "string" },
    workloads: { type: "string", default: "2000" },
    seconds: { type: "string", default: "60" },
    "podfit-arg": { type: "string", multiple: true, default: [] },
    write: { type: "boolean", default: false },
  },
});
const runs = parseRuns(values.attack ?? "each,all");
const workloads = toCount("--workloads", values.workloads);
const windowMs = toCount("--seconds", values.seconds) * 1000;
const memoryBytes = await readMemoryLimit();
const taken = await describeTaking();

// What it has started ends with it.
for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, () => Deno.exit(130));

const results: NoisyResult[] = [];
const missed: string[] = [];
const describe = (left: number) => {
  const podfitArgs = values["podfit-arg"];
  return formatReport({ taken, workloads, windowMs, podfitArgs, results, missed, left });
};
for (const [index, attacks] of runs.entries()) {
  const say = (text: string) => console.error(text);
  try {
    const result = await runAttack({ attacks, workloads, windowMs, podfitArgs: values["podfit-arg"], say });
    results.push(result);
    for (const one of listMissed(result, { memoryBytes })) missed.push(`${result.name}: ${one}`);
  } catch (error) {
    // The other attacks take long, so their results are kept.
    missed.push(`${attacks.join("+")}: the run failed: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (values.write) {
    await Deno.writeTextFile(new URL("../results/noisy.md", import.meta.url), describe(runs.length - index - 1));
  }
}
console.log(describe(0));
// Attacks may keep requests open.
Deno.exit(missed.length === 0 ? 0 : 1);

function toCount(name: string, text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0)) {
    throw new Error(`Cannot read ${name} "${text}": no whole number above zero`);
  }
  return value;
}
