/** What each sink makes of an evaluation, and that none of them stops another. */
import { assertEquals } from "#assert";
import type { ContainerDecision, Decision, SizeOutcome } from "../../../lib/model/decision.ts";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import { createLogSink, createMetricsSink } from "../../../lib/daemon/pods/reports.ts";
import { combineSinks, type EvaluationSink, findAutoscaler } from "../../../lib/daemon/pods/controller.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { MI, policy, resources } from "../../support/builders.ts";
import { busyRun } from "../../support/daemon_run.ts";
import { evaluation } from "../../support/evaluations.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const CART = policy({ namespace: "shop", name: "cart" });
const [from, to] = [resources({ "cpu.requests": 100 }), resources({ "cpu.requests": 250 })];
const BLOCKED: Decision = { kind: "blocked", action: "scaleUp", reason: "Cooldown", message: "" };
const RESIZE: Decision = { kind: "resize", action: "scaleDown", from, to };
const REVERT: Decision = { kind: "revert", reason: "ResizeDeferred", from, to };
const HOLD: Decision = { kind: "hold", reason: "InBand", message: "" };

/** The series that one outcome leaves. */
function count(outcome: Partial<SizeOutcome>, tookMs = 0): string[] {
  const metrics = createMetrics({ version: "1" });
  createMetricsSink({ metrics, isKnown: () => true })(evaluation({ input: { contenders: [CART] }, outcome, tookMs }));
  return [...metrics.render()].join("").split("\n");
}

/** The counters of one decision, without prefix and the autoscaler's labels. */
function countDecision(decision: Decision, isNewSample: boolean): string[] {
  const one: ContainerDecision = {
    autoscaler: CART.uid,
    container: "main",
    decision,
    candidates: ["cpu.requests", "memory.limits"],
    isNewSample,
  };
  return count({ decisions: [one] }).filter((line) => line.startsWith("kedify_agent_pra_scale_"))
    .map((line) => line.replace("kedify_agent_pra_scale_", "").replace('namespace="shop",name="cart",', ""));
}

Deno.test("scale_decisions_total counts each candidate of a new sample, sent or blocked (C52)", () => {
  const both = (direction: string) => [
    `decisions_total{resource="cpu",side="requests",direction="${direction}"} 1`,
    `decisions_total{resource="memory",side="limits",direction="${direction}"} 1`,
  ];
  assertEquals(countDecision(BLOCKED, true), [...both("up"), 'blocked_total{reason="Cooldown"} 1']);
  assertEquals(countDecision(RESIZE, true), both("down"));
});

Deno.test("standing proposals, a hold and a revert are no candidates (C47, C52)", () => {
  for (const decision of [BLOCKED, RESIZE]) assertEquals(countDecision(decision, false), []);
  for (const decision of [HOLD, REVERT]) assertEquals(countDecision(decision, true), []);
});

Deno.test("deltas of memory count in MiB, and percents of what was there (C52)", () => {
  const deltas = [{ key: "memory.requests", from: 128 * MI, to: 96 * MI }] as const;
  const lines = count({
    scaled: { autoscaler: CART.uid, container: "main", action: "scaleDown", at: 0, change: "", deltas },
  });
  const labels = '{namespace="shop",name="cart",resource="memory",side="requests",direction="down"}';
  assertEquals(lines.filter((line) => /scale_delta_\w+_sum\{/.test(line)), [
    `kedify_agent_pra_scale_delta_absolute_sum${labels} 32`,
    `kedify_agent_pra_scale_delta_percent_sum${labels} 25`,
  ]);
});

Deno.test("times count in seconds (C52)", () => {
  const one: ContainerDecision = {
    autoscaler: CART.uid,
    container: "main",
    decision: HOLD,
    candidates: [],
    isNewSample: true,
  };
  const lines = count({ decisions: [one], enacted: { autoscaler: CART.uid, action: "scaleUp", tookMs: 1500 } }, 2);
  assertEquals(lines.filter((line) => /seconds_sum\{/.test(line)), [
    'kedify_agent_pra_evaluation_duration_seconds_sum{namespace="shop",name="cart"} 0.002',
    'kedify_agent_pra_time_to_apply_seconds_sum{namespace="shop",name="cart",direction="up"} 1.5',
  ]);
});

Deno.test("a block has the same reason in log and metric (C53)", () => {
  const logged: string[] = [];
  const one: ContainerDecision = {
    autoscaler: CART.uid,
    container: "main",
    decision: BLOCKED,
    candidates: [],
    isNewSample: true,
  };
  const write = (line: string) => void logged.push(JSON.parse(line).reason);
  const log = createLog({ level: "debug", format: "json", clock: new VirtualClock(), write });
  createLogSink(log)(evaluation({ input: { contenders: [CART] }, outcome: { decisions: [one] } }));
  assertEquals(logged, ["Cooldown"]);
  const lines = count({ decisions: [one] });
  assertEquals(lines.filter((line) => line.startsWith("kedify_agent_pra_scale_blocked_total{")), [
    'kedify_agent_pra_scale_blocked_total{namespace="shop",name="cart",reason="Cooldown"} 1',
  ]);
});

Deno.test("each implausible figure of a pod counts (C22)", () => {
  const skipped = (implausible: number) =>
    count({ implausible }).filter((line) => line.startsWith("podfit_usage_skipped_total"));
  assertEquals(skipped(3), ['podfit_usage_skipped_total{reason="implausible"} 3']);
  assertEquals(skipped(0), []);
});

Deno.test("combineSinks() calls every sink in order, and says of each that throws", () => {
  const called: string[] = [];
  const failed: unknown[] = [];
  const name = (text: string): EvaluationSink => () => void called.push(text);
  const broken: EvaluationSink = () => {
    throw new TypeError("broken");
  };
  const sink = combineSinks([name("a"), broken, name("b")], (_, error) => failed.push((error as Error).message));
  sink(evaluation({}));
  assertEquals([called, failed], [["a", "b"], ["broken"]]);
});

Deno.test("createDaemon() resizes and reports although a further sink throws, and logs that it does", async () => {
  const seen: string[] = [];
  await using run = busyRun({
    sinks: [() => {
      throw new Error("broken");
    }, ({ input, outcome }) => void (outcome.scaled !== null && seen.push(input.pod.name))],
  });
  await run.advance(11);
  assertEquals([seen, run.cpu(), run.events], [["web-1"], "250m", ["ScaleUp x1"]]);
  const complaints = run.log.filter(({ message }) => message === "Cannot report evaluation");
  assertEquals(new Set(complaints.map(({ level, pod }) => `${level} ${pod}`)), new Set(["ERROR shop/web-1"]));
});

Deno.test("findAutoscaler() gives the contender of the container, of several of one autoscaler (L50)", () => {
  const every = ["main", "proxy"].map((containerName) =>
    policy({ name: "all", containerName, key: `uid-of-all/${containerName}`, isWildcard: true })
  );
  const seen = evaluation({ input: { contenders: [CART, ...every] } });
  const find = (container?: string) =>
    findAutoscaler(seen, { autoscaler: "uid-of-all", ...(container !== undefined && { container }) })?.key;
  assertEquals([find("main"), find("proxy")], ["uid-of-all/main", "uid-of-all/proxy"]);
  assertEquals([find("gone"), find()], ["uid-of-all/main", "uid-of-all/main"]);
  assertEquals(findAutoscaler(seen, { autoscaler: "uid-of-nobody", container: "main" }), null);
});
