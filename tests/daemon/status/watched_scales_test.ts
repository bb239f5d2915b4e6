/** Resizes that other podfits made, as the watch of pods shows them (C51). */
import { assertEquals } from "#assert";
import type { Autoscaler } from "../../../lib/model/autoscaler.ts";
import type { PodFacts } from "../../../lib/model/pod.ts";
import { LastScales, WatchedScales } from "../../../lib/daemon/status/last_scales.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import type { ResourceField, Resources } from "../../../lib/units/resources.ts";
import { container, pod, policy, resizeEntry, resources, SECOND, START } from "../../support/builders.ts";

const SMALL = resources({ "cpu.requests": 100, "cpu.limits": 200 });
const LARGE = resources({ "cpu.requests": 150, "cpu.limits": 300 });
const CPU: readonly ResourceField[] = ["cpu.requests", "cpu.limits"];

interface Seen {
  readonly spec: Resources;
  /** In force; as the spec by default. */
  readonly reported?: Resources;
  readonly manager?: string;
  readonly sides?: readonly ResourceField[];
  readonly at?: number;
}

function toPod({ spec, reported = spec, manager, sides = CPU, at = START }: Seen): PodFacts {
  const resizes = manager === undefined ? [] : [resizeEntry(manager, at, { main: sides })];
  return pod({ containers: [container({ spec, reported })], resizes });
}

function watch(seen: readonly Seen[], { contenders = [policy()], isOwn = false } = {}) {
  const lastScales = new LastScales(new VirtualClock(START));
  const scales = new WatchedScales({ lastScales, isOwn: () => isOwn });
  for (const one of seen) scales.put({ pod: toPod(one), autoscalers: contenders });
  return Object.fromEntries(contenders.map(({ name, uid }: Autoscaler) => [name, lastScales.find(uid)]));
}

const UP = [{ spec: SMALL }, { spec: LARGE, reported: SMALL, manager: "podfit.main" }];

Deno.test("a size that podfit changed is noted with its direction, its words and the API server's time (C51)", () => {
  const change = "cpu.requests 100m -> 150m, cpu.limits 200m -> 300m";
  assertEquals(watch(UP), { web: { at: START, action: "scaleUp", change } });
  const down = [{ spec: LARGE }, { spec: SMALL, reported: LARGE, manager: "podfit.main", at: START - SECOND }];
  assertEquals(watch(down), {
    web: { at: START - SECOND, action: "scaleDown", change: "cpu.requests 150m -> 100m, cpu.limits 300m -> 200m" },
  });
});

Deno.test("a size of which podfit changed one side, and somebody else the other, is noted (C51)", () => {
  const seen: readonly Seen[] = [
    { spec: SMALL },
    { spec: LARGE, reported: SMALL, manager: "podfit.main", sides: ["cpu.requests"] },
  ];
  assertEquals(watch(seen)["web"]?.action, "scaleUp");
});

const SILENT: Readonly<Record<string, readonly Seen[]>> = {
  "podfit did not see before": UP.slice(1),
  "somebody else changed": [{ spec: SMALL }, { spec: LARGE, manager: "kubectl-edit" }],
  "somebody changed after podfit, on another side": [
    { spec: SMALL, manager: "podfit.main", sides: ["memory.requests"] },
    { spec: LARGE, manager: "podfit.main", sides: ["memory.requests"] },
  ],
  "podfit changed in another container": [{ spec: SMALL }, { spec: LARGE, manager: "podfit.proxy" }],
  "stays, as the kubelet enacts it": [
    { spec: LARGE, reported: SMALL, manager: "podfit.main" },
    { spec: LARGE, manager: "podfit.main" },
  ],
  "podfit put back to what is in force (C47)": [
    { spec: LARGE, reported: SMALL, manager: "podfit.main" },
    { spec: SMALL, manager: "podfit.main" },
  ],
};

for (const [which, seen] of Object.entries(SILENT)) {
  Deno.test(`a size that ${which} is no resize of podfit's (C51)`, () => assertEquals(watch(seen), { web: null }));
}

Deno.test("a container that the pod did not have before is compared with nothing (C51)", () => {
  const lastScales = new LastScales(new VirtualClock(START));
  const scales = new WatchedScales({ lastScales, isOwn: () => false });
  const autoscalers = [policy(), policy({ name: "side", containerName: "side" })];
  scales.put({ pod: toPod({ spec: SMALL }), autoscalers });
  const resizes = [resizeEntry("podfit.side", START, { side: CPU })];
  scales.put({
    pod: pod({ containers: [container(), container({ name: "side", spec: LARGE })], resizes }),
    autoscalers,
  });
  assertEquals(autoscalers.map(({ uid }) => lastScales.find(uid)), [null, null]);
});

Deno.test("what this podfit resized itself is not noted from the watch (C51)", () => {
  assertEquals(watch(UP, { isOwn: true }), { web: null });
});

Deno.test("a resize is noted for the autoscaler that goes first, and for none that recommends (C51, C12)", () => {
  const [a, b] = [policy({ name: "a" }), policy({ name: "b", priority: 1 })];
  const noted = watch(UP, { contenders: [a, b, policy({ name: "c", priority: 2, mode: "recommend" })] });
  assertEquals(Object.entries(noted).map(([name, scale]) => [name, scale?.action ?? null]), [
    ["a", null],
    ["b", "scaleUp"],
    ["c", null],
  ]);
});

Deno.test("a pod that went and came back is not compared with what it was (C51)", () => {
  const lastScales = new LastScales(new VirtualClock(START));
  const scales = new WatchedScales({ lastScales, isOwn: () => false });
  const [before, after] = UP.map(toPod);
  if (before === undefined || after === undefined) throw new Error("two pods");
  scales.put({ pod: before, autoscalers: [policy()] });
  scales.remove(before);
  scales.put({ pod: after, autoscalers: [policy()] });
  assertEquals(lastScales.find(policy().uid), null);
});
