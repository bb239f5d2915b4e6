/** Slips in formulas, cron schedules and numbers (R11, R15, R17, R62, R63). */
import type { Mutations } from "../../tools/mutation.ts";

const DOCUMENTED = "run() computes the formulas of KEDA's documents (R62)";
const TYPES = "run() tells integers from floats as expr does (R62)";
const REFUSED = "compileExpr() refuses what is not in the language by name, with what to do (R62)";
const BOUNDS = "a formula has bounds: 4 KiB of text, depth, 10,000 steps (R62)";
const STEPS = "run() takes a step for each element that a function, == or in visits (R62)";
const NESTED = "run() walks through 200 arrays within each other, and refuses more before the stack ends (R62)";
const SAMPLES =
  "compileExpr() and run() give what expr 1.17.8 gave for formulas of documents, edges, and made-up ones (R62, R63)";
const WITHIN = "isWithinCron() is inside from the start, and outside from the end on, also over midnight (R11)";
const FIELDS = "parseCron() takes lists, ranges, steps and names, and 5/10 to the field's end (R11)";
const EITHER = "parseCron() takes day or weekday if both are restricted, and */1 and ?/1 restrict nothing (R11)";
const SCHEDULES = "nextCronTime() and isWithinCron() give what robfig/cron 3.0.1 gave, also where clocks change (R11)";
const NEXT = "nextCronTime() is strictly later, to the minute, in the zone's own time (R11)";
const NO_SCHEDULE = "parseCron() refuses what is no schedule, what names a zone, and what never comes (R11)";
const TEXTS = "numbers in texts are JSON numbers or what strconv reads, and nothing else (R15)";
const ROUNDED = "toMilli() rounds the exact double, ties to even (R17, E19)";
const CAPPED = "toMilli() takes negative ones and what is not finite for 0, and caps at 2^63-1 (R17)";
const CUT = "truncMilli() cuts towards zero, may be negative, and has nothing for NaN and infinities (R63, E19)";
const WRAPPED = "compileExpr() wraps a formula in float(), unless it begins with that (R63)";
const OVERFLOW = "run() takes an integer beyond 64 bits for an error, where Go wraps around (R62)";

