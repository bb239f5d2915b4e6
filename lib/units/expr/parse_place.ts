/** What the parts of the parser share: where they are, and what may stand in brackets. */
import type { Node } from "./ast.ts";
import { FormulaError } from "./formula_error.ts";
import type { Tokens } from "./tokens.ts";

/** Where the parser is, and how deep. */
export interface Place {
  readonly tokens: Tokens;
  readonly triggers: ReadonlySet<string>;
  readonly depth: number;
  /** Within a predicate, where # stands for the element. */
  readonly isPredicate: boolean;
  /** Parses an expression of operators that bind at least as strongly as `precedence`. */
  readonly parse: (place: Place, precedence: number) => Node;
}

/** One expression: more of them, with semicolons between, would throw the first ones' values away. */
export function parseSequence(place: Place): Node {
  const node = place.parse(place, 0);
  const { tokens } = place;
  if (!tokens.is("operator", ";")) return node;
  tokens.next();
  if (tokens.is("end")) return node;
  throw new FormulaError("a sequence of expressions is not supported: write one, or let x = ...; before it");
}

/** An expression in braces. */
export function parseBlock(place: Place): Node {
  place.tokens.expect("bracket", "{");
  const node = parseSequence(place);
  place.tokens.expect("bracket", "}");
  return node;
}
