/** A finding of validation. Parsers return a list of these, so that one look at an object finds everything wrong with it. */

export interface Problem {
  /** Where in the object, e.g. `spec.policy.cpu.requests.scaleUpThreshold`; empty for the object as a whole. */
  readonly path: string;
  /** What is wrong there and what would be right, without the path. */
  readonly message: string;
}
