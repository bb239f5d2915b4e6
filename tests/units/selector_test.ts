import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import {
  formatSelector,
  isEmptySelector,
  type LabelSelector,
  matches,
  parseSelector,
  type Selector,
} from "../../lib/units/selector.ts";

const NAME_RULE = `consists of letters, digits, "-", "_" and ".", and begins and ends with a letter or digit`;

const FULL: LabelSelector = {
  matchLabels: { tier: "front", app: "web" },
  matchExpressions: [
    { key: "zone", operator: "In", values: ["b", "a"] },
    { key: "track", operator: "NotIn", values: ["canary"] },
    { key: "owner", operator: "Exists" },
    { key: "legacy", operator: "DoesNotExist", values: [] },
  ],
};

Deno.test("parseSelector() keeps the object as it was written (C5)", () => {
  assertEquals(parse(FULL).source, FULL);
  assertEquals(parse({}).source, {});
  assertEquals(parse({ matchLabels: null, matchExpressions: null }).source, {});
  const withNull = { matchExpressions: [{ key: "a", operator: "Exists", values: null }] };
  assertEquals(parse(withNull).source, { matchExpressions: [{ key: "a", operator: "Exists" }] });
  assertEquals(parse({ matchLabels: { a: null, b: "1" } }).source, { matchLabels: { b: "1" } });
});

Deno.test("matches() gives Kubernetes' answer for each operator (C10)", async (t) => {
  const cases: readonly [sentence: string, selector: unknown, labels: Record<string, string>, expected: boolean][] = [
    ["an empty selector", {}, {}, true],
    ["matchLabels with the value", { matchLabels: { a: "1" } }, { a: "1", b: "2" }, true],
    ["matchLabels with another value", { matchLabels: { a: "1" } }, { a: "2" }, false],
    ["matchLabels without the label", { matchLabels: { a: "1" } }, {}, false],
    ["matchLabels with one of two", { matchLabels: { a: "1", b: "2" } }, { a: "1" }, false],
    ["an empty value and an empty label", { matchLabels: { a: "" } }, { a: "" }, true],
    ["an empty value and no label", { matchLabels: { a: "" } }, {}, false],
    ["In with a value of the list", expression("In", ["1", "2"]), { a: "2" }, true],
    ["In with another value", expression("In", ["1", "2"]), { a: "3" }, false],
    ["In without the label", expression("In", ["1", "2"]), {}, false],
    ["NotIn with a value of the list", expression("NotIn", ["1", "2"]), { a: "2" }, false],
    ["NotIn with another value", expression("NotIn", ["1", "2"]), { a: "3" }, true],
    ["NotIn without the label", expression("NotIn", ["1", "2"]), {}, true],
    ["Exists with the label", expression("Exists"), { a: "" }, true],
    ["Exists without the label", expression("Exists"), {}, false],
    ["DoesNotExist with the label", expression("DoesNotExist"), { a: "" }, false],
    ["DoesNotExist without the label", expression("DoesNotExist"), {}, true],
    [
      "two expressions of one key that exclude each other",
      { matchExpressions: [...expression("Exists").matchExpressions, ...expression("DoesNotExist").matchExpressions] },
      { a: "1" },
      false,
    ],
  ];
  for (const [sentence, selector, labels, expected] of cases) {
    await t.step(`${expected} for ${sentence}`, () => assertEquals(matches(parse(selector), labels), expected));
  }
});

Deno.test("matches() is not fooled when a label is named like a property of objects", () => {
  for (const key of ["constructor", "toString", "hasOwnProperty"]) {
    const exists = parse({ matchExpressions: [{ key, operator: "Exists" }] });
    assertEquals(matches(exists, {}), false, key);
    assertEquals(matches(exists, { [key]: "1" }), true, key);
    assertEquals(matches(parse({ matchLabels: { [key]: "1" } }), { [key]: "1" }), true, key);
  }
  const labels = JSON.parse(`{"__proto__": {"app": "web"}, "x": "1"}`);
  assertEquals(matches(parse({ matchLabels: { app: "web" } }), labels), false);
  assertEquals(problemsOf(JSON.parse(`{"matchLabels": {"__proto__": "1"}}`)), [
    `s.matchLabels: Cannot use label key "__proto__": a name ${NAME_RULE}`,
  ]);
});

