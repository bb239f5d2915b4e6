/** Is the work of a formula bounded by its steps? Counted are the elements that are made and read, and not the time. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import fc from "fast-check";
import { FormulaError, FUNCTION_NAMES, isArray, LOOP_NAMES, type Value } from "../../lib/formula/syntax.ts";
import { checkFormula } from "../../lib/formula/check.ts";
import { compileExpr, evaluateNode, MAX_STEPS } from "../../lib/formula/formula.ts";
import type { Frame } from "../../lib/formula/functions.ts";
import { createTokens, tokenize } from "../../lib/formula/lexer.ts";
import { optimize } from "../../lib/formula/optimize.ts";
import { parseFormula } from "../../lib/formula/parser.ts";
import { createRandom } from "../verify/oracle/random.ts";

const TOO_MANY = "takes more than 10,000 steps: look at fewer elements";
/** Keys of elements begin with a digit, no others do. */
const NINE = "9".charCodeAt(0);
/** An array of 90 references to one array of 90: 273 steps and 8,190 elements in a walk through it. */
const SQUARE = "let x = 1..90; let y = map(1..90, x); ";

Deno.test("run() stops at 10,000 steps whatever refers to what: a short formula of references takes no more (R62)", () => {
  const hostile = [
    "let x = 1..900; let y = map(1..900, x); let z = map(1..900, y); max(z) + a",
    "let x = 1..900; let y = map(1..900, x); let z = map(1..900, y); let w = map(1..500, z); mean(w) + a",
    "let x = 1..300; let y = map(1..300, x); let z = map(1..100, y); mean(z) + a",
    "let x = 1..300; let y = map(1..300, x); let z = map(1..300, y); z == z ? 1.0 : 2.0",
    "let x = 1..800; let y = map(1..800, x); max(y) + a",
    "max(reduce(1..20, [#acc, #acc], 1))",
    "let x = reduce(1..20, [#acc, #acc], 1); x == x ? 1 : 2",
    "mean(reduce(1..20, [#acc, #acc], 1))",
  ];
  for (const formula of hostile) {
    assertEquals(measure(formula).outcome, TOO_MANY, formula);
    const compiled = compileExpr(formula, { names: ["a"] });
    assert(compiled.ok);
    const result = compiled.program.run({ a: -1 });
    assert(result.kind === "error");
    assertStringIncludes(result.message, TOO_MANY);
  }
});

Deno.test("run() takes a step for each element that a function, == or in visits (R62)", () => {
  const cases: Readonly<Record<string, number>> = {
    "max(1..100)": 4 + 100 + 100,
    "min(1..100)": 4 + 100 + 100,
    "mean(1..100)": 4 + 100 + 100,
    "median(1..100)": 4 + 100 + 100,
    "sort(1..100)": 4 + 100 + 100,
    "sum(1..100)": 4 + 100 + 100,
    "max([[1, 2], [3]])": 4 + 2 + 3,
    "mean([[1, 2], [3]])": 4 + 2 + 3,
    "max([[], []])": 4 + 2,
    "count([true, false])": 2 + 2,
    "filter([true, false], #)": 2 + 2 + 1,
    "sum([a, 1])": 4,
    "1..10 == 1..10": 7 + 20 + 20,
    // Two arrays that differ are read up to there.
    "[1, 2, 3] == [1, 3, 2]": 3 + 4,
    "[1, 2, 3] == [1, 2]": 3,
    "2.5 in 1..10": 5 + 10 + 10,
    "a in [4, -1, 5]": 3 + 2,
    "[1, 2] in [[1, 2]]": 4 + 1 + 4,
    "1 in [4, 1, 5]": 3 + 2,
    // No element but one is visited.
    "len(1..100)": 4 + 100,
    "first(1..100)": 4 + 100,
    "last(1..100)": 4 + 100,
    "(1..100)[50]": 5 + 100,
  };
  for (const [formula, steps] of Object.entries(cases)) {
    const measured = measure(formula);
    assertEquals([measured.outcome, measured.steps], [null, steps], formula);
  }
});

Deno.test("run() computes what takes 10,000 steps, and nothing that takes one more (R62)", () => {
  assertEquals(measure("max(1..4998)"), { outcome: null, steps: MAX_STEPS, reads: 4998, made: 4998 });
  assertEquals(measure("max(1..4999)").outcome, TOO_MANY);
  for (const visit of ["max(y)", "min(y)", "mean(y)", "median(y)"]) {
    assertEquals(measure(`${SQUARE}${visit}`).outcome, null, visit);
    assertEquals(measure(`${SQUARE}[${visit}, ${visit}]`).outcome, TOO_MANY, visit);
  }
  for (
    const visit of ["sum(x)", "sort(x)", "0.5 in x", "x == x", "x in [x]", "reduce(x, # + #acc)", "sum(x, #)", "max(x)"]
  ) {
    assertEquals(measure(`${SQUARE}map(1..30, ${visit})`).outcome, null, visit);
    assertEquals(measure(`${SQUARE}map(1..120, ${visit})`).outcome, TOO_MANY, visit);
  }
  assertEquals(measure(`let x = map(1..90, true); map(1..120, count(x))`).outcome, TOO_MANY);
});

