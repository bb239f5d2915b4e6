// deno-lint-ignore-file no-console
/**
 * `deno task bench:reaction [--steps 3] [--only cgroup,kubelet] [--vpa DIRECTORY]`: how long from a step of load to the
 * size that fits it, on the cluster of KUBECONFIG, whose node this machine is. VPA's fastest flags are measured beside
 * podfit where the directory has its recommender and updater. Exit code 1 when a bar is missed.
 */
import { parseArgs } from "node:util";
import { withBackend } from "../../e2e/support/backend.ts";
import { openRealCluster } from "../../e2e/support/real_cluster.ts";
import { followByPodfit, measureReaction } from "./reaction_run.ts";
import { type ReactionResult, type Subject, writeReport } from "./reaction_table.ts";
import { followByVpa } from "./reaction_vpa.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    steps: { type: "string", default: "3" },
    only: { type: "string" },
    vpa: { type: "string" },
  },
});
const steps = Number(values.steps);
if (!(Number.isInteger(steps) && steps > 0)) throw new Error(`Cannot read --steps "${values.steps}": no whole number`);
const subjects: readonly Subject[] = ["cgroup", "kubelet", ...(values.vpa === undefined ? [] : ["VPA" as const])];
const chosen = values.only === undefined ? subjects : subjects.filter((one) => values.only?.split(",").includes(one));

await using cluster = await openRealCluster();
const results = await withBackend(cluster, async () => {
  const measured: ReactionResult[] = [];
  for (const subject of chosen) {
    const follow = subject === "VPA" ? followByVpa(values.vpa ?? "") : followByPodfit(subject);
    const say = (text: string) => console.error(`${subject} ${text}`);
    measured.push({ subject, steps: await measureReaction(follow, { steps, say }) });
  }
  return measured;
});
const { text, missed } = writeReport(results);
console.log(text);
for (const bar of missed) console.error(`Missed: ${bar}`);
if (missed.length > 0) Deno.exitCode = 1;
