/** What `podfit explain` says of a pod, word by word, on records of podfit beside an embedded cluster. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { explainPod } from "../../../lib/cli/explanation/explain_pod.ts";
import { describePod } from "../../../lib/cli/explanation/words.ts";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";
import { autoscaler, pod } from "../../e2e/support/workloads.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { assertScreens, readPage } from "../../support/pages.ts";
import { ExplainRun, PLAIN, POLICY, SIDE, taker } from "../../support/explain_run.ts";
import { keepLines } from "../../support/record_lines.ts";

const show = (run: ExplainRun) => (columns: number) => run.text(columns);

Deno.test("explain says why a pod stays as its template has it, and what would move it", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  await assertScreens("pod-in-band", show(run));
});

Deno.test("explain says of a pod just resized what was changed, why, and how long it took", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  await run.advance(4);
  await assertScreens("pod-resized", show(run));
});

/** A minute after its first resize, the pod wants more. */
async function startInCooldown(): Promise<ExplainRun> {
  const run = await ExplainRun.start({ spec: { bounds: { cpu: { requests: { max: "1500m" } } } } });
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  run.use(1900);
  await run.advance(60);
  return run;
}

Deno.test("explain names what blocks a pod in cooldown, and when it ends", async () => {
  await using run = await startInCooldown();
  await assertScreens("pod-cooldown", show(run));
  assertEquals(run.text(), await readPage("explain"));
  const [container] = run.explain().containers;
  const ends = (container?.resizedAt ?? 0) + 120_000;
  assertEquals([container?.decision.reason, container?.next.earliest], ["Cooldown", ends]);
  await run.resized(2);
  assertEquals((run.explain().containers[0]?.resizedAt ?? 0) - ends < 5_000, true);
});

Deno.test("explain says of a pod at its bound which one it is, and that waiting does not end it", async () => {
  await using run = await startInCooldown();
  await run.resized(2);
  await run.advance(200);
  await assertScreens("pod-at-bound", show(run));
});

Deno.test("explain says of a Guaranteed pod managed on one side what its class forbids, and what to do", async () => {
  const size = { cpu: "100m", memory: "64Mi" };
  const requests = { ...SIDE, scaleDown: { window: "0s" } };
  await using run = await ExplainRun.start({
    container: { requests: size, limits: size, cpuMillicores: 5 },
    spec: { policy: { ...POLICY, cpu: { requests } } },
  });
  await run.advance(60);
  await assertScreens("pod-qos", show(run));
});

Deno.test("explain says of a pod whose resize is Deferred that it is not in force, in the kubelet's words", async () => {
  await using run = await ExplainRun.start({
    nodes: [{ name: "node-1", cpuMillicores: 1000 }],
    objects: [taker("800m")],
    scope: { namespaces: ["default"], node: null, pod: null },
  });
  run.use(500);
  await run.advance(90);
  await assertScreens("pod-deferred", show(run));
});

Deno.test("explain says of a pod whose autoscaler only recommends what it has and what it would have", async () => {
  await using run = await ExplainRun.start({ spec: { mode: "recommend" } });
  run.use(300);
  await run.advance(60);
  await assertScreens("pod-recommend", show(run));
});

/** As kubectl or the VPA does. */
async function resizeByOther(run: ExplainRun): Promise<void> {
  const containers = [{ name: "main", resources: { requests: { cpu: "160m" } } }];
  const path = "/api/v1/namespaces/default/pods/web/resize?fieldManager=kubectl-edit";
  await run.run.cluster.client.patch(path, "strategic", { spec: { containers } });
}

Deno.test("explain says of a resize by another client that it was one, and not that it is older than the records", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  await resizeByOther(run);
  await run.advance(20);
  assertEquals(
    run.explain().origin,
    "It was last resized 20s ago (11:00:41Z), by another client than podfit (field manager kubectl-edit).",
  );
  assertEquals(
    run.text().find((line) => line.startsWith("  Resizes")),
    "  Resizes: none by podfit in the 50s of records; the last, by another client, was 20s ago (11:00:41Z)",
  );
  // The same pod, of which podfit has no record from before the resize.
  const late = run.lines.pod("web").filter((line) => line.since > (run.explain().containers[0]?.resizedAt ?? 0));
  const text = explainPod(late, { now: run.run.clock.now() });
  assertEquals(text?.origin, "It was last resized 20s ago (11:00:41Z), before these records begin.");
});

