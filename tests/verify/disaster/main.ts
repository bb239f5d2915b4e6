// deno-lint-ignore-file no-console
/**
 * `deno task disaster [--only NAME,...] [--seed S] [--write]`: machines and services of a real cluster fail, on purpose, and
 * podfit has to go on right. It needs the cluster of `CGROUP2_NODES=3 tests/cluster/up`, whose nodes with cgroup version 2
 * are a Linux each. `--only` takes parts of names of faults. `--write` puts what is printed into
 * tests/verify/results/disaster.md. Exit code 1 unless podfit recovered from every fault and no rule was broken.
 */
import { parseArgs } from "node:util";
import { CGROUP2 } from "../../e2e/support/workloads.ts";
import { describeTaking } from "../../support/results.ts";
import { openCluster, type Plan, restoreOnSignal, runPlans } from "../chaos/real/main.ts";
import { OwnProcess } from "../chaos/real/own_process.ts";
import type { ClusterProcesses } from "../chaos/real/processes.ts";
import { Installed } from "../chaos/real/takeovers.ts";
import { describePlayed } from "../chaos/report.ts";
import { describeFailures, summarize } from "../chaos/stage.ts";
import { listMachineFaults, listNodeFaults, listUpgradeFaults } from "./faults.ts";
import { type Guests, openGuests } from "./guests.ts";

const GUESTS = 3;
const ON_GUESTS = {
  nodeSelector: { [CGROUP2]: "" },
  tolerations: [
    { key: CGROUP2, operator: "Exists" },
    // A pod whose node is away for a while stays its node's.
    { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
    { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  ],
  topologySpreadConstraints: [{
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "DoNotSchedule",
    labelSelector: { matchLabels: { app: "web" } },
  }],
};

const { values } = parseArgs({
  args: Deno.args,
  options: {
    seed: { type: "string", default: "podfit" },
    only: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const { seed, only } = values;
const taken = await describeTaking();
const processes = await openCluster();
const guests = await openGuests(GUESTS);
restoreOnSignal(() => restore(guests, processes));
console.log(`disaster: seed ${seed}`);
await guests.importImage(guests.last, "podfit.tar");
const played = await runPlans(listPlans(guests, processes), { seed, only, restore: () => restore(guests, processes) });
const stages = played.map(({ stage }) => stage);
const failures = describeFailures(stages);
const lines = [...failures, summarize(stages)];
for (const line of lines) console.log(line);
if (values.write) await write();
Deno.exit(stages.length > 0 && failures.length === 0 ? 0 : 1);

function listPlans(guests: Guests, processes: ClusterProcesses): readonly Plan[] {
  const own = new OwnProcess();
  const two = new Installed({
    // One on the node of this machine, which needs no guest, and one on a guest that has podfit's image.
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: CGROUP2, operator: "DoesNotExist" }] },
            { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [guests.last.name] }] },
          ],
        },
      },
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{
          topologyKey: "kubernetes.io/hostname",
          labelSelector: { matchLabels: { "app.kubernetes.io/name": "podfit" } },
        }],
      },
    },
    tolerations: [{ key: CGROUP2, operator: "Exists" }],
  });
  const upgraded = new Installed();
  return [
    {
      name: "machines",
      about: "nodes and the control plane, with podfit as a process",
      podfit: own,
      place: { replicas: GUESTS, podFields: ON_GUESTS },
      list: (context) => listMachineFaults({ guests, processes, podfit: own }, context),
    },
    {
      name: "node of podfit",
      about: "the node of the leader of two podfits that the chart has installed",
      podfit: two,
      list: () => listNodeFaults({ guests, podfit: two }),
    },
    {
      name: "versions of podfit",
      about: "an upgrade of the chart and the way back, while loads change",
      podfit: upgraded,
      list: () => listUpgradeFaults(upgraded),
    },
  ];
}

async function restore(guests: Guests, processes: ClusterProcesses): Promise<void> {
  for (const guest of guests.all) await guests.restore(guest);
  await processes.restore();
}

async function write(): Promise<void> {
  const text = `# \`deno task disaster\`

${taken}. Kubernetes 1.36.3 with three nodes with cgroup v2, each a Linux of its own (User-Mode Linux) on one machine of two
cores. What the faults are and how they are judged: [docs/evidence/chaos.md](../../../docs/evidence/chaos.md).

\`\`\`
disaster: seed ${seed}
${[...played.flatMap(describePlayed), ...lines].join("\n")}
\`\`\`
`;
  await Deno.writeTextFile(new URL("../results/disaster.md", import.meta.url), text);
}
