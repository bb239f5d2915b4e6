/**
 * A mutation is one plausible slip in one file, and the test that must notice it. Here is judged, without running
 * anything, what a mutation comes to: applied to its file, held against the run of its test. Pure.
 */
import { findClauses } from "./contract.ts";
import { listSteps, type TestOutcomes } from "./test_results.ts";

export interface Mutation {
  /** What is wrong then, in a few words. */
  readonly breaks: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Below tests/, e.g. `core/sizing_test.ts`. */
  readonly testFile: string;
  /** The whole name; it, or a step's, names the clause. */
  readonly test: string;
}

/** By clause. */
export type Mutations = Readonly<Record<string, readonly Mutation[]>>;

/** `broken`: it proves nothing, `why` says what to put right. `skipped`: it needs a cluster, and there is none. */
export type Verdict =
  | { readonly kind: "killed" | "survived" | "skipped" }
  | { readonly kind: "broken"; readonly why: string };

/** What a run of tests gave: outcomes, or why there are none. */
export type TestRun = { readonly outcomes: TestOutcomes } | Fault;

export interface Fault {
  readonly fault: string;
}

/** The file's text with the slip in it, or why there can't be one. */
export function applyMutation(text: string, { file, find, replace }: Mutation): { readonly text: string } | Fault {
  const parts = text.split(find);
  if (find === "" || parts.length === 1) return { fault: `what it replaces no longer occurs in ${file}: ${find}` };
  if (parts.length > 2) return { fault: `what it replaces occurs ${parts.length - 1} times in ${file}: ${find}` };
  return find === replace ? { fault: "it changes nothing" } : { text: parts.join(replace) };
}

/** Why the test proves nothing, as it runs without any mutation; `null` = it does. */
export function findTestFault({ test, testFile }: Mutation, clause: string, run: TestRun): string | null {
  if ("fault" in run) return run.fault;
  const outcome = run.outcomes.get(test);
  if (outcome === undefined) return `tests/${testFile} has no test "${test}"`;
  if (outcome !== "passed") return `without it "${test}" is not passed but ${outcome}`;
  const names = [test, ...listSteps(run.outcomes, test)];
  return names.some((name) => findClauses(name).includes(clause)) ? null : `"${test}" does not name ${clause}`;
}

/** By the run of its test with the mutation applied. */
export function judgeMutant({ test }: Mutation, run: TestRun): Verdict {
  if ("fault" in run) return { kind: "broken", why: run.fault };
  const outcome = run.outcomes.get(test);
  if (outcome === "failed") return { kind: "killed" };
  if (outcome === "passed") return { kind: "survived" };
  return { kind: "broken", why: `its test is ${outcome ?? "not there"}, neither passed nor failed` };
}

/** Whether the mutant lives in, or is seen by, a real cluster. */
export function needsCluster({ testFile }: Mutation): boolean {
  return testFile.startsWith("e2e/");
}

export interface Tally {
  /** Clauses whose mutants were all killed, and there is one at least. */
  readonly proven: readonly string[];
  readonly killed: number;
  readonly survived: number;
  readonly skipped: number;
  readonly broken: number;
}

export function tally(clauses: readonly string[], verdicts: readonly { clause: string; verdict: Verdict }[]): Tally {
  const count = (kind: Verdict["kind"]) => verdicts.filter(({ verdict }) => verdict.kind === kind).length;
  const proven = clauses.filter((clause) => {
    const own = verdicts.filter((one) => one.clause === clause);
    return own.length > 0 && own.every(({ verdict }) => verdict.kind === "killed");
  });
  const [killed, survived, skipped, broken] = [count("killed"), count("survived"), count("skipped"), count("broken")];
  return { proven, killed, survived, skipped, broken };
}