Deno.test("isEmptySelector() holds when nothing is required", () => {
  for (const empty of [{}, { matchLabels: {} }, { matchLabels: {}, matchExpressions: [] }]) {
    assertEquals(isEmptySelector(parse(empty)), true);
  }
  assertEquals(isEmptySelector(parse({ matchLabels: { a: "" } })), false);
  assertEquals(isEmptySelector(parse(expression("DoesNotExist"))), false);
});

Deno.test("formatSelector() writes what kubectl -l takes, by key", () => {
  assertEquals(formatSelector(parse(FULL)), "app=web,!legacy,owner,tier=front,track!=canary,zone in (a,b)");
  assertEquals(formatSelector(parse(expression("NotIn", ["y", "x"]))), "a notin (x,y)");
  assertEquals(formatSelector(parse({ matchLabels: { a: "" } })), "a=");
  assertEquals(formatSelector(parse({})), "");
});

Deno.test("parseSelector() reports every problem with its path (C8)", async (t) => {
  const cases: readonly [sentence: string, selector: unknown, problems: readonly string[]][] = [
    ["it is null", null, ["s: Cannot use null as selector: must be an object"]],
    ["it is absent", undefined, ["s: Cannot use undefined as selector: must be an object"]],
    ["it is a list", [], ["s: Cannot use a list as selector: must be an object"]],
    ["it has an unknown field", { matchlabels: {} }, [
      `s.matchlabels: Cannot use field "matchlabels": only matchLabels, matchExpressions are known`,
    ]],
    ["matchLabels is a list", { matchLabels: [] }, ["s.matchLabels: Cannot use a list as labels: must be an object"]],
    ["a label key is none", { matchLabels: { "a b": "1" } }, [
      `s.matchLabels: Cannot use label key "a b": a name ${NAME_RULE}`,
    ]],
    ["a label value is none", { matchLabels: { "x.io/a": "1 2" } }, [
      `s.matchLabels.x.io/a: Cannot use label value "1 2": a value ${NAME_RULE}`,
    ]],
    ["a label value is a number", { matchLabels: { a: 1 } }, [
      "s.matchLabels.a: Cannot use label value 1: must be a string, in quotes",
    ]],
    ["a label's key and its value are none", { matchLabels: { "a b": 1 } }, [
      `s.matchLabels: Cannot use label key "a b": a name ${NAME_RULE}`,
      "s.matchLabels.a b: Cannot use label value 1: must be a string, in quotes",
    ]],
    ["matchExpressions is an object", { matchExpressions: {} }, ["s.matchExpressions: Cannot use an object as list"]],
    ["an expression is null", { matchExpressions: [null] }, [
      "s.matchExpressions[0]: Cannot use null as expression: must be an object",
    ]],
    ["an operator is unknown", expression("Gt", ["1"]), [
      `s.matchExpressions[0].operator: Cannot use "Gt" as operator: must be In, NotIn, Exists or DoesNotExist`,
    ]],
    ["an operator is in lower case", expression("in", ["1"]), [
      `s.matchExpressions[0].operator: Cannot use "in" as operator: must be In, NotIn, Exists or DoesNotExist`,
    ]],
    ["In has no values", expression("In", []), [`s.matchExpressions[0].values: Cannot use operator "In": no values`]],
    ["NotIn has no values", expression("NotIn"), [
      `s.matchExpressions[0].values: Cannot use operator "NotIn": no values`,
    ]],
    ["Exists has values", expression("Exists", ["1"]), [
      `s.matchExpressions[0].values: Cannot use operator "Exists": it takes no values`,
    ]],
    ["values is a string", expression("In", "1"), [`s.matchExpressions[0].values: Cannot use "1" as list`]],
    ["a value is none", expression("In", ["ok", "-"]), [
      `s.matchExpressions[0].values[1]: Cannot use label value "-": a value ${NAME_RULE}`,
    ]],
    ["several things are wrong", {
      matchLabels: { a: true },
      matchExpressions: [{ operator: "Is", value: "x" }, { key: 1, operator: "Exists" }],
    }, [
      "s.matchLabels.a: Cannot use label value true: must be a string, in quotes",
      `s.matchExpressions[0].value: Cannot use field "value": only key, operator, values are known`,
      "s.matchExpressions[0].key: Cannot use label key undefined: must be a string",
      `s.matchExpressions[0].operator: Cannot use "Is" as operator: must be In, NotIn, Exists or DoesNotExist`,
      "s.matchExpressions[1].key: Cannot use label key 1: must be a string",
    ]],
  ];
  for (const [sentence, selector, problems] of cases) {
    await t.step(sentence, () => assertEquals(problemsOf(selector), problems));
  }
});

