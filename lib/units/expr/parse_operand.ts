/** What operators stand between: numbers, names, calls, arrays, brackets, and operators of one operand. */
import { quote } from "../untrusted.ts";
import type { Node } from "./ast.ts";
import { FormulaError } from "./formula_error.ts";
import { parseLiteral } from "./literal.ts";
import { UNARY } from "./operators.ts";
import { parseCall, parseItems } from "./parse_call.ts";
import { parseSequence, type Place } from "./parse_place.ts";
import type { Tokens } from "./tokens.ts";

/** Throws FormulaError where no operand stands. */
export function parsePrimary(place: Place): Node {
  const { tokens, isPredicate } = place;
  const { kind, text } = tokens.current();
  const unary = kind === "operator" ? UNARY.get(text) : undefined;
  if (unary !== undefined) {
    tokens.next();
    const operand = place.parse(place, unary.precedence);
    return parsePostfix(place, { kind: "unary", operator: unary.operator, operand });
  }
  if (tokens.is("bracket", "(")) {
    tokens.next();
    const node = parseSequence(place);
    tokens.expect("bracket", ")");
    return parsePostfix(place, node);
  }
  if (isPredicate && tokens.is("operator", "#")) return parsePostfix(place, parsePointer(tokens));
  // .b is the field b of the element.
  if (isPredicate && tokens.is("operator", ".")) return parsePostfix(place, { kind: "pointer", name: "element" });
  if (kind === "number") {
    tokens.next();
    return { kind: "constant", value: parseLiteral(text) };
  }
  if (kind === "identifier") return parseName(place, text);
  if (tokens.is("bracket", "[")) return parsePostfix(place, { kind: "array", items: parseItems(place, "]") });
  if (tokens.is("bracket", "{")) throw new FormulaError("maps are not supported: a formula computes with numbers");
  return tokens.fail();
}

function parsePointer(tokens: Tokens): Node {
  tokens.next();
  if (!tokens.is("identifier")) return { kind: "pointer", name: "element" };
  const { text } = tokens.current();
  tokens.next();
  if (text === "acc") return { kind: "pointer", name: "acc" };
  throw new FormulaError(`${quote(`#${text}`)} is not supported: only # and, in reduce(), #acc are`);
}

function parseName(place: Place, name: string): Node {
  const { tokens } = place;
  tokens.next();
  const value = CONSTANTS.get(name);
  if (value !== undefined) return { kind: "constant", value };
  if (!tokens.is("bracket", "(")) return parsePostfix(place, { kind: "name", name });
  return parsePostfix(place, parseCall(place, { name, first: null }));
}

const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([["true", true], ["false", false], ["nil", null]]);

function parsePostfix(place: Place, first: Node): Node {
  const { tokens } = place;
  let node = first;
  while (tokens.is("bracket", "[")) {
    tokens.next();
    if (tokens.is("operator", ":")) throw new FormulaError(SLICE);
    const index = place.parse(place, 0);
    if (tokens.is("operator", ":")) throw new FormulaError(SLICE);
    tokens.expect("bracket", "]");
    node = { kind: "index", array: node, index };
  }
  if (tokens.is("operator", ".") || tokens.is("operator", "?.")) {
    throw new FormulaError(`fields (${tokens.current().text}) are not supported: a formula has numbers and arrays`);
  }
  return node;
}

const SLICE = "slices ([a:b]) are not supported: write the elements out, or use filter()";
