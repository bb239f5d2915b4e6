/** Pods, triggers and rules as the tick half gets them; a test says only what matters to it. */
import type { PodReading } from "../../lib/model/replicas_decision.ts";
import type { ScalingHistory } from "../../lib/model/replicas_state.ts";
import type { ReplicasProposal } from "../../lib/horizontal/replica_calculator.ts";
import type { ScalingInput } from "../../lib/horizontal/scaling_loop.ts";
import type { Behavior, ResourceTrigger, ScalingRules } from "../../lib/model/scaled_object.ts";

/** A tick's time: long after everything has started. */
export const NOW = 10_000_000;
export const TOLERANCE = { up: 0.1, down: 0.1 };

/** Of pods that requested 1000m at birth and have it still. */
export function reading(used: number | null, overrides: Partial<PodReading> = {}): PodReading {
  return {
    name: "web-1",
    phase: "Running",
    isDeleting: false,
    startAt: NOW - 3_600_000,
    ready: { status: "True", at: NOW - 3_590_000 },
    metric: used === null ? null : { milli: BigInt(used), at: NOW - 5000, windowMs: 15_000 },
    requests: { born: 1000n, full: 1000n },
    isClipped: false,
    ...overrides,
  };
}

export function readings(
  count: number,
  used: number | null,
  overrides: Partial<PodReading> = {},
): readonly PodReading[] {
  return Array.from({ length: count }, (_, at) => reading(used, { name: `web-${at}`, ...overrides }));
}

export function trigger(overrides: Partial<ResourceTrigger> = {}): ResourceTrigger {
  const target = { kind: "Utilization", percent: 50 } as const;
  return { kind: "resource", index: 0, name: null, type: "cpu", container: null, target, baseline: null, ...overrides };
}

/** The defaults that the API server fills in. */
export function behavior(up: Partial<ScalingRules> = {}, down: Partial<ScalingRules> = {}): Behavior {
  const double = { type: "Percent", value: 100, periodMs: 15_000 } as const;
  const common = { select: "Max", tolerance: null } as const;
  const four = { type: "Pods", value: 4, periodMs: 15_000 } as const;
  return {
    scaleUp: { ...common, windowMs: 0, policies: [four, double], ...up },
    scaleDown: { ...common, windowMs: 300_000, policies: [double], ...down },
  };
}

export function proposal(replicas: number): Extract<ReplicasProposal, { kind: "proposal" }> {
  return { kind: "proposal", replicas, lo: replicas, hi: replicas, ratio: 1, ready: 1, unready: 0, missing: 0 };
}

export function failed(message = "no metrics"): Extract<ReplicasProposal, { kind: "failed" }> {
  return { kind: "failed", reason: "FailedGetExternalMetric", message };
}

/** 10 replicas of 1 to 100; one trigger that asks for `need`. */
export function tickInput(need: number, overrides: Partial<ScalingInput> = {}): ScalingInput {
  const bounds = { replicas: 10, minReplicas: 1, maxReplicas: 100 };
  return { now: NOW, ...bounds, behavior: null, propose: () => [proposal(need)], ...overrides };
}

export const NO_HISTORY: ScalingHistory = { needs: [], ups: [], downs: [] };
