/** Do doubles and texts become thousandths and numbers as in Go? */
import { assert, assertEquals } from "#assert";
import {
  milliToDouble,
  parseGoBoolean,
  parseGoFloat,
  parseGoInteger,
  parseJsonInteger,
  parseJsonNumber,
  toMilli,
  truncMilli,
} from "../../lib/units/numbers.ts";
import { parseMilli, quantityToDouble } from "../../lib/units/quantity.ts";

Deno.test("toMilli() rounds the exact double, ties to even (R17, E19)", () => {
  const cases: readonly (readonly [number, bigint])[] = [
    [0.0625, 62n],
    [0.1875, 188n],
    [1.005, 1005n],
    [0.0005, 1n],
    [0.0004, 0n],
    [12.3456, 12_346n],
    [2 ** 53, 9_007_199_254_740_992_000n],
  ];
  for (const [value, milli] of cases) assertEquals(toMilli(value), milli, `${value}`);
});

Deno.test("toMilli() takes negative ones and what is not finite for 0, and caps at 2^63-1 (R17)", () => {
  assertEquals([-1, -0.0001, NaN, Infinity, -Infinity, 0].map(toMilli), [0n, 0n, 0n, 0n, 0n, 0n]);
  assertEquals([9.3e15, 1e20, Number.MAX_VALUE].map(toMilli), [2n ** 63n - 1n, 2n ** 63n - 1n, 2n ** 63n - 1n]);
  assertEquals(toMilli(Number.MIN_VALUE), 0n);
});

Deno.test("truncMilli() cuts towards zero, may be negative, and has nothing for NaN and infinities (R63, E19)", () => {
  assertEquals([2.9999, 1.005, -2.9999, 0.0009].map(truncMilli), [2999n, 1004n, -2999n, 0n]);
  assertEquals([NaN, Infinity, -Infinity].map(truncMilli), [null, null, null]);
  assertEquals([1e300, -1e300].map(truncMilli), [2n ** 63n - 1n, -(2n ** 63n) + 1n]);
});

Deno.test("milliToDouble() is n * 0.001 and not n / 1000 (R63)", () => {
  assertEquals(milliToDouble(9n), 0.009000000000000001);
  assertEquals(milliToDouble(2500n), 2.5);
  assertEquals(milliToDouble(6_875_830_783_328_527_000n), 6_875_830_783_328_527);
});

Deno.test("parseMilli() rounds up to a thousandth, exactly however large, and refuses what is no quantity (R10, R21)", () => {
  const cases: Readonly<Record<string, bigint>> = {
    "100m": 100n,
    "1": 1000n,
    "0.0001": 1n,
    "1u": 1n,
    "16Gi": 17_179_869_184_000n,
    "16Ei": 18_446_744_073_709_551_616_000n,
    "-1.5": -1500n,
  };
  for (const [text, milli] of Object.entries(cases)) assertEquals(parseMilli(text), { ok: true, milli }, text);
  assertEquals(parseMilli("12Q"), { ok: false, message: 'Cannot parse quantity "12Q": unknown suffix "Q"' });
});

Deno.test("quantityToDouble() is digits times a power of ten, as AsApproximateFloat64 has it (R13, R15)", () => {
  const cases: Readonly<Record<string, number>> = {
    "1.5": 1.5,
    "9m": 0.009000000000000001,
    "-2k": -2000,
    "10Gi": 10 * 2 ** 30,
    "16Ei": 2 ** 63,
    "1e3": 1000,
  };
  for (const [text, value] of Object.entries(cases)) assertEquals(quantityToDouble(text), { ok: true, value }, text);
  assertEquals(quantityToDouble("12Q"), { ok: false, message: 'Cannot parse quantity "12Q": unknown suffix "Q"' });
});

Deno.test("numbers in texts are JSON numbers or what strconv reads, and nothing else (R15)", () => {
  assertEquals(["1.5", "-0.5e3", "+5", ".5", "5.", "0x10", "NaN", "1e400", "01", ""].map(parseJsonNumber), [
    1.5,
    -500,
    ...Array(8).fill(null),
  ]);
  assertEquals(["5", "-5", "5.0", "1e3", "+5", "05", "9223372036854775808"].map(parseJsonInteger), [
    5n,
    -5n,
    null,
    null,
    null,
    null,
    null,
  ]);
  assertEquals([".5", "+5", "5.", "-Inf", "infinity", "1e400", "0x10", "1_0", "", " 1"].map(parseGoFloat), [
    0.5,
    5,
    5,
    -Infinity,
    Infinity,
    null,
    null,
    null,
    null,
    null,
  ]);
  assert(Number.isNaN(parseGoFloat("NaN")) && parseGoFloat("-nan") === null);
  const third = (length: number) => parseGoFloat("0.".padEnd(length, "3"));
  assertEquals([third(1100), third(1101)], [1 / 3, null], "no double needs more digits");
  assertEquals(
    ["+5", "007", "2147483647", "2147483648", "-2147483648", "5.0", ""].map((text) => parseGoInteger(text, 32)),
    [5n, 7n, 2_147_483_647n, null, -2_147_483_648n, null, null],
  );
  assertEquals(["9223372036854775807", "9223372036854775808"].map((text) => parseGoInteger(text, 64)), [
    2n ** 63n - 1n,
    null,
  ]);
  assertEquals(["1", "t", "TRUE", "True", "0", "F", "false", "tRUE", "yes", ""].map(parseGoBoolean), [
    true,
    true,
    true,
    true,
    false,
    false,
    false,
    null,
    null,
    null,
  ]);
});
