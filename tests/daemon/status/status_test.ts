/** What an autoscaler's status and events say of its spec, its target and its pods (C8, C10, C15, C50, C51). */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { UNLIMITED } from "../../../lib/resources/pod_resource_autoscaler/status.ts";
import type { AutoscalerFacts, Resolution } from "../../../lib/daemon/cluster/facts.ts";
import { parseAutoscalerFacts } from "../../../lib/daemon/cluster/parse_objects.ts";
import { LastScales } from "../../../lib/daemon/status/last_scales.ts";
import { StatusSweep, type StatusSweepOptions } from "../../../lib/daemon/status/sweep.ts";
import { createAutoscalerPatch, StatusWriter } from "../../../lib/daemon/status/writer.ts";
import { isMetricsKnown, OTHER_PODFIT_ADVICE } from "../../../lib/daemon/status/rivals.ts";
import { createClient } from "../../../lib/kube/client.ts";
import { autoscalerObject, deploymentObject, podObject } from "../../support/api_objects.ts";
import { TestApiServer } from "../../support/api_server.ts";
import { Run } from "../../support/daemon_run.ts";
import { pod } from "../../support/builders.ts";
import { UNRESOLVED } from "../../support/status_sources.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

function statusWrites(run: Run): number {
  return run.api.calls.filter(({ path }) => path.endsWith("/status")).length;
}

Deno.test("a status is written once and not again while nothing differs, also after a restart (C51)", async () => {
  const first = new Run();
  await first.advance(60);
  assertEquals(statusWrites(first), 1);
  await first.stop();
  await using second = new Run({ after: first });
  await second.advance(100);
  assertEquals(statusWrites(second), 1);
});

Deno.test("lastTransitionTime moves only with the condition's status (C51)", async () => {
  await using run = new Run();
  const read = () => run.status().conditions.find(({ type }: { type: string }) => type === "Active");
  await run.advance(10);
  assertEquals(read().lastTransitionTime, "2026-11-20T11:00:01Z");
  run.api.put("pods", podObject({ name: "web-2" }));
  await run.advance(10);
  assertEquals([read().message, read().lastTransitionTime], ["2 pods", "2026-11-20T11:00:01Z"]);
  run.api.remove("pods", "web-1");
  run.api.remove("pods", "web-2");
  await run.advance(10);
  assertEquals([read().status, read().lastTransitionTime], ["False", "2026-11-20T11:00:21Z"]);
});

Deno.test("a status that somebody else has wiped is written again within two minutes", async () => {
  await using run = new Run();
  await run.advance(10);
  const before = run.status();
  run.api.edit("podresourceautoscalers", "web", (object) => object.status = {});
  await run.advance(120);
  assertEquals(run.status(), before);
  assertEquals(statusWrites(run), 2);
});

Deno.test("a server that leaves fields out of the status is not written to for ever", async () => {
  await using run = new Run();
  run.api.intercept = ({ path, body }) => {
    if (path.endsWith("/status")) delete body.status.effectiveSelector;
    return null;
  };
  await run.advance(300);
  assertEquals(statusWrites(run), 1);
});

Deno.test("a status write that fails is tried again with growing waits, counted, and the others are written (C52)", async () => {
  await using run = new Run({ autoscalers: [autoscalerObject(), autoscalerObject({ name: "other" })] });
  run.api.intercept = ({ path }) => path.endsWith("web/status") ? new Response("no", { status: 500 }) : null;
  await run.advance(60);
  assertEquals(run.condition("Ready", "other"), "True Valid");
  const tries = run.api.calls.filter(({ path }) => path.endsWith("web/status")).length;
  assertEquals(tries, 5, "after 2.5, 5, 10, 20 and 30 s");
  assertEquals(await run.series("kedify_agent_pra_error_total"), [
    'kedify_agent_pra_error_total{namespace="shop",reason="StatusWrite"} 5',
  ]);
  run.api.intercept = () => null;
  await run.advance(60);
  assertEquals(run.condition("Ready"), "True Valid");
});

Deno.test("the gauges follow the conditions (C52)", async () => {
  await using run = new Run();
  run.use({ "web-1": { cpu: 150 } });
  const gauges = async () =>
    [
      ...await run.series("kedify_agent_pod_resource_autoscaler_active"),
      ...await run.series("kedify_agent_pra_scaling_active"),
      ...await run.series("kedify_agent_pra_total"),
    ].map((line) => line.slice(line.indexOf("{")));
  const of = (active: number, scaling: number) => [
    `{namespace="shop",name="web"} ${active}`,
    `{namespace="shop"} ${scaling}`,
    '{namespace="shop"} 1',
  ];
  await run.advance(15);
  assertEquals(await gauges(), of(1, 1));
  run.api.remove("pods", "web-1");
  await run.advance(60);
  assertEquals([run.condition("Ready"), run.condition("Active")], ["True Valid", "False NoPods"]);
  assertEquals(await gauges(), of(0, 0));
});

