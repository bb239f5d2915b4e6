/** Holds podfit's answer against the real one. Where podfit is stricter on purpose, that is no difference, and said here. */
import { isWithinCron, nextCronTime, parseCron } from "../../../../lib/units/cron.ts";
import { compileExpr } from "../../../../lib/formula/formula.ts";
import {
  milliToDouble,
  parseGoBoolean,
  parseGoFloat,
  parseGoInteger,
  parseJsonInteger,
  parseJsonNumber,
  toMilli,
  truncMilli,
} from "../../../../lib/units/numbers.ts";
import { parseMilli, quantityToDouble } from "../../../../lib/units/quantity.ts";
import type { Answer, FormulaQuestion, Question, Sample } from "./question.ts";

/** A sentence per difference. */
export function compare({ question, answer }: Sample): readonly string[] {
  if ("formula" in question) return compareFormula(question, answer);
  if ("cron" in question || "start" in question) return compareSchedule(question, answer);
  if ("number" in question) return compareNumber(question.number, answer);
  if ("quantity" in question) return compareQuantity(question.quantity, answer);
  return compareText(question.text, answer);
}

function compareFormula(
  { formula, names, values }: FormulaQuestion,
  { Error: refusal, Results = [] }: Answer,
): readonly string[] {
  if (hasLeak(formula)) return [];
  const compiled = compileExpr(formula, { names });
  if (!compiled.ok) {
    if (refusal !== undefined || isStricter(compiled.message)) return [];
    return [`${formula}: compiles, but ${compiled.message}`];
  }
  if (refusal !== undefined) return [`${formula}: compiles here, but ${refusal}`];
  return values.flatMap((given, index) => {
    const own = compiled.program.run(given);
    const { Value, Nil, Error: error } = Results[index] ?? {};
    const where = `${formula} with ${JSON.stringify(given)}`;
    if (own.kind === "error") {
      return error !== undefined || isStricter(own.message)
        ? []
        : [`${where}: is ${Value ?? "nil"}, but ${own.message}`];
    }
    if (error !== undefined) return [`${where}: is ${JSON.stringify(own)} here, but ${error}`];
    if (own.kind === "nil") return Nil === true ? [] : [`${where}: is ${Value} and not nil`];
    const isSame = Value !== undefined &&
      isSameDouble(own.value, toDouble(Value), /(?:\*\*|\^).*(?:\*\*|\^)|(?:\*\*|\^) ?1\.5/.test(formula));
    return isSame ? [] : [`${where}: is ${Value} and not ${own.value}`];
  });
}

/**
 * expr 1.17.8 compiles last(filter(...)) and filter(...)[-1] to a loop that leaves values on the stack, and what stands left of it is lost:
 * 1 + last(filter([2], true)) is an error there (true + 2). podfit computes it.
 */
function hasLeak(formula: string): boolean {
  return formula.includes("filter") && /last|\[-1\]/.test(formula);
}

/** What R62 does not take; integers beyond 64 bits, which Go wraps; the bound of steps. */
function isStricter(message: string): boolean {
  return /not supported|beyond 64 bits|Infinity an integer|NaN an integer|more than 10,000 steps/.test(message);
}

/** To the last bit, but where a power with a fractional exponent may stand in the formula: Go's own last bit depends on the processor then. */
function isSameDouble(a: number, b: number, isRough = false): boolean {
  if (Object.is(a, b) || a === b) return true;
  return isRough && Math.abs(a - b) <= Math.abs(b) * 1e-12;
}

function toDouble(text: string): number {
  return text.endsWith("Inf") ? (text.startsWith("-") ? -Infinity : Infinity) : Number(text);
}

type ScheduleQuestion = Extract<Question, { readonly timezone: string }>;

