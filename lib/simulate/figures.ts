/**
 * How well did the size of a container fit? Sums over seconds, and a series over time.
 *
 * docs/evidence/quality.md says what each figure means.
 */

/** What a millicore (or MiB) of each kind costs compared with one of slack: a choice. */
export const WEIGHTS = { under: 3, throttled: 20 } as const;

/** Sums over the seconds of one resource of one container, in its unit; changed in place. */
export interface Sums {
  seconds: number;
  used: number;
  slack: number;
  under: number;
  underSeconds: number;
  throttled: number;
  throttledSeconds: number;
  request: number;
  limit: number;
}

/** Means over the time, in the unit asked for. */
export interface Figures {
  readonly used: number;
  /** Requested and not used. */
  readonly slack: number;
  /** Wanted beyond the request, and for how many seconds. */
  readonly under: number;
  readonly underSeconds: number;
  /** Wanted beyond the limit, and for how many seconds. */
  readonly throttled: number;
  readonly throttledSeconds: number;
  readonly request: number;
  /** `null` where there was none for some of the time. */
  readonly limit: number | null;
  /** To rank by; see WEIGHTS. */
  readonly cost: number;
}

export function newSums(): Sums {
  return {
    seconds: 0,
    used: 0,
    slack: 0,
    under: 0,
    underSeconds: 0,
    throttled: 0,
    throttledSeconds: 0,
    request: 0,
    limit: 0,
  };
}

/** Adds one second. Without a request that is 0, without a limit it is Infinity. */
export function addSecond(sums: Sums, wanted: number, request: number, limit: number): void {
  const used = wanted < limit ? wanted : limit;
  sums.seconds++;
  sums.used += used;
  sums.request += request;
  sums.limit += limit;
  if (request > used) sums.slack += request - used;
  if (wanted > request) {
    sums.under += wanted - request;
    sums.underSeconds++;
  }
  if (wanted > limit) {
    sums.throttled += wanted - limit;
    sums.throttledSeconds++;
  }
}

/** The means, in `unit`: 1 = as they were added, 2^20 = bytes as MiB. */
export function toFigures(sums: Sums, unit: number): Figures {
  const mean = (sum: number) => sums.seconds === 0 ? 0 : sum / unit / sums.seconds;
  const [slack, under, throttled] = [mean(sums.slack), mean(sums.under), mean(sums.throttled)];
  return {
    used: mean(sums.used),
    slack,
    under,
    underSeconds: sums.underSeconds,
    throttled,
    throttledSeconds: sums.throttledSeconds,
    request: mean(sums.request),
    limit: Number.isFinite(sums.limit) ? mean(sums.limit) : null,
    cost: slack + WEIGHTS.under * under + WEIGHTS.throttled * throttled,
  };
}

/** The figures of one resource, one a step, in millicores or bytes. All are means except `peak`. */
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
  addMean(course.wanted, index, wanted / length);
  addMean(course.used, index, Math.min(wanted, limit) / length);
  addMean(course.request, index, request / length);
  addMean(course.limit, index, limit / length);
  course.peak[index] = Math.max(course.peak[index] ?? 0, wanted);
}

/** Where one second of a run belongs in its course. */
interface Step {
  readonly index: number;
  /** How many seconds the step has. */
  readonly length: number;
}

function addMean(list: Float64Array, index: number, amount: number): void {
  list[index] = (list[index] ?? 0) + amount;
}
