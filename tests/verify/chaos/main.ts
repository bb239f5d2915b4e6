// deno-lint-ignore-file no-console
/**
 * `deno task chaos [--seed S] [--only NAME,...] [--short] [--write]`: what goes wrong in clusters, on purpose, on the
 * embedded one. What podfit does meanwhile is judged, and it has to recover by itself. `--short` repeats less and takes
 * less than twelve minutes. `--backend real [--kills 20] [--takeovers 50]` does it to the processes of the cluster of
 * tests/cluster, kills podfit so often, and then harms the leader of two so often. `--write` puts what is printed into
 * tests/verify/results/chaos.md, or chaos-real.md. The last line adds it all up; exit code 1 unless podfit recovered
 * from every fault and no rule was broken.
 */
import { parseArgs } from "node:util";
import { describeTaking } from "../../support/results.ts";
import { readUsage } from "./limited.ts";
import { runReal } from "./real/main.ts";
import { describePlayed, formatReport, type Played } from "./report.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { describeFailures, play, summarize } from "./stage.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seed: { type: "string", default: "podfit" },
    only: { type: "string" },
    short: { type: "boolean", default: false },
    backend: { type: "string", default: "embedded" },
    kills: { type: "string", default: "20" },
    takeovers: { type: "string", default: "50" },
    write: { type: "boolean", default: false },
  },
});
if (values.backend !== "embedded" && values.backend !== "real") {
  throw new Error(`Cannot run on "${values.backend}": there are embedded, real`);
}

const { seed, backend, only } = values;
const names = only?.split(",");
const taken = await describeTaking();
console.log(`chaos: seed ${seed}, ${backend} cluster`);
const played = backend === "real"
  ? await runReal({ seed, only, kills: Number(values.kills), takeovers: Number(values.takeovers) })
  : await runEmbedded();
const stages = played.map(({ stage }) => stage);
const failures = describeFailures(stages);
for (const line of failures) console.log(line);
if (values.write) await write();
console.log(summarize(stages));
// Faults that were planted may keep a listener or a child open.
Deno.exit(stages.length > 0 && failures.length === 0 ? 0 : 1);

async function runEmbedded(): Promise<readonly Played[]> {
  const chosen = SCENARIOS.filter(isChosen);
  if (chosen.length === 0) {
    throw new Error(`Cannot run "${only}": there are ${SCENARIOS.map(({ name }) => name).join(", ")}`);
  }
  const played: Played[] = [];
  for (const scenario of chosen) {
    const began = performance.now();
    const stage = await play(scenario, { seed, isShort: values.short });
    const one = { stage, about: scenario.about, seconds: (performance.now() - began) / 1000 };
    for (const line of describePlayed(one)) console.log(line);
    played.push(one);
  }
  return played;
}

function isChosen({ name }: { readonly name: string }): boolean {
  return names?.includes(name) !== false;
}

async function write(): Promise<void> {
  const usage = backend === "real" ? null : await readUsage(Deno.pid);
  const text = formatReport({
    backend: backend === "real" ? "real" : "embedded",
    options: [values.short ? "--short" : "", only === undefined ? "" : `--only ${only}`].filter((one) => one).join(" "),
    taken,
    seed,
    played,
    leftOut: backend === "real" ? [] : SCENARIOS.filter((one) => !isChosen(one)).map(({ name }) => name),
    peakMiB: usage?.peakMiB ?? null,
  });
  const file = backend === "real" ? "chaos-real.md" : "chaos.md";
  await Deno.writeTextFile(new URL(`../results/${file}`, import.meta.url), text);
}
