/** From a formula's text to a program, or to the sentence that says what is wrong with it (R62, R63). */
import { quote } from "../untrusted.ts";
import { checkFormula } from "./check.ts";
import { evaluate } from "./evaluate.ts";
import { FormulaError } from "./formula_error.ts";
import { tokenize } from "./lexer.ts";
import { optimize } from "./optimize.ts";
import { parseFormula } from "./parser.ts";
import type { Program, ProgramResult } from "./program.ts";
import { createTokens } from "./tokens.ts";
import { nameType, type Value } from "./value.ts";

export type CompiledExpr =
  | { readonly ok: true; readonly program: Program }
  | { readonly ok: false; readonly message: string };

export interface CompileOptions {
  /** The triggers that a formula may use; any other name is refused. Without it every unknown name is taken for a trigger. */
  readonly names?: readonly string[];
}

/** Compiles `formula` as KEDA does, wrapped in float(...). Never throws, also not on hostile text. */
export function compileExpr(text: string, { names }: CompileOptions = {}): CompiledExpr {
  try {
    return { ok: true, program: compile(text, names ?? null) };
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    return { ok: false, message: `Cannot compile formula ${quote(text)}: ${error.message}` };
  }
}

const MAX_LENGTH = 4096;

function compile(text: string, names: readonly string[] | null): Program {
  if (text.trim() === "") throw new FormulaError("empty");
  if (text.length > MAX_LENGTH) throw new FormulaError(`longer than ${MAX_LENGTH} characters`);
  const triggers = names === null ? null : new Set(names);
  const { before, after } = wrap(text);
  const tokens = createTokens(tokenize(before + text + after), { begin: before.length, length: text.length });
  const checked = checkFormula(parseFormula(tokens, { triggers: triggers ?? new Set() }), triggers);
  const node = optimize(checked.node);
  return { names: checked.names, run: (values) => toResult(text, () => evaluate(node, values)) };
}

/** KEDA's castToFloatIfNecessary(): https://github.com/kedacore/keda/blob/v2.20.2/apis/keda/v1alpha1/scaledobject_webhook.go */
function wrap(text: string): { readonly before: string; readonly after: string } {
  const name = "_kedaCompositeResult";
  if (text.includes("??")) {
    if (text.startsWith(`let ${name} = `)) return { before: "", after: "" };
    return { before: `let ${name} = (`, after: `); ${name} == nil ? nil : float(${name})` };
  }
  return text.startsWith("float(") ? { before: "", after: "" } : { before: "float(", after: ")" };
}

function toResult(text: string, run: () => Value): ProgramResult {
  const toError = (cause: string): ProgramResult => ({
    kind: "error",
    message: `Cannot compute formula ${quote(text)}: ${cause}`,
  });
  try {
    const value = run();
    if (value === null) return { kind: "nil" };
    if (typeof value === "number") return { kind: "number", value };
    return toError(`the result is ${nameType(value)} and no float: write float((...))`);
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    return toError(error.message);
  }
}
