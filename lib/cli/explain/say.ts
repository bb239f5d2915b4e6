/** How explanations write ages, times and amounts. */
import { formatDuration } from "../../units/duration.ts";
import { formatAmount } from "../../units/quantity.ts";
import type { Resource } from "../../units/resources.ts";
import { formatTime } from "../../units/time.ts";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

/** Rounded to what matters: `42s`, `5m10s`, `3h20m`, `2d4h`. Never negative. */
export function formatAge(ms: number): string {
  const age = Math.max(0, ms);
  if (age >= 2 * DAY) {
    const hours = Math.floor(age % DAY / HOUR);
    return `${Math.floor(age / DAY)}d${hours === 0 ? "" : `${hours}h`}`;
  }
  const unit = age < 10 * MINUTE ? SECOND : MINUTE;
  return formatDuration(Math.floor(age / unit) * unit);
}

/** A wait, rounded up, so that nobody comes back too early. */
export function formatWait(ms: number): string {
  const unit = ms < 10 * MINUTE ? SECOND : MINUTE;
  return formatDuration(Math.ceil(Math.max(0, ms) / unit) * unit);
}

/** `15:28:40Z`, with its date where that is another day than `now`'s. */
export function formatClock(at: number, now: number): string {
  const [date = "", time = ""] = formatTime(at).split("T");
  return formatTime(now).startsWith(date) ? time : `${date} ${time}`;
}

/** `42s ago (15:28:40Z)` */
export function formatAgo(at: number, now: number): string {
  return `${formatAge(now - at)} ago (${formatClock(at, now)})`;
}

/** Whole millicores; bytes as KiB, MiB or GiB with as many digits as say something: `349m`, `95.4Mi`. `none` for null. */
export function formatSize(amount: number | null, resource: Resource): string {
  if (amount === null) return "none";
  if (resource === "cpu") return formatAmount(Math.round(amount), "cpu");
  const unit = UNITS.find(([bytes]) => amount >= bytes);
  const [bytes, suffix] = unit ?? [1, ""];
  const count = amount / bytes;
  return `${Number(count.toFixed(Number.isInteger(count) || count >= 100 ? 0 : 1))}${suffix}`;
}

export function formatPercent(share: number | null): string {
  return share === null ? "-" : `${Math.round(share)} %`;
}

const UNITS: readonly (readonly [number, string])[] = [[2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"]];
