/** Makes numbers up: doubles near a half of a thousandth, quantities, and texts that may be numbers. */
import type { Random } from "../random.ts";
import type { Question } from "./question.ts";

export function generateNumber(random: Random): Question {
  return random.pick([
    () => ({ number: `${pickDouble(random)}` }),
    () => ({ number: `${pickDouble(random)}` }),
    () => ({ quantity: writeQuantity(random) }),
    () => ({ text: writeText(random) }),
  ])();
}

function pickDouble(random: Random): number {
  const tie = (random.whole(0, 200_000) * 2 + 1) / 2000;
  // Of these the doubles are ties exactly.
  const binary = (random.whole(0, 1e6) * 2 + 1) / 16;
  const bits =
    new Float64Array(new Uint32Array([random.whole(0, 2 ** 32 - 1), random.whole(0, 2 ** 32 - 1)]).buffer)[0] ?? 0;
  const value = random.pick([
    random.between(0, 1000),
    tie,
    binary,
    random.whole(0, 1e6) / 1000,
    random.between(0, 1e-2),
    random.between(0, 1) * 10 ** random.whole(-6, 15),
    Number.isFinite(bits) ? bits : 0,
    0.0005,
    1.005,
    2.9999,
  ]);
  return random.chance(0.1) ? -value : value;
}

function writeQuantity(random: Random): string {
  const whole = `${random.pick([random.whole(0, 20), random.whole(0, 1e6), random.whole(0, 1e9)])}`;
  const fraction = random.pick(["", "", `.${random.whole(0, 9)}`, `.${random.whole(0, 99_999)}`, ".", ".000"]);
  const suffix = random.pick([
    "",
    "",
    "m",
    "k",
    "M",
    "G",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "u",
    "n",
    "e3",
    "E2",
    "e-3",
    "K",
    "x",
    "mi",
  ]);
  return `${random.pick(["", "", "", "-", "+"])}${whole}${fraction}${suffix}`;
}

function writeText(random: Random): string {
  const number = `${
    random.pick([random.whole(-50, 5000), random.between(-5, 50), random.whole(0, 2 ** 53) * 1024, 1e21, 1e-7])
  }`;
  const strange = random.pick([
    "+",
    "-",
    ".",
    "e",
    "E5",
    "e400",
    "0",
    "00",
    "_",
    "x",
    "0x",
    "inf",
    "NaN",
    "t",
    "",
    "1e3",
    "e-400",
  ]);
  return random.pick([
    number,
    strange + number,
    number + strange,
    strange,
    ...[
      "true",
      "True",
      "TRUE",
      "tRUE",
      "f",
      "F",
      "no",
      "1",
      "0",
      "Inf",
      "-inf",
      "+Infinity",
      "nan",
      "+nan",
      "2147483648",
      "-2147483648",
    ],
    ...[
      "9223372036854775807",
      "9223372036854775808",
      "-9223372036854775808",
      "1.",
      ".5",
      "-.5",
      "+.5e-3",
      "0.0",
      "-0",
      "1.0",
      "1e0",
    ],
  ]);
}
