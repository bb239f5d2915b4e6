/** Which pods count, and how (R33). */
import { assertEquals } from "#assert";
import type { PodReading } from "../../../lib/model/replicas_decision.ts";
import { groupPods } from "../../../lib/horizontal/replica_calculator.ts";
import { NOW, reading } from "../../support/tick_builders.ts";

const metric = { milli: 1n, at: NOW - 5000, windowMs: 15_000 };

function group(overrides: Partial<PodReading>, type: "cpu" | "memory" = "cpu"): string {
  const groups = groupPods([reading(1, overrides)], { type, now: NOW });
  if (groups.ready.length === 1) return "ready";
  if (groups.unready.length === 1) return "unready";
  return groups.missing.length === 1 ? "missing" : "ignored";
}

const CASES: readonly (readonly [what: string, overrides: Partial<PodReading>, cpu: string, memory: string])[] = [
  ["an old and ready one is ready", {}, "ready", "ready"],
  ["a deleting one is ignored", { isDeleting: true }, "ignored", "ignored"],
  ["a failed one is ignored", { phase: "Failed" }, "ignored", "ignored"],
  ["a deleting one is ignored while it is Pending", { phase: "Pending", isDeleting: true }, "ignored", "ignored"],
  ["a pending one is unready for every resource", { phase: "Pending" }, "unready", "unready"],
  ["a pending one without metric is unready", { phase: "Pending", metric: null }, "unready", "unready"],
  ["one without metric is missing", { metric: null }, "missing", "missing"],
  ["a succeeded one ends up missing", { phase: "Succeeded", metric: null }, "missing", "missing"],
  ["one without metric is missing though it is unready", { metric: null, ready: null }, "missing", "missing"],
  ["one without a condition Ready is unready for cpu", { ready: null }, "unready", "ready"],
  ["one without a start is unready for cpu", { startAt: null }, "unready", "ready"],
  [
    "one that started less than 300 s ago and is False is unready",
    { startAt: NOW - 299_999, ready: { status: "False", at: NOW - 299_000 } },
    "unready",
    "ready",
  ],
  [
    "one that started less than 300 s ago counts with a sample that begins at its transition",
    { startAt: NOW - 100_000, ready: { status: "True", at: NOW - 20_000 }, metric },
    "ready",
    "ready",
  ],
  [
    "one that started less than 300 s ago is unready with a sample that begins before its transition",
    { startAt: NOW - 100_000, ready: { status: "True", at: NOW - 19_999 }, metric },
    "unready",
    "ready",
  ],
  [
    "one that started exactly 300 s ago may have a sample that begins before its transition",
    { startAt: NOW - 300_000, ready: { status: "True", at: NOW - 6000 }, metric },
    "ready",
    "ready",
  ],
  [
    "one that was never ready, as it turned False within 30 s of its start, is unready",
    { startAt: NOW - 400_000, ready: { status: "False", at: NOW - 370_001 } },
    "unready",
    "ready",
  ],
  [
    "one that turned False 30 s after its start was ready once, and counts",
    { startAt: NOW - 400_000, ready: { status: "False", at: NOW - 370_000 } },
    "ready",
    "ready",
  ],
  [
    "one whose readiness is unknown counts as ready",
    { startAt: NOW - 400_000, ready: { status: "Unknown", at: NOW - 399_000 } },
    "ready",
    "ready",
  ],
  [
    "a young one whose readiness is unknown counts as ready",
    { startAt: NOW - 100_000, ready: { status: "Unknown", at: NOW - 90_000 } },
    "ready",
    "ready",
  ],
];

for (const [what, overrides, cpu, memory] of CASES) {
  Deno.test(`groupPods(): ${what} (R33)`, () => {
    assertEquals([group(overrides), group(overrides, "memory")], [cpu, memory]);
  });
}
