/** What the HTML report shows: plain data. */
import type { Simulation } from "../../simulate/engine/simulate.ts";

export interface Report {
  /** What was simulated: the workload, or the file of the load. */
  readonly title: string;
  /** One line below it: what the load is, and what stands for what. */
  readonly about: string;
  /** One per policy on the same load, side by side; the figures of the second are held against the first. */
  readonly runs: readonly ReportRun[];
  /** What a sweep tried; empty without one. */
  readonly candidates: readonly ReportCandidate[];
}

export interface ReportRun {
  /** The policy's. */
  readonly name: string;
  /** With its series, which the plots are made of; about 1000 steps are as fine as they get. */
  readonly simulation: Simulation;
  /** Second, pods from then on; empty where nothing scales them. */
  readonly replicas: readonly (readonly [second: number, replicas: number])[];
}

/** One policy of a sweep. */
export interface ReportCandidate {
  readonly name: string;
  /** Millicores, the mean over the run. */
  readonly slack: number;
  readonly throttledSeconds: number;
  readonly oomKills: number;
  readonly resizesPerHour: number;
  /** No other candidate is at least as good in each of these and better in one. */
  readonly isOnFront: boolean;
}
