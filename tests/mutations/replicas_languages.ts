/** Slips in formulas, cron schedules and numbers (R11, R15, R17, R62, R63). */
import type { Mutations } from "../../tools/mutation.ts";

const TYPES = "run() tells integers from floats as expr does (R62)";
const BOUNDS = "a formula has bounds: 4 KiB of text, depth, 10,000 steps (R62)";
const STEPS = "run() takes a step for each element that a function, == or in visits (R62)";
const NESTED = "run() walks through 200 arrays within each other, and refuses more before the stack ends (R62)";
const SAMPLES =
  "compileExpr() and run() give what expr 1.17.8 gave for formulas of documents, edges, and made-up ones (R62, R63)";
const SCHEDULES = "nextCronTime() and isWithinCron() give what robfig/cron 3.0.1 gave, also where clocks change (R11)";
const NEXT = "nextCronTime() is strictly later, to the minute, in the zone's own time (R11)";
const NO_SCHEDULE = "parseCron() refuses what is no schedule, what names a zone, and what never comes (R11)";
const TEXTS = "numbers in texts are JSON numbers or what strconv reads, and nothing else (R15)";
const ROUNDED = "toMilli() rounds the exact double, ties to even (R17, E19)";
const CUT = "truncMilli() cuts towards zero, may be negative, and has nothing for NaN and infinities (R63, E19)";
const WRAPPED = "compileExpr() wraps a formula in float(), unless it begins with that (R63)";

export const REPLICAS_LANGUAGES: Mutations = {
  R11: [
    {
      breaks: "takes the present time for the next",
      in: "findNext",
      find: "(Math.floor(after / 1000) + 1) * 1000",
      replace: "Math.ceil(after / 1000) * 1000",
      test: NEXT,
    },
    {
      breaks: "takes 30 February",
      in: "hasDate",
      find: "day <= (MONTH_DAYS[month - 1] ?? 0)",
      replace: "day <= 31",
      test: NO_SCHEDULE,
    },
    {
      breaks: "takes a zone in front",
      in: "parseCron",
      find: '"a time zone in front is not supported: write it as timezone"',
      replace: '"no"',
      test: NO_SCHEDULE,
    },
    {
      breaks: "loses midnight where clocks change then",
      in: "goToDay",
      find: "hour > 12 ? 24 - hour : -hour",
      replace: "0 * hour",
      test: SCHEDULES,
    },
  ],
  R15: [
    {
      breaks: "reads 05 as a JSON integer",
      in: "parseJsonInteger",
      find: "[1-9][0-9]*",
      replace: "[0-9]+",
      test: TEXTS,
    },
    { breaks: "takes tRUE for true", in: "TRUE", find: '"True"', replace: '"tRUE"', test: TEXTS },
  ],
  R17: [
    { breaks: "rounds ties up", in: "divideToEven", find: "quotient % 2n === 1n", replace: "true", test: ROUNDED },
    { breaks: "rounds down", in: "divideToEven", find: "rest > half", replace: "false", test: ROUNDED },
  ],
  R62: [
    {
      breaks: "divides integers as integers",
      in: "compute",
      find: "Number(left) / Number(right)",
      replace: "Math.trunc(Number(left) / Number(right))",
      test: TYPES,
    },
    {
      breaks: "rounds half to even or up",
      in: "roundAway",
      find: "Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole",
      replace: "Math.round(value)",
      test: TYPES,
    },
    {
      breaks: "takes > for >=",
      in: "runBinary",
      find: "return isLess(right, left);",
      replace: "return !isLess(left, right);",
      test: SAMPLES,
    },
    { breaks: "has no bound of steps", in: "MAX_STEPS", find: "10_000", replace: "10_000_000", test: BOUNDS },
    {
      breaks: "walks through an array without a step",
      in: "enter",
      find: "spend(frame, list.length)",
      replace: "spend(frame, 0)",
      test: STEPS,
    },
    {
      breaks: "walks through arrays within arrays without a step",
      in: "listNumbers",
      find: "enter(frame, item, depth)",
      replace: "item",
      test: STEPS,
    },
    {
      breaks: "sums arrays within arrays without a step",
      in: "sumUp",
      find: "enter(frame, item, depth + 1)",
      replace: "item",
      test: STEPS,
    },
    {
      breaks: "sorts without a step",
      in: "sortAscending",
      find: "enter(frame, value, 0).toSorted",
      replace: "value.toSorted",
      test: STEPS,
    },
    {
      breaks: "compares arrays without a step",
      in: "isEqual",
      under: "lib/formula",
      find: "spend(frame, 2)",
      replace: "",
      test: STEPS,
    },
    { breaks: "searches an array without a step", in: "isIn", find: "spend(frame, 1)", replace: "", test: STEPS },
    { breaks: "counts and sums without a step", in: "evaluateLoop", find: "spend(frame, 1)", replace: "", test: STEPS },
    { breaks: "walks as deep as the stack", in: "MAX_NESTING", find: "200", replace: "100_000", test: NESTED },
    {
      breaks: "compares as deep as the stack",
      in: "isEqual",
      under: "lib/formula",
      find: "requireDepth(depth)",
      replace: "",
      test: NESTED,
    },
    {
      breaks: "doubles parts without end",
      in: "rewrite",
      under: "lib/formula",
      find: "++visits > MAX_VISITS",
      replace: "++visits < 0",
      test: "compileExpr() refuses a formula whose parts would double with each level (R62)",
    },
    { breaks: "visits doubled parts for ever", in: "MAX_VISITS", find: "10_000", replace: "10_000_000", test: BOUNDS },
  ],
  R63: [
    {
      breaks: "rounds a result",
      in: "truncMilli",
      find: "Math.trunc(1000 * value)",
      replace: "Math.round(1000 * value)",
      test: CUT,
    },
    { breaks: "takes NaN for 0", in: "truncMilli", find: "return null", replace: "return 0n", test: CUT },
    {
      breaks: "divides by 1000",
      in: "milliToDouble",
      find: "Number(milli) * 0.001",
      replace: "Number(milli) / 1000",
      test: "milliToDouble() is n * 0.001 and not n / 1000 (R63)",
    },
    {
      breaks: "takes an integer for a result",
      in: "toResult",
      find: 'typeof value === "number"',
      replace: 'typeof value !== "boolean"',
      test: WRAPPED,
    },
    {
      breaks: "wraps nothing",
      in: "wrap",
      find: '{ before: "float(", after: ")" }',
      replace: '{ before: "", after: "" }',
      test: WRAPPED,
    },
  ],
};
