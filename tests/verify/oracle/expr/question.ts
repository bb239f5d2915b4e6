/** What tests/cluster/expr is asked and what it answers: lines of JSON, in one order. */

export type Question =
  | FormulaQuestion
  | { readonly cron: string; readonly timezone: string; readonly times: readonly number[] }
  | { readonly start: string; readonly end: string; readonly timezone: string; readonly times: readonly number[] }
  /** A double as text. */
  | { readonly number: string }
  | { readonly quantity: string }
  | { readonly text: string };

export interface FormulaQuestion {
  readonly formula: string;
  readonly names: readonly string[];
  readonly values: readonly Readonly<Record<string, number | null>>[];
}

/** Fields by the kind of question; `Error` alone = it was refused. */
export interface Answer {
  readonly Error?: string;
  readonly Results?: readonly { readonly Value?: string; readonly Nil?: boolean; readonly Error?: string }[];
  /** Epoch milliseconds; `null` = never. */
  readonly Next?: readonly (number | null)[];
  readonly Within?: readonly boolean[];
  readonly Milli?: string;
  readonly Double?: string;
  readonly Cut?: string;
  readonly Float?: string | null;
  readonly Integer?: string | null;
  readonly Short?: string | null;
  readonly Boolean?: string | null;
  readonly JSONNumber?: string | null;
  readonly JSONInteger?: string | null;
}

/** One line of a committed sample: a question and the real answer. */
export interface Sample {
  readonly question: Question;
  readonly answer: Answer;
}
