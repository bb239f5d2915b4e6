/** A formula as a tree. The parser makes it; the checker and the optimizer put more exact nodes in the place of some. */
import type { Value } from "./value.ts";

export type Node =
  | { readonly kind: "constant"; readonly value: Value }
  /** A trigger, or what `let` defined. */
  | { readonly kind: "name"; readonly name: string }
  | UnaryNode
  | BinaryNode
  | { readonly kind: "index"; readonly array: Node; readonly index: Node }
  | { readonly kind: "array"; readonly items: readonly Node[] }
  | { readonly kind: "if"; readonly condition: Node; readonly then: Node; readonly otherwise: Node }
  | { readonly kind: "let"; readonly name: string; readonly value: Node; readonly body: Node }
  /** The element that a predicate looks at, or what reduce() has so far. */
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
  /** Set by the checker: both sides of == (the left one of `in`) are integers by type, and a value that is none is an error. */
  readonly isInteger?: boolean;
}

/** A function of values. */
export interface CallNode {
  readonly kind: "call";
  readonly name: FunctionName;
  readonly items: readonly Node[];
}

/** A function that looks at each element of an array. */
export interface LoopNode {
  readonly kind: "loop";
  readonly name: LoopName;
  readonly array: Node;
  /** `null` where count() and sum() have none: the element itself. */
  readonly body: Node | null;
  /** reduce() begins with it; `null` = with the first element. */
  readonly initial: Node | null;
  /** Set by the optimizer: what filter() and find() give instead of the element. */
  readonly result?: Node;
  /** Set by the optimizer: count() ends when it has so many. */
  readonly limit?: bigint;
  /** Set by the optimizer: find() looks from the end. */
  readonly isFromEnd?: boolean;
  /** Set by the optimizer: find() finds, or it is an error. */
  readonly mustFind?: boolean;
  /** Set by the optimizer: sum() of elements that are written out adds from the right, which doubles do notice. */
  readonly isFromRight?: boolean;
}

export type UnaryOperator = "-" | "+" | "not";

export type BinaryOperator =
  | ("+" | "-" | "*" | "/" | "%" | "**")
  | ("==" | "!=" | "<" | "<=" | ">" | ">=")
  | ("and" | "or" | "in" | ".." | "??")
  /** Made by the optimizer of `in`: among integers that are written out. */
  | "in integers";

export const FUNCTION_NAMES = [
  ...["abs", "ceil", "floor", "round", "int", "float"] as const,
  ...["max", "min", "mean", "median", "len", "first", "last", "sort"] as const,
] as const;
export type FunctionName = typeof FUNCTION_NAMES[number];

export const LOOP_NAMES = ["all", "any", "none", "one", "map", "filter", "find", "count", "sum", "reduce"] as const;
export type LoopName = typeof LOOP_NAMES[number];
