/**
 * The Common Expression Language with what Kubernetes adds to it: quantities and its own reading of durations.
 * https://kubernetes.io/docs/reference/using-api/cel/
 */
import { Environment } from "@marcbachmann/cel-js";
import { compareQuantities } from "../../../../units/quantity.ts";

/** Evaluates an expression for a value of `self`, integers as bigints; throws what CEL calls an error. */
export type Expression = (self: unknown) => unknown;

/** Throws where the text is no expression, or one whose types cannot fit. */
export function compileExpression(text: string): Expression {
  const parsed = ENVIRONMENT.parse(renameDuration(text));
  const { valid, error } = parsed.check();
  if (!valid) throw error ?? new Error("cannot be checked");
  return (self) => parsed({ self });
}

class Quantity {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The environment's own `duration()` has no `μs`, no bare zero and no largest value, and cannot be replaced. */
const DURATION = "goDuration";
const inNanoseconds = new Environment().registerVariable("text", "string").parse("duration(text)");

const ENVIRONMENT = new Environment()
  .registerVariable("self", "dyn")
  .registerType("Quantity", Quantity)
  .registerFunction("quantity(string): Quantity", toQuantity)
  .registerFunction("isQuantity(string): bool", isQuantity)
  .registerFunction("Quantity.compareTo(Quantity): int", (a: Quantity, b: Quantity) => BigInt(compare(a, b)))
  .registerFunction("Quantity.isGreaterThan(Quantity): bool", (a: Quantity, b: Quantity) => compare(a, b) > 0)
  .registerFunction("Quantity.isLessThan(Quantity): bool", (a: Quantity, b: Quantity) => compare(a, b) < 0)
  .registerFunction(`${DURATION}(string): google.protobuf.Duration`, toDuration);

function compare(a: Quantity, b: Quantity): number {
  return compareQuantities(a.text, b.text);
}

function isQuantity(text: string): boolean {
  try {
    return compareQuantities(text, text) === 0;
  } catch {
    return false;
  }
}

function toQuantity(text: string): Quantity {
  if (isQuantity(text)) return new Quantity(text);
  throw new Error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

function toDuration(text: string): unknown {
  const nanoseconds = parseNanoseconds(text);
  if (nanoseconds !== null) return inNanoseconds({ text: `${nanoseconds}ns` });
  throw new Error("type conversion error from 'string' to 'google.protobuf.Duration'");
}

/** As Go's time.ParseDuration; `null` for what it refuses, such as more than 292 years. */
function parseNanoseconds(text: string): bigint | null {
  const [, sign = "", parts = ""] = /^([+-]?)(0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.exec(text) ?? [];
  if (parts === "") return null;
  let total = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of parts.matchAll(/(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += BigInt(whole + fraction) * (UNIT_NS[unit] ?? 0n) / 10n ** BigInt(fraction.length);
  }
  if (total > (sign === "-" ? 2n ** 63n : 2n ** 63n - 1n)) return null;
  return sign === "-" ? -total : total;
}

const UNIT_NS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n,
  "\u03bcs": 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Outside of the texts of an expression. */
function renameDuration(text: string): string {
  return text.replaceAll(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\bduration(?=\s*\()/gs, (found) => {
    return found === "duration" ? DURATION : found;
  });
}