Deno.test("explain names no client for a container that nobody resized, though another of the pod was resized", async () => {
  await using run = await ClusterRun.start({});
  const sizes = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "2", memory: "256Mi" } };
  const containers = ["main", "side"].map((name) => ({ name, ...sizes, cpuMillicores: 50, memoryMiB: 20 }));
  await run.create(
    pod("web", { containers, fields: { nodeName: "node-1" } }),
    autoscaler("web", { selector: { matchLabels: { app: "web" } }, containerName: "main", policy: POLICY }),
  );
  await run.advance(10);
  const lines = keepLines();
  await using _podfit = run.startPodfit(undefined, { sinks: [lines.onEvaluation] });
  await run.advance(30);
  const resized = [{ name: "side", resources: { requests: { cpu: "160m" } } }];
  const path = "/api/v1/namespaces/default/pods/web/resize?fieldManager=kubectl-edit";
  await run.cluster.client.patch(path, "strategic", { spec: { containers: resized } });
  await run.advance(20);
  const explained = explainPod(lines.pod("web"), { now: run.clock.now() });
  const [main] = explained?.containers ?? [];
  assertEquals([main?.name, main?.resizedAt, main?.otherClient], ["main", null, null]);
  assertStringIncludes(explained?.origin ?? "", "It has the size of its template");
  const text = explained === null ? [] : describePod(explained, PLAIN).map(toCharacters);
  assertEquals(
    text.find((line) => line.startsWith("  Resizes")),
    "  Resizes: none in the 50s of records; one of another container 20s ago (11:00:41Z) begins the cooldown",
  );
  // The cooldown still begins with that resize.
  assert(typeof lines.pod("web").at(-1)?.record.outcome.state.containers["main"]?.resizedAt === "number");
});

Deno.test("explain names the other client that resized a pod after podfit, and then podfit's resize before it", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  const { origin } = run.explain();
  assert(origin.startsWith("It has this size because podfit changed cpu.requests"), origin);
  await run.advance(10);
  await resizeByOther(run);
  await run.advance(20);
  assertEquals(
    run.explain().origin,
    "It was last resized 20s ago (11:01:12Z), by another client than podfit (field manager kubectl-edit). " +
      "Before that, podfit changed cpu.requests 100m -> 485m 30s ago (11:01:01Z): cpu.requests at 291 %.",
  );
  const text = run.text();
  const at = text.indexOf("  Resizes, newest first");
  assertEquals(text[at + 1], "    20s ago (11:01:12Z)  by another client, kubectl-edit");
  assert(text[at + 2]?.startsWith("    30s ago (11:01:01Z)  cpu.requests 100m -> 485m"), text[at + 2]);
});

Deno.test("explain says which resize gave a pod its size, though five were refused since", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  await run.advance(30);
  const lines = run.lines.pod("web");
  const answered = lines.find(({ record }) => record.input.observation.kind === "answered");
  const last = lines.at(-1);
  assert(answered !== undefined && last !== undefined);
  const { observation } = answered.record.input;
  assert(observation.kind === "answered");
  const refused = Array.from({ length: 5 }, (_, index) => {
    const now = last.record.input.now + (index + 1) * 60_000;
    const answer = {
      kind: "refused",
      reason: "Quota",
      message: "exceeded quota",
      resources: ["cpu"],
      waitMs: null,
    } as const;
    return {
      ...last,
      since: now,
      record: { ...last.record, input: { ...last.record.input, now, observation: { ...observation, answer } } },
    };
  });
  const explained = explainPod([...lines, ...refused], { now: run.run.clock.now() + 400_000 });
  assertEquals(explained?.origin.startsWith("It has this size because podfit changed cpu.requests 100m -> "), true);
  assertEquals(explained?.containers[0]?.resizes.map((one) => one.refused === null), [
    false,
    false,
    false,
    false,
    false,
    true,
  ]);
});

Deno.test("explain says of a resize by podfit whose answer came late that it was podfit's", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  await run.advance(4);
  const lines = run.lines.pod("web");
  const newest = lines.at(-1);
  const main = newest?.record.outcome.state.containers["main"];
  if (newest === undefined || main === undefined) throw new Error("Cannot go on: there is no record");
  // The watch showed the resize before podfit knew that its request had arrived.
  const state = {
    ...newest.record.outcome.state,
    containers: { main: { ...main, resizedAt: newest.record.input.now } },
  };
  const late = { ...newest, record: { ...newest.record, outcome: { ...newest.record.outcome, state } } };
  const { origin = "" } = explainPod([...lines.slice(0, -1), late], { now: run.run.clock.now() }) ?? {};
  assert(origin.startsWith("It has this size because podfit changed cpu.requests"), origin);
});

Deno.test("explain counts from the newest record where podfit's clock is ahead of this computer's", async () => {
  await using run = await startInCooldown();
  const { answer, at } = run.explain();
  const late = explainPod(run.lines.pod("web"), { now: at - 3_600_000 });
  assertEquals([late?.now, late?.answer], [at, answer]);
});
