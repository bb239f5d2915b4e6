/** What `podfit explain` says of a workload's number of pods, word by word, on records of podfit beside an embedded cluster. */
import { assert, assertEquals } from "#assert";
import type { Json } from "../../support/api_objects.ts";
import { explainFromSources } from "../../../lib/cli/explain/explain.ts";
import { createRecordsSource } from "../../../lib/cli/explain/without_daemon.ts";
import { autoscaler, deployment } from "../../e2e/support/workloads.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { explainObject, POLICY, toText } from "../../support/explain_run.ts";
import { assertScreens } from "../../support/pages.ts";
import { keepLines } from "../../support/record_lines.ts";
import { CPU_50, ReplicasRun, scaledObject } from "../../support/replicas_run.ts";

const WEB = deployment("web", { replicas: 2, containers: [{ requests: { cpu: "100m" }, limits: { cpu: "2" } }] });
const SIZED = autoscaler("web", {
  target: { kind: "deployment", name: "web" },
  containerName: "main",
  policy: POLICY,
  bounds: { cpu: { requests: { max: "500m" } } },
});

async function start(objects: readonly Json[], maxReplicaCount: number) {
  const lines = keepLines();
  const scaled = scaledObject("web", [CPU_50], { spec: { minReplicaCount: 1, maxReplicaCount } });
  const options = { sinks: [lines.onEvaluation], onPass: lines.onPass };
  const run = await ReplicasRun.start([...objects, scaled], options);
  const setLoad = (cpuMillicores: number) =>
    run.cluster.cluster.setWorkloadLoad({ namespace: "default", labels: { app: "web" } }, { cpuMillicores });
  return { run, setLoad, explain: () => explainObject(lines, "web", run.cluster.clock.now()) };
}

Deno.test("explain says of a workload held at its replicas that its pods grow first, by both yardsticks", async () => {
  const { run, setLoad, explain } = await start([WEB, SIZED], 4);
  await using _run = run;
  setLoad(280);
  await run.advance(120);
  await assertScreens("workload-pods-grow-first", (columns) => toText(explain(), columns));
});

Deno.test("explain says which need keeps a workload from shrinking, and when that has left its window", async () => {
  const { run, setLoad, explain } = await start([WEB], 8);
  await using _run = run;
  setLoad(250);
  await run.advance(120);
  setLoad(80);
  await run.advance(120);
  await assertScreens("workload-window", (columns) => toText(explain(), columns));
  const replicas = await run.replicas();
  const until = explain().blockedUntil ?? 0;
  assert(until > run.cluster.clock.now(), "there is no end");
  while (await run.replicas() === replicas && run.cluster.clock.now() < until + 60_000) await run.advance(1);
  const late = run.cluster.clock.now() - until;
  assert(late >= 0 && late <= 16_000, `${late} ms after the time that it was told`);
});

Deno.test("explain says that a workload at its maximum has it, and what the triggers ask for", async () => {
  const { run, setLoad, explain } = await start([WEB], 3);
  await using _run = run;
  setLoad(400);
  await run.advance(120);
  const { need, desired, replicas, next } = explain();
  await assertScreens("workload-at-maximum", (columns) => toText(explain(), columns));
  assertEquals([replicas, desired, next], [3, 3, ["maxReplicaCount is 3: raise it to have more"]]);
  assert((need ?? 0) > 3);
});

Deno.test("explain says from which ratio on a workload within the tolerance gets more or fewer pods", async () => {
  const { run, setLoad, explain } = await start([WEB], 2);
  await using _run = run;
  setLoad(100);
  await run.advance(120);
  const two = explain();
  assertEquals([two.replicas, two.reason], [2, "WithinTolerance"]);
  assertEquals(two.next, [
    "for more: maxReplicaCount is 2, so raise it",
    "for fewer: the RATIO of every trigger must be at most 0.50",
  ]);
  setLoad(20);
  await run.advance(600);
  const one = explain();
  assertEquals([one.replicas, one.reason], [1, "WithinTolerance"]);
  assertEquals(one.next, [
    "for more: the RATIO of one trigger must be above 1.10",
    "for fewer: minReplicaCount is 1, so lower it",
  ]);
  // A ratio as it was said.
  setLoad(48);
  await run.advance(120);
  assertEquals(await run.replicas(), 1);
  setLoad(65);
  await run.advance(120);
  assertEquals(await run.replicas(), 2);
});

Deno.test("explain lists the pods of a Deployment by their owner, also where Kubernetes has cut their names", async () => {
  const lines = keepLines();
  const start = "w".repeat(58);
  const objects = [`${start}-a`, `${start}-b`, "web"].flatMap((name) => [
    deployment(name, { replicas: 1, containers: [{ requests: { cpu: "100m" } }] }),
    autoscaler(name, { target: { kind: "deployment", name }, containerName: "main", policy: POLICY }),
  ]);
  await using run = await ClusterRun.start();
  await run.create(...objects);
  await using _podfit = run.startPodfit(undefined, { sinks: [lines.onEvaluation] });
  await run.advance(30);
  const pods = async (name: string) => {
    const options = { namespace: "default", signal: new AbortController().signal, now: () => run.clock.now() };
    const source = createRecordsSource(lines.all());
    const explained = await explainFromSources([source], { kind: "deployment", name }, options);
    return explained.kind === "pod" ? [] : explained.pods.map((one) => one.name);
  };
  const all = lines.all().flatMap((line) => line.kind === "pod" ? [line.record.input.pod] : []);
  for (const name of [`${start}-a`, `${start}-b`, "web"]) {
    const own = new Set(all.flatMap((pod) => pod.workload === `Deployment/${name}` ? [pod.name] : []));
    assertEquals([await pods(name), own.size], [[...own], 1], name);
  }
  assert(all.some(({ name }) => new RegExp(`^${start}[0-9a-z]{5}$`).test(name)), "no name was cut");
});
