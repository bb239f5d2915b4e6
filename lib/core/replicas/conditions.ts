/** The conditions of a ScaledObject in KEDA's words, and two of HPA's (R91). */

export const CONDITION_TYPES = [
  "Ready",
  "Active",
  "Fallback",
  "Paused",
  "HPAActive",
  "AbleToScale",
  "ScalingLimited",
] as const;
export type ConditionType = typeof CONDITION_TYPES[number];

/** One condition; KEDA's have no times. */
export interface Condition {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Those that have been found out. */
export type Conditions = Readonly<Partial<Record<ConditionType, Condition>>>;
