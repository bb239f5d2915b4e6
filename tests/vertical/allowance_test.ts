/**
 * How far node, quotas, limit ranges and the pod's own resources let a field go, and the size that results.
 * Clauses: L30, L32, L36.
 */
import { assertEquals } from "#assert";
import type { SizeInput } from "../../lib/model/decision.ts";
import { ALLOWS_ALL, computeAllowance } from "../../lib/vertical/sizing/caps.ts";
import { fitSizes, type SizedField } from "../../lib/vertical/sizing/candidate.ts";
import { NO_RESOURCES, type ResourceField } from "../../lib/units/resources.ts";
import { container, input, MI, pod, resources, side, SIZE } from "../support/builders.ts";

const NONE = { cpu: null, memory: null };
const RANGE = { name: "sizes", min: NONE, max: NONE, maxLimitRequestRatio: NONE, defaults: NO_RESOURCES };
const ROOM = { cpuMillicores: 70, memoryBytes: 10 * MI };

function read(overrides: Partial<SizeInput>, key: ResourceField) {
  const one = container();
  return computeAllowance(input({ pod: pod({ containers: [one] }), ...overrides }), one, key);
}

Deno.test("computeAllowance() knows of nothing in the way where nothing is known (L30)", () => {
  assertEquals(read({}, "cpu.requests"), ALLOWS_ALL);
});

Deno.test("computeAllowance() lets a request take the node's room beyond what it has, and a limit all (L30)", () => {
  assertEquals(read({ room: ROOM }, "cpu.requests"), { most: 170, by: "node", least: 0 });
  assertEquals(read({ room: ROOM }, "memory.requests"), { most: 138 * MI, by: "node", least: 0 });
  assertEquals(read({ room: ROOM }, "cpu.limits"), ALLOWS_ALL);
});

Deno.test("computeAllowance() takes the tightest of node, quota and ranges (L30, L32)", () => {
  const quota = resources({ "cpu.requests": 60, "cpu.limits": 5 });
  const ranges = [
    { ...RANGE, type: "Container" as const, min: { cpu: 20, memory: null }, max: { cpu: 165, memory: null } },
    { ...RANGE, type: "Pod" as const, max: { cpu: 168, memory: null } },
  ];
  assertEquals(read({ room: ROOM, limits: { ranges, quota } }, "cpu.requests"), { most: 160, by: "Quota", least: 20 });
  assertEquals(read({ room: ROOM, limits: { ranges, quota: NO_RESOURCES } }, "cpu.requests"), {
    most: 165,
    by: "LimitRange",
    least: 20,
  });
  assertEquals(read({ limits: { ranges: [], quota } }, "cpu.limits").most, 205);
  assertEquals(read({ limits: { ranges: ranges.slice(1), quota: NO_RESOURCES } }, "cpu.requests").most, 168);
});

Deno.test("computeAllowance() gives a request what the others leave of the pod's own, and a limit all of it (L36)", () => {
  const [one, other] = [container(), container({ name: "aux" })];
  const own = resources({ "cpu.requests": 250, "cpu.limits": 300 });
  const read = (key: ResourceField, overrides: Partial<SizeInput> = {}) =>
    computeAllowance(input({ pod: pod({ containers: [one, other], podResources: own }), ...overrides }), one, key);
  assertEquals(read("cpu.requests"), { most: 150, by: "PodResources", least: 0 });
  assertEquals(read("cpu.limits"), { most: 300, by: "PodResources", least: 0 });
  assertEquals(read("memory.limits"), ALLOWS_ALL);
  assertEquals(
    read("cpu.requests", { room: { cpuMillicores: 0, memoryBytes: 0 } }).most,
    150,
    "the pod counts already",
  );
  const ranges = [{ ...RANGE, type: "Container" as const, max: { cpu: 140, memory: null } }];
  assertEquals(read("cpu.requests", { limits: { ranges, quota: NO_RESOURCES } }), {
    most: 140,
    by: "LimitRange",
    least: 0,
  });
});

