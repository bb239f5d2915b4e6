/**
 * For how many samples in a row has a scale-up been held by what does not pass by itself (L53)? What passes in between, such as
 * a cooldown or the next try of a refused size, neither counts nor ends it: it ends with the wish, or with an accepted resize.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { SideKey } from "../../units/resources.ts";
import type { Asked } from "../gate/ask.ts";
import { countHeld, endHeld, type UpAnswer } from "../observe/count_shortage.ts";
import { LIMIT_REASONS, type LimitReason } from "../reasons.ts";
import type { Limited, View } from "../state.ts";

/** So many samples in a row make a pod count as limited. */
export const LIMITED_SAMPLES = 2;

/** The view after a new sample; `up`: how the wanted scale-up fared, `null` where none is, or another owns the container. */
export function nextLimitedView(view: View, autoscaler: Autoscaler, up: Asked | null): View {
  const limited = up === null ? null : nextLimited(view.limited, up);
  const held = up === null ? endHeld(view.shortage) : countHeld(view, autoscaler, (key) => toUpAnswer(up, key));
  if (limited === view.limited && held === view.shortage) return view;
  return { ...view, limited, shortage: held };
}

/** What holds the scale-ups of a contender, once it has for long enough; `null` while they are free, or none is wanted. */
export function readLimit({ limited, wantedSince }: Pick<View, "limited" | "wantedSince">): LimitReason | null {
  return limited !== null && wantedSince !== null && limited.samples >= LIMITED_SAMPLES ? limited.reason : null;
}

function nextLimited(before: Limited | null, up: Asked): Limited | null {
  const reason = readReason(up);
  return isLimitReason(reason) ? { reason, samples: (before?.samples ?? 0) + 1 } : before;
}

/** Of one side of the scale-up. */
function toUpAnswer({ objections }: Asked, key: SideKey): UpAnswer {
  const { reason = null } = objections.find(({ sides }) => sides.includes(key)) ?? {};
  return isLimitReason(reason) ? "limit" : reason === "Cooldown" ? "cooldown" : "other";
}

function readReason(asked: Asked): string | null {
  if (asked.kind !== "stopped") return null;
  const { decision } = asked;
  return decision.kind === "hold" || decision.kind === "blocked" ? decision.reason : null;
}

function isLimitReason(reason: string | null): reason is LimitReason {
  return LIMIT_REASONS.some((one) => one === reason);
}
