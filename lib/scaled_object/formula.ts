/** advanced.scalingModifiers: one value computed from those of the external triggers (R60 to R63). */
import type { Program } from "../units/expr/program.ts";

/** A formula that compiles, with its target. */
export interface Formula {
  readonly text: string;
  readonly program: Program;
  /** The text of `target` as a double; what it is compared with is `targetMilli`. */
  readonly target: number;
  /** trunc(1000 * target), never below 1. */
  readonly targetMilli: bigint;
  /** 0 unless given. */
  readonly activationTarget: number;
  readonly metricType: MetricType;
}

/** How a value of an external metric is compared with its target: by pod, or as a whole. */
export type MetricType = "AverageValue" | "Value";