Deno.test("computeAllowance() counts what a resize that waits asks for as its own: what others leave is what it may have (L30)", () => {
  const waiting = container({ spec: { ...SIZE, "cpu.requests": 180 }, reported: SIZE });
  const context = input({ pod: pod({ containers: [waiting] }), room: { cpuMillicores: -30, memoryBytes: 0 } });
  assertEquals(computeAllowance(context, waiting, "cpu.requests").most, 150);
});

function sizeOne(amount: number, allowance: Partial<typeof ALLOWS_ALL>, direction: "up" | "down" = "up"): SizedField {
  const [sized] = fitSizes([{ rule: side("cpu.requests"), amount, actual: 100 }], {
    direction,
    base: resources({ "cpu.requests": 100 }),
    memoryFloor: { kind: "floor", bytes: 0 },
    makesGuaranteed: () => false,
    allow: () => ({ ...ALLOWS_ALL, ...allowance }),
  });
  if (sized === undefined) throw new Error("Cannot size: no result");
  return sized;
}

/** [sentence, recommendation, allowance, amount and cap, or the reason to hold] */
const ROWS: readonly [string, Parameters<typeof sizeOne>, number | string, string?][] = [
  ["lets pass what fits exactly", [150, { most: 150, by: "node" }], 150],
  ["fits into the room what does not", [151, { most: 150, by: "node" }], 150, "node"],
  ["fits a step of 5 %", [200, { most: 105, by: "node" }], 105, "node"],
  ["holds a step below 5 %", [200, { most: 104.9, by: "node" }], "NodeCapacity"],
  ["lets pass a wish below 5 % that fits", [103, { most: 104, by: "node" }], 103],
  ["holds where more is asked for than there is", [200, { most: 60, by: "node" }], "NodeCapacity"],
  ["fits into a quota", [200, { most: 130, by: "Quota" }], 130, "Quota"],
  ["holds at a quota", [200, { most: 100, by: "Quota" }], "Quota"],
  ["fits into the pod's own request", [200, { most: 130, by: "PodResources" }], 130, "PodResources"],
  ["holds at the pod's own request", [200, { most: 104, by: "PodResources" }], "PodResources"],
  ["goes to the max of a range, however near", [200, { most: 101, by: "LimitRange" }], 101, "LimitRange"],
  ["holds at the max of a range", [200, { most: 100, by: "LimitRange" }], "LimitRange"],
  ["goes down no further than the min of a range", [20, { least: 40 }, "down"], 40, "LimitRange"],
  ["holds at the min of a range", [20, { least: 100 }, "down"], "LimitRange"],
  ["needs no room on the way down", [20, { most: 10, by: "node" }, "down"], 20],
];
for (const [sentence, wanted, expected, cappedBy] of ROWS) {
  Deno.test(`fit() ${sentence} (L30, L32)`, () => {
    const sized = sizeOne(...wanted);
    if (typeof expected === "string") assertEquals<unknown>(sized.kind === "holds" && sized.reason, expected);
    else assertEquals<unknown>(sized, { kind: "moves", key: "cpu.requests", to: expected, cappedBy: cappedBy ?? null });
  });
}

Deno.test("fit() says how much is left where that is too little (L30, L32)", () => {
  const say = (...wanted: Parameters<typeof sizeOne>) => {
    const sized = sizeOne(...wanted);
    return sized.kind === "holds" ? sized.message : "";
  };
  assertEquals(say(200, { most: 103, by: "node" }), "cpu.requests stays at 100m: the node has room for 3m more");
  assertEquals(say(200, { most: 90, by: "node" }), "cpu.requests stays at 100m: the node has room for 0 more");
  assertEquals(say(200, { most: 100, by: "Quota" }), "cpu.requests stays at 100m: the namespace's quota has 0 left");
  assertEquals(
    say(200, { most: 103.5, by: "PodResources" }),
    "cpu.requests stays at 100m: the pod's own request leaves 3m more to this container",
  );
  assertEquals(
    say(200, { most: 100, by: "LimitRange" }),
    "cpu.requests stays at 100m: a limit range of the namespace allows at most 100m",
  );
  assertEquals(
    say(20, { least: 100 }, "down"),
    "cpu.requests stays at 100m: a limit range of the namespace allows at least 100m",
  );
});
