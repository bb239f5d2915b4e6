/**
 * A finding of validation. Parsers return a list of these, so that one look at an object finds everything wrong with
 * it.
 */

export interface Problem {
  /** Where in the object, e.g. `spec.policy.cpu.requests.scaleUpThreshold`; empty for the object as a whole. */
  readonly path: string;
  /** What is wrong there and what would be right, without the path. */
  readonly message: string;
}

/** A finding that makes nothing invalid. */
export interface Remark extends Problem {
  /** The name by which people look it up, `slow-up`: it stays the same where the words change. */
  readonly rule: string;
}

/** Adds a problem to a list, which never holds more than 100: a hostile object has any number of them. */
export function addProblem(problems: Problem[], problem: Problem): void {
  if (problems.length < MAX_PROBLEMS) problems.push(problem);
}

const MAX_PROBLEMS = 100;
