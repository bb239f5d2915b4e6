/**
 * The nodes, operators, values and errors of a formula.
 *
 * The parser creates the nodes; the checker and the optimizer add fields to them.
 */

export type Node =
  | { readonly kind: "constant"; readonly value: Value }
  /** A trigger, or a variable of `let`. */
  | { readonly kind: "name"; readonly name: string }
  | UnaryNode
  | BinaryNode
  | { readonly kind: "index"; readonly array: Node; readonly index: Node }
  | { readonly kind: "array"; readonly items: readonly Node[] }
  | { readonly kind: "if"; readonly condition: Node; readonly then: Node; readonly otherwise: Node }
  | { readonly kind: "let"; readonly name: string; readonly value: Node; readonly body: Node }
  /** The element that a predicate visits, or the accumulator of reduce(). */
  | { readonly kind: "pointer"; readonly name: "element" | "acc" }
  | CallNode
  | LoopNode;

export interface UnaryNode {
  readonly kind: "unary";
  readonly operator: UnaryOperator;
  readonly operand: Node;
}

export interface BinaryNode {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Node;
  readonly right: Node;
  /**
   * Set by the checker: both sides of == (the left one of `in`) are integers by type, and another value is an error.
   */
  readonly isInteger?: boolean;
}

/** A function of values. */
export interface CallNode {
  readonly kind: "call";
  readonly name: FunctionName;
  readonly items: readonly Node[];
}

/** A function with a predicate for each element of an array. */
export interface LoopNode {
  readonly kind: "loop";
  readonly name: LoopName;
  readonly array: Node;
  /** `null` if count() or sum() has none: the element itself. */
  readonly body: Node | null;
  /** The initial value of reduce(); `null` = the first element. */
  readonly initial: Node | null;
  /** Set by the optimizer: what filter() and find() return instead of the element. */
  readonly result?: Node;
  /** Set by the optimizer: count() stops at this number. */
  readonly limit?: bigint;
  /** Set by the optimizer: find() searches from the end. */
  readonly isFromEnd?: boolean;
  /** Set by the optimizer: it is an error if find() finds no element. */
  readonly mustFind?: boolean;
  /** Set by the optimizer: sum() of an array literal adds from the right, which changes the result of doubles. */
  readonly isFromRight?: boolean;
}

type UnaryOperator = "-" | "+" | "not";

type BinaryOperator =
  | ("+" | "-" | "*" | "/" | "%" | "**")
  | ("==" | "!=" | "<" | "<=" | ">" | ">=")
  | ("and" | "or" | "in" | ".." | "??")
  /** Made of `in` by the optimizer: among integers of an array literal. */
  | "in integers";

export const FUNCTION_NAMES = [
  ...["abs", "ceil", "floor", "round", "int", "float"] as const,
  ...["max", "min", "mean", "median", "len", "first", "last", "sort"] as const,
] as const;

export type FunctionName = typeof FUNCTION_NAMES[number];

export const LOOP_NAMES = ["all", "any", "none", "one", "map", "filter", "find", "count", "sum", "reduce"] as const;

export type LoopName = typeof LOOP_NAMES[number];

interface Binding {
  readonly operator: BinaryOperator;
  readonly precedence: number;
  readonly isRight?: true;
}

/** The binary operators by their text. */
export const BINARY: ReadonlyMap<string, Binding> = new Map<string, Binding>([
  ["or", { operator: "or", precedence: 10 }],
  ["||", { operator: "or", precedence: 10 }],
  ["and", { operator: "and", precedence: 15 }],
  ["&&", { operator: "and", precedence: 15 }],
  ...(["==", "!=", "<", ">", ">=", "<=", "in"] as const).map(toComparison),
  ["..", { operator: "..", precedence: 25 }],
  ["+", { operator: "+", precedence: 30 }],
  ["-", { operator: "-", precedence: 30 }],
  ["*", { operator: "*", precedence: 60 }],
  ["/", { operator: "/", precedence: 60 }],
  ["%", { operator: "%", precedence: 60 }],
  ["**", { operator: "**", precedence: 100, isRight: true }],
  ["^", { operator: "**", precedence: 100, isRight: true }],
  ["??", { operator: "??", precedence: 500 }],
]);

export const UNARY: ReadonlyMap<string, { readonly operator: UnaryOperator; readonly precedence: number }> = new Map([
  ["not", { operator: "not", precedence: 50 }],
  ["!", { operator: "not", precedence: 50 }],
  ["-", { operator: "-", precedence: 90 }],
  ["+", { operator: "+", precedence: 90 }],
]);

/** These may be chained: 1 < a < 3 means 1 < a and a < 3. */
export const CHAINED: ReadonlySet<string> = new Set(["<", ">", ">=", "<="]);

/** Operators on strings. */
export const STRING_OPERATORS: ReadonlySet<string> = new Set(["matches", "contains", "startsWith", "endsWith"]);

/** Functions of expr that are not part of the language here. A variable cannot have their names either. */
export const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set([
  ...["findIndex", "findLast", "findLastIndex", "groupBy", "sortBy", "type", "string", "trim", "trimPrefix"],
  ...["trimSuffix", "upper", "lower", "split", "splitAfter", "replace", "repeat", "join", "indexOf", "lastIndexOf"],
  ...["hasPrefix", "hasSuffix", "toJSON", "fromJSON", "toBase64", "fromBase64", "now", "duration", "date", "timezone"],
  ...["get", "take", "keys", "values", "toPairs", "fromPairs", "reverse", "uniq", "concat", "flatten"],
  ...["bitand", "bitor", "bitxor", "bitnand", "bitshl", "bitshr", "bitushr", "bitnot"],
]);

function toComparison(operator: BinaryOperator): readonly [string, Binding] {
  return [operator, { operator, precedence: 20 }];
}

/** A value of a formula. An integer is a bigint and a float a number: they are two types, as in expr. */
export type Value = null | boolean | bigint | number | readonly Value[];

/** Returns whether a value is a number of either type. */
export function isNumber(value: Value): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

/** Returns whether a value is an array. */
export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Returns a value's type by the name that messages use. */
export function nameType(value: Value): string {
  if (value === null) return "nil";
  if (isArray(value)) return "an array";
  return typeof value === "bigint" ? "an integer" : typeof value === "number" ? "a float" : "a bool";
}

/**
 * Why a formula has no program or no value. It is thrown inside lib/formula only: compileExpr() and Program.run() turn
 * it into a message.
 */
export class FormulaError extends Error {}
