/** What does a formula give, and what is refused with what words? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import fc from "fast-check";
import { compileExpr } from "../../lib/formula/formula.ts";
import type { ProgramResult } from "../../lib/model/scaled_object.ts";

const NAMES = ["trig_one", "trig_two", "trig_three"];
const VALUES = { trig_one: 3, trig_two: 4, trig_three: 0.5 };

Deno.test("run() computes the formulas of KEDA's documents (R62)", () => {
  const cases: Readonly<Record<string, number>> = {
    "(trig_one + trig_two)/2": 3.5,
    "trig_one > 2 ? trig_one + trig_two : 1": 7,
    "count([trig_one,trig_two,trig_three],{#>1}) > 1 ? 5 : 0": 5,
    "trig_one < 2 ? trig_one+trig_two >= 2 ? 5 : 10 : 0": 0,
  };
  for (const [formula, value] of Object.entries(cases)) assertEquals(run(formula), { kind: "number", value }, formula);
});

Deno.test("run() tells integers from floats as expr does (R62)", () => {
  const cases: Readonly<Record<string, number>> = {
    "7/2": 3.5,
    "7 % 2": 1,
    "-7 % 3": -1,
    "int(trig_one) % 2": 1,
    "2 ** 3 ** 2": 512,
    "-2 ** 2": -4,
    "1 == 1.0 ? 1 : 0": 1,
    "[1, 2] == [1.0, 2.0] ? 1 : 0": 1,
    "int(-2.7)": -2,
    "round(-2.5)": -3,
    "round(0.49999999999999994)": 0,
    "1_000 + 0x10 + 1e3": 2016,
    "9007199254740993 - 9007199254740992": 1,
  };
  for (const [formula, value] of Object.entries(cases)) assertEquals(run(formula), { kind: "number", value }, formula);
});

Deno.test("run() adds the elements of a written-out array from the right, as expr's optimizer makes it (R62)", () => {
  assertEquals(run("sum([0.1, trig_three, 0.3, 0.7])"), { kind: "number", value: 0.1 + (0.5 + (0.3 + 0.7)) });
  assertEquals(run("sum([0.1, 0.2, 0.3])"), { kind: "number", value: 0.3 + (0.2 + (0.1 + 0)) });
});

Deno.test("run() stops counting where the answer is certain, and looks at all else (R62)", () => {
  assertEquals(run("count([trig_one, nil], # > 1) > 0 ? 1 : 0"), { kind: "number", value: 1 });
  assertEquals(run("count([trig_one, nil], # > 1) == 1 ? 1 : 0").kind, "error");
});

Deno.test("run() gives nil through ?? and an error where nil is computed with (R62, R63, R71)", () => {
  assertEquals(run("trig_one ?? trig_two ?? 5", { trig_one: null, trig_two: 4 }), { kind: "number", value: 4 });
  assertEquals(run("trig_one ?? nil", { trig_one: null }), { kind: "nil" });
  assertEquals(run("trig_one ?? 5", {}), { kind: "number", value: 5 });
  const failed = run("trig_one + trig_two", { trig_one: null, trig_two: 4 });
  assertEquals(failed, {
    kind: "error",
    message: 'Cannot compute formula "trig_one + trig_two": cannot compute nil + a float',
  });
});

Deno.test("compileExpr() wraps a formula in float(), unless it begins with that (R63)", () => {
  assertEquals(run("trig_one > 1 ? 5 : 3"), { kind: "number", value: 5 });
  assertEquals(run("float(trig_one)"), { kind: "number", value: 3 });
  assertStringIncludes(refuse("trig_one > 1"), "float() takes a number and not a bool");
  assertEquals(run("float(trig_one) > 1 ? 5 : 3").kind, "error");
  assertEquals(run("float(trig_one) > 1").kind, "error");
  // What KEDA writes behind it would be in the comment.
  assertStringIncludes(refuse("trig_one // all"), "unexpected end of the formula");
});

Deno.test("run() takes an integer beyond 64 bits for an error, where Go wraps around (R62)", () => {
  for (
    const formula of [
      "9223372036854775807 + 1",
      "int(trig_one) * 9223372036854775807",
      "int(1e19)",
      "-(-9223372036854775807 - 1)",
    ]
  ) {
    const compiled = compileExpr(formula, { names: NAMES });
    const message = compiled.ok ? toMessage(compiled.program.run(VALUES)) : compiled.message;
    assertStringIncludes(message, "beyond 64 bits", formula);
  }
  assertEquals(run("9223372036854775807 - 1"), { kind: "number", value: 2 ** 63 });
});

Deno.test("compileExpr() refuses what is not in the language by name, with what to do (R62)", () => {
  const cases: Readonly<Record<string, string>> = {
    "'text'": "strings are not supported: a formula computes with numbers",
    "{a: 1}": "maps are not supported: a formula computes with numbers",
    "trig_one.b": "fields (.) are not supported: a formula has numbers and arrays",
    "map([1], .b)": "fields (.) are not supported: a formula has numbers and arrays",
    "[1, 2][0:1]": "slices ([a:b]) are not supported: write the elements out, or use filter()",
    "findIndex([1], # > 0)": 'function "findIndex" is not supported: there are abs, ceil, ',
    "foo(1)": 'function "foo" is unknown: there are abs, ceil, ',
    "map([1], #index)": '"#index" is not supported: only # and, in reduce(), #acc are',
    "#": 'unexpected "#" at character 1',
    "trig_four + 1": 'unknown name "trig_four": the named triggers are "trig_one", "trig_two", "trig_three"',
    "let trig_one = 1; 2": 'cannot define "trig_one" again: choose another name',
    "let max = 1; 2": 'cannot define "max" again: choose another name',
    "trig_one % 2":
      'operator "%" does not go with a float and an integer: a trigger\'s value is a float, write int(...)',
    "true + 1": 'operator "+" does not go with a bool and an integer',
    "trig_one ? 1 : 2": "a condition must be a bool and not a float: compare it, as in a > 0",
    "trig_one ?? 1 + 2": '"+" after ?? needs parentheses: write (a ?? b) + c',
    "(1": "unexpected end of the formula: are its brackets in pairs?",
    "1 + * 2": 'unexpected "*" at character 5',
    "[1][trig_one]": "an index must be an integer and not a float: write int(...)",
    "1 % 0": "cannot compute % by 0",
    "": "empty",
    "$env": '"$env" is not supported: name the trigger',
    "max": '"max" is a function: call it with (...)',
  };
  for (const [formula, cause] of Object.entries(cases)) assertStringIncludes(refuse(formula), cause, formula);
});

Deno.test("a trigger may have a function's name, and then the function is out of reach (R62)", () => {
  const named = compileExpr("max + 1", { names: ["max"] });
  assert(named.ok);
  assertEquals(named.program.run({ max: 2 }), { kind: "number", value: 3 });
  const called = compileExpr("max(1, 2)", { names: ["max"] });
  assert(!called.ok);
  assertStringIncludes(called.message, '"max" is a trigger and no function: rename the trigger');
});

Deno.test("names are the triggers that a formula uses, in order; without a list any name is one (R60, R62)", () => {
  const compiled = compileExpr("let x = b; x + a + b + count([c], # > d)");
  assert(compiled.ok);
  assertEquals(compiled.program.names, ["b", "a", "c", "d"]);
});

Deno.test("a formula has bounds: 4 KiB of text, depth, 10,000 steps (R62)", () => {
  assertStringIncludes(refuse("1".repeat(4097)), "longer than 4096 characters");
  assert(compileExpr(`1${"+1".repeat(300)}`).ok);
  for (
    const hostile of [
      "(".repeat(4000),
      "-".repeat(4000),
      "[".repeat(4000),
      "1+".repeat(2000) + "1",
      "not ".repeat(1000),
      "a ? ".repeat(1000),
    ]
  ) {
    assertStringIncludes(refuse(hostile), "nested deeper than", hostile.slice(0, 10));
  }
  const doubling = `${"(".repeat(30)}true${" ?: true)".repeat(30)}`;
  assertStringIncludes(refuse(doubling), "more than 10000 parts");
  assertStringIncludes(toMessage(run("len(1..10001)")), "takes more than 10,000 steps");
  assertEquals(run("len(1..9000)"), { kind: "number", value: 9000 });
  assertStringIncludes(toMessage(run("sum(map(1..200, sum(map(1..200, #))))")), "takes more than 10,000 steps");
});

Deno.test("compileExpr() throws on no text (R62)", () => {
  const pieces = fc.constantFrom(
    "a",
    "1",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "#",
    "..",
    "?",
    ":",
    "??",
    " not ",
    " in ",
    "let x=",
    ";",
    "|",
    "max(",
    "sum(",
    ",",
    "-",
    "**",
    ".5",
    "if ",
    "else",
    "'",
  );
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(""))), (text) => {
      const compiled = compileExpr(text);
      if (compiled.ok) compiled.program.run({ a: 1 });
    }),
  );
});

function run(formula: string, values: Readonly<Record<string, number | null>> = VALUES): ProgramResult {
  const compiled = compileExpr(formula, { names: NAMES });
  assert(compiled.ok, compiled.ok ? "" : compiled.message);
  return compiled.program.run(values);
}

function refuse(formula: string): string {
  const compiled = compileExpr(formula, { names: NAMES });
  assert(!compiled.ok, formula);
  return compiled.message;
}

function toMessage(result: ProgramResult): string {
  return result.kind === "error" ? result.message : `no error but ${result.kind}`;
}
