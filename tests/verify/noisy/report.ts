/** Which attacks are run together, and what a run says in tests/verify/results. */
import { ATTACKS } from "./attacks.ts";
import type { NoisyResult } from "./run.ts";
import { writeTable } from "./table.ts";

/** Returns the names of the attacks of each run: `f1,f2+f3,each,all`. Throws for a name that is not known. */
export function parseRuns(text: string): readonly (readonly string[])[] {
  const names = Object.keys(ATTACKS);
  return text.split(",").flatMap((one) => {
    if (one === "each") return names.map((name) => [name]);
    if (one === "all") return [names];
    const parts = one.split("+");
    const unknown = parts.filter((part) => !names.includes(part));
    if (unknown.length > 0) {
      throw new Error(`Cannot attack by "${unknown.join()}": there are ${names.join(", ")}, each, all`);
    }
    return [parts];
  });
}

/** What was run so far. */
export interface NoisyReport {
  /** When and of which commit. */
  readonly taken: string;
  readonly workloads: number;
  readonly windowMs: number;
  /** Flags of podfit that the chart does not give. */
  readonly podfitArgs: readonly string[];
  readonly results: readonly NoisyResult[];
  /** Goals that were missed, and runs that failed. */
  readonly missed: readonly string[];
  /** Runs that have not begun yet. */
  readonly left: number;
}

/** Returns the whole file in Markdown. */
export function formatReport(report: NoisyReport): string {
  const { taken, workloads, windowMs, podfitArgs, results, missed, left } = report;
  const about = Object.entries(ATTACKS).map(([name, { about }]) => `- ${name}: ${about}.`).join("\n");
  const [first] = results;
  const bound = first === undefined ? "No run has ended." : `podfit has the limits of the chart: ${first.bound}.`;
  const flags = podfitArgs.length === 0 ? "" : ` More flags of podfit: \`${podfitArgs.join(" ")}\`.`;
  const met = first === undefined ? "No goal was judged." : "All goals are met.";
  const goals = missed.length === 0 ? met : `Missed:\n\n${missed.map((one) => `- ${one}`).join("\n")}`;
  const open = left === 0 ? "" : `\n${left} more runs had not begun when this was written.\n`;
  return `# \`deno task noisy\`

${taken}, on a machine that others may use too. ${bound}${flags}
There are ${workloads} honest workloads. podfit is measured for ${windowMs / 1000} s without a neighbour, and then for
${windowMs / 1000} s next to one hostile namespace. The attacks:

${about}

The goals:

- Reactions take at most twice as long as without a neighbour.
- podfit's event loop is never blocked for 100 ms.
- Memory, as the kernel counts it against the limit, stays below the limit.
- podfit does not end, keeps its Lease, and answers each probe within a second.
- Another podfit can start.

A reaction is the time from a change of load to the PATCH of the pod, or from a change of a metric to the write of the
scale. "waited" is the time for which the main thread could run and had no CPU, because of its own limit or of other
processes. Each cell is "without a neighbour → attacked".

${writeTable(results)}

${goals}
${open}`;
}
