/**
 * A pod gets another owning autoscaler while a PATCH of the first one is under way or waits to be sent. The pod is
 * resized once, and then by the new owner.
 * Clauses: C12, C13, C16.
 */
import { assert, assertEquals } from "#assert";
import { autoscalerObject, type Json, podObject } from "../support/api_objects.ts";
import type { Call } from "../support/api_server.ts";
import { Run, type RunOptions } from "../support/daemon_run.ts";
import { settleEventLoop } from "../support/virtual_clock.ts";

/** Both want more than they can get. The size shows which one set it: the first adds 10m, the second 7m. */
const FIRST = autoscalerObject({ name: "first", priority: 5, bounds: { cpu: { requests: { step: "10m" } } } });
const SECOND = autoscalerObject({ name: "second", bounds: { cpu: { requests: { step: "7m" } } } });

const HANDOVERS: Record<string, (run: Run) => void> = {
  "is paused (C13)": (run) => edit(run, "first", (spec) => spec.paused = true),
  "is deleted": (run) => run.api.remove("podresourceautoscalers", "first"),
  "loses its priority": (run) => edit(run, "first", (spec) => spec.priority = -1),
  "is outranked": (run) => edit(run, "second", (spec) => spec.priority = 9),
  "is made invalid (C8)": (run) => edit(run, "first", (spec) => spec.policy.consecutiveSamples = 0),
  "loses its target (C10)": (run) => edit(run, "first", (spec) => spec.target.name = "nobody"),
  "turns to other pods": (run) => {
    edit(run, "first", (spec) => {
      delete spec.target;
      spec.selector = { matchLabels: { app: "other" } };
    });
  },
};

function edit(run: Run, name: string, change: (spec: Json) => void): void {
  run.api.edit("podresourceautoscalers", name, ({ metadata, spec }) => {
    metadata.generation++;
    change(spec);
  });
}

function newRun(options: RunOptions = {}): Run {
  const run = new Run({ autoscalers: [FIRST, SECOND], ...options });
  for (const { metadata } of run.api.list("pods")) run.use({ [metadata.name]: { cpu: 300 } });
  return run;
}

/** When PATCH requests arrived, s, and what happens while each is being answered. */
function watchPatches(run: Run, during: (call: Call, index: number) => Promise<void> | void): number[] {
  const sentAt: number[] = [];
  run.api.intercept = async (call) => {
    if (!call.path.endsWith("/resize")) return null;
    sentAt.push(run.clock.monotonic() / 1000);
    await during(call, sentAt.length - 1);
    return null;
  };
  return sentAt;
}

for (const [cause, handOver] of Object.entries(HANDOVERS)) {
  Deno.test(`createDaemon() resizes a pod once when its owner ${cause} during its PATCH (C12)`, async () => {
    await using run = newRun();
    const sentAt = watchPatches(run, async (_, index) => {
      if (index > 0) return;
      handOver(run);
      await settleEventLoop();
    });
    await run.advance(68);
    assertEquals([sentAt, run.cpu(), run.events.includes("ScaleUp x1")], [[10], "110m", true]);
    await run.advance(12);
    assertEquals([sentAt.length, run.cpu()], [2, "117m"], "now the second one's step");
    assert(sentAt[1] !== undefined && sentAt[1] >= 70, sentAt.join());
  });

  Deno.test(`createDaemon() resizes a pod once when its owner ${cause} before the watch tells of its PATCH (C12)`, async () => {
    await using run = newRun();
    await run.advance(9);
    const release = run.api.hold("pods");
    const sentAt = watchPatches(run, () => {});
    await run.advance(2);
    assertEquals(sentAt, [10]);
    handOver(run);
    await run.advance(25);
    assertEquals([sentAt, run.cpu()], [[10], "110m"], "a stale pod is no reason");
    release();
    await run.advance(32);
    assertEquals([sentAt, run.cpu()], [[10], "110m"]);
    await run.advance(12);
    assertEquals([sentAt.length, run.cpu()], [2, "117m"]);
  });

  Deno.test(`createDaemon() sends no request that waits for its slot when its owner ${cause} (C12)`, async () => {
    await using run = newRun({ pods: listPods() });
    const held = Promise.withResolvers<void>();
    const sentAt = watchPatches(run, () => held.promise);
    await run.advance(12);
    assertEquals(sentAt.length, AT_ONCE);
    handOver(run);
    await settleEventLoop();
    held.resolve();
    // A changed spec of the new owner restarts its streaks. Clauses: C16.
    await run.advance(12);
    assertEquals(listSizes(run), { "110m": AT_ONCE, "107m": PODS - AT_ONCE }, "the new owner's step");
    assertEquals(sentAt.length, PODS);
    await run.advance(40);
    assertEquals(sentAt.length, PODS, "one cause each");
  });
}

