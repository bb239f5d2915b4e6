/** What a status says of the sizes of its pods, what podfit wants and why it waits; and how rarely it is written (L59). */
import { assert, assertEquals } from "#assert";
import type { ContainerDecision, Decision } from "../../../lib/model/decision.ts";
import { PublishedSizes, WaitingContainers } from "../../../lib/daemon/status/sizes.ts";
import type { PodFacts } from "../../../lib/model/pod.ts";
import { autoscalerObject, podObject } from "../../support/api_objects.ts";
import { pod, policy } from "../../support/builders.ts";
import { type Loads, Run } from "../../support/daemon_run.ts";
import { evaluation } from "../../support/evaluations.ts";

const MAX_100M = autoscalerObject({ bounds: { cpu: { requests: { max: "100m" } } } });
const CURRENT = { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "1", memory: "256Mi" } };

function statusWrites(run: Run): number {
  return run.api.calls.filter(({ path }) => path.endsWith("/status")).length;
}

Deno.test("a status has the sizes of the pods, and neither a wish nor a reason while all is well (L59)", async () => {
  const pods = [podObject(), podObject({ name: "web-2", requests: { cpu: "300m" } }), podObject({ name: "web-3" })];
  await using run = new Run({ pods });
  run.use({ "web-1": { cpu: 60 }, "web-2": { cpu: 180 }, "web-3": { cpu: 60 } });
  await run.advance(120);
  const { pods: count, requests, containers } = run.status();
  assertEquals([count, requests], [3, { cpu: "100m", memory: "128Mi" }]);
  assertEquals(containers, [{ name: "main", pods: 3, current: CURRENT }]);
});

Deno.test("a status says what usage asks for where a bound stops it, and names the bound (L59)", async () => {
  await using run = new Run({ autoscalers: [MAX_100M] });
  run.use({ "web-1": { cpu: 120 } });
  await run.advance(90);
  const [main] = run.status().containers;
  assertEquals([main.wanted, main.waiting], [{ requests: { cpu: "200m" } }, "AtBound"]);
  assertEquals([main.current, run.status().waiting], [CURRENT, "AtBound"]);
  run.use({ "web-1": { cpu: 60 } });
  await run.advance(120);
  assertEquals(run.status().containers, [{ name: "main", pods: 1, current: CURRENT }]);
});

Deno.test("a status says which size waits for the end of a cooldown, and then has it (L59)", async () => {
  await using run = new Run({ autoscalers: [autoscalerObject({ policy: { cooldown: "5m" } })] });
  run.use({ "web-1": { cpu: 120 } });
  await run.advance(60);
  assertEquals(run.status().containers[0].current.requests.cpu, "200m");
  run.use({ "web-1": { cpu: 240 } });
  await run.advance(120);
  const [main] = run.status().containers;
  assertEquals([main.wanted, main.waiting], [{ requests: { cpu: "400m" } }, "Cooldown"]);
  await run.advance(300);
  assertEquals([run.cpu(), run.status().requests.cpu, run.status().containers[0].waiting], ["400m", "400m", undefined]);
});

Deno.test("in mode recommend and under --dry-run a status has what would be set (L51, L59)", async () => {
  for (const options of [{ autoscalers: [autoscalerObject({ mode: "recommend" })] }, { dryRun: true }]) {
    await using run = new Run(options);
    run.use({ "web-1": { cpu: 150 } });
    await run.advance(120);
    const [main] = run.status().containers;
    assertEquals([main.current, main.wanted, main.waiting], [CURRENT, { requests: { cpu: "250m" } }, "DryRun"]);
  }
});

const ON_NODE = { namespaces: null, node: "node1", pod: null };

Deno.test("where each podfit has one node, the holder of the Lease gives the sizes of all, and no wish (L59)", async () => {
  const pods = [podObject(), podObject({ name: "web-2", node: "node2" })];
  await using run = new Run({ pods, autoscalers: [MAX_100M], scope: ON_NODE, identity: "a" });
  run.use({ "web-1": { cpu: 120 } });
  await run.advance(90);
  const { pods: count, containers } = run.status();
  assertEquals([count, containers], [2, [{ name: "main", pods: 2, current: CURRENT, waiting: "NodeLocal" }]]);
});

Deno.test("a podfit of one node without a Lease gives no sizes, for it does not see all pods (L59)", async () => {
  await using run = new Run({ scope: ON_NODE });
  await run.advance(30);
  const { pods, requests, containers, conditions } = run.status();
  assertEquals([pods, requests, containers, conditions.length], [undefined, undefined, undefined, 5]);
});

