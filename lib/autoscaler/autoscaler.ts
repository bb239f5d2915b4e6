/**
 * An autoscaler with every field parsed and every default and override resolved. `parse_autoscaler.ts` makes it of the
 * custom resource and refuses what is invalid, so nobody checks it again.
 */
import type { Resource, Side, SideKey } from "../units/resources.ts";
import type { Selector } from "../units/selector.ts";

/** What a resize does; the direction in which every changed side moves, and `lastScaleAction` of the status. */
export type Action = "scaleUp" | "scaleDown";
/** What must be true of a container or its pod before it is resized (C23); sampling does not wait for it. */
export type After = "running" | "containerReady" | "podReady";
export type WorkloadKind = "deployment" | "daemonset" | "statefulset";

/** Names of fields are those of the custom resource, with a unit; `crds/` describes them. */
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
  /** The managed sides in the order of SIDE_KEYS; at least one. */
  readonly sides: readonly SideRule[];
}

/** When and to what one side of a resource is resized. */
export interface SideRule {
  readonly key: SideKey;
  readonly resource: Resource;
  readonly side: Side;
  readonly scaleUpThresholdPercent: number;
  readonly scaleDownThresholdPercent: number;
  readonly targetUtilizationPercent: number;
  /** The side's own value, otherwise the policy's (C36). */
  readonly consecutiveSamples: number;
  /** The side's own value, otherwise the policy's (C36). */
  readonly cooldownMs: number;
  readonly bounds: Bounds;
}

/** The bounds of one side, in millicores or bytes; `null` for no bound. */
export interface Bounds {
  readonly min: number | null;
  readonly max: number | null;
  readonly step: number | null;
  readonly stepPercent: number | null;
}
