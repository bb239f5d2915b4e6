/** What a part of a formula sees while it runs. */
import type { Node } from "./ast.ts";
import { FormulaError } from "./formula_error.ts";
import type { Value } from "./value.ts";

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