/** How often the status is written in ten minutes in which usage changes every `seconds`. */
async function countWrites(loads: readonly Loads[], seconds: number, policy = {}): Promise<number> {
  const down = { requests: { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60, ...policy } };
  const autoscaler = autoscalerObject({ policy: { cpu: down } });
  await using run = new Run({ autoscalers: [autoscaler] });
  run.use({ "web-1": { cpu: 60 } });
  await run.advance(30);
  const before = statusWrites(run);
  for (let at = 0; at < 600; at += seconds) {
    run.use(loads[at / seconds % loads.length] ?? {});
    await run.advance(seconds);
  }
  return statusWrites(run) - before;
}

Deno.test("a wish that comes and goes within half a minute is never written (L59)", async () => {
  const flapping = [{ "web-1": { cpu: 20 } }, { "web-1": { cpu: 60 } }];
  assertEquals(await countWrites(flapping, 25, { scaleDown: { window: "15m" } }), 0);
});

Deno.test("a wish that moves by less than a twentieth is written once (L59)", async () => {
  await using run = new Run({ autoscalers: [MAX_100M] });
  run.use({ "web-1": { cpu: 120 } });
  await run.advance(90);
  const before = statusWrites(run);
  assertEquals(run.status().containers[0].wanted.requests.cpu, "200m");
  for (let round = 0; round < 15; round++) {
    run.use({ "web-1": { cpu: [123, 121, 124, 120][round % 4] ?? 0 } });
    await run.advance(40);
  }
  assertEquals([run.status().containers[0].wanted.requests.cpu, statusWrites(run) - before], ["200m", 0]);
});

Deno.test("a new podfit keeps what is stored until it knows better (L59)", async () => {
  const first = new Run({ autoscalers: [MAX_100M] });
  first.use({ "web-1": { cpu: 120 } });
  await first.advance(120);
  const stored = first.status();
  const writes = statusWrites(first);
  assertEquals(stored.containers[0].waiting, "AtBound");
  await first.stop();
  const last = statusWrites(first);
  await using second = new Run({ after: first });
  await second.advance(120);
  assertEquals([second.status().containers, last], [stored.containers, writes]);
  // Limited is new for it: False until two samples are in, and True again.
  assert(statusWrites(second) - last <= 2, `${statusWrites(second) - last} writes`);
});

const WEB = policy({ namespace: "shop", name: "web" });
const POD = pod();

function decide(decision: Decision, overrides: Partial<ContainerDecision> = {}): ContainerDecision {
  return { autoscaler: WEB.uid, container: "main", decision, candidates: [], isNewSample: true, ...overrides };
}

const BLOCKED = decide({ kind: "blocked", action: "scaleUp", reason: "Quota", message: "" }, {
  wanted: { "cpu.requests": 300 },
});

function newWaiting() {
  const waiting = new WaitingContainers({ findState: () => null });
  const take = (...decisions: ContainerDecision[]) =>
    waiting.sink(evaluation({ input: { pod: POD, contenders: [WEB] }, outcome: { decisions } }));
  return { waiting, take, find: () => waiting.find(WEB, POD, "main")?.reason };
}

Deno.test("WaitingContainers keeps a reason until another decision about the container (L59)", () => {
  const { waiting, take, find } = newWaiting();
  take(BLOCKED);
  assertEquals(waiting.find(WEB, POD, "main")?.wanted, { "cpu.requests": 300 });
  take();
  take(decide({ kind: "hold", reason: "InBand", message: "" }, { container: "other" }));
  assertEquals(find(), "Quota", "it was not due");
  take(decide({ kind: "hold", reason: "AtBound", message: "" }, { wanted: { "cpu.requests": 100_000 } }));
  assertEquals(find(), "AtBound");
  const { spec: size } = POD.containers[0] ?? { spec: null };
  assert(size !== null);
  take(decide({ kind: "resize", action: "scaleUp", from: size, to: size }));
  assertEquals(find(), undefined);
});

Deno.test("WaitingContainers knows no reason while all is well, and the reasons of everything else (L59)", () => {
  const reasonOf = (reason: Extract<Decision, { kind: "hold" }>["reason"]) => {
    const { take, find } = newWaiting();
    take(decide({ kind: "hold", reason, message: "" }));
    return find();
  };
  for (const quiet of ["Warmup", "StreakShort", "InBand", "AtTarget"] as const) {
    assertEquals(reasonOf(quiet), undefined);
  }
  for (const loud of ["NotOwner", "MetricsUnavailable", "BaselineUnavailable", "NotRunning"] as const) {
    assertEquals(reasonOf(loud), loud);
  }
});