export const REPLICAS_LANGUAGES: Mutations = {
  R11: [
    {
      breaks: "is outside where both come at once",
      in: "isWithinCron",
      find: "nextEnd <= nextStart",
      replace: "nextEnd < nextStart",
      test: WITHIN,
    },
    {
      breaks: "is still inside at the end",
      in: "isWithinCron",
      find: "findNext(end, now, readOffset)",
      replace: "findNext(end, now - 1000, offsetAt)",
      test: WITHIN,
    },
    {
      breaks: "takes the present time for the next",
      in: "findNext",
      find: "(Math.floor(after / 1000) + 1) * 1000",
      replace: "Math.ceil(after / 1000) * 1000",
      test: NEXT,
    },
    {
      breaks: "takes 5/10 for 5 alone",
      in: "parseRange",
      find: "stepText !== undefined && second === undefined ? field.max : last",
      replace: "last",
      test: FIELDS,
    },
    {
      breaks: "takes */2 for no restriction",
      in: "parseRange",
      find: "isAll && step === 1",
      replace: "isAll",
      test: EITHER,
    },
    {
      breaks: "wants day and weekday both",
      in: "parseCron",
      find: "!days.isOpen && !weekdays.isOpen",
      replace: "false",
      test: EITHER,
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
      breaks: "finds a wall's time with the offset before the change",
      in: "fromWallTime",
      find: "asUtc - readOffset(asUtc - readOffset(asUtc))",
      replace: "asUtc - readOffset(asUtc)",
      test: SCHEDULES,
    },
    {
      breaks: "loses midnight where clocks change then",
      in: "goToDay",
      find: "hour > 12 ? 24 - hour : -hour",
      replace: "0 * hour",
      test: SCHEDULES,
    },
    {
      breaks: "searches for ever",
      in: "MAX_YEARS",
      find: "5",
      replace: "9",
      test:
        "nextCronTime() ends also where a zone has lost a whole day, and where no year within five has the day (R11)",
    },
  ],
  R15: [
    {
      breaks: "reads .5 as a JSON number",
      in: "JSON_NUMBER",
      find: "(?:0|[1-9][0-9]*)",
      replace: "(?:0|[1-9][0-9]*)?",
      test: TEXTS,
    },
    {
      breaks: "reads 05 as a JSON integer",
      in: "parseJsonInteger",
      find: "[1-9][0-9]*",
      replace: "[0-9]+",
      test: TEXTS,
    },
    {
      breaks: "reads beyond an int32",
      in: "parseGoInteger",
      find: "value < limit",
      replace: "value <= limit",
      test: TEXTS,
    },
    { breaks: "takes tRUE for true", in: "TRUE", find: '"True"', replace: '"tRUE"', test: TEXTS },
    {
      breaks: "takes 1e400 for infinity",
      in: "toFinite",
      find: "Number.isFinite(value) ? value : null",
      replace: "value",
      test: TEXTS,
    },
  ],
  R17: [
    { breaks: "rounds ties up", in: "divideToEven", find: "quotient % 2n === 1n", replace: "true", test: ROUNDED },
    { breaks: "rounds down", in: "divideToEven", find: "rest > half", replace: "false", test: ROUNDED },
    {
      breaks: "lets negative ones through",
      in: "toMilli",
      under: "lib/units/numbers.ts",
      find: "value <= 0",
      replace: "value === 0",
      test: CAPPED,
    },
    {
      breaks: "goes beyond an int64",
      in: "cap",
      find: "milli > MAX_MILLI ? MAX_MILLI : milli",
      replace: "milli",
      test: CAPPED,
    },
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
      breaks: "raises from the left",
      in: "parseOperators",
      find: "binding.isRight === true ? 0 : 1",
      replace: "1",
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
      breaks: "tells 1 from 1.0",
      in: "isEqual",
      under: "lib/formula/functions.ts",
      find: "Number(left) === Number(right)",
      replace: "false",
      test: TYPES,
    },
    {
      breaks: "adds from the left",
      in: "sumFromRight",
      find: "isFromRight: true",
      replace: "isFromRight: false",
      test: "run() adds the elements of a written-out array from the right, as expr's optimizer makes it (R62)",
    },
    {
      breaks: "looks at elements behind the first hit",
      in: "toAny",
      find: 'operator === ">" && least === 0n',
      replace: "false",
      test: "run() stops counting where the answer is certain, and looks at all else (R62)",
    },
    {
      breaks: "takes > for >=",
      in: "runBinary",
      find: "return isLess(right, left);",
      replace: "return !isLess(left, right);",
      test: SAMPLES,
    },
    {
      breaks: "counts what passes not",
      in: "countHits",
      find: "if (isHit(element)) count++",
      replace: "if (!isHit(element)) count++",
      test: DOCUMENTED,
    },
    {
      breaks: "lets an integer grow",
      in: "toFitting",
      find: "BigInt.asIntN(64, value) !== value",
      replace: "BigInt.asIntN(65, value) !== value",
      test: OVERFLOW,
    },
    {
      breaks: "lets a trigger be redefined",
      in: "checkLet",
      find: "triggers?.has(name) === true || ",
      replace: "",
      test: REFUSED,
    },
    {
      breaks: "takes any name for a trigger",
      in: "checkName",
      find: "triggers?.has(name) === false || ",
      replace: "",
      test: REFUSED,
    },
    { breaks: "has no bound of steps", in: "MAX_STEPS", find: "10_000", replace: "10_000_000", test: BOUNDS },
    {
      breaks: "parses as deep as the stack",
      in: "MAX_DEPTH",
      under: "lib/formula/parser.ts",
      find: "200",
      replace: "100_000",
      test: BOUNDS,
    },
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
      under: "lib/formula/functions.ts",
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
      under: "lib/formula/functions.ts",
      find: "requireDepth(depth)",
      replace: "",
      test: NESTED,
    },
    {
      breaks: "doubles parts without end",
      in: "rewrite",
      under: "lib/formula/optimize.ts",
      find: "++visits > MAX_VISITS",
      replace: "++visits < 0",
      test: "compileExpr() refuses a formula whose parts would double with each level (R62)",
    },
    { breaks: "visits doubled parts for ever", in: "MAX_VISITS", find: "10_000", replace: "10_000_000", test: BOUNDS },
    {
      breaks: "computes with nil as with 0",
      in: "getVariable",
      find: "values[name] ?? null",
      replace: "values[name] ?? 0",
      test: "run() gives nil through ?? and an error where nil is computed with (R62, R63, R71)",
    },
    {
      breaks: "sums an array's parts in another order",
      in: "sumUp",
      find: "isArray(one) && !isNested",
      replace: "isArray(one)",
      test: SAMPLES,
    },
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
