/** Makes formulas up, most of which compile: by the types of their parts, with every construct of R62, and some that do not fit on purpose. */
import type { Random } from "../random.ts";
import type { FormulaQuestion } from "./question.ts";

const NAMES = ["a", "b", "trig_one"];

export function generateFormula(random: Random): FormulaQuestion {
  const formula = writeFormula({ random, depth: random.whole(1, 4), variables: [], isPredicate: false, hasAcc: false });
  const spoiled = random.chance(0.05) ? spoil(random, formula) : formula;
  const values = Array.from({ length: 3 }, () => Object.fromEntries(NAMES.map((name) => [name, pickValue(random)])));
  return { formula: spoiled, names: NAMES, values: [{ a: -1, b: -1, trig_one: -1 }, ...values] };
}

interface Place {
  readonly random: Random;
  readonly depth: number;
  readonly variables: readonly string[];
  readonly isPredicate: boolean;
  readonly hasAcc: boolean;
}

function pickValue(random: Random): number | null {
  if (random.chance(0.08)) return null;
  return random.pick([0, 1, 2, 3, -1, 0.5, 2.5, 10, 100, random.whole(-5, 20), random.between(-10, 100), 1e15]);
}

function writeFormula(place: Place): string {
  const { random } = place;
  const wish = random.whole(0, 11);
  const [one, two] = [writeNumber(inner(place)), writeNumber(inner(place))];
  if (wish === 0) return `float(${one})`;
  if (wish === 1) {
    return `${random.pick(["a", "b ", `(${one})`])} ?? ${random.pick(["b", "5", "nil", `(${two})`, "trig_one ?? 8"])}`;
  }
  if (wish === 2) return `let x = ${one}; ${writeNumber({ ...inner(place), variables: ["x"] })}`;
  if (wish === 3) return `if ${writeBool(inner(place))} { ${one} } else { ${two} }`;
  if (wish === 4) return writeAny(place);
  return writeNumber(place);
}

function inner(place: Place): Place {
  return { ...place, depth: place.depth - 1 };
}

/** Something of any type: what the checker must judge. */
function writeAny(place: Place): string {
  return place.random.pick([writeNumber, writeNumber, writeBool, writeArray, writeInteger, () => "nil"])(inner(place));
}

function writeNumber(place: Place): string {
  const { random, depth } = place;
  if (depth <= 0) return writeLeaf(place);
  const [one, two] = [writeNumber(inner(place)), writeNumber(inner(place))];
  const wishes: readonly (() => string)[] = [
    () => `${one} ${random.pick(["+", "-", "*", "/", "+", "*"])} ${two}`,
    () => `(${one} ${random.pick(["+", "-", "/"])} ${two})`,
    () => `${one}${random.pick(["**", " ^ "])}${random.pick(["2", "3", "-1", "0.5", "-2", "1.5", "0"])}`,
    () => `${random.pick(["-", "+", "- "])}${one}`,
    () => `${random.pick(["abs", "ceil", "floor", "round", "float", "int"])}(${one})`,
    () =>
      `${random.pick(["max", "min", "mean", "median"])}(${
        random.pick([`${one}, ${two}`, writeArray(inner(place)), `${one}`, `${writeArray(inner(place))}, ${one}`])
      })`,
    () =>
      `${random.pick(["sum", "max", "min", "mean", "median", "len", "first", "last"])}(${writeArray(inner(place))})`,
    () => `${writeBool(inner(place))} ? ${one} : ${random.pick([two, two, "nil"])}`,
    () => `(${writeBool(inner(place))} ? ${one} : ${two})`,
    () => writeLoopNumber(place),
    () => `${writeArray(inner(place))}[${random.pick(["0", "1", "-1", writeInteger(inner(place))])}]`,
    () =>
      `${writeArray(inner(place))} | ${
        random.pick(["sum()", "max()", "len()", "first()", "count(# > 1)", "mean()", "sort() | last()", "sum(# * 2)"])
      }`,
    () => writeInteger(place),
    () => `${one} % ${two}`,
    () => `(${one} ?? ${two})`,
    () => `{ ${one} }`,
  ];
  return random.pick(wishes)();
}

function writeInteger(place: Place): string {
  const { random, depth } = place;
  if (depth <= 0) return random.pick(["0", "1", "2", "3", "7", "10", "1_000", "0x10", "0b11", "0o17", "int(a)"]);
  const [one, two] = [writeInteger(inner(place)), writeInteger(inner(place))];
  return random.pick([
    `${one} ${random.pick(["+", "-", "*", "%"])} ${two}`,
    `int(${writeNumber(inner(place))})`,
    `len(${writeArray(inner(place))})`,
    `count(${writeArray(inner(place))}, ${writePredicate(place)})`,
    `(${writeBool(inner(place))} ? ${one} : ${random.pick([two, "nil"])})`,
    `max(${one}, ${random.pick([two, "2.5"])})`,
    `-${one}`,
    `abs(${one})`,
  ]);
}

function writeLeaf({ random, variables, isPredicate, hasAcc }: Place): string {
  const local = [...variables, ...(isPredicate ? ["#", "#", "#"] : []), ...(hasAcc ? ["#acc", "#acc"] : [])];
  if (local.length > 0 && random.chance(0.5)) return random.pick(local);
  return random.pick([
    ...NAMES,
    ...NAMES,
    "0",
    "1",
    "2",
    "3",
    "10",
    "0.5",
    "2.5",
    ".25",
    "1.",
    "1e3",
    "1_0.5",
    "0x1F",
    "/* c */ 4",
    "7",
  ]);
}

