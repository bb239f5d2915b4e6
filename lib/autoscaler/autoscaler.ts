/**
 * An autoscaler as the core believes it: every field parsed, every default and override resolved.
 * Made by `parse_policy.ts` out of the custom resource; nothing here can be invalid.
 */
import type { Resource, Side, SideKey } from "../units/resources.ts";
import type { Selector } from "../units/selector.ts";

/** What a resize is for: `lastScaleAction` of the status, and the direction in which every changed side moves. */
export type Action = "scaleUp" | "scaleDown";
export type After = "running" | "containerReady" | "podReady";
export type WorkloadKind = "deployment" | "daemonset" | "statefulset";

export interface Autoscaler {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly paused: boolean;
  readonly priority: number;
  /** Exactly one of target and selector is set (C2). */
  readonly target: { readonly kind: WorkloadKind; readonly name: string } | null;
  readonly selector: Selector | null;
  readonly containerName: string;
  readonly pollIntervalMs: number;
  readonly cooldownMs: number;
  readonly after: After;
  readonly delayMs: number;
  /** The configured sides in the order of SIDE_KEYS; at least one. */
  readonly sides: readonly SideRule[];
}

export interface SideRule {
  readonly key: SideKey;
  readonly resource: Resource;
  readonly side: Side;
  readonly scaleUpThresholdPercent: number;
  readonly scaleDownThresholdPercent: number;
  readonly targetUtilizationPercent: number;
  /** The side's own values, else the policy's (C36). */
  readonly consecutiveSamples: number;
  readonly cooldownMs: number;
  readonly bounds: Bounds;
}

/** Amounts in the side's unit; `null` = no such bound. */
export interface Bounds {
  readonly min: number | null;
  readonly max: number | null;
  readonly step: number | null;
  readonly stepPercent: number | null;
}
