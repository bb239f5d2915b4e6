/**
 * Requests and limits together: requests <= limits, and a pod that is not Guaranteed stays so.
 * Clauses: C34.
 */
import { assertEquals } from "#assert";
import { fitSizes, type SizedField, toResources } from "../../lib/vertical/sizing/candidate.ts";
import { computeTargetSize } from "../../lib/vertical/proposals.ts";
import type { FieldPolicy } from "../../lib/model/autoscaler.ts";
import { type ResourceField, resourceOf, type Resources } from "../../lib/units/resources.ts";
import { MI, resources, side, type SideOverrides } from "../support/builders.ts";

interface Case {
  readonly direction?: "up" | "down";
  readonly base: readonly [request: number | null, limit: number | null];
  readonly request?: SideOverrides & { readonly usage: number };
  readonly limit?: SideOverrides & { readonly usage: number };
  readonly makesGuaranteed?: (to: Resources) => boolean;
}

const equal = (to: Resources) => to["cpu.requests"] === to["cpu.limits"];

function sizePair({ direction = "up", base, request, limit, makesGuaranteed = () => false }: Case) {
  const from = resources({ "cpu.requests": base[0], "cpu.limits": base[1] });
  const movers = [mover("cpu.requests", request), mover("cpu.limits", limit)].flatMap((one) => one ?? []);
  const sized = fitSizes(movers.map((one) => ({ ...one, actual: from[one.rule.key] ?? 0 })), {
    direction,
    base: from,
    memoryFloor: { kind: "floor", bytes: 0 },
    makesGuaranteed,
  });
  const to = toResources(from, sized);
  return { to: [to["cpu.requests"], to["cpu.limits"]], sized };
}

function mover(key: ResourceField, of: Case["request"]): { rule: FieldPolicy; amount: number }[] | null {
  if (of === undefined) return null;
  const { usage, ...overrides } = of;
  const rule = side(key, { targetUtilizationPercent: 50, ...overrides });
  return [{ rule, amount: computeTargetSize(rule.up, usage) }];
}

const PAIRS: readonly [string, Case, readonly [number | null, number | null]][] = [
  ["lets the request follow a limit that grows", { base: [100, 150], request: { usage: 90 }, limit: { usage: 90 } }, [
    180,
    180,
  ]],
  [
    "caps the request at a limit that its max stops",
    { base: [100, 120], request: { usage: 90 }, limit: { usage: 90, bounds: { max: 140 } } },
    [140, 140],
  ],
  ["caps the request at a limit that does not move", { base: [100, 120], request: { usage: 90 } }, [120, 120]],
  ["grows a request freely without a limit", { base: [100, null], request: { usage: 90 } }, [180, null]],
  [
    "lets the limit follow a request that shrinks",
    { direction: "down", base: [100, 150], request: { usage: 20 }, limit: { usage: 20 } },
    [40, 40],
  ],
  [
    "floors the limit at a request that its min stops",
    { direction: "down", base: [100, 150], request: { usage: 20, bounds: { min: 60 } }, limit: { usage: 20 } },
    [60, 60],
  ],
  ["floors the limit at a request that does not move", { direction: "down", base: [100, 150], limit: { usage: 20 } }, [
    100,
    100,
  ]],
  ["shrinks a limit freely without a request", { direction: "down", base: [null, 150], limit: { usage: 20 } }, [
    null,
    40,
  ]],
  [
    "stops the request 1m below its limit where equality would make the pod Guaranteed",
    { base: [100, 150], request: { usage: 90 }, limit: { usage: 90 }, makesGuaranteed: equal },
    [179, 180],
  ],
  [
    "stops the request 1m below a limit that does not move",
    { base: [100, 120], request: { usage: 90 }, makesGuaranteed: equal },
    [119, 120],
  ],
  [
    "stops the limit 1m above a request at its min",
    {
      direction: "down",
      base: [100, 150],
      request: { usage: 20, bounds: { min: 60 } },
      limit: { usage: 20 },
      makesGuaranteed: equal,
    },
    [60, 61],
  ],
  [
    "stops the limit 1m above a request that does not move",
    { direction: "down", base: [100, 150], limit: { usage: 20 }, makesGuaranteed: equal },
    [100, 101],
  ],
];

for (const [sentence, differs, to] of PAIRS) {
  Deno.test(`fit() ${sentence} (C34)`, () => assertEquals(sizePair(differs).to, [...to]));
}

const STUCK: readonly [string, Case, ResourceField][] = [
  [
    "a request that already equals its limit",
    { base: [120, 120], request: { usage: 90 } },
    "cpu.requests",
  ],
  [
    "a request 1m below its limit in a pod that would turn Guaranteed",
    { base: [119, 120], request: { usage: 90 }, makesGuaranteed: equal },
    "cpu.requests",
  ],
  [
    "a limit 1m above its request in a pod that would turn Guaranteed",
    { direction: "down", base: [100, 101], limit: { usage: 20 }, makesGuaranteed: equal },
    "cpu.limits",
  ],
];

for (const [sentence, differs, key] of STUCK) {
  Deno.test(`fit() holds ${sentence}, AtBound (C34)`, () => {
    const held = sizePair(differs).sized.map((one) => one.kind === "holds" && [one.key, one.reason]);
    assertEquals(held, [[key, "AtBound"]]);
  });
}

Deno.test("fit() names the limit as what capped the request (C34)", () => {
  const { sized } = sizePair({ base: [100, 120], request: { usage: 90 } });
  assertEquals(sized, [{ kind: "moves", key: "cpu.requests", to: 120, cappedBy: "cpu.limits" }]);
});

Deno.test("fit() takes one resource a unit back, not both, to stay out of Guaranteed (C34)", () => {
  const from = resources({
    "cpu.requests": 100,
    "cpu.limits": 120,
    "memory.requests": 10 * MI,
    "memory.limits": 12 * MI,
  });
  const keys: readonly ResourceField[] = ["cpu.requests", "memory.requests"];
  const sized: readonly SizedField[] = fitSizes(
    keys.map((key) => {
      const amount = computeTargetSize(side(key).up, resourceOf(key) === "cpu" ? 90 : 90 * MI);
      return { rule: side(key), amount, actual: from[key] ?? 0 };
    }),
    {
      direction: "up",
      base: from,
      memoryFloor: { kind: "unknown" },
      makesGuaranteed: (to) => to["cpu.requests"] === to["cpu.limits"] && to["memory.requests"] === to["memory.limits"],
    },
  );
  assertEquals(sized.map((one) => one.kind === "moves" && one.to), [119, 12 * MI]);
});
