/** A compiled formula: the numeric part of the language of github.com/expr-lang/expr 1.17.8 (R62). */

/** A program that can be run any number of times. Holds no state. */
export interface Program {
  /** The names that it uses and does not define, each once, in the order of their first use. */
  readonly names: readonly string[];
  /** Never throws. `null` stands for nil: of a trigger that has failed (R71). */
  readonly run: (values: Readonly<Record<string, number | null>>) => ProgramResult;
}

/** A double (integers of the language are converted last), nil, or why there is no number. */
export type ProgramResult =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "nil" }
  | { readonly kind: "error"; readonly message: string };
