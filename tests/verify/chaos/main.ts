// deno-lint-ignore-file no-console
/**
 * `deno task chaos [--seed S] [--only NAME,...] [--short]`: what goes wrong in clusters, on purpose, on the embedded one;
 * what podfit does meanwhile is judged, and it has to recover by itself. `--backend real [--kills 20] [--takeovers 50]` does it
 * to the processes of the cluster of tests/cluster, kills podfit so often, and then harms the leader of two so often. The last line adds it all up; exit code 1 unless
 * every fault was recovered from and no rule broken.
 */
import { parseArgs } from "node:util";
import { runReal } from "./real/main.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { describeFailures, play, type Stage, summarize } from "./stage.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seed: { type: "string", default: "podfit" },
    only: { type: "string" },
    short: { type: "boolean", default: false },
    backend: { type: "string", default: "embedded" },
    kills: { type: "string", default: "20" },
    takeovers: { type: "string", default: "50" },
  },
});

/** Of a scenario with a thousand faults these tell enough. */
const MOST_SHOWN = 20;

const stages = values.backend === "real"
  ? await runReal({
    seed: values.seed,
    only: values.only,
    kills: Number(values.kills),
    takeovers: Number(values.takeovers),
  })
  : await runEmbedded();
for (const line of describeFailures(stages)) console.log(line);
console.log(summarize(stages));
// Faults that were planted may keep a listener or a child open.
Deno.exit(stages.length > 0 && describeFailures(stages).length === 0 ? 0 : 1);

async function runEmbedded(): Promise<readonly Stage[]> {
  const names = values.only?.split(",");
  const chosen = SCENARIOS.filter(({ name }) => names === undefined || names.includes(name));
  if (chosen.length === 0) {
    throw new Error(`Cannot run "${values.only}": there are ${SCENARIOS.map(({ name }) => name).join(", ")}`);
  }
  console.log(`chaos: seed ${values.seed}`);
  const stages: Stage[] = [];
  for (const scenario of chosen) {
    const began = performance.now();
    const stage = await play(scenario, { seed: values.seed, isShort: values.short });
    const took = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`${scenario.name}: ${scenario.about} (${took} s)`);
    for (const { name, recoveredMs } of stage.faults.slice(0, MOST_SHOWN)) {
      console.log(
        `  ${name}: ${recoveredMs === null ? "NOT recovered" : `recovered after ${(recoveredMs / 1000).toFixed(1)} s`}`,
      );
    }
    stages.push(stage);
  }
  return stages;
}
