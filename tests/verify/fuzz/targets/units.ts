/** Quantities, durations, selectors and times, as people and programs write them. */
import * as fc from "fast-check";
import { formatDuration, parseDuration, parseTime } from "../../../../lib/units/time.ts";
import { parseResizeEntries } from "../../../../lib/units/managed_fields.ts";
import { parseSelector } from "../../../../lib/units/selector.ts";
import { compareQuantities, formatAmount, parseAmount } from "../../../../lib/units/quantity.ts";
import { edited, oddValue } from "../hostile.ts";
import { must, mustBeFinite, mustBeOneLine, target } from "../target.ts";

const digits = fc.stringMatching(/^[+-]?[0-9]{0,30}\.?[0-9]{0,30}$/);
const suffix = fc.oneof(
  fc.constantFrom(
    "",
    "n",
    "u",
    "m",
    "k",
    "M",
    "G",
    "T",
    "P",
    "E",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "Ei",
    "K",
    "MB",
    "e",
    "E",
  ),
  fc.integer({ min: -120, max: 120 }).map((exponent) => `e${exponent}`),
);
/** What is a quantity, or nearly. */
export const quantity: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(digits, suffix).map((parts) => parts.join("")) },
  { weight: 1, arbitrary: fc.double() },
  { weight: 1, arbitrary: oddValue },
);

const quantities = target({
  name: "quantities",
  weight: 20,
  arbitrary: fc.tuple(quantity, fc.constantFrom<"cpu" | "memory">("cpu", "memory"), fc.boolean()),
  check([value, resource, floats]) {
    const parsed = parseAmount(value, resource, { floats });
    if (!parsed.ok) return mustBeOneLine(parsed.message, "what is wrong");
    must(Number.isSafeInteger(parsed.amount), `an amount of ${parsed.amount}`);
    const again = parseAmount(formatAmount(parsed.amount, resource), resource);
    must(again.ok && Object.is(again.amount + 0, parsed.amount + 0), `${parsed.amount} is written as another amount`);
    if (!floats) must(compareQuantities(value, value) === 0, "it is not as much as itself");
  },
});

const DURATION = /^\+?(?:[0-9]{0,12}(?:\.[0-9]{0,12})?(?:ns|us|ms|s|m|h|d)?){1,4}$/;

const durations = target({
  name: "durations",
  weight: 8,
  arbitrary: fc.oneof(fc.stringMatching(DURATION), oddValue),
  check(value) {
    const parsed = parseDuration(value);
    if (!parsed.ok) return mustBeOneLine(parsed.message, "what is wrong");
    must(Number.isSafeInteger(parsed.ms) && parsed.ms >= 0, `a duration of ${parsed.ms}`);
    const again = parseDuration(formatDuration(parsed.ms));
    must(again.ok && again.ms === parsed.ms, `${parsed.ms} ms are written as another duration`);
  },
});

const SELECTOR = {
  matchLabels: { app: "web", "example.com/part": "a" },
  matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] }, { key: "x", operator: "Exists" }],
};

const selectors = target({
  name: "selectors",
  weight: 8,
  arbitrary: edited([SELECTOR]),
  check(value) {
    const parsed = parseSelector(value, "spec.selector");
    if (parsed.ok) return;
    for (const { path, message } of parsed.problems) mustBeOneLine(`${path}: ${message}`, "a problem");
  },
});

const MANAGED = [{
  manager: "podfit.main",
  operation: "Update",
  subresource: "resize",
  time: "2026-11-20T10:59:50Z",
  fieldsV1: {
    "f:spec": { "f:containers": { 'k:{"name":"main"}': { "f:resources": { "f:requests": { "f:cpu": {} } } } } },
  },
}];

const times = target({
  name: "managed-fields",
  weight: 6,
  arbitrary: fc.tuple(edited([MANAGED]), oddValue),
  check([fields, time]) {
    for (const { at } of parseResizeEntries(fields)) mustBeFinite(at, "a resize");
    mustBeFinite(parseTime(time), "a time");
  },
});

export const UNIT_TARGETS = [quantities, durations, selectors, times];
