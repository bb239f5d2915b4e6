/**
 * The drill: a cluster is restored from a backup, and its Prometheus starts at the same time. No workload goes to zero,
 * and if every metric is 0, few do so at once. Clauses: R58, R59.
 */
import { assert, assertEquals } from "#assert";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import type { TriggerAnswer } from "../../../lib/triggers/value.ts";
import { replicasBy, ReplicasRun, scaledObject } from "../../support/replicas_run.ts";

const NAMES = ["a", "b", "c"];
const PROMETHEUS = {
  type: "prometheus",
  metadata: { serverAddress: "http://prometheus", query: "up", threshold: "1" },
};
/** With KEDA's default cooldown, 300 s. */
const toObjects = (names: readonly string[]) =>
  names.flatMap((name) => [
    deployment(name, { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    scaledObject(name, [PROMETHEUS], { target: name, spec: { minReplicaCount: 0, maxReplicaCount: 5 } }),
  ]);
const OBJECTS = toObjects(NAMES);

const THREE: TriggerAnswer = { kind: "value", value: 3, isEmpty: false };
const EMPTY: TriggerAnswer = { kind: "value", value: 0, isEmpty: true };
const ZERO: TriggerAnswer = { kind: "value", value: 0, isEmpty: false };

/** What is lost: the whole objects with their statuses and uids, or nothing but time. */
type Loss = "objects" | "hours";

/** Returns the replicas of each workload, every 10 s from the start of the new podfit on. */
async function drill(loss: Loss, kedaDeactivation: boolean): Promise<readonly (readonly number[])[]> {
  let answer = THREE;
  const ask = () => Promise.resolve(answer);
  await using run = await ReplicasRun.start(OBJECTS, { ask, nodes: [] });
  await run.advance(120);
  const before = await run.cluster.get("scaledobjects/a");
  assert(before.status.lastActiveTime !== undefined, "it was active");
  await run.podfit[Symbol.asyncDispose]();
  answer = EMPTY;
  if (loss === "objects") {
    for (const name of NAMES) {
      await run.cluster.delete(`scaledobjects/${name}`);
      await run.cluster.delete(`deployments/${name}`);
    }
    await run.advance(30);
    await run.cluster.create(...OBJECTS);
    const { metadata, status } = await run.cluster.get("scaledobjects/a");
    assertEquals([metadata.uid === before.metadata.uid, status], [false, undefined]);
  } else await run.advance(7200);
  const replicas = { ...replicasBy(ask), kedaDeactivation };
  await using _podfit = run.cluster.startPodfit(WHOLE_CLUSTER, { replicas });
  const seen: (readonly number[])[] = [];
  const watch = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 10) {
      await run.advance(10);
      seen.push(await Promise.all(NAMES.map((name) => run.replicas(name))));
    }
  };
  await watch(240);
  answer = THREE;
  await watch(600);
  return seen;
}

const LOSSES: Readonly<Record<Loss, string>> = {
  objects: "all statuses are lost and all objects are created again",
  hours: "podfit was away for two hours, so that each cooldown is over",
};

for (const [loss, what] of Object.entries(LOSSES) as readonly (readonly [Loss, string])[]) {
  Deno.test(`no workload goes to zero where ${what}, and Prometheus has no series for 4 minutes (R58)`, async () => {
    const seen = await drill(loss, false);
    assertEquals([...new Set(seen.map(String))], ["3,3,3"]);
  });

  Deno.test(`with --keda-deactivation every workload goes to zero where ${what} (R58)`, async () => {
    const seen = await drill(loss, true);
    assert(seen.some((replicas) => replicas.every((count) => count === 0)), seen.join(" "));
  });
}

/** Resolves to how many of 12 workloads are at zero, every 10 s from the start of a podfit that was away for hours. */
async function countZeros(
  settings: { readonly kedaDeactivation: boolean; readonly maxDeactivationsPerMinute?: number },
): Promise<readonly number[]> {
  const names = Array.from({ length: 12 }, (_, index) => `w${index}`);
  let answer = THREE;
  const ask = () => Promise.resolve(answer);
  await using run = await ReplicasRun.start(toObjects(names), { ask, nodes: [] });
  await run.advance(120);
  await run.podfit[Symbol.asyncDispose]();
  answer = ZERO;
  await run.advance(7200);
  const replicas = { ...replicasBy(ask), ...settings };
  await using _podfit = run.cluster.startPodfit(WHOLE_CLUSTER, { replicas });
  const zeros: number[] = [];
  for (let second = 0; second < 240; second += 10) {
    await run.advance(10);
    const counts = await Promise.all(names.map((name) => run.replicas(name)));
    zeros.push(counts.filter((count) => count === 0).length);
  }
  return zeros;
}

Deno.test("where all metrics of 12 workloads are 0 after a start, 10 go to zero in the first minute of it, and the others later (R59)", async () => {
  const zeros = await countZeros({ kedaDeactivation: false });
  const first = zeros.findIndex((count) => count > 0);
  assert(first >= 0, zeros.join(" "));
  // Five readings in 10 s steps are less than a minute.
  assertEquals(Math.max(...zeros.slice(first, first + 5)), 10, zeros.join(" "));
  assertEquals(zeros.at(-1), 12, zeros.join(" "));
});

Deno.test("with --keda-deactivation all 12 workloads go to zero at once (R59)", async () => {
  const zeros = await countZeros({ kedaDeactivation: true });
  const first = zeros.findIndex((count) => count > 0);
  assertEquals(Math.max(...zeros.slice(first, first + 5)), 12, zeros.join(" "));
});

Deno.test("with --keda-deactivation a limit that is set still holds (R59)", async () => {
  const zeros = await countZeros({ kedaDeactivation: true, maxDeactivationsPerMinute: 5 });
  const first = zeros.findIndex((count) => count > 0);
  assertEquals(Math.max(...zeros.slice(first, first + 5)), 5, zeros.join(" "));
});
