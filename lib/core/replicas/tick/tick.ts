/**
 * The tick half: what the HPA controller does every 15 s, with proposals per trigger (R31, R32, R40 to R43). As its reconcileAutoscaler.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 */
import type { Behavior } from "../../../scaled_object/behavior.ts";
import type { Conditions } from "../conditions.ts";
import type { ReplicasReason } from "../reasons.ts";
import {
  GOT_SCALE,
  SCALING_DISABLED,
  type Stabilization,
  toAbleToScale,
  toActive,
  toScalingLimited,
} from "./conditions.ts";
import { type History, startHistory } from "./history.ts";
import { chooseNeed, type NeedResult } from "./need.ts";
import type { Proposal } from "./proposal.ts";
import { type Limited, limitRate } from "./rate.ts";
import { stabilize } from "./windows.ts";

/** One tick of one object. */
export interface TickInput {
  /** The tick's due time (R7). */
  readonly now: number;
  readonly replicas: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** With what R56 makes of it; `null` = none at all (R41). */
  readonly behavior: Behavior | null;
  /** In the order of the triggers; asked only where R32 does not decide. */
  readonly propose: () => readonly Proposal[];
  /** What messages call the triggers, in the same order. */
  readonly metricNames?: readonly string[];
}

/** What a tick comes to. */
export interface TickOutcome {
  /** With the need recorded; what was written is added by `noteRescale` once it is accepted. */
  readonly history: History;
  /** What replicas shall be; the same as before = nothing to write. */
  readonly desired: number;
  readonly reason: ReplicasReason;
  readonly message: string;
  readonly need: number | null;
  readonly stabilized: number | null;
  /** Empty where none was asked. */
  readonly proposals: readonly Proposal[];
  /** Reasons and messages for HPAActive, AbleToScale and ScalingLimited, as the controller sets them; absent = it leaves them. */
  readonly conditions: Conditions;
}

/** `history` is `null` at first sight, also after a pause or a restart. */
export function tick(history: History | null, input: TickInput): TickOutcome {
  const { now, replicas, maxReplicas } = input;
  const minReplicas = Math.max(1, input.minReplicas);
  const known = history ?? startHistory(replicas, now);
  if (replicas === 0) {
    const { message } = SCALING_DISABLED;
    const unmoved = { history: known, desired: 0, reason: "ScalingDisabled", message } as const;
    return { ...unmoved, ...NOTHING_ASKED, conditions: { AbleToScale: GOT_SCALE, HPAActive: SCALING_DISABLED } };
  }
  if (replicas > maxReplicas) {
    return clamp(known, {
      desired: maxReplicas,
      reason: "ScaledIn",
      message: "Current number of replicas above Spec.MaxReplicas",
    });
  }
  if (replicas < minReplicas) {
    return clamp(known, {
      desired: minReplicas,
      reason: "ScaledOut",
      message: "Current number of replicas below Spec.MinReplicas",
    });
  }
  return follow(known, { ...input, minReplicas });
}

const NOTHING_ASKED = { need: null, stabilized: null, proposals: [] } as const;

/** Back within the bounds at once: no metric is asked, no window, rate or Disabled heeded, no need recorded. */
function clamp(history: History, moved: Pick<TickOutcome, "desired" | "reason" | "message">): TickOutcome {
  return { history, ...moved, ...NOTHING_ASKED, conditions: { AbleToScale: GOT_SCALE } };
}

function follow(history: History, input: TickInput): TickOutcome {
  const { replicas } = input;
  const proposals = input.propose();
  const found = chooseNeed(proposals, replicas);
  if (found.kind === "invalid") {
    const { reason, message, cause } = found;
    const conditions = { AbleToScale: GOT_SCALE, HPAActive: { status: "False", reason, message } } as const;
    const none = { desired: replicas, need: null, stabilized: null };
    return { history, ...none, reason: "MetricInvalid", message: cause, proposals, conditions };
  }
  const { need, index } = found;
  const { stabilized, history: next } = stabilize(history, { ...input, need });
  const limited = limitRate(history, { ...input, stabilized });
  const by = stabilized === need ? null : toStabilization(need, input);
  const conditions = {
    HPAActive: toActive(nameMetric(input, index)),
    AbleToScale: toAbleToScale(by),
    ScalingLimited: toScalingLimited(limited.limit),
  };
  const said = explain({ found, by, limited }, input);
  return { history: next, desired: limited.desired, ...said, need, stabilized, proposals, conditions };
}

/** Without behavior there is only the window of the way down. */
function toStabilization(need: number, { behavior, replicas }: TickInput): Stabilization {
  return behavior !== null && need >= replicas ? "ScaleUpStabilized" : "ScaleDownStabilized";
}

interface Found {
  readonly found: Extract<NeedResult, { readonly kind: "need" }>;
  readonly by: Stabilization | null;
  readonly limited: Limited;
}

/** A change has the controller's words; else what keeps replicas, the last thing first. */
function explain({ found, by, limited }: Found, input: TickInput): Pick<TickOutcome, "reason" | "message"> {
  const { replicas } = input;
  const { desired, limit } = limited;
  if (desired !== replicas) {
    const message = found.need < replicas
      ? "All metrics below target"
      : `${nameMetric(input, found.index)} above target`;
    return { reason: desired > replicas ? "ScaledOut" : "ScaledIn", message };
  }
  if (limit !== null) return { reason: limit, message: toScalingLimited(limit).message };
  if (by !== null) return { reason: by, message: toAbleToScale(by).message };
  const reason = found.decider.hold ?? "WithinTolerance";
  return { reason, message: HOLDS[reason] };
}

const HOLDS = {
  WithinTolerance: "the metrics ask for as many replicas as there are",
  VerticalFirst: "pods can still grow in place, and would be too few if they were as small as at birth",
  VerticalUp: "the usage of pods at their CPU limit understates what they need",
} as const;

function nameMetric({ metricNames }: TickInput, index: number): string {
  return metricNames?.[index] ?? "metric";
}