function compareSchedule(
  question: ScheduleQuestion,
  { Error: refusal, Next = [], Within = [] }: Answer,
): readonly string[] {
  const texts = "cron" in question ? [question.cron] : [question.start, question.end];
  const parsed = texts.map(parseCron);
  const refused = parsed.find((one) => !one.ok);
  if (refused !== undefined) {
    if (refusal !== undefined) return [];
    // Never, by the real one, is a time that is not found.
    const isNever = refused.message.endsWith("no time matches it") && Next.every((at) => at === null);
    return isNever ? [] : [`${texts.join(" - ")}: parses, but ${refused.message}`];
  }
  const [start, end] = parsed.flatMap((one) => one.ok ? [one.schedule] : []);
  if (refusal !== undefined || start === undefined) return [`${texts.join(" - ")}: parses here, but ${refusal}`];
  const { timezone, times } = question;
  return times.flatMap((now, index) => {
    const [own, real] = end === undefined
      ? [nextCronTime(start, { after: now, timezone }), Next[index] ?? null]
      : [isWithinCron({ start, end }, { now, timezone }), Within[index]];
    return own === real ? [] : [`${texts.join(" - ")} at ${now} in ${timezone}: is ${real} and not ${own}`];
  });
}

function compareNumber(text: string, { Milli, Double, Cut }: Answer): readonly string[] {
  const value = toDouble(text);
  const milli = toMilli(value);
  // Negative ones are 0 before KEDA rounds them, and beyond an int64 the real ones are no numbers to follow (R17).
  const isPlain = value >= 0 && value < 9e15;
  const found: string[] = [];
  if (isPlain && `${milli}` !== Milli) found.push(`${text}: rounds to ${Milli} and not ${milli}`);
  if (isPlain && milliToDouble(milli) !== Number(Double)) {
    found.push(`${text}: is ${Double} and not ${milliToDouble(milli)}`);
  }
  const cut = truncMilli(value);
  if (Math.abs(value) < 9e15 && `${cut}` !== Cut) found.push(`${text}: is cut to ${Cut} and not ${cut}`);
  return found;
}

function compareQuantity(text: string, { Error: refusal, Milli, Double }: Answer): readonly string[] {
  // Nobody uses negative ones, and the real ones overflow: -10.3Gi is 7387203286510 thousandths.
  if (text.startsWith("-")) return [];
  const own = parseMilli(text);
  if (!own.ok) return refusal === undefined ? [`${text}: is ${Milli}, but ${own.message}`] : [];
  if (refusal !== undefined) return [`${text}: is ${own.milli} here, but ${refusal}`];
  const double = quantityToDouble(text);
  if (!double.ok || double.value !== Number(Double)) {
    return [`${text}: is ${Double} and not ${double.ok ? double.value : double.message}`];
  }
  const isHuge = own.milli >= 2n ** 63n - 1n || own.milli <= -(2n ** 63n - 1n);
  return isHuge || `${own.milli}` === Milli ? [] : [`${text}: is ${Milli} and not ${own.milli}`];
}

function compareText(text: string, answer: Answer): readonly string[] {
  const float = parseGoFloat(text);
  const own: Readonly<Record<string, unknown>> = {
    Integer: parseGoInteger(text, 64),
    Short: parseGoInteger(text, 32),
    Boolean: parseGoBoolean(text),
    JSONInteger: parseJsonInteger(text),
  };
  const real: Readonly<Record<string, unknown>> = { ...answer };
  const found = Object.keys(own).filter((key) => (own[key] === null ? null : `${own[key]}`) !== real[key])
    .map((key) => `"${text}" as ${key}: is ${real[key]} and not ${own[key]}`);
  const isStricterFloat = float === null && /[xX_]/.test(text);
  if (!isStricterFloat && !isSameText(float, answer.Float)) {
    found.push(`"${text}" as float: is ${answer.Float} and not ${float}`);
  }
  const number = parseJsonNumber(text);
  if (!isSameText(number, answer.JSONNumber)) {
    found.push(`"${text}" as JSON: is ${answer.JSONNumber} and not ${number}`);
  }
  return found;
}

function isSameText(own: number | null, real: string | null | undefined): boolean {
  if (own === null || real === null || real === undefined) return own === null && (real ?? null) === null;
  return isSameDouble(own, toDouble(real));
}