Deno.test("WaitingContainers forgets a pod, and an autoscaler that no longer matches it (L59)", () => {
  const { waiting, take, find } = newWaiting();
  take(BLOCKED);
  waiting.forgetPod(POD.uid);
  assertEquals(find(), undefined);
  take(BLOCKED);
  const other = policy({ namespace: "shop", name: "other" });
  const decisions = [{ ...BLOCKED, autoscaler: other.uid }];
  waiting.sink(evaluation({ input: { pod: POD, contenders: [other] }, outcome: { decisions } }));
  assertEquals([find(), waiting.find(other, POD, "main")?.reason], [undefined, "Quota"]);
});

Deno.test("PublishedSizes waits again for an autoscaler that it has forgotten (L59)", () => {
  const sizes = new PublishedSizes({ findWaiting: () => ({ wanted: null, reason: "Quota" }) });
  const { containers } = sizes.compute(WEB, [POD], { before: undefined, nowMs: 0 });
  const before = containers.map(({ waiting: _, ...rest }) => rest);
  const waitingAt = (nowMs: number) => sizes.compute(WEB, [POD], { before, nowMs }).containers[0]?.waiting;
  assertEquals([waitingAt(0), waitingAt(29_000), waitingAt(30_000)], [undefined, undefined, "Quota"]);
  sizes.forget(WEB.uid);
  assertEquals([waitingAt(31_000), waitingAt(61_000)], [undefined, "Quota"]);
});

Deno.test("PublishedSizes.compute() has the size that was asked for, and the one in force while the kubelet defers it (L59)", () => {
  const [container] = POD.containers;
  assert(container !== undefined);
  const containers = [{ ...container, reported: { ...container.spec, "cpu.requests": 77 } }];
  const sizes = new PublishedSizes({ findWaiting: () => null });
  const cpuOf = (pending: PodFacts["pending"]) => {
    const found = sizes.compute(WEB, [{ ...POD, containers, pending }], { before: undefined, nowMs: 0 });
    return [found.requests?.cpu, found.containers[0]?.current.requests?.cpu];
  };
  const spec = `${container.spec["cpu.requests"]}m`;
  assertEquals(cpuOf(null), [spec, spec]);
  assertEquals(cpuOf({ reason: "Deferred", message: "", since: null }), ["77m", "77m"]);
});

Deno.test("changes of sizes alone are written less and less often, as changes of messages are (L59)", async () => {
  await using run = new Run();
  await run.advance(30);
  const before = statusWrites(run);
  for (let round = 0; round < 100; round++) {
    if (round % 2 === 0) run.api.put("pods", podObject({ name: "web-2" }));
    else run.api.remove("pods", "web-2");
    await run.advance(6);
  }
  const writes = statusWrites(run) - before;
  assert(writes > 5 && writes < 25, `${writes} writes in ten minutes`);
});

Deno.test("a resize is one write of the status, with the new size in it (C51, L59)", async () => {
  await using run = new Run();
  await run.advance(30);
  const before = statusWrites(run);
  run.use({ "web-1": { cpu: 120 } });
  for (let second = 0; run.resizes.length === 0 && second < 60; second++) await run.advance(1);
  await run.advance(30);
  assertEquals([run.status().requests.cpu, statusWrites(run) - before], ["200m", 1]);
});

Deno.test("a paused autoscaler says so where others say what they wait for (C13, L59)", async () => {
  await using run = new Run({ autoscalers: [autoscalerObject({ paused: true })] });
  await run.advance(10);
  const { pods, containers, waiting } = run.status();
  assertEquals([pods, containers, waiting], [0, [], "Paused"]);
});

Deno.test("a container that is as small as its bounds allow waits for nothing (L59)", async () => {
  await using run = new Run({ autoscalers: [autoscalerObject({ bounds: { cpu: { requests: { min: "100m" } } } })] });
  run.use({ "web-1": { cpu: 5 } });
  await run.advance(120);
  const { containers, waiting } = run.status();
  assertEquals([containers, waiting], [[{ name: "main", pods: 1, current: CURRENT }], undefined]);
});

Deno.test("a wish that changes all the time is published all the same, and so is its end (L59)", () => {
  let cpu = 100;
  const sizes = new PublishedSizes({
    findWaiting: () => cpu === 0 ? null : { wanted: { "cpu.requests": cpu }, reason: "Quota" },
  });
  let { containers } = sizes.compute(WEB, [POD], { before: undefined, nowMs: 0 });
  for (let at = 5; at <= 60; at += 5) {
    cpu = at % 2 === 0 ? 200 : 300;
    containers = sizes.compute(WEB, [POD], { before: containers, nowMs: at * 1000 }).containers;
  }
  assert(containers[0]?.wanted?.requests?.cpu !== "100m");
  cpu = 0;
  for (const at of [65, 95]) {
    containers = sizes.compute(WEB, [POD], { before: containers, nowMs: at * 1000 }).containers;
  }
  assertEquals([containers[0]?.wanted, containers[0]?.waiting], [undefined, undefined]);
});
