/** What a part of a formula sees while it runs. */
import type { Node } from "./ast.ts";
import { FormulaError } from "./formula_error.ts";
import type { Value } from "./value.ts";

/** Arrays within arrays: what walks through them calls itself, and a stack has an end. The parser admits no deeper ones as text. */
const MAX_NESTING = 200;

export interface Frame {
  readonly values: Readonly<Record<string, number | null>>;
  /** What `let` defined, the last one first. */
  readonly variables: Variable | null;
  readonly element: Value;
  readonly acc: Value;
  /** Counts down, for the whole run. */
  readonly steps: { left: number };
  /** Runs a part in a frame. */
  readonly run: (node: Node, frame: Frame) => Value;
}

interface Variable {
  readonly name: string;
  readonly value: Value;
  readonly outer: Variable | null;
}

/** Throws FormulaError when a run takes more steps than it may. */
export function spend({ steps }: Frame, count: number | bigint): void {
  if (count > steps.left) throw new FormulaError("takes more than 10,000 steps: look at fewer elements");
  steps.left -= Number(count);
}

/** Spends a step for each element of `list`, and returns it. `depth` arrays are around it. Throws FormulaError beyond a bound. */
export function enter(frame: Frame, list: readonly Value[], depth: number): readonly Value[] {
  requireDepth(depth);
  spend(frame, list.length);
  return list;
}

/** Throws FormulaError where more arrays are around an array than may be. */
export function requireDepth(depth: number): void {
  if (depth < MAX_NESTING) return;
  throw new FormulaError(`arrays are nested deeper than ${MAX_NESTING} levels: simplify it`);
}
