/** Simulations as JSON for programs. */
import type { Simulation } from "../../simulate/engine/simulate.ts";
import { toJson } from "../terminal/output.ts";
import type { Comparison } from "./compare.ts";
import type { Ranked } from "./sweep/rank.ts";

/** One object per workload and policy; a limit that is not there is null. `ranked`: what a sweep tried, best first. */
export function formatJson(comparisons: readonly Comparison[], ranked: readonly Ranked[]): string {
  const runs = comparisons.flatMap(({ title, runs }) =>
    runs.map(({ policy, simulation }) => ({ workload: title, policy, ...toPlain(simulation) }))
  );
  return `${toJson(ranked.length === 0 ? { runs } : { runs, sweep: ranked }, 2)}\n`;
}

/** Without the series, which are for plots. */
function toPlain({ seconds, decisions, containers, ...rest }: Simulation) {
  const { stepSeconds: _, ...more } = rest;
  return { seconds, decisions, ...more, containers: containers.map(({ series: _, ...one }) => one) };
}
