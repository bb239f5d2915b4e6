import { assertEquals } from "@std/assert";
import type { ContainerDecision, Decision, Outcome } from "../../../lib/core/decision.ts";
import { NEW_POD_STATE } from "../../../lib/core/state.ts";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import { createReport } from "../../../lib/daemon/report/report.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { MI, pod, policy, resources } from "../../support/builders.ts";
import { VirtualClock } from "../../../lib/runtime/virtual_clock.ts";

const CART = policy({ namespace: "shop", name: "cart" });
const [from, to] = [resources({ "cpu.requests": 100 }), resources({ "cpu.requests": 250 })];
const BLOCKED: Decision = { kind: "blocked", action: "scaleUp", reason: "Cooldown", message: "" };
const RESIZE: Decision = { kind: "resize", action: "scaleDown", from, to };
const RETURN: Decision = { kind: "revert", reason: "ResizeDeferred", from, to };
const HOLD: Decision = { kind: "hold", reason: "InBand", message: "" };

/** The series that one outcome leaves. */
function tell(outcome: Partial<Outcome>, write: (line: string) => void = () => {}): string[] {
  const metrics = createMetrics({ version: "1" });
  const report = createReport({
    log: createLog({ level: "debug", format: "json", clock: new VirtualClock(), write }),
    metrics,
    recorder: { publish() {} },
    onScaled() {},
    isKnown: () => true,
  });
  const nothing = { decisions: [], notices: [], request: null, scaled: null, enacted: null, implausible: 0 };
  report({ state: NEW_POD_STATE, ...nothing, ...outcome }, { pod: pod(), contenders: [CART] }, 2);
  return [...metrics.render()].join("").split("\n");
}

/** The counters of one decision, without prefix and the autoscaler's labels. */
function count(decision: Decision, isNewSample: boolean): string[] {
  const one: ContainerDecision = { policy: CART, decision, candidates: ["cpu.requests", "memory.limits"], isNewSample };
  return tell({ decisions: [one] }).filter((line) => line.startsWith("kedify_agent_pra_scale_"))
    .map((line) => line.replace("kedify_agent_pra_scale_", "").replace('namespace="shop",name="cart",', ""));
}

Deno.test("scale_decisions_total counts each candidate of a new sample, sent or blocked (C52)", () => {
  const both = (direction: string) => [
    `decisions_total{resource="cpu",side="requests",direction="${direction}"} 1`,
    `decisions_total{resource="memory",side="limits",direction="${direction}"} 1`,
  ];
  assertEquals(count(BLOCKED, true), [...both("up"), 'blocked_total{reason="Cooldown"} 1']);
  assertEquals(count(RESIZE, true), both("down"));
});

Deno.test("a standing wish, a hold and a return are no candidates (C47, C52)", () => {
  for (const decision of [BLOCKED, RESIZE]) assertEquals(count(decision, false), []);
  for (const decision of [HOLD, RETURN]) assertEquals(count(decision, true), []);
});

Deno.test("deltas of memory count in MiB, and percents of what was there (C52)", () => {
  const deltas = [{ key: "memory.requests", from: 128 * MI, to: 96 * MI }] as const;
  const lines = tell({ scaled: { policy: CART, action: "scaleDown", at: 0, change: "", deltas } });
  const labels = '{namespace="shop",name="cart",resource="memory",side="requests",direction="down"}';
  assertEquals(lines.filter((line) => /scale_delta_\w+_sum\{/.test(line)), [
    `kedify_agent_pra_scale_delta_absolute_sum${labels} 32`,
    `kedify_agent_pra_scale_delta_percent_sum${labels} 25`,
  ]);
});

Deno.test("times count in seconds (C52)", () => {
  const one: ContainerDecision = { policy: CART, decision: HOLD, candidates: [], isNewSample: true };
  const lines = tell({ decisions: [one], enacted: { policy: CART, action: "scaleUp", tookMs: 1500 } });
  assertEquals(lines.filter((line) => /seconds_sum\{/.test(line)), [
    'kedify_agent_pra_evaluation_duration_seconds_sum{namespace="shop",name="cart"} 0.002',
    'kedify_agent_pra_time_to_apply_seconds_sum{namespace="shop",name="cart",direction="up"} 1.5',
  ]);
});

Deno.test("a block has the same reason in log and metric (C53)", () => {
  const logged: string[] = [];
  const one: ContainerDecision = { policy: CART, decision: BLOCKED, candidates: [], isNewSample: true };
  const lines = tell({ decisions: [one] }, (line) => logged.push(JSON.parse(line).reason));
  assertEquals(logged, ["Cooldown"]);
  assertEquals(lines.filter((line) => line.startsWith("kedify_agent_pra_scale_blocked_total{")), [
    'kedify_agent_pra_scale_blocked_total{namespace="shop",name="cart",reason="Cooldown"} 1',
  ]);
});

Deno.test("each absurd figure of a pod counts (C22)", () => {
  const skipped = (implausible: number) =>
    tell({ implausible }).filter((line) => line.startsWith("podfit_usage_skipped_total"));
  assertEquals(skipped(3), ['podfit_usage_skipped_total{reason="implausible"} 3']);
  assertEquals(skipped(0), []);
});