Deno.test("parseSelector() refuses what is too long or too many at once, in few words", () => {
  const many = Array.from({ length: 20 }, () => ({ key: "", operator: "", values: ["-", "-"] }));
  const hostile: readonly [unknown, number][] = [
    [{ matchLabels: { ["a".repeat(1e6)]: "x" } }, 1],
    [{ matchLabels: { a: "x".repeat(1e6) } }, 1],
    [{ ["x".repeat(1e6)]: 1 }, 1],
    [{ matchLabels: Object.fromEntries(Array.from({ length: 1e5 }, (_, index) => [`k${index}`, "v"])) }, 1],
    [{ matchExpressions: Array(1e5).fill({}) }, 1],
    [expression("In", Array(1e5).fill("x")), 1],
    [{ matchExpressions: many }, 80],
    [{ matchExpressions: Array(21).fill({ key: "a", operator: "Exists" }) }, 1],
    [{ matchLabels: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`k${index}`, "v"])) }, 1],
    [expression("In", Array(101).fill("x")), 1],
    [expression("In", Array(100).fill("x")), 0],
    [{ matchExpressions: Array(20).fill(expression("In", Array(100).fill("x".repeat(63))).matchExpressions[0]) }, 1],
    [{
      matchLabels: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [toLongestKey(index), "x".repeat(63)])),
    }, 0],
  ];
  for (const [selector, count] of hostile) {
    const problems = problemsOf(selector);
    assertEquals(problems.length, count, problems[0]);
    assert(problems.every((problem) => problem.length < 300));
  }
});

/** No label key is longer. */
function toLongestKey(index: number): string {
  return `${Array(4).fill("p".repeat(62)).join(".")}xx/${String(index).padStart(63, "k")}`;
}

Deno.test("parseSelector() never throws and always has a reason", () => {
  const garbage = fc.oneof(
    fc.anything(),
    fc.record({ matchLabels: fc.anything(), matchExpressions: fc.array(fc.anything()) }),
    fc.record({
      matchExpressions: fc.array(fc.record({ key: fc.string(), operator: fc.anything(), values: fc.anything() })),
    }),
  );
  fc.assert(fc.property(garbage, (value) => {
    const parsed = parseSelector(value, "s");
    assert(parsed.ok ? matches(parsed.selector, {}) || !isEmptySelector(parsed.selector) : parsed.problems.length > 0);
  }));
});

function expression(operator: string, values?: unknown): { readonly matchExpressions: readonly unknown[] } {
  return { matchExpressions: [{ key: "a", operator, ...(values === undefined ? {} : { values }) }] };
}

function parse(value: unknown): Selector {
  const parsed = parseSelector(value, "s");
  if (!parsed.ok) throw new Error(`Cannot parse selector: ${JSON.stringify(parsed.problems)}`);
  return parsed.selector;
}

function problemsOf(value: unknown): readonly string[] {
  const parsed = parseSelector(value, "s");
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
}
