/** How old is it? Ages as kubectl shows them. */
import { type JsonObject, textAt } from "../../json.ts";

/** `5s`, `3m12s`, `2d`; `<unknown>` for no time. */
export function formatAge(time: string, now: number): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? "<unknown>" : formatSeconds(Math.max(0, Math.floor((now - at) / 1000)));
}

/** The age of an object as kubectl shows it. */
export function ageOf(object: JsonObject, now: number): string {
  return formatAge(textAt(object, "metadata", "creationTimestamp"), now);
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

/** The text of Kubernetes' duration.HumanDuration, with two units while the smaller one matters. */
function formatSeconds(seconds: number): string {
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return join(seconds, [MINUTE, "m"], [1, "s"]);
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return join(seconds, [HOUR, "h"], [MINUTE, "m"]);
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return join(seconds, [DAY, "d"], [HOUR, "h"]);
  return `${Math.floor(seconds / DAY)}d`;
}

type Unit = readonly [seconds: number, letter: string];

function join(seconds: number, [large, first]: Unit, [small, second]: Unit): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)}${first}${rest === 0 ? "" : `${rest}${second}`}`;
}
