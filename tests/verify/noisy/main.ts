// deno-lint-ignore-file no-console
/**
 * `deno task noisy [--attack f1,f2,...|each|all] [--workloads 2000] [--seconds 60] [--write]`: does one hostile namespace
 * hurt the others? podfit runs under the chart's limits, with honest workloads, a while alone and then with each attack
 * of attacks.ts, and with all of them at once. `--podfit-arg FLAG`, repeatable, gives podfit another flag. `--write` puts
 * the table into tests/verify/results/noisy.md. Exit code 1 when a goal is missed.
 */
import { parseArgs } from "node:util";
import { describeTaking } from "../../support/results.ts";
import { readMemoryLimit } from "../chaos/limited.ts";
import { ATTACKS } from "./attacks.ts";
import { type NoisyResult, runAttack } from "./run.ts";
import { listMissed, writeTable } from "./table.ts";

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
const names = Object.keys(ATTACKS);
const each = names.map((name) => [name]);
const runs = toRuns(values.attack ?? "each,all");
const workloads = toCount("--workloads", values.workloads);
const windowMs = toCount("--seconds", values.seconds) * 1000;
const memoryBytes = await readMemoryLimit();
const taken = await describeTaking();

const results: NoisyResult[] = [];
const missed: string[] = [];
for (const attacks of runs) {
  const say = (text: string) => console.error(text);
  try {
    const result = await runAttack({ attacks, workloads, windowMs, podfitArgs: values["podfit-arg"], say });
    results.push(result);
    for (const one of listMissed(result, { memoryBytes })) missed.push(`${result.name}: ${one}`);
  } catch (error) {
    // The other attacks take long, so their results are kept.
    missed.push(`${attacks.join("+")}: the run failed: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (values.write) await Deno.writeTextFile(new URL("../results/noisy.md", import.meta.url), writeReport());
}
console.log(writeReport());
// Attacks may keep requests open.
Deno.exit(missed.length === 0 ? 0 : 1);

function toRuns(text: string): readonly (readonly string[])[] {
  return text.split(",").flatMap((one) => {
    if (one === "each") return each;
    if (one === "all") return [names];
    const parts = one.split("+");
    const unknown = parts.filter((part) => !names.includes(part));
    if (unknown.length > 0) {
      throw new Error(`Cannot attack by "${unknown.join()}": there are ${names.join(", ")}, each, all`);
    }
    return [parts];
  });
}

function toCount(name: string, text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value > 0)) {
    throw new Error(`Cannot read ${name} "${text}": no whole number above zero`);
  }
  return value;
}

function writeReport(): string {
  const about = names.map((name) => `- ${name}: ${ATTACKS[name]?.about}.`).join("\n");
  const goals = missed.length === 0 ? "All goals are met." : `Missed:\n\n${missed.map((one) => `- ${one}`).join("\n")}`;
  return `# \`deno task noisy\`

${taken}, on a machine that others may use too. podfit has ${results[0]?.bound}, as by the chart.
${workloads} honest workloads, windows of ${windowMs / 1000} s, alone and then with one hostile namespace. Attacks:

${about}

Goals: reactions take at most twice as long as alone, the loop is never blocked for 100 ms, memory stays below the limit,
podfit does not end, keeps its Lease and answers probes within a second, and another podfit can start.
Reactions: from a step of load to the PATCH of the pod, and from a step of a metric to the write of the scale. "waited": for how long
the main thread could have run and had no CPU, because of its own limit or of other processes. Each cell is "alone → attacked".

${writeTable(results)}

${goals}
`;
}
