/**
 * How do commands print ages, times, CPU, memory and other numbers?
 *
 * Amounts are millicores and bytes, durations are milliseconds or seconds as the parameter's name says.
 */
import { formatAmount } from "../../units/quantity.ts";
import type { Resource } from "../../units/resources.ts";
import { formatDuration, formatTime } from "../../units/time.ts";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

/** An age with two units at most: `42s`, `5m10s`, `3h20m`, `2d4h`. Never negative. */
export function formatAge(ms: number): string {
  const age = Math.max(0, ms);
  if (age >= 2 * DAY) {
    const hours = Math.floor(age % DAY / HOUR);
    return `${Math.floor(age / DAY)}d${hours === 0 ? "" : `${hours}h`}`;
  }
  const unit = age < 10 * MINUTE ? SECOND : MINUTE;
  return formatDuration(Math.floor(age / unit) * unit);
}

/** A wait, rounded up, so that it is never too short. */
export function formatWait(ms: number): string {
  const unit = ms < HOUR ? SECOND : MINUTE;
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

/** Whole millicores; bytes as KiB, MiB or GiB, with one digit below 100: `349m`, `95.4Mi`. `none` for null. */
export function formatSize(amount: number | null, resource: Resource): string {
  if (amount === null) return "none";
  if (resource === "cpu") return formatAmount(Math.round(amount), "cpu");
  // What a node has left is negative if more than it has is requested.
  const unit = BYTE_UNITS.find(([bytes]) => Math.abs(amount) >= bytes);
  const [bytes, suffix] = unit ?? [1, ""];
  const count = amount / bytes;
  return `${Number(count.toFixed(Number.isInteger(count) || Math.abs(count) >= 100 ? 0 : 1))}${suffix}`;
}

export function formatPercent(share: number | null): string {
  return share === null ? "-" : `${Math.round(share)} %`;
}

const BYTE_UNITS: readonly (readonly [number, string])[] = [[2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"]];

/** Whole millicores, for columns that a reader compares: `250m`, `1550m`. */
export function formatWholeMillicores(millicores: number): string {
  return `${Math.round(millicores)}m`;
}

/** Bytes as whole mebibytes, for columns that a reader compares: `64Mi`, `1344Mi`. */
export function formatWholeMebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)}Mi`;
}

/** `+07m24s`, `+1h05m`: the time since the start, which cannot be read as a time of day. At least 7 characters. */
export function formatElapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (number: number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return (hours > 0 ? `+${hours}h${two(minutes)}m` : `+${two(minutes)}m${two(seconds % 60)}s`).padEnd(7);
}

/** Three digits at most before a unit takes over: `0`, `0.31`, `4.2`, `87`, `1,204`. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  const digits = size === 0 || size >= 99.5 ? 0 : size >= 9.95 ? (Number.isInteger(value) ? 0 : 1) : 2;
  const text = value.toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
  return text.replace(/^-0$/, "0").replace(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? "," : "");
}

export type Unit = "cpu" | "memory" | "pods";

/** An amount of millicores, bytes or pods that was measured; Infinity is `none`. */
export function formatQuantity(amount: number, unit: Unit): string {
  if (!Number.isFinite(amount)) return amount === Infinity ? "none" : "-";
  if (unit === "pods" || amount === 0) return formatNumber(amount);
  const [whole, small, isLarge] = unit === "cpu" ? ["", "m", amount >= 1000] : ["Gi", "Mi", amount >= 2 ** 30];
  const text = formatNumber(amount / (unit === "cpu" ? (isLarge ? 1000 : 1) : isLarge ? 2 ** 30 : 2 ** 20));
  return text === "0" ? text : `${text}${isLarge ? whole : small}`;
}

/** Seconds in at most two parts: `45s`, `12m`, `3h 20m`, `2d 6h`. */
export function formatSpan(seconds: number): string {
  const total = Math.round(seconds);
  const [days, hours] = [Math.floor(total / 86_400), Math.floor(total / 3600) % 24];
  const parts: readonly (readonly [number, string])[] = [
    [days, "d"],
    [hours, "h"],
    [Math.floor(total / 60) % 60, "m"],
    [total % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0s";
  return parts.slice(first, first + 2).filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`).join(
    " ",
  );
}

export function formatCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
