/**
 * Replicas of the pod's workload have fallen (R86): the survivors are about to get more, so what showed that less would do begins
 * anew. Said of each such fall once, however often its time is passed in.
 */
import type { Input } from "../decision.ts";
import { NO_STREAKS, type PodState, type View } from "../state.ts";
import { isFull } from "./streaks.ts";

/** Streaks down end, and windows are watched anew from here (`readWindowWait`). The same object when there is nothing new. */
export function endDowns(state: PodState, { now, scaledInAt, contenders }: Input): PodState {
  if (scaledInAt === undefined || scaledInAt === state.scaledIn?.at) return state;
  const views: Record<string, View> = { ...state.views };
  for (const { key, sides } of contenders) {
    const view = views[key];
    if (view === undefined) continue;
    const streaks = keepUps(view.streaks);
    const isWanted = sides.some((rule) => isFull(rule, streaks));
    views[key] = { ...view, streaks, wantedSince: isWanted ? view.wantedSince : null };
  }
  return { ...state, views, scaledIn: { at: scaledInAt, since: Math.min(scaledInAt, now) } };
}

function keepUps(streaks: View["streaks"]): View["streaks"] {
  const ups = Object.entries(streaks).filter(([, { direction }]) => direction === "up");
  return ups.length === 0 ? NO_STREAKS : Object.fromEntries(ups);
}
