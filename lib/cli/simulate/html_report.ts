/** What the HTML report shows: plain data, whatever simulated it. */

export interface Report {
  /** What was simulated: the workload, or the file of the load. */
  readonly title: string;
  /** One line below it: what the load is, and what stands for what. */
  readonly about: string;
  readonly seconds: number;
  /** One per policy, side by side; the figures of later ones are held against the first. */
  readonly runs: readonly ReportRun[];
  /** What a sweep tried; empty without one. */
  readonly candidates: readonly ReportCandidate[];
}

export interface ReportRun {
  /** The policy's. */
  readonly name: string;
  /** The same ones, in the same order, in each run. */
  readonly containers: readonly ReportContainer[];
  /** Second, pods from then on; empty where nothing scales them. */
  readonly replicas: readonly (readonly [second: number, replicas: number])[];
}

export interface ReportContainer {
  readonly name: string;
  /** What it wanted in a second, whatever it was given: millicores and bytes. */
  readonly wantedAt: (second: number) => { readonly cpuMillicores: number; readonly workingSetBytes: number };
  /** In force from that second on; ascending. */
  readonly sizes: readonly ReportSize[];
  /** Seconds at which an instance was killed for memory. */
  readonly kills: readonly number[];
  readonly resizesPerHour: number;
  readonly cpu: ReportFigures;
  readonly memory: ReportFigures;
}

/** Millicores and bytes; `null` for a side that is not set. */
export interface ReportSize {
  readonly second: number;
  readonly cpu: ReportSides;
  readonly memory: ReportSides;
}

export interface ReportSides {
  readonly requests: number | null;
  readonly limits: number | null;
}

/** Means over the run, in millicores or bytes; docs/quality.md says what each means. */
export interface ReportFigures {
  readonly used: number;
  readonly request: number;
  readonly limit: number | null;
  readonly slack: number;
  readonly under: number;
  readonly underSeconds: number;
  readonly throttledSeconds: number;
}

/** One policy of a sweep. */
export interface ReportCandidate {
  readonly name: string;
  /** Millicores, the mean over the run. */
  readonly slack: number;
  readonly throttledSeconds: number;
  readonly kills: number;
  readonly resizesPerHour: number;
  /** No other candidate is at least as good in each of these and better in one. */
  readonly isOnFront: boolean;
}
