import { assert, assertEquals, assertThrows } from "#assert";
import fc from "fast-check";
import { compareQuantities, formatAmount, parseAmount, toStoredDouble } from "../../lib/units/quantity.ts";
import type { Resource } from "../../lib/units/resources.ts";

const MEMORY: readonly [unknown, number][] = [
  ["0", 0],
  ["1", 1],
  [64, 64],
  [0, 0],
  ["000128Mi", 134217728],
  ["1n", 1],
  ["1u", 1],
  ["1000m", 1],
  ["1001m", 2],
  ["128974848", 128974848],
  ["1k", 1000],
  ["1M", 1_000_000],
  ["1G", 1_000_000_000],
  ["1T", 1_000_000_000_000],
  ["9P", 9_000_000_000_000_000],
  ["0.001E", 1_000_000_000_000_000],
  ["1Ki", 1024],
  ["1Mi", 1048576],
  ["1Gi", 1073741824],
  ["1Ti", 1099511627776],
  ["1Pi", 1125899906842624],
  ["0.001Ei", 1152921504606847], // 1152921504606846.976
  ["1.5Gi", 1610612736],
  ["0.3Ki", 308], // 307.2
  ["129e6", 129_000_000],
  ["129E6", 129_000_000],
  ["1e+3", 1000],
  ["1E-3", 1],
  ["5e-1", 1],
  ["2.5e1", 25],
  ["1e03", 1000],
  [".5Ki", 512],
  ["5.", 5],
  ["5.Ki", 5120],
  ["+5", 5],
  ["-5", -5],
  ["-1.5", -2],
  ["-0", 0],
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ["0e99", 0],
  ["1e-0000099", 1],
  ["00000000000000000000000000000000000000000000000000000000000012Mi", 12582912],
];

const CPU: readonly [unknown, number][] = [
  ["250m", 250],
  ["1", 1000],
  [2, 2000],
  ["0.5", 500],
  ["1.234", 1234],
  ["0.0015", 2],
  ["1500u", 2],
  ["1n", 1],
  ["100000001n", 101],
  ["2k", 2_000_000],
  ["1e-3", 1],
  ["1Ki", 1_024_000],
  ["-0.0015", -2],
];

const REFUSED: readonly [unknown, string][] = [
  ["12Q", `Cannot parse quantity "12Q": unknown suffix "Q"`],
  ["1K", `Cannot parse quantity "1K": unknown suffix "K", write k or Ki`],
  ["512MB", `Cannot parse quantity "512MB": unknown suffix "MB", write M or Mi`],
  ["1gib", `Cannot parse quantity "1gib": unknown suffix "gib", write Gi`],
  ["0.1mi", `Cannot parse quantity "0.1mi": unknown suffix "mi", write Mi`],
  ["1.1.M", `Cannot parse quantity "1.1.M": unknown suffix ".M"`],
  ["1+1.0M", `Cannot parse quantity "1+1.0M": unknown suffix "+1.0M"`],
  ["1e", `Cannot parse quantity "1e": unknown suffix "e"`],
  ["1e1.5", `Cannot parse quantity "1e1.5": unknown suffix "e1.5"`],
  ["1Ee3", `Cannot parse quantity "1Ee3": unknown suffix "Ee3"`],
  ["1M3", `Cannot parse quantity "1M3": unknown suffix "M3"`],
  ["1\u0663", `Cannot parse quantity "1\u0663": unknown suffix "\u0663"`],
  ["", `Cannot parse quantity "": empty`],
  [" 1", `Cannot parse quantity " 1": contains a space`],
  ["1 ", `Cannot parse quantity "1 ": contains a space`],
  ["1\n", `Cannot parse quantity "1\\n": contains a space`],
  ["-", `Cannot parse quantity "-": does not start with a number`],
  [".", `Cannot parse quantity ".": does not start with a number`],
  ["Ki", `Cannot parse quantity "Ki": does not start with a number`],
  ["--1", `Cannot parse quantity "--1": does not start with a number`],
  ["0x10", `Cannot parse quantity "0x10": unknown suffix "x10"`],
  ["1e100", `Cannot parse quantity "1e100": exponent "e100" is out of range`],
  [
    "1e-99999999999999999999",
    `Cannot parse quantity "1e-99999999999999999999": exponent "e-99999999999999999999" is out of range`,
  ],
  ["1E", `Cannot parse quantity "1E": too large`],
  ["9007199254740992", `Cannot parse quantity "9007199254740992": too large`],
  ["-9007199254740992", `Cannot parse quantity "-9007199254740992": too large`],
  [2 ** 53, `Cannot parse quantity 9007199254740992: too large`],
  [1.5, `Cannot parse quantity 1.5: a number with a fraction must be quoted`],
  [NaN, `Cannot parse quantity NaN: not a finite number`],
  [Infinity, `Cannot parse quantity Infinity: not a finite number`],
  [null, `Cannot parse quantity null: must be a string or an integer`],
  [undefined, `Cannot parse quantity undefined: must be a string or an integer`],
  [true, `Cannot parse quantity true: must be a string or an integer`],
  [["1"], `Cannot parse quantity a list: must be a string or an integer`],
  [{}, `Cannot parse quantity an object: must be a string or an integer`],
];

Deno.test("parseAmount() reads memory in bytes, rounded up", () => {
  for (const [value, amount] of MEMORY) {
    assertEquals(parseAmount(value, "memory"), { ok: true, amount }, `${value}`);
  }
});

Deno.test("parseAmount() reads cpu in millicores, rounded up", () => {
  for (const [value, amount] of CPU) {
    assertEquals(parseAmount(value, "cpu"), { ok: true, amount }, `${value}`);
  }
});