function writeBool(place: Place): string {
  const { random, depth } = place;
  if (depth <= 0) return random.pick(["true", "false", "a > 1", "b <= 2", "trig_one == 3", "a != nil"]);
  const [one, two] = [writeNumber(inner(place)), writeNumber(inner(place))];
  const [left, right] = [writeBool(inner(place)), writeBool(inner(place))];
  const array = writeArray(inner(place));
  return random.pick([
    `${one} ${random.pick(["==", "!=", "<", "<=", ">", ">="])} ${two}`,
    `${writeInteger(inner(place))} ${random.pick(["==", "!=", "<"])} ${writeInteger(inner(place))}`,
    `${one} < ${two} <= ${writeNumber(inner(place))}`,
    `${left} ${random.pick(["and", "or", "&&", "||"])} ${right}`,
    `${random.pick(["not ", "!"])}(${left})`,
    `not ${left}`,
    `${random.pick(["all", "any", "none", "one"])}(${array}, ${writePredicate(place)})`,
    `all(${array}, # > 0) ${random.pick(["and", "or"])} all(${array}, ${writePredicate(place)})`,
    `none(${array}, # > 0) && none(${array}, ${writePredicate(place)})`,
    `${one} ${random.pick(["in", "not in"])} ${array}`,
    `${writeInteger(inner(place))} in ${random.pick(["1..5", "[0, 1, 2]", "[1, 2.0]", array])}`,
    `count(${array}, ${writePredicate(place)}) ${random.pick([">", ">=", "<", "<=", "=="])} ${random.whole(0, 3)}`,
    `(${left} ? ${right} : ${left})`,
    `(${left} ?: ${right})`,
    `${array} ${random.pick(["==", "!="])} ${writeArray(inner(place))}`,
  ]);
}

function writeArray(place: Place): string {
  const { random, depth } = place;
  const item = () =>
    random.chance(0.06)
      ? random.pick(["nil", "true", "[1]", "1"])
      : writeNumber({ ...place, depth: Math.min(1, depth - 1) });
  const list = () => `[${Array.from({ length: random.whole(0, 4) }, item).join(", ")}]`;
  if (depth <= 0) return random.pick([list, list, () => "[1, 2, 3]", () => "[a, b, trig_one]", () => "1..4"])();
  const array = writeArray(inner(place));
  return random.pick([
    list(),
    list(),
    "[a, b, trig_one]",
    `${random.whole(-2, 3)}..${random.pick(["3", "5", "0", writeInteger({ ...place, depth: 0 })])}`,
    `map(${array}, ${
      random.chance(0.5)
        ? `{ ${writeNumber({ ...inner(place), isPredicate: true })} }`
        : writeNumber({ ...inner(place), isPredicate: true })
    })`,
    `filter(${array}, ${writePredicate(place)})`,
    `map(filter(${array}, ${writePredicate(place)}), # * 2)`,
    `filter(filter(${array}, ${writePredicate(place)}), ${writePredicate(place)})`,
    `sort(${array})`,
  ]);
}

function writePredicate(place: Place): string {
  const { random } = place;
  const body = random.chance(0.4)
    ? random.pick(["# > 1", "#>1", "# == nil", "# >= 2.5", "true", "# < a", "#"])
    : writeBool({ ...inner(place), isPredicate: true });
  return random.chance(0.5) ? `{${body}}` : body;
}

function writeLoopNumber(place: Place): string {
  const { random } = place;
  const [array, number] = [writeArray(inner(place)), writeNumber({ ...inner(place), isPredicate: true })];
  const reducing = writeNumber({ ...inner(place), isPredicate: true, hasAcc: true });
  return random.pick([
    `sum(${array}, ${number})`,
    `sum(map(${array}, ${number}))`,
    `find(${array}, ${writePredicate(place)})`,
    `first(filter(${array}, ${writePredicate(place)}))`,
    `last(filter(${array}, ${writePredicate(place)}))`,
    `filter(${array}, ${writePredicate(place)})[${random.pick(["0", "-1", "1"])}]`,
    `len(filter(${array}, ${writePredicate(place)}))`,
    `len(map(filter(${array}, ${writePredicate(place)}), # / 2))`,
    `map(filter(${array}, ${writePredicate(place)}), ${number})[0]`,
    `reduce(${array}, #acc + #)`,
    `reduce(${array}, ${reducing}, 0)`,
    `reduce(${array}, { #acc * 2 + # }, 1.5)`,
    `count(${array})`,
  ]);
}

/** Takes a character away, doubles one, or puts a strange one in. */
function spoil(random: Random, formula: string): string {
  const at = random.whole(0, formula.length);
  const strange = random.pick([
    "",
    "",
    formula[at] ?? "",
    "(",
    ")",
    "]",
    "}",
    "?",
    ":",
    ".",
    "#",
    "*",
    "=",
    "&",
    "!",
    "@",
    "not",
    " in ",
    ";",
    ",",
    "e",
    "_",
    "0x",
  ]);
  return formula.slice(0, at) + strange + formula.slice(at + random.whole(0, 1));
}
