/**
 * Parses the tokens of a formula into a tree.
 *
 * Each function parses one level of the grammar, as in expr's parser. The depth is limited.
 */
import { quote } from "../units/untrusted.ts";
import { parseLiteral, type Tokens } from "./lexer.ts";
import {
  BINARY,
  CHAINED,
  FormulaError,
  FUNCTION_NAMES,
  LOOP_NAMES,
  type LoopName,
  type Node,
  REFUSED_FUNCTIONS,
  STRING_OPERATORS,
  UNARY,
} from "./syntax.ts";

interface ParseOptions {
  /** Names that are not functions here, although expr has functions with these names. */
  readonly triggers: ReadonlySet<string>;
}

/** Returns the tree of a formula. Throws FormulaError for what is not in the language. */
export function parseFormula(tokens: Tokens, { triggers }: ParseOptions): Node {
  const node = parseSequence({ tokens, triggers, depth: 0, isPredicate: false, parse: parseExpression });
  if (!tokens.is("end")) tokens.fail();
  return node;
}

/** Expressions within expressions. The functions below are recursive, and the stack is limited. */
const MAX_DEPTH = 200;

function parseExpression(outer: ParseContext, precedence: number): Node {
  if (outer.depth >= MAX_DEPTH) throw new FormulaError(`nested deeper than ${MAX_DEPTH} levels: simplify it`);
  const place = { ...outer, depth: outer.depth + 1 };
  const { tokens } = place;
  if (precedence === 0 && tokens.is("operator", "let")) return parseLet(place);
  if (precedence === 0 && tokens.is("operator", "if")) return parseIf(place);
  const node = parseOperators(place, { left: parsePrimary(place), precedence });
  return precedence === 0 ? parseConditional(place, node) : node;
}

/** Parses what follows a first operand: operators with at least this `precedence`. */
function parseOperators(place: ParseContext, { left, precedence }: { left: Node; precedence: number }): Node {
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

/** a < b < c means a < b and b < c. */
function parseComparison(place: ParseContext, { left, operator }: { left: Node; operator: string }): Node {
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

function parseLet(place: ParseContext): Node {
  const { tokens } = place;
  tokens.next();
  const name = tokens.expectIdentifier();
  tokens.expect("operator", "=");
  const value = parseExpression(place, 0);
  tokens.expect("operator", ";");
  return { kind: "let", name, value, body: parseSequence(place) };
}

function parseIf(place: ParseContext): Node {
  const { tokens } = place;
  tokens.next();
  const condition = parseExpression(place, 0);
  const then = parseBlock(place);
  tokens.expect("operator", "else");
  const isChain = tokens.is("operator", "if");
  return { kind: "if", condition, then, otherwise: isChain ? parseExpression(place, 0) : parseBlock(place) };
}

/** a ? b : c, and a ?: c, which is a if it is true. */
function parseConditional(place: ParseContext, first: Node): Node {
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

/** Throws FormulaError if an operand is missing. */
function parsePrimary(place: ParseContext): Node {
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

function parseName(place: ParseContext, name: string): Node {
  const { tokens } = place;
  tokens.next();
  const value = CONSTANTS.get(name);
  if (value !== undefined) return { kind: "constant", value };
  if (!tokens.is("bracket", "(")) return parsePostfix(place, { kind: "name", name });
  return parsePostfix(place, parseCall(place, { name, first: null }));
}

const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([["true", true], ["false", false], ["nil", null]]);

function parsePostfix(place: ParseContext, first: Node): Node {
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

/** Parses the call of a function, from the bracket on. `first` comes from the left side of a pipe. */
function parseCall(place: ParseContext, { name, first }: { name: string; first: Node | null }): Node {
  const { tokens, triggers } = place;
  if (triggers.has(name)) throw new FormulaError(`${quote(name)} is a trigger and no function: rename the trigger`);
  const loop = LOOP_NAMES.find((known) => known === name);
  if (loop !== undefined) return parseLoop(place, { name: loop, first });
  const known = FUNCTION_NAMES.find((one) => one === name);
  if (known === undefined) {
    const cause = REFUSED_FUNCTIONS.has(name) ? "not supported" : "unknown";
    throw new FormulaError(
      `function ${quote(name)} is ${cause}: there are ${[...FUNCTION_NAMES, ...LOOP_NAMES].join(", ")}`,
    );
  }
  if (!tokens.is("bracket", "(")) tokens.fail();
  const items = parseItems(place, ")");
  return { kind: "call", name: known, items: first === null ? items : [first, ...items] };
}

function parseLoop(place: ParseContext, { name, first }: { name: LoopName; first: Node | null }): Node {
  const { tokens } = place;
  tokens.expect("bracket", "(");
  const array = first ?? place.parse(place, 0);
  const isBare = first !== null;
  const canLackBody = name === "count" || name === "sum";
  const hasBody = !(canLackBody && tokens.is("bracket", ")"));
  if (hasBody && !isBare) tokens.expect("operator", ",");
  const body = hasBody ? parsePredicate(place) : null;
  const hasInitial = name === "reduce" && !tokens.is("bracket", ")");
  if (hasInitial) tokens.expect("operator", ",");
  const initial = hasInitial ? place.parse(place, 0) : null;
  if (tokens.is("operator", ",")) tokens.next();
  tokens.expect("bracket", ")");
  return { kind: "loop", name, array, body, initial };
}

function parsePredicate(outer: ParseContext): Node {
  const place = { ...outer, isPredicate: true };
  if (place.tokens.is("bracket", "{")) return parseBlock(place);
  return place.parse(place, 0);
}

/** Parses expressions between commas, from an opening bracket to `close`. A comma may follow the last one. */
function parseItems(place: ParseContext, close: string): readonly Node[] {
  const { tokens } = place;
  const items: Node[] = [];
  tokens.next();
  while (!tokens.is("bracket", close)) {
    if (items.length > 0) {
      tokens.expect("operator", ",");
      if (tokens.is("bracket", close)) break;
    }
    items.push(place.parse(place, 0));
  }
  tokens.next();
  return items;
}

/** Where the parser is, and how deep. */
interface ParseContext {
  readonly tokens: Tokens;
  readonly triggers: ReadonlySet<string>;
  readonly depth: number;
  /** Within a predicate, where # is the element. */
  readonly isPredicate: boolean;
  /** Parses an expression of operators with at least this `precedence`. */
  readonly parse: (place: ParseContext, precedence: number) => Node;
}

/** Parses one expression. With several, separated by semicolons, the first values would be lost. */
function parseSequence(place: ParseContext): Node {
  const node = place.parse(place, 0);
  const { tokens } = place;
  if (!tokens.is("operator", ";")) return node;
  tokens.next();
  if (tokens.is("end")) return node;
  throw new FormulaError("a sequence of expressions is not supported: write one, or let x = ...; before it");
}

/** An expression in braces. */
function parseBlock(place: ParseContext): Node {
  place.tokens.expect("bracket", "{");
  const node = parseSequence(place);
  place.tokens.expect("bracket", "}");
  return node;
}