const [PODS, AT_ONCE] = [40, 32];

function listPods(): Json[] {
  return Array.from({ length: PODS }, (_, index) => podObject({ name: toName(index) }));
}

/** The server lists by name: the last ones wait. */
function toName(index: number): string {
  return `web-${String(index).padStart(2, "0")}`;
}

function listSizes(run: Run): Record<string, number> {
  const sizes: Record<string, number> = {};
  for (const { metadata } of run.api.list("pods")) {
    sizes[run.cpu(metadata.name)] = (sizes[run.cpu(metadata.name)] ?? 0) + 1;
  }
  return sizes;
}

const NO_LONGER: Record<string, (run: Run, name: string) => void> = {
  "no longer matches (C11)": (run, name) => run.api.edit("pods", name, ({ metadata }) => metadata.labels = {}),
  "is being deleted (C11)": (run, name) => {
    run.api.edit("pods", name, ({ metadata }) => metadata.deletionTimestamp = "2026-11-20T11:00:12Z");
  },
  "is gone": (run, name) => run.api.remove("pods", name),
};

for (const [cause, happen] of Object.entries(NO_LONGER)) {
  Deno.test(`createDaemon() sends no request that waits for its slot when its pod ${cause}`, async () => {
    await using run = newRun({ autoscalers: [FIRST], pods: listPods() });
    const held = Promise.withResolvers<void>();
    const sentAt = watchPatches(run, () => held.promise);
    await run.advance(12);
    for (let index = AT_ONCE; index < PODS; index++) happen(run, toName(index));
    await settleEventLoop();
    held.resolve();
    await run.advance(20);
    assertEquals(sentAt.length, AT_ONCE);
    assertEquals(run.log.filter(({ level }) => level !== "DEBUG" && level !== "INFO"), []);
  });
}

Deno.test("createDaemon() waits for new streaks when an autoscaler is edited while its request waits (C16)", async () => {
  await using run = newRun({ autoscalers: [FIRST], pods: listPods() });
  const held = Promise.withResolvers<void>();
  const sentAt = watchPatches(run, () => held.promise);
  await run.advance(12);
  edit(run, "first", (spec) => spec.bounds.cpu.requests.step = "20m");
  await settleEventLoop();
  held.resolve();
  await run.advance(2);
  assertEquals(sentAt.length, AT_ONCE);
  await run.advance(12);
  assertEquals(listSizes(run), { "110m": AT_ONCE, "120m": PODS - AT_ONCE }, "as the spec now reads");
});

Deno.test("createDaemon() takes the cooldown as it reads when the spec was edited during a PATCH (C16)", async () => {
  await using run = newRun({ autoscalers: [FIRST] });
  const sentAt = watchPatches(run, async (_, index) => {
    if (index > 0) return;
    edit(run, "first", (spec) => spec.policy.cooldown = "30s");
    await settleEventLoop();
  });
  await run.advance(60);
  assertEquals([sentAt, run.cpu()], [[10, 40], "120m"]);
});

Deno.test("createDaemon() resizes no pod twice for an owner paused and unpaused over and over (C13)", async () => {
  await using run = newRun({ autoscalers: [FIRST] });
  const sentAt = watchPatches(run, async () => {
    for (const paused of [true, false, true, false]) {
      edit(run, "first", (spec) => spec.paused = paused);
      await settleEventLoop();
    }
  });
  await run.advance(68);
  assertEquals([sentAt, run.cpu()], [[10], "110m"]);
});

Deno.test("createDaemon() resizes a container and a sidecar of one pod by their own autoscalers, one in flight (C12, C15)", async () => {
  const proxy = autoscalerObject({ name: "proxy", containerName: "proxy", bounds: SECOND.spec.bounds });
  await using run = newRun({ autoscalers: [FIRST, proxy], pods: [podObject({ sidecar: true })], enacts: false });
  await run.advance(30);
  assertEquals(run.resizes.map(({ query }) => query.fieldManager), ["podfit.main"], "the other waits for the kubelet");
  run.kubelet.enacts = true;
  await run.advance(2);
  assertEquals(run.resizes.map(({ body, query }) => [query.fieldManager, body.spec]), [
    ["podfit.main", { containers: [{ name: "main", resources: { requests: { cpu: "110m" } } }] }],
    ["podfit.proxy", { initContainers: [{ name: "proxy", resources: { requests: { cpu: "107m" } } }] }],
  ]);
  await run.advance(80);
  assertEquals(run.resizes.map(({ query }) => query.fieldManager).sort(), [
    "podfit.main",
    "podfit.main",
    "podfit.proxy",
    "podfit.proxy",
  ], "each has a cooldown of its own");
});
