/**
 * Go durations, and the times of the Kubernetes API (RFC 3339).
 *
 * Durations are whole milliseconds, times are epoch milliseconds.
 */
import { type Parsed, quote } from "./untrusted.ts";

type ParsedDuration = Parsed<{ ms: number }>;

/**
 * Parses any value and never throws. Rounds up to milliseconds, so a duration of 1 ns or more never becomes zero; as in
 * Go, less than that is cut. Stricter than Go: a bare "0" is refused, because it has no unit.
 * https://pkg.go.dev/time#ParseDuration
 */
export function parseDuration(value: unknown): ParsedDuration {
  const refuse = (cause: string): ParsedDuration => ({
    ok: false,
    message: `Cannot parse duration ${quote(value)}: ${cause}`,
  });
  if (typeof value !== "string") return refuse("must be a string such as 2m30s");
  if (value === "") return refuse("empty");
  if (value.length > MAX_LENGTH) return refuse(`longer than ${MAX_LENGTH} characters`);
  if (/\s/.test(value)) return refuse("contains a space");
  if (value.startsWith("-")) return refuse("negative");

  let rest = value.startsWith("+") ? value.slice(1) : value;
  if (rest === "") return refuse("does not start with a number");
  let totalNs = 0n;
  while (rest !== "") {
    const [part = "", whole = "", fraction = "", unit = ""] = PART.exec(rest) ?? [];
    if (whole === "" && fraction === "") return refuse("not a number and a unit, such as 2m30s or 1.5h");
    if (unit === "") return refuse(`missing unit, write ${part}s if seconds are meant`);
    const unitNs = UNIT_NS.get(unit);
    if (unitNs === undefined) return refuse(`unknown unit ${quote(unit)}${HINTS.get(unit) ?? ""}`);
    totalNs += BigInt(whole + fraction) * unitNs / 10n ** BigInt(fraction.length);
    rest = rest.slice(part.length);
  }
  if (totalNs > MAX_NS) return refuse("longer than 292 years");
  return { ok: true, ms: Number((totalNs + 999_999n) / 1_000_000n) };
}

/**
 * Writes milliseconds, rounded, as Go does but without parts that are zero: `1h` and not `1h0m0s`. Throws RangeError
 * for a number that is not a safe integer.
 */
export function formatDuration(ms: number): string {
  const total = Math.round(Math.abs(ms));
  if (!Number.isSafeInteger(total)) throw new RangeError(`Cannot format duration ${ms}: out of range`);
  if (total === 0) return "0s";
  const sign = ms < 0 ? "-" : "";
  if (total < 1000) return `${sign}${total}ms`;
  const hours = Math.floor(total / 3_600_000);
  const minutes = Math.floor(total / 60_000) % 60;
  // A number below 60_000 divided by 1000 prints exactly: 90500 -> 30.5
  const seconds = total % 60_000 / 1000;
  return sign + [[hours, "h"], [minutes, "m"], [seconds, "s"]]
    .map(([count, unit]) => count === 0 ? "" : `${count}${unit}`).join("");
}

const MAX_LENGTH = 32;

/** Go's limit: a duration is an int64 of nanoseconds. */
const MAX_NS = 2n ** 63n - 1n;

const PART = /^([0-9]*)(?:\.([0-9]*))?([^0-9.]*)/;

const UNIT_NS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["\u00b5s", 1_000n], // the micro sign
  ["\u03bcs", 1_000n], // the Greek letter, which Go takes too
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

const HINTS: ReadonlyMap<string, string> = new Map([
  ["d", ", write 24h for a day"],
  ["w", ", write 168h for a week"],
]);

/**
 * Writes epoch milliseconds as RFC 3339 in UTC, cut to whole seconds. Throws RangeError for a number that is not a
 * time.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Time
 */
export function formatTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Converts RFC 3339 to epoch milliseconds; `null` for any other value. Never throws. */
export function parseTime(value: unknown): number | null {
  // Date.parse() alone would also accept "1" and "May 5".
  if (typeof value !== "string" || !RFC_3339.test(value)) return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : at;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