Deno.test("a missing target is told once, its pods are dropped, and it heals by itself (C10)", async () => {
  await using run = new Run();
  run.use({ "web-1": { cpu: 50 } });
  await run.advance(10);
  run.api.remove("deployments", "web");
  await run.advance(10);
  assertEquals(run.condition("Ready"), "False TargetNotFound");
  assertEquals(run.condition("Active"), "False TargetNotFound");
  assertEquals(run.status().effectiveSelector, undefined);
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(30);
  assertEquals([run.resizes.length, run.events], [0, ["TargetNotFound x1"]]);
  run.api.put("deployments", deploymentObject());
  await run.advance(15);
  assertEquals([run.condition("Ready"), run.condition("Active")], ["True Valid", "True Tracking"]);
  assertEquals([run.status().effectiveSelector, run.cpu()], [{ matchLabels: { app: "web" } }, "250m"]);
});

Deno.test("a paused autoscaler whose target is missing is paused and nothing else (C13)", async () => {
  await using run = new Run({ deployments: [], autoscalers: [autoscalerObject({ paused: true })] });
  await run.advance(10);
  assertEquals([run.condition("Ready"), run.events], ["True Paused", []]);
});

Deno.test("a changed selector of the target drops the pods that no longer match (C10, C11)", async () => {
  await using run = new Run();
  await run.advance(10);
  run.api.edit("deployments", "web", ({ spec }) => spec.selector.matchLabels.tier = "front");
  await run.advance(5);
  assertEquals(run.condition("Active"), "False NoPods");
  assertEquals(run.status().effectiveSelector, { matchLabels: { app: "web", tier: "front" } });
  run.api.edit("pods", "web-1", ({ metadata }) => metadata.labels.tier = "back");
  run.api.edit("deployments", "web", ({ spec }) => spec.selector.matchLabels.tier = "back");
  await run.advance(5);
  assertEquals(run.condition("Active"), "True Tracking", "another value of the same label");
});

Deno.test("effectiveSelector keeps no label of the target before (C10)", async () => {
  const back = deploymentObject("back");
  back.spec.selector = { matchLabels: { tier: "back" }, matchExpressions: [{ key: "app", operator: "DoesNotExist" }] };
  await using run = new Run({ deployments: [deploymentObject(), back] });
  await run.advance(10);
  const retarget = (name: string, generation: number) =>
    run.api.edit("podresourceautoscalers", "web", ({ metadata, spec }) => {
      metadata.generation = generation;
      spec.target.name = name;
    });
  retarget("back", 2);
  await run.advance(5);
  assertEquals(run.status().effectiveSelector, back.spec.selector);
  retarget("web", 3);
  await run.advance(5);
  assertEquals(run.status().effectiveSelector, { matchLabels: { app: "web" } });
});

Deno.test("effectiveSelector loses labels that an earlier podfit has left there (C10)", async () => {
  const left = { effectiveSelector: { matchLabels: { app: "web", tier: "back" } } };
  await using run = new Run({ autoscalers: [{ ...autoscalerObject(), status: left }] });
  await run.advance(5);
  assertEquals(run.status().effectiveSelector, { matchLabels: { app: "web" } });
});

Deno.test("a target whose selector cannot be used is not said to be missing (C10)", async () => {
  const odd = deploymentObject();
  odd.spec.selector = { matchExpressions: [{ key: "app", operator: "Near", values: ["web"] }] };
  await using run = new Run({ deployments: [odd] });
  await run.advance(5);
  assertEquals([run.condition("Ready"), run.condition("Active")], ["False TargetNotFound", "False TargetNotFound"]);
  const message = 'deployment "web" has a selector that cannot be used: spec.selector.matchExpressions[0].operator: ' +
    'Cannot use "Near" as operator: must be In, NotIn, Exists or DoesNotExist';
  assertEquals(run.status().conditions[0].message, message);
  assertStringIncludes(run.eventsOn("PodResourceAutoscaler")[0]?.message, "has a selector that cannot be used");
  run.api.put("deployments", deploymentObject());
  await run.advance(15);
  assertEquals(run.condition("Active"), "True Tracking");
});

