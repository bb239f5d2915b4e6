/** Calls of functions: of values, and of those that look at each element of an array. */
import { quote } from "../untrusted.ts";
import { FUNCTION_NAMES, LOOP_NAMES, type LoopName, type Node } from "./ast.ts";
import { FormulaError } from "./formula_error.ts";
import { REFUSED_FUNCTIONS } from "./operators.ts";
import { parseBlock, type Place } from "./parse_place.ts";

/** The call of a function, from the bracket on. `first` comes from the left of a pipe. */
export function parseCall(place: Place, { name, first }: { name: string; first: Node | null }): Node {
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

function parseLoop(place: Place, { name, first }: { name: LoopName; first: Node | null }): Node {
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

function parsePredicate(outer: Place): Node {
  const place = { ...outer, isPredicate: true };
  if (place.tokens.is("bracket", "{")) return parseBlock(place);
  return place.parse(place, 0);
}

/** Expressions between commas, from an opening bracket to `close`. The last one may have a comma too. */
export function parseItems(place: Place, close: string): readonly Node[] {
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
