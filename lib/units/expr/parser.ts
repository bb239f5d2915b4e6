/** From tokens to a tree, with the grammar of expr 1.17.8 (parser.go): each function here is one of its productions. */
import { quote } from "../untrusted.ts";
import type { Node } from "./ast.ts";
import { FormulaError } from "./formula_error.ts";
import { BINARY, CHAINED, STRING_OPERATORS } from "./operators.ts";
import { parseCall } from "./parse_call.ts";
import { parsePrimary } from "./parse_operand.ts";
import { parseBlock, parseSequence, type Place } from "./parse_place.ts";
import type { Tokens } from "./tokens.ts";

export interface ParseOptions {
  /** Names that are no functions, though expr has functions of these names. */
  readonly triggers: ReadonlySet<string>;
}

/** Throws FormulaError for what is not in the language. */
export function parseFormula(tokens: Tokens, { triggers }: ParseOptions): Node {
  const node = parseSequence({ tokens, triggers, depth: 0, isPredicate: false, parse: parseExpression });
  if (!tokens.is("end")) tokens.fail();
  return node;
}

/** Of expressions within expressions. The functions below call each other, and a stack has an end. */
const MAX_DEPTH = 200;

function parseExpression(outer: Place, precedence: number): Node {
  if (outer.depth >= MAX_DEPTH) throw new FormulaError(`nested deeper than ${MAX_DEPTH} levels: simplify it`);
  const place = { ...outer, depth: outer.depth + 1 };
  const { tokens } = place;
  if (precedence === 0 && tokens.is("operator", "let")) return parseLet(place);
  if (precedence === 0 && tokens.is("operator", "if")) return parseIf(place);
  const node = parseOperators(place, { left: parsePrimary(place), precedence });
  return precedence === 0 ? parseConditional(place, node) : node;
}

/** What follows a first operand: operators that bind at least as strongly as `precedence`. */
function parseOperators(place: Place, { left, precedence }: { left: Node; precedence: number }): Node {
  const { tokens } = place;
  let node = left;
  let previous = "";
  while (tokens.is("operator")) {
    if (tokens.is("operator", "|")) {
      if (precedence > 0) break;
      tokens.next();
      node = parseCall(place, { name: tokens.expectIdentifier(), first: node });
      previous = "|";
      continue;
    }
    const isNegated = tokens.is("operator", "not");
    const { text } = isNegated ? tokens.peek() : tokens.current();
    if (isNegated && text !== "in" && !STRING_OPERATORS.has(text)) tokens.fail(tokens.peek());
    if (STRING_OPERATORS.has(text)) {
      throw new FormulaError(`operator ${quote(text)} is not supported: it is for strings`);
    }
    const binding = BINARY.get(text);
    if (binding === undefined || binding.precedence < precedence) break;
    if (previous === "??" && text !== "??") {
      throw new FormulaError(`${quote(text)} after ?? needs parentheses: write (a ?? b) ${text} c`);
    }
    if (isNegated) tokens.next();
    tokens.next();
    if (CHAINED.has(text)) {
      node = parseComparison(place, { left: node, operator: text });
    } else {
      const right = parseExpression(place, binding.precedence + (binding.isRight === true ? 0 : 1));
      const binary: Node = { kind: "binary", operator: binding.operator, left: node, right };
      node = isNegated ? { kind: "unary", operator: "not", operand: binary } : binary;
    }
    previous = text;
  }
  return node;
}

/** a < b < c is a < b and b < c. */
function parseComparison(place: Place, { left, operator }: { left: Node; operator: string }): Node {
  const { tokens } = place;
  let root: Node | null = null;
  let [before, text] = [left, operator];
  while (true) {
    const binding = BINARY.get(text);
    if (binding === undefined) return tokens.fail();
    const right = parseExpression(place, binding.precedence + 1);
    const node: Node = { kind: "binary", operator: binding.operator, left: before, right };
    root = root === null ? node : { kind: "binary", operator: "and", left: root, right: node };
    before = right;
    text = tokens.current().text;
    if (!tokens.is("operator") || !CHAINED.has(text)) return root;
    tokens.next();
  }
}

function parseLet(place: Place): Node {
  const { tokens } = place;
  tokens.next();
  const name = tokens.expectIdentifier();
  tokens.expect("operator", "=");
  const value = parseExpression(place, 0);
  tokens.expect("operator", ";");
  return { kind: "let", name, value, body: parseSequence(place) };
}

function parseIf(place: Place): Node {
  const { tokens } = place;
  tokens.next();
  const condition = parseExpression(place, 0);
  const then = parseBlock(place);
  tokens.expect("operator", "else");
  const isChain = tokens.is("operator", "if");
  return { kind: "if", condition, then, otherwise: isChain ? parseExpression(place, 0) : parseBlock(place) };
}

/** a ? b : c, and a ?: c, which gives a where it is true. */
function parseConditional(place: Place, first: Node): Node {
  const { tokens } = place;
  let node = first;
  while (tokens.is("operator", "?")) {
    tokens.next();
    const then = tokens.is("operator", ":") ? node : parseExpression(place, 0);
    tokens.expect("operator", ":");
    node = { kind: "if", condition: node, then, otherwise: parseExpression(place, 0) };
  }
  return node;
}