Deno.test("parseAmount() says what is wrong when a quantity is none", () => {
  for (const [value, message] of REFUSED) {
    assertEquals(parseAmount(value, "memory"), { ok: false, message }, message);
  }
});

Deno.test("parseAmount() reads a number with a fraction when the caller asks for it", () => {
  assertEquals(parseAmount(0.1, "cpu", { floats: true }), { ok: true, amount: 100 });
  assertEquals(parseAmount(1e-7, "cpu", { floats: true }), { ok: true, amount: 1 });
  assertEquals(parseAmount(NaN, "cpu", { floats: true }).ok, false);
});

Deno.test("parseAmount() refuses a value of any length at once and shows its beginning only", () => {
  for (const hostile of ["9".repeat(1e6), `1${"K".repeat(1e6)}`, `1e${"9".repeat(1e6)}`, ".".repeat(1e6)]) {
    const parsed = parseAmount(hostile, "memory");
    assertEquals(parsed, {
      ok: false,
      message: `Cannot parse quantity "${hostile.slice(0, 40)}...": longer than 64 characters`,
    });
  }
});

Deno.test("compareQuantities() is as fine as Kubernetes: a billionth, rounded up", () => {
  const ordered = ["-1", "-1n", "0", "1n", "100u", "200u", "1m", 1, "1.000000001", "1k", "1Ki", "9T"];
  for (const [index, one] of ordered.entries()) {
    for (const [place, other] of ordered.entries()) {
      assertEquals(compareQuantities(one, other), Math.sign(index - place), `${one} with ${other}`);
    }
  }
  assertEquals([compareQuantities("1e-99", "0.3n"), compareQuantities("-0", 0), compareQuantities("1000m", 1)], [
    0,
    0,
    0,
  ]);
  assertThrows(() => compareQuantities("1", "1Q"), RangeError, `Cannot compare "1" with "1Q"`);
});

const SHOWN: readonly [number, Resource, string][] = [
  [250, "cpu", "250m"],
  [2000, "cpu", "2"],
  [1500, "cpu", "1500m"],
  [1_000_000, "cpu", "1000"],
  [-250, "cpu", "-250m"],
  [0, "cpu", "0"],
  [0, "memory", "0"],
  [-0, "memory", "0"],
  [67108864, "memory", "64Mi"],
  [1073741824, "memory", "1Gi"],
  [1610612736, "memory", "1536Mi"],
  [15625 * 1048576, "memory", "15625Mi"],
  [2 * 1024 ** 4, "memory", "2Ti"],
  [3 * 1024 ** 5, "memory", "3Pi"],
  [1234567, "memory", "1234567"],
  [1023, "memory", "1023"],
  [1024, "memory", "1Ki"],
  [10_000_000, "memory", "10M"],
  [512_000_000, "memory", "512M"],
  [1_500_000, "memory", "1500k"],
  [2_000_000_000, "memory", "2G"],
  [-1048576, "memory", "-1Mi"],
];

Deno.test("formatAmount() writes the short text Kubernetes would", () => {
  for (const [amount, resource, text] of SHOWN) assertEquals(formatAmount(amount, resource), text);
});

Deno.test("formatAmount() throws when the amount is no safe integer", () => {
  for (const amount of [1.5, NaN, Infinity, 2 ** 53]) {
    assertThrows(() => formatAmount(amount, "cpu"), RangeError, "not a safe integer");
  }
});

Deno.test("parseAmount() gives back what formatAmount() wrote", () => {
  const steps = fc.constantFrom(
    1,
    1000,
    1000 ** 2,
    1000 ** 3,
    1000 ** 4,
    1000 ** 5,
    1024,
    1024 ** 2,
    1024 ** 3,
    1024 ** 4,
  );
  const amounts = fc.oneof(
    fc.maxSafeInteger(),
    fc.tuple(fc.integer({ min: -8000, max: 8000 }), steps).map(([count, step]) => count * step),
  ).filter(Number.isSafeInteger);
  fc.assert(
    fc.property(amounts, fc.constantFrom<Resource>("cpu", "memory"), (amount, resource) => {
      const text = formatAmount(amount, resource);
      assertEquals(parseAmount(text, resource), { ok: true, amount: amount + 0 }, text);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("parseAmount() never throws and never gives anything but a safe integer", () => {
  const texts = fc.oneof(
    fc.anything(),
    fc.string(),
    fc.stringMatching(/^[-+]?[0-9.]{0,20}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,3}$/),
  );
  fc.assert(
    fc.property(texts, (value) => {
      const parsed = parseAmount(value, "memory");
      assert(
        parsed.ok ? Number.isSafeInteger(parsed.amount) && !Object.is(parsed.amount, -0) : parsed.message.length < 300,
      );
    }),
    { numRuns: 2000 },
  );
});

Deno.test("toStoredDouble() multiplies as Go's AsApproximateFloat64 does with what the API server has stored", () => {
  // Of Go: resource.MustParse(resource.MustParse(text).String()).AsApproximateFloat64().
  const cases: readonly (readonly [unknown, number | null])[] = [
    ["0.05", 0.05],
    ["9m", 0.009000000000000001],
    ["0.009", 0.009000000000000001],
    ["500u", 0.0005],
    ["-7m", -0.007],
    ["0", 0],
    [3, 3],
    ["2k", 2000],
    ["1.5Gi", 1.5 * 2 ** 30],
    ["1e30", 1e30],
    ["5%", null],
    [0.05, null],
    [null, null],
  ];
  for (const [value, expected] of cases) assertEquals(toStoredDouble(value), expected, String(value));
});
