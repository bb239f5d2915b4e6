/** The events that follow from conditions: each when it begins to hold, or ends (R92). */
import type { Condition, Conditions, ConditionType } from "../conditions.ts";
import type { ReplicasNotice, ReplicasNoticeName } from "../notices.ts";

/** What changed between two passes, in the order of the table. */
export function listEdges(before: Conditions, after: Conditions): readonly ReplicasNotice[] {
  return EDGES.flatMap(({ type, name, isNews, message }) => {
    const now = after[type];
    if (now === undefined || !isNews(before[type], now)) return [];
    return [{ name, message: message ?? now.message }];
  });
}

interface Edge {
  readonly type: ConditionType;
  readonly name: ReplicasNoticeName;
  readonly isNews: (before: Condition | undefined, now: Condition) => boolean;
  /** The condition's own unless given. */
  readonly message?: string;
}

const EDGES: readonly Edge[] = [
  { type: "Paused", name: "ScaledObjectPaused", isNews: becomes("True") },
  { type: "Paused", name: "ScaledObjectUnpaused", isNews: ends },
  { type: "Ready", name: "ScaledObjectReady", isNews: becomes("True"), message: "ScaledObject is ready for scaling" },
  { type: "Ready", name: "ScaledObjectCheckFailed", isNews: says("ScaledObjectCheckFailed") },
  {
    type: "Fallback",
    name: "ScaledObjectFallbackActivated",
    isNews: becomes("True"),
    message: "ScaledObject fallback is active",
  },
  {
    type: "Fallback",
    name: "ScaledObjectFallbackDeactivated",
    isNews: ends,
    message: "ScaledObject fallback is no longer active",
  },
  { type: "AbleToScale", name: "FailedGetScale", isNews: says("FailedGetScale") },
];

function becomes(status: Condition["status"]): Edge["isNews"] {
  return (before, now) => now.status === status && before?.status !== status;
}

function ends(before: Condition | undefined, now: Condition): boolean {
  return before?.status === "True" && now.status !== "True";
}

/** Another message is another cause. */
function says(reason: string): Edge["isNews"] {
  return (before, now) => now.reason === reason && (before?.reason !== reason || before.message !== now.message);
}
