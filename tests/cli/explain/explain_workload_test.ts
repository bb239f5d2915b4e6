/** What `podfit explain` says of a workload's number of pods, word by word, on records of podfit beside an embedded cluster. */
import { assert, assertEquals } from "#assert";
import type { Json } from "../../support/api_objects.ts";
import { autoscaler, deployment } from "../../e2e/support/workloads.ts";
import { explainObject, POLICY, toText } from "../../support/explain_run.ts";
import { keepLines } from "../../support/record_lines.ts";
import { CPU_50, ReplicasRun, scaledObject } from "../../support/replicas_run.ts";

const HELD = [
  "deployment/web has 2 replicas, which podfit has not changed in the 2m of its records; it stays (VerticalFirst): pods can",
  "still grow in place, and would be too few with their initial requests.",
  "",
  "deployment/web of namespace default, by ScaledObject web; as of 0s ago (11:02:11Z)",
  "",
  "Replicas",
  "  2 replicas now, wanted 2 (VerticalFirst: pods can still grow in place, and would be too few with their initial",
  "    requests)",
  "  the triggers ask for 2; the windows make it 2; bounds and rates 2",
  "",
  "Triggers",
  "  METRIC  VALUE  TARGET            RATIO  ASKS FOR                               PODS",
  "  cpu     271m   50 % of requests  0.54   2 (2 at full size, 6 at initial size)  2 ready, 0 unready, 0 without usage",
  "",
  "Limits",
  "  at least 1, at most 4",
  "  up: window 0s, what an HPA without behavior does",
  "  down: window 5m, what an HPA without behavior does",
  "  tolerance: up 10 %, down 10 %",
  "",
  "What the next change waits for",
  "  its pods grow in place first: there are more of them once they are at their bounds, or their node has no room",
  "",
  "Conditions",
  "  Paused          False",
  "  Fallback        False  NoFallbackFound     No fallbacks are active on this scaled object",
  "  Ready           True   ScaledObjectReady   ScaledObject is defined correctly and is ready for scaling",
  "  Active          True   ScalerActive        Scaling is performed because triggers are active",
  "  HPAActive       True   HPAActive           HPA is actively scaling",
  "  AbleToScale     True   ReadyForNewScale    recommended size matches current size",
  "  ScalingLimited  False  DesiredWithinRange  the desired count is within the acceptable range",
  "",
  "Pods that podfit sizes: 2 ready, 0 not",
  "  ready      web-cfhlcjgcbm-59c6w  main cpu.requests 250m at 57 %; resized 1m39s ago; InBand: inside the thresholds",
  "  ready      web-cfhlcjgcbm-l25vg  main cpu.requests 233m at 60 %; resized 1m44s ago; InBand: inside the thresholds",
];

const WINDOW = [
  "deployment/web has 6 replicas because podfit went 5 -> 6 3m29s ago (11:00:41Z) (ScaledOut: cpu resource utilization",
  "(percentage of request) above target); it stays (ScaleDownStabilized): recent recommendations were higher than current",
  "one, applying the highest recent recommendation.",
  "",
  "deployment/web of namespace default, by ScaledObject web; as of 0s ago (11:04:11Z)",
  "",
  "Replicas",
  "  6 replicas now, wanted 6 (ScaleDownStabilized: recent recommendations were higher than current one, applying the",
  "    highest recent recommendation)",
  "  the triggers ask for 2; the windows make it 6; bounds and rates 6",
  "  there will be fewer: until then coupled sizes of its pods do not go down (ScaleInPending)",
  "",
  "Triggers",
  "  METRIC  VALUE  TARGET            RATIO  ASKS FOR  PODS",
  "  cpu     89m    50 % of requests  0.28   2         6 ready, 0 unready, 0 without usage",
  "",
  "Limits",
  "  at least 1, at most 8",
  "  up: window 0s, what an HPA without behavior does",
  "  down: window 5m, what an HPA without behavior does",
  "  tolerance: up 10 %, down 10 %",
  "",
  "What the next change waits for",
  "  the window of the way down is 5m: 3 were needed 1m44s ago, so 2 can come at the earliest at 11:07:26Z, in 3m16s",
  "",
  "Changes, newest first",
  "  3m29s ago (11:00:41Z)  5 -> 6  ScaledOut: cpu resource utilization (percentage of request) above target",
  "  3m34s ago (11:00:36Z)  3 -> 5  ScaledOut: cpu resource utilization (percentage of request) above target",
  "  3m45s ago (11:00:26Z)  2 -> 3  ScaledOut: cpu resource utilization (percentage of request) above target",
  "",
  "Conditions",
  "  Paused          False",
  "  Fallback        False  NoFallbackFound      No fallbacks are active on this scaled object",
  "  Ready           True   ScaledObjectReady    ScaledObject is defined correctly and is ready for scaling",
  "  Active          True   ScalerActive         Scaling is performed because triggers are active",
  "  HPAActive       True   HPAActive            HPA is actively scaling",
  "  AbleToScale     True   ScaleDownStabilized  recent recommendations were higher than current one, applying the highest",
  "    recent recommendation",
  "  ScalingLimited  False  DesiredWithinRange   the desired count is within the acceptable range",
];

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
  assertEquals(toText(explain()), HELD);
});

Deno.test("explain says which need keeps a workload from shrinking, and when that has left its window", async () => {
  const { run, setLoad, explain } = await start([WEB], 8);
  await using _run = run;
  setLoad(250);
  await run.advance(120);
  setLoad(80);
  await run.advance(120);
  assertEquals(toText(explain()), WINDOW);
  const replicas = await run.replicas();
  const until = Date.UTC(2026, 10, 20, 11, 7, 26);
  while (await run.replicas() === replicas && run.cluster.clock.now() < until + 60_000) await run.advance(1);
  const late = run.cluster.clock.now() - until;
  assert(late >= 0 && late <= 16_000, `${late} ms after the time that it was told`);
});

Deno.test("explain says that a workload at its maximum has it, and what the triggers ask for", async () => {
  const { run, setLoad, explain } = await start([WEB], 3);
  await using _run = run;
  setLoad(400);
  await run.advance(120);
  const { answer, need, desired, replicas, next } = explain();
  assertEquals(
    answer.replace(/^.*; /, ""),
    "it stays (TooManyReplicas): the desired replica count is more than the maximum replica count.",
  );
  assertEquals([replicas, desired, next], [3, 3, ["maxReplicaCount is 3: raise it to have more"]]);
  assert((need ?? 0) > 3);
});
