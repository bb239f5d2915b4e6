/** What a soak says at its end and in tests/verify/results, and what is wrong with it. */
import type { SoakResult } from "./soak.ts";

/** From the second quarter to the last, percent. */
const MAX_GROWTH = 5;

/** Returns what is wrong, a line each; none where all is well. */
export function listWrong(
  { disagreements, complaints, heapGrowthPercent, timerGrowthPercent }: SoakResult,
): readonly string[] {
  return [
    ...disagreements,
    ...complaints.slice(0, 10),
    ...(heapGrowthPercent === null ? ["the heap was not measured: run it with --v8-flags=--expose-gc"] : []),
    ...((heapGrowthPercent ?? 0) > MAX_GROWTH ? [`the heap grows by ${heapGrowthPercent?.toFixed(1)} %`] : []),
    ...(timerGrowthPercent > MAX_GROWTH ? [`timers grow by ${timerGrowthPercent.toFixed(1)} %`] : []),
  ];
}

/** Returns the last line of a run. */
export function summarize(
  { minutes, pods, scaledObjects, faults, scales, heapGrowthPercent, timers, disagreements }: SoakResult,
): string {
  const heap = heapGrowthPercent === null ? "not measured" : `${heapGrowthPercent.toFixed(1)} %`;
  return `soak: hours: ${minutes / 60}, pods: ${pods}, ScaledObjects: ${scaledObjects}, faults: ${faults}, ` +
    `scales: ${scales}, heap growth: ${heap}, timers: ${timers}, disagreements: ${disagreements.length}`;
}

/** A run that is over. */
export interface SoakRun {
  /** When and of which commit. */
  readonly taken: string;
  readonly seed: string;
  readonly seconds: number;
  /** How memory and CPU were bounded, in words; `null` = they were not. */
  readonly bound: string | null;
  /** The most memory that the process had, MiB; `null` = not known. */
  readonly peakMiB: number | null;
  /** What was printed of each hour. */
  readonly lines: readonly string[];
  readonly result: SoakResult;
}

/** Returns the whole file in Markdown. */
export function formatReport({ taken, seed, seconds, bound, peakMiB, lines, result }: SoakRun): string {
  const limits = bound === null ? "Its memory was not bounded." : `Its limits are those of the chart: ${bound}.`;
  const peak = peakMiB === null
    ? ""
    : ` At most ${Math.round(peakMiB)} MiB were resident; the limit does not count all pages of Deno's own file.`;
  const wrong = listWrong(result).map((line) => `WRONG ${line}`);
  return `# \`deno task soak\`

${taken}, in ${Math.ceil(seconds / 60)} minutes, on a machine that others may use too. What the figures mean:
[docs/evidence/chaos.md](../../../docs/evidence/chaos.md).

- One process has podfit's daemon, the embedded cluster and the suite. ${limits}${peak}
- The cluster is embedded, and its clock is virtual. Triggers are answered without a network.

\`\`\`
soak: seed ${seed}
${[...lines.map((line) => `  ${line}`), ...wrong, summarize(result)].join("\n")}
\`\`\`
`;
}
