/** A run over time, as figures for each step of some seconds: for plots and tables. */

/** Of one resource, one figure a step; millicores or bytes, means but for `peak`. */
export interface Course {
  readonly wanted: Float64Array;
  /** The most that was wanted in one second. */
  readonly peak: Float64Array;
  readonly used: Float64Array;
  /** 0 where there is none. */
  readonly request: Float64Array;
  /** Infinity where there is none. */
  readonly limit: Float64Array;
}

/** The course of one resource of `seconds` in steps of `stepSeconds`; the last may be shorter. */
export function newCourse(seconds: number, stepSeconds: number): Course {
  const steps = Math.ceil(seconds / stepSeconds);
  const list = () => new Float64Array(steps);
  return { wanted: list(), peak: list(), used: list(), request: list(), limit: list() };
}

/** Where one second of a run belongs in its course. */
export interface Step {
  readonly index: number;
  /** How many seconds the step has. */
  readonly length: number;
}

/** The step of a second. */
export function findStep(second: number, { seconds, stepSeconds }: Steps): Step {
  const index = Math.floor(second / stepSeconds);
  return { index, length: Math.min(stepSeconds, seconds - index * stepSeconds) };
}

/** How a run is divided. */
export interface Steps {
  readonly seconds: number;
  readonly stepSeconds: number;
}

/** Adds what was so for a second of the step. */
export function addToCourse(
  course: Course,
  { index, length }: Step,
  { wanted, request, limit }: { readonly wanted: number; readonly request: number; readonly limit: number },
): void {
  add(course.wanted, index, wanted / length);
  add(course.used, index, Math.min(wanted, limit) / length);
  add(course.request, index, request / length);
  add(course.limit, index, limit / length);
  course.peak[index] = Math.max(course.peak[index] ?? 0, wanted);
}

function add(list: Float64Array, index: number, amount: number): void {
  list[index] = (list[index] ?? 0) + amount;
}