Deno.test("pods that all lack the container are told once (C15)", async () => {
  await using run = new Run({ autoscalers: [autoscalerObject({ containerName: "absent" })] });
  await run.advance(10);
  run.api.put("pods", podObject({ name: "web-2" }));
  await run.advance(30);
  assertEquals(run.condition("Active"), "False ContainerNotFound");
  assertEquals([run.condition("Ready"), run.events], ["True Valid", ["ContainerNotFound x1"]]);
});

Deno.test("an invalid spec is told once for each change of it, and stops no other autoscaler (C8)", async () => {
  const cpu = { requests: { scaleUpThreshold: 40, scaleDownThreshold: 80, targetUtilization: 60 } };
  const autoscalers = [autoscalerObject(), autoscalerObject({ name: "bad", policy: { cpu, pollInterval: "soon" } })];
  await using run = new Run({ autoscalers });
  run.use({ "web-1": { cpu: 150 } });
  await run.advance(30);
  assertEquals(run.cpu(), "250m");
  assertEquals([run.condition("Ready", "bad"), run.condition("Active", "bad")], [
    "False InvalidSpec",
    "False InvalidSpec",
  ]);
  const { message } = run.status("bad").conditions[0];
  assertStringIncludes(message, "spec.policy.pollInterval: ");
  assertStringIncludes(message, "spec.policy.cpu.requests.scaleUpThreshold: ");
  assertEquals(run.events.filter((one) => one.startsWith("InvalidSpec")), ["InvalidSpec x1"]);
  run.api.edit("podresourceautoscalers", "bad", ({ metadata, spec }) => {
    metadata.generation = 2;
    spec.policy.pollInterval = "5s";
  });
  await run.advance(10);
  assertEquals(run.events.filter((one) => one.startsWith("InvalidSpec")).length, 2);
  assertEquals(run.status("bad").observedGeneration, 2);
});

interface SweepParts extends Partial<StatusSweepOptions> {
  readonly clock: VirtualClock;
  readonly api: TestApiServer;
  readonly autoscalers: readonly AutoscalerFacts[];
  readonly resolve?: (autoscaler: AutoscalerFacts) => Resolution;
}

function newSweep({ clock, api, autoscalers, resolve = () => UNRESOLVED, ...options }: SweepParts): StatusSweep {
  const common = { clock, random: () => 0, metrics: { failed() {} }, onTrouble() {} };
  return new StatusSweep({
    ...common,
    cache: {
      *listAutoscalers() {
        yield* autoscalers;
      },
      resolve,
    },
    findUnread: () => ({ count: 0, why: "" }),
    limits: () => UNLIMITED,
    recommended: () => null,
    sizes: null,
    isNodeLocal: false,
    lastScales: new LastScales(clock),
    canReport: () => true,
    writer: new StatusWriter({
      ...common,
      kind: "PodResourceAutoscaler",
      patch: createAutoscalerPatch(createClient(api.toServer())),
      isKnown: isMetricsKnown,
      rivals: OTHER_PODFIT_ADVICE,
      isNodeLocal: false,
      onProgress() {},
    }),
    listeners: [],
    ...options,
  });
}

Deno.test("a status that cannot be computed stops no other autoscaler", async () => {
  const clock = new VirtualClock();
  const api = new TestApiServer(clock);
  const objects = [autoscalerObject({ name: "bad" }), autoscalerObject()];
  for (const object of objects) api.put("podresourceautoscalers", object);
  const failures: unknown[] = [];
  const status = newSweep({
    clock,
    api,
    autoscalers: objects.map((one) => parseAutoscalerFacts(one)),
    metrics: { failed: (_namespace, reason) => failures.push(reason) },
    findUnread({ name }) {
      if (name === "bad") throw new TypeError("unforeseen");
      return { count: 0, why: "" };
    },
  });
  await status.sweep(new AbortController().signal);
  const written = api.list("podresourceautoscalers").map(({ metadata, status }) => [metadata.name, status?.scaling]);
  assertEquals([written, failures], [[["bad", undefined], ["web", false]], ["StatusCompute"]]);
});

Deno.test("a sweep computes what has changed, and each 5 s what follows from time alone (C51, C52)", async () => {
  const clock = new VirtualClock();
  const api = new TestApiServer(clock);
  const objects = [autoscalerObject(), autoscalerObject({ name: "other" })];
  for (const object of objects) api.put("podresourceautoscalers", object);
  let computed: string[] = [];
  const lastScales = new LastScales(clock);
  const status = newSweep({
    clock,
    api,
    autoscalers: objects.map((one) => parseAutoscalerFacts(one)),
    lastScales,
    findUnread({ name }) {
      computed.push(name);
      return { count: 0, why: "" };
    },
  });
  async function sweepAfter(seconds: number): Promise<readonly string[]> {
    computed = [];
    await clock.advance(seconds * 1000);
    await status.sweep(new AbortController().signal);
    return computed;
  }
  // The second look is at what has been written meanwhile.
  assertEquals([await sweepAfter(0), await sweepAfter(1)], [["web", "other"], ["web", "other"]]);
  assertEquals([await sweepAfter(1), await sweepAfter(3)], [[], []]);
  lastScales.record(objects[1]?.metadata.uid ?? "", { at: clock.now(), action: "scaleUp", change: "cpu" });
  assertEquals(await sweepAfter(0), ["other"]);
  assertEquals(await sweepAfter(1), ["web", "other"]);
});

