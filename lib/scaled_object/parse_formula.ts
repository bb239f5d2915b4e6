/** Parses advanced.scalingModifiers (R60): the formula is compiled, and tried once with every trigger at -1, as KEDA's webhook does. */
import { compileExpr } from "../units/expr/compile.ts";
import type { Program } from "../units/expr/program.ts";
import type { Fields } from "../units/fields.ts";
import { parseGoFloat } from "../units/go_numbers.ts";
import { truncMilli } from "../units/milli.ts";
import type { Problem } from "../units/problem.ts";
import { quote } from "../units/untrusted.ts";
import { openObject } from "./findings.ts";
import type { Formula } from "./formula.ts";

export interface FormulaContext {
  /** How the triggers are called that the formula may use. */
  readonly names: readonly string[];
  /** A setting is there: without one there is no formula. */
  readonly isUsed: boolean;
  readonly warnings: Problem[];
}

/** Gives the formula; `null` where something is wrong, which is reported to `advanced`. Never throws. */
export function parseModifiers(advanced: Fields, { names, isUsed, warnings }: FormulaContext): Formula | null {
  const modifiers = openObject(advanced, "scalingModifiers", { known: MODIFIERS, warnings });
  if (modifiers === null || !isUsed) return null;
  const text = readText(modifiers, "formula");
  const program = text === null ? null : compile(modifiers, { text, names });
  const target = readFloat(modifiers, "target");
  for (const key of ["formula", "target"].filter((key) => (modifiers.get(key) ?? "") === "")) {
    modifiers.report(key, `Missing field "${key}": scalingModifiers need a formula and a target`);
  }
  const targetMilli = target === null ? null : truncMilli(target);
  if (target !== null && (targetMilli === null || targetMilli < 1n)) {
    modifiers.report("target", `Cannot use target ${quote(modifiers.get("target"))}: must be 0.001 or more`);
  }
  const activationTarget = readFloat(modifiers, "activationTarget") ?? 0;
  const metricType = modifiers.word("metricType", ["AverageValue", "Value"]) ?? "AverageValue";
  if (text === null || program === null || target === null || targetMilli === null) return null;
  return { text, program, target, targetMilli, activationTarget, metricType };
}

const MODIFIERS = ["formula", "target", "activationTarget", "metricType"];
/** No number in a text is longer. */
const MAX_NUMBER = 400;

function compile(
  modifiers: Fields,
  { text, names }: { readonly text: string; readonly names: readonly string[] },
): Program | null {
  const compiled = compileExpr(text, { names });
  if (!compiled.ok) {
    modifiers.report("formula", compiled.message);
    return null;
  }
  // A run has a bound of steps, whatever the formula is: a watch can wait for it.
  const tried = compiled.program.run(Object.fromEntries(names.map((name) => [name, -1])));
  if (tried.kind !== "error") return compiled.program;
  modifiers.report("formula", `Cannot use formula ${quote(text)}: with every trigger at -1 it fails: ${tried.message}`);
  return null;
}

function readText(fields: Fields, key: string): string | null {
  const value = fields.get(key) ?? "";
  if (typeof value === "string") return value === "" ? null : value;
  fields.report(key, `Cannot use ${quote(value)} as ${key}: must be a string, in quotes`);
  return null;
}

function readFloat(fields: Fields, key: "target" | "activationTarget"): number | null {
  const text = readText(fields, key);
  if (text === null) return null;
  const value = text.length > MAX_NUMBER ? null : parseGoFloat(text);
  if (value !== null && Number.isFinite(value)) return value;
  fields.report(key, `Cannot use ${quote(text)} as ${key}: must be a number such as "2" or "0.5", in quotes`);
  return null;
}
