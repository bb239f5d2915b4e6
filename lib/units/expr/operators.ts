/** Operators, how strongly they bind, and what of expr's own vocabulary is not taken (parser/operator, builtin). */
import type { BinaryOperator, UnaryOperator } from "./ast.ts";

export interface Binding {
  readonly operator: BinaryOperator;
  readonly precedence: number;
  readonly isRight?: true;
}

/** By what is written. */
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

/** These may stand in a row: 1 < a < 3 means 1 < a and a < 3. */
export const CHAINED: ReadonlySet<string> = new Set(["<", ">", ">=", "<="]);

/** Operators on strings. */
export const STRING_OPERATORS: ReadonlySet<string> = new Set(["matches", "contains", "startsWith", "endsWith"]);

/** Functions of expr that are no part of the language here. A variable may have none of their names either. */
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
