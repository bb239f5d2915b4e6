import { assert, assertEquals, assertThrows } from "#assert";
import fc from "fast-check";
import { formatDuration, parseDuration } from "../../lib/units/time.ts";

const READ: readonly [string, number][] = [
  ["2m30s", 150_000],
  ["1.5h", 5_400_000],
  ["500ms", 500],
  ["0s", 0],
  ["0h", 0],
  ["1h1h", 7_200_000],
  ["30s2m", 150_000],
  ["24h", 86_400_000],
  [".5s", 500],
  ["5.s", 5000],
  ["+5s", 5000],
  ["1us", 1],
  ["1\u00b5s", 1],
  ["1\u03bcs", 1],
  ["1ns", 1],
  ["0.1ns", 0], // Go cuts below a nanosecond
  ["1000001ns", 2],
  ["1.0001s", 1001],
  ["999999ns1ns", 1],
  ["2562047h47m16.854775807s", 9_223_372_036_855],
];

const REFUSED: readonly [unknown, string][] = [
  ["1d", `Cannot parse duration "1d": unknown unit "d", write 24h for a day`],
  ["1.5d", `Cannot parse duration "1.5d": unknown unit "d", write 24h for a day`],
  ["1w", `Cannot parse duration "1w": unknown unit "w", write 168h for a week`],
  ["0", `Cannot parse duration "0": missing unit, write 0s if seconds are meant`],
  ["30", `Cannot parse duration "30": missing unit, write 30s if seconds are meant`],
  ["1h30", `Cannot parse duration "1h30": missing unit, write 30s if seconds are meant`],
  ["", `Cannot parse duration "": empty`],
  ["5 m", `Cannot parse duration "5 m": contains a space`],
  ["5m\n", `Cannot parse duration "5m\\n": contains a space`],
  ["-5m", `Cannot parse duration "-5m": negative`],
  ["5M", `Cannot parse duration "5M": unknown unit "M"`],
  ["1,5h", `Cannot parse duration "1,5h": unknown unit ","`],
  ["1h-5m", `Cannot parse duration "1h-5m": unknown unit "h-"`],
  ["1e3s", `Cannot parse duration "1e3s": unknown unit "e"`],
  ["P1D", `Cannot parse duration "P1D": not a number and a unit, such as 2m30s or 1.5h`],
  [".s", `Cannot parse duration ".s": not a number and a unit, such as 2m30s or 1.5h`],
  ["+", `Cannot parse duration "+": does not start with a number`],
  ["2562047h47m16.854775808s", `Cannot parse duration "2562047h47m16.854775808s": longer than 292 years`],
  ["99999999999999999999999999999h", `Cannot parse duration "99999999999999999999999999999h": longer than 292 years`],
  [30, `Cannot parse duration 30: must be a string such as 2m30s`],
  [null, `Cannot parse duration null: must be a string such as 2m30s`],
];

Deno.test("parseDuration() reads what Go reads, in ms rounded up (C7)", () => {
  for (const [text, ms] of READ) assertEquals(parseDuration(text), { ok: true, ms }, text);
});

Deno.test("parseDuration() says what is wrong when a duration is none (C7)", () => {
  for (const [value, message] of REFUSED) assertEquals(parseDuration(value), { ok: false, message }, message);
});

Deno.test("parseDuration() refuses a value of any length at once", () => {
  for (const hostile of ["9".repeat(1e6), "1h".repeat(5e5), `1${"m".repeat(1e6)}`, " ".repeat(1e6)]) {
    const parsed = parseDuration(hostile);
    assertEquals(parsed, {
      ok: false,
      message: `Cannot parse duration "${hostile.slice(0, 40)}...": longer than 32 characters`,
    });
  }
});

const SHOWN: readonly [number, string][] = [
  [0, "0s"],
  [-0, "0s"],
  [0.4, "0s"],
  [-0.4, "0s"],
  [0.6, "1ms"],
  [500, "500ms"],
  [1500, "1.5s"],
  [1050, "1.05s"],
  [59_999, "59.999s"],
  [60_000, "1m"],
  [90_500, "1m30.5s"],
  [150_000, "2m30s"],
  [3_600_000, "1h"],
  [3_605_000, "1h5s"],
  [5_400_000, "1h30m"],
  [90_000_000, "25h"],
  [-150_000, "-2m30s"],
];

Deno.test("formatDuration() writes a duration like Go, without zero parts", () => {
  for (const [ms, text] of SHOWN) assertEquals(formatDuration(ms), text);
});

Deno.test("formatDuration() throws when ms is out of range", () => {
  for (const ms of [NaN, Infinity, 2 ** 54]) assertThrows(() => formatDuration(ms), RangeError, "out of range");
});

Deno.test("parseDuration() gives back what formatDuration() wrote", () => {
  fc.assert(
    fc.property(fc.oneof(fc.nat({ max: 9_223_372_036_854 }), fc.nat({ max: 7_200_000 })), (ms) => {
      assertEquals(parseDuration(formatDuration(ms)), { ok: true, ms }, formatDuration(ms));
    }),
    { numRuns: 2000 },
  );
});

Deno.test("parseDuration() never throws and never gives a negative or a fraction", () => {
  const texts = fc.oneof(
    fc.anything(),
    fc.string(),
    fc.stringMatching(/^([0-9]{0,9}\.?[0-9]{0,3}(ns|us|ms|s|m|h|d)){1,3}$/),
  );
  fc.assert(
    fc.property(texts, (value) => {
      const parsed = parseDuration(value);
      assert(parsed.ok ? Number.isSafeInteger(parsed.ms) && parsed.ms >= 0 : parsed.message.length < 300);
    }),
    { numRuns: 2000 },
  );
});