Deno.test("an autoscaler of many pods is looked at as seldom as each 30 s (C51)", async () => {
  const clock = new VirtualClock();
  const api = new TestApiServer(clock);
  const pods: Readonly<Record<string, number>> = { few: 5, some: 10, many: 300 };
  const objects = Object.keys(pods).map((name) => autoscalerObject({ name }));
  for (const object of objects) api.put("podresourceautoscalers", object);
  const looks = new Map<string, number[]>();
  const status = newSweep({
    clock,
    api,
    autoscalers: objects.map((one) => parseAutoscalerFacts(one)),
    resolve: ({ name }) => ({
      ...UNRESOLVED,
      tracked: new Map(Array.from({ length: pods[name] ?? 0 }, (_, index) => [`${index}`, pod()])),
    }),
    findUnread({ name }) {
      looks.set(name, [...looks.get(name) ?? [], clock.monotonic()]);
      return { count: 0, why: "" };
    },
  });
  for (let second = 0; second <= 50; second++) {
    await status.sweep(new AbortController().signal);
    await clock.advance(1000);
  }
  const gaps = [...looks].map(([name, at]) => [name, (at.at(-1) ?? 0) - (at.at(-2) ?? 0)]);
  assertEquals(gaps, [["few", 5000], ["some", 10_000], ["many", 30_000]]);
  // A change that somebody has seen is looked at sooner, but an autoscaler is not looked at all the time.
  const uid = objects[2]?.metadata.uid ?? "";
  const before = looks.get("many")?.length ?? 0;
  for (let second = 0; second <= 20; second++) {
    status.touch(uid);
    await status.sweep(new AbortController().signal);
    await clock.advance(1000);
  }
  const touched = (looks.get("many")?.length ?? 0) - before;
  // One look more after a write.
  assert(touched >= 5 && touched <= 6, `${touched} looks in 20 s`);
});

Deno.test("silence of a running container is Metrics=False, but not before three of its polls (C22, C51)", async () => {
  const slow = autoscalerObject({ name: "slow", policy: { pollInterval: "40s" } });
  await using run = new Run({ autoscalers: [autoscalerObject(), slow] });
  await run.advance(10);
  run.kubelet.isEmpty = true;
  await run.advance(80);
  assertEquals(run.condition("Metrics"), "False MetricsUnavailable");
  assertEquals(run.condition("Metrics", "slow"), "True Available");
  await run.advance(60);
  assertEquals(run.condition("Metrics", "slow"), "False MetricsUnavailable");
  const silence = (name: string) => run.status(name).conditions[3].message.split(": ")[1];
  assertEquals([silence("web"), silence("slow")], [
    'pod "web-1" has had no new usage for 1m or more',
    'pod "web-1" has had no new usage for 2m or more',
  ]);
  assertEquals(run.events, ["MetricsUnavailable x1", "MetricsUnavailable x1"]);
  run.kubelet.isEmpty = false;
  await run.advance(90);
  assertEquals([run.condition("Metrics"), run.condition("Metrics", "slow")], ["True Available", "True Available"]);
});

Deno.test("failed reads of a node are forgotten with its last pod (C51)", async () => {
  await using run = new Run();
  run.kubelet.failure = "no route";
  await run.advance(15);
  assertEquals(run.condition("Metrics"), "False MetricsUnavailable");
  run.api.remove("pods", "web-1");
  await run.advance(5);
  run.api.put("pods", podObject({ name: "web-2" }));
  await run.advance(5);
  assertEquals(run.condition("Metrics"), "True Available");
});

Deno.test("a status write alone sets no pod's evaluation off", async () => {
  await using run = new Run();
  await run.advance(10);
  const count = () => run.log.filter(({ message }) => message === "Held").length;
  const before = count();
  for (let i = 0; i < 4; i++) {
    run.api.edit("podresourceautoscalers", "web", ({ metadata }) => metadata.labels = { i: String(i) });
    await run.clock.advance(100);
  }
  assertEquals(count(), before);
});
