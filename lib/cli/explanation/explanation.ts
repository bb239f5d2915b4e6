/**
 * Why a pod has its size, or a workload its number of pods, as plain data.
 *
 * `podfit explain -o json` prints it, and the texts for people are made from it. Amounts are millicores and bytes,
 * shares are percent, times are epoch ms. `null` means unknown or absent.
 */
import type { Direction } from "../../model/decision.ts";
import type { BlockReason, HoldReason } from "../../model/reasons.ts";
import type { ReplicasReason, TriggerReport } from "../../model/replicas_decision.ts";
import type { Condition, ConditionType, OwnConditionType } from "../../model/replicas_state.ts";
import type { Behavior } from "../../model/scaled_object.ts";
import type { ResourceField } from "../../units/resources.ts";

export type Explanation = PodExplanation | WorkloadExplanation;

interface Common {
  readonly namespace: string;
  readonly name: string;
  /** The size or replicas now, what podfit wants, what blocks it and until when. */
  readonly answer: string;
  /** Where the present size or number comes from; empty where that is not known. */
  readonly origin: string;
  /** When the newest record was made, and what "now" is. */
  readonly at: number;
  readonly now: number;
  /** What cannot be known, and why. */
  readonly unknown: readonly string[];
}

export interface PodExplanation extends Common {
  readonly kind: "pod";
  readonly node: string | null;
  readonly qosClass: string | null;
  /** How far back the records go. */
  readonly since: number;
  readonly resize: { readonly kind: string; readonly message: string; readonly since: number } | null;
  readonly room: { readonly cpuMillicores: number; readonly memoryBytes: number } | null;
  readonly containers: readonly ContainerExplanation[];
}

export interface ContainerExplanation {
  readonly name: string;
  readonly autoscaler: string;
  readonly mode: "apply" | "recommend";
  readonly usage: UsageExplanation | null;
  readonly sides: readonly FieldExplanation[];
  readonly decision: DecisionText;
  /** How long the decision has been the same: evaluations in a row, and since when. */
  readonly count: number;
  readonly since: number;
  readonly trials: readonly TrialExplanation[];
  readonly resizes: readonly ResizeExplanation[];
  /** The last resize of the container in the pod's managedFields, which records may not reach back to. */
  readonly resizedAt: number | null;
  /** The field manager of that resize, where it is another client than podfit. */
  readonly otherClient: string | null;
  /** The last resize of another container, where it begins the cooldown of this one, which was never resized. */
  readonly siblingResizedAt: number | null;
  readonly siblings: { readonly pods: number } | null;
  /** What has blocked scale-ups for enough samples in a row to make the autoscaler Limited. */
  readonly limited: string | null;
  readonly next: NextExplanation;
}

/** Why a container keeps its size. */
export type SizeReason = HoldReason | BlockReason;

type DecisionText =
  | { readonly kind: "hold" | "blocked" | "revert"; readonly reason: SizeReason; readonly message: string }
  /** The reason is the cause of the resize, else its direction. */
  | { readonly kind: "resize"; readonly reason: string; readonly message: string };

interface UsageExplanation {
  /** When it was seen, and over how long it was measured. */
  readonly at: number;
  readonly overMs: number;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  /** Percent of the time in which the CPU limit throttled it. */
  readonly heldBackPercent: number | null;
}

export interface FieldExplanation {
  readonly key: ResourceField;
  /** In force. */
  readonly actual: number | null;
  /** The size that usage is compared with: the same, or the recommended one. */
  readonly size: number | null;
  readonly isManaged: boolean;
  readonly usedPercent: number | null;
  readonly upAbovePercent: number | null;
  readonly downBelowPercent: number | null;
  readonly targetPercent: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly streak: StreakExplanation | null;
}

interface StreakExplanation {
  readonly direction: Direction;
  readonly count: number;
  readonly of: number;
}

/** What is wanted, or would be if usage passed the thresholds now. */
export interface TrialExplanation {
  readonly direction: Direction;
  readonly isWanted: boolean;
  readonly sides: readonly WantedField[];
  readonly gates: readonly GateExplanation[];
}

interface WantedField {
  readonly key: ResourceField;
  readonly why: string;
  readonly from: number;
  /** What usage asks for, before any cap. */
  readonly wanted: number;
  readonly to: number;
  readonly cappedBy: string | null;
  readonly caps: readonly CapExplanation[];
}

interface CapExplanation {
  /** The rule, in words. */
  readonly cap: string;
  readonly from: number;
  readonly to: number;
}

interface GateExplanation {
  readonly asks: string;
  readonly passes: boolean;
  readonly reason: SizeReason | null;
  readonly message: string | null;
  readonly until: number | null;
  readonly sides: readonly ResourceField[];
}

export interface ResizeExplanation {
  readonly at: number;
  readonly action: string;
  readonly change: string;
  readonly why: string;
  /** How long until it was in force. */
  readonly tookMs: number | null;
  /** Why the API server refused it. */
  readonly refused: string | null;
}

export interface NextExplanation {
  /** What would have to change, one sentence each. */
  readonly needs: readonly string[];
  /** The earliest time of the next resize, as far as only time decides. */
  readonly earliest: number | null;
}

export interface WorkloadExplanation extends Common {
  /** `workload`: without a ScaledObject. */
  readonly kind: "scaledObject" | "workload";
  readonly target: string;
  readonly replicas: number | null;
  readonly desired: number | null;
  readonly minReplicas: number | null;
  readonly maxReplicas: number | null;
  readonly idleReplicas: number | null;
  readonly reason: ReplicasReason | null;
  readonly message: string;
  readonly need: number | null;
  readonly stabilized: number | null;
  readonly triggers: readonly (TriggerReport & { readonly target: string })[];
  readonly behavior: Behavior | null;
  readonly needs: readonly { readonly replicas: number; readonly at: number }[];
  readonly isScaleInPending: boolean;
  /** As the object has them: next to KEDA, podfit's own in place of KEDA's. */
  readonly conditions: Readonly<Partial<Record<ConditionType | OwnConditionType, Condition>>>;
  /** `null` = KEDA has no part in it. */
  readonly keda: KedaExplanation | null;
  readonly writes: readonly { readonly at: number; readonly from: number; readonly to: number; readonly why: string }[];
  readonly next: readonly string[];
  /** When the change that the triggers ask for is possible at the earliest; `null` where time alone does not decide. */
  readonly blockedUntil: number | null;
  /** The pods of the target, one line each. */
  readonly pods: readonly PodSummary[];
}

/** A ScaledObject that podfit scales next to KEDA. */
export interface KedaExplanation {
  /** It is paused for KEDA, so podfit may set the replicas. */
  readonly isPaused: boolean;
  /** What podfit knows of what KEDA asks of the triggers. */
  readonly record: "fits" | "not needed" | "missing" | "stale" | "unusable";
  /** Why the record is unusable. */
  readonly problem: string | null;
  /** Where the value of each trigger comes from. */
  readonly sources: readonly TriggerOrigin[];
}

export interface TriggerOrigin {
  readonly metricName: string;
  /** `either`: podfit's, or KEDA's where podfit cannot use the authentication. */
  readonly measuredBy: "podfit" | "keda" | "either";
  /** Why KEDA cannot be asked. */
  readonly problem: string | null;
}

export interface PodSummary {
  readonly name: string;
  readonly isReady: boolean;
  readonly answer: string;
}