Deno.test("run() walks through 200 arrays within each other, and refuses more before the stack ends (R62)", () => {
  const nest = (depth: number) => `let x = reduce(1..${depth}, [#acc], 7); `;
  for (const visit of ["max(x)", "mean(x)", "median(x)", "x == x ? 7 : 8", "x in [x[0]] ? 8 : 7"]) {
    const deep = compileExpr(`${nest(200)}${visit}`);
    assert(deep.ok);
    assertEquals(deep.program.run({}), { kind: "number", value: 7 }, visit);
    if (visit.includes(" in ")) continue;
    assertEquals(measure(`${nest(201)}${visit}`).outcome, "arrays are nested deeper than 200 levels: simplify it");
  }
  // As deep as a formula may be written, with the deepest arrays there.
  const written = `${"sum([1], ".repeat(80)}max(reduce(1..200, [#acc], 7))${")".repeat(80)}`;
  const compiled = compileExpr(written);
  assert(compiled.ok, compiled.ok ? "" : compiled.message);
  assertEquals(compiled.program.run({}), { kind: "number", value: 7 });
});

Deno.test("compileExpr() refuses a formula whose parts would double with each level (R62)", () => {
  const double = (levels: number) => `${"((".repeat(levels)}a > 1${") ? 1 : 0) in 1..3".repeat(levels)} ? 5 : 6`;
  const small = compileExpr(double(5));
  assert(small.ok);
  assertEquals(small.program.run({ a: 2 }), { kind: "number", value: 5 });
  const large = compileExpr(double(14));
  assert(!large.ok);
  assertStringIncludes(large.message, "more than 10000 parts: simplify it");
});

Deno.test("no formula reads or makes more elements than it takes steps, nor takes more than 10,000 (R62)", () => {
  const seen = { computed: 0, refused: 0, names: new Set<string>() };
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const formula = writeFormula(createRandom(seed).pick);
      const measured = tryMeasure(formula);
      if (measured === null) return;
      for (const name of [...FUNCTION_NAMES, ...LOOP_NAMES]) if (formula.includes(`${name}(`)) seen.names.add(name);
      if (measured.outcome === null) seen.computed++;
      if (measured.outcome === TOO_MANY) seen.refused++;
      const { steps, reads, made } = measured;
      assert(steps <= MAX_STEPS, `${formula}: takes ${steps} steps`);
      assert(reads <= steps, `${formula}: reads ${reads} elements in ${steps} steps`);
      // Elements that are written out are made before a formula runs.
      assert(made <= steps + formula.length, `${formula}: makes ${made} elements in ${steps} steps`);
    }),
    { numRuns: 2000 },
  );
  assert(seen.computed > 200 && seen.refused > 200, `${seen.computed} computed, ${seen.refused} refused`);
  assertEquals([...FUNCTION_NAMES, ...LOOP_NAMES].filter((name) => !seen.names.has(name)), []);
});

interface Measured {
  /** `null` = it has a value; otherwise why it has none. */
  readonly outcome: string | null;
  readonly steps: number;
  /** Elements that are read from arrays. */
  readonly reads: number;
  /** Elements of all arrays that are made: as many as this are alive at most. */
  readonly made: number;
}

/** `null` = it does not compile. */
function tryMeasure(formula: string): Measured | null {
  try {
    return measure(formula);
  } catch (error) {
    if (error instanceof FormulaError) return null;
    throw error;
  }
}

/** Runs a formula with arrays that count what is read from them. Throws FormulaError for a formula that does not compile. */
function measure(formula: string): Measured {
  const triggers = new Set(["a"]);
  const tokens = createTokens(tokenize(formula), { begin: 0, length: formula.length });
  const node = optimize(checkFormula(parseFormula(tokens, { triggers }), triggers).node);
  const counts = { reads: 0, made: 0 };
  const watched = new WeakMap<object, Value>();
  const watch = (value: Value): Value => {
    if (!isArray(value)) return value;
    const known = watched.get(value);
    if (known !== undefined) return known;
    counts.made += value.length;
    const array = new Proxy(value, {
      get(target, key, receiver) {
        if (typeof key === "string" && key.charCodeAt(0) <= NINE) counts.reads++;
        return Reflect.get(target, key, receiver);
      },
    });
    watched.set(value, array);
    watched.set(array, array);
    return array;
  };
  const frame: Frame = {
    values: { a: -1 },
    variables: null,
    element: null,
    acc: null,
    steps: { left: MAX_STEPS },
    run: (part, inner) => watch(evaluateNode(part, inner)),
  };
  let outcome: string | null = null;
  try {
    frame.run(node, frame);
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    outcome = error.message;
  }
  return { outcome, steps: MAX_STEPS - frame.steps.left, ...counts };
}

interface Place {
  readonly pick: <T>(options: readonly T[]) => T;
  readonly depth: number;
  readonly variables: readonly string[];
  readonly isPredicate: boolean;
  readonly hasAcc: boolean;
}

/** Arrays of references to arrays, and all that may walk through them. `r` has numbers alone, which each function takes. */
function writeFormula(pick: Place["pick"]): string {
  let place: Place = { pick, depth: 2, variables: ["r"], isPredicate: false, hasAcc: false };
  let text = "let r = 1..90; ";
  for (const name of ["x", "y", "z", "w"].slice(0, pick([1, 2, 3, 4]))) {
    text += `let ${name} = ${writeArray(place)}; `;
    place = { ...place, variables: [...place.variables, name] };
  }
  return text + pick([writeNumber, writeNumber, writeBool, writeArray])(place);
}

function inner(place: Place): Place {
  return { ...place, depth: place.depth - 1 };
}

function predicate(place: Place): Place {
  return { ...inner(place), isPredicate: true };
}

function writeArray(place: Place): string {
  const { pick, depth, variables, isPredicate, hasAcc } = place;
  const known = [...variables, ...variables, ...(isPredicate ? ["#"] : []), ...(hasAcc ? ["#acc"] : [])];
  if (depth <= 0) {
    return pick([...known, "1..9", "1..40", "1..90", "1..900", "[1, 2.5, a]", "[true, false]", "[nil]", "[]"]);
  }
  const array = () => writeArray(inner(place));
  const any = (where: Place) => pick([writeArray, writeArray, writeNumber, writeBool])(where);
  return pick<() => string>([
    () => pick([...known, "1..9", "1..90", "1..900"]),
    () => `[${array()}, ${array()}, ${array()}]`,
    () => `map(${array()}, ${any(predicate(place))})`,
    () => `map(1..${pick([40, 90, 900])}, ${array()})`,
    () => `map(1..${pick([40, 90, 900])}, ${any(inner(place))})`,
    () => `map(1..40, ${pick(["sum(r)", "0.5 in r", "r == r", "sort(r)", "mean(r)", "reduce(r, # + #acc)"])})`,
    () => `map(filter(${array()}, ${writeBool(predicate(place))}), ${any(predicate(place))})`,
    () => `filter(${array()}, ${writeBool(predicate(place))})`,
    () => `sort(${array()})`,
    () => `reduce(${array()}, ${any({ ...predicate(place), hasAcc: true })})`,
    () => `reduce(1..${pick([9, 150, 190, 210, 900])}, ${pick(["[#acc]", "[#, #acc]"])}, ${array()})`,
    () => `reduce(1..${pick([9, 14, 18])}, [#acc, #acc], ${array()})`,
    () => `${pick(["first", "last"])}(${array()})`,
    () => `find(${array()}, ${writeBool(predicate(place))})`,
    () => `(${array()})[${pick(["0", "-1", "5"])}]`,
    () => `(nil ?? ${array()})`,
    () => `(${writeBool(inner(place))} ? ${array()} : ${array()})`,
  ])();
}

function writeNumber(place: Place): string {
  const { pick, depth, isPredicate } = place;
  if (depth <= 0) return pick(["1", "0.5", "a", ...(isPredicate ? ["#"] : [])]);
  const [array, number] = [() => writeArray(inner(place)), () => writeNumber(inner(place))];
  return pick<() => string>([
    () => `${pick(["max", "min", "mean", "median"])}(${array()})`,
    () => `${pick(["max", "min", "mean", "median"])}(${array()}, ${number()}, ${array()})`,
    () => `${pick(["abs", "ceil", "floor", "round", "int", "float"])}(${number()})`,
    () => `len(${array()})`,
    () => `sum(${array()})`,
    () => `sum(${array()}, ${writeNumber(predicate(place))})`,
    () => `sum([${number()}, ${number()}, a])`,
    () => `count(${pick([array(), "map(1..90, true)"])})`,
    () => `count(${array()}, ${writeBool(predicate(place))})`,
    () => `reduce(${array()}, ${writeNumber({ ...predicate(place), hasAcc: true })}, ${number()})`,
    () => `(${number()} + ${number()})`,
  ])();
}

function writeBool(place: Place): string {
  const { pick, depth, isPredicate } = place;
  if (depth <= 0) return pick(["true", "a < 0", ...(isPredicate ? ["# == #", "# == 1"] : [])]);
  const array = () => writeArray(inner(place));
  return pick<() => string>([
    () => `${array()} ${pick(["==", "!="])} ${array()}`,
    () => `${pick([array(), writeNumber(inner(place))])} ${pick(["in", "not in"])} ${array()}`,
    () => `${pick(["all", "any", "none", "one"])}(${array()}, ${writeBool(predicate(place))})`,
    () => `all(${array()}, true) and all(${array()}, # == #)`,
    () => `count(${array()}, ${writeBool(predicate(place))}) > ${pick([0, 2])}`,
    () => `${writeNumber(inner(place))} <= ${writeNumber(inner(place))}`,
  ])();
}
