/** What the scale-out bench prints: podfit beside the HPA controller, trial by trial, and whether podfit was ahead each time. */

/** From the step of load to the second Ready pod; `null` = not within the time given. */
export interface Trial {
  readonly podfitMs: number | null;
  readonly hpaMs: number | null;
}

/** A Markdown table; missed when podfit was not ahead in some trial, or there was none. */
export function writeTrials(trials: readonly Trial[]): { readonly text: string; readonly isMissed: boolean } {
  const rows = trials.map(({ podfitMs, hpaMs }, index) => [String(index + 1), toSeconds(podfitMs), toSeconds(hpaMs)]);
  const medians = ["median", toSeconds(toMedian(trials, "podfitMs")), toSeconds(toMedian(trials, "hpaMs"))];
  const head = ["trial", "podfit, s", "HPA with metrics-server, s"];
  const lines = [head, head.map(() => "---"), ...rows, medians].map((cells) => `| ${cells.join(" | ")} |`);
  const isMissed = trials.length === 0 ||
    !trials.every(({ podfitMs, hpaMs }) => (podfitMs ?? Infinity) < (hpaMs ?? Infinity));
  return { text: lines.join("\n"), isMissed };
}

function toMedian(trials: readonly Trial[], side: keyof Trial): number | null {
  const sorted = trials.map((trial) => trial[side] ?? Infinity).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? Infinity;
  return Number.isFinite(middle) ? middle : null;
}

function toSeconds(ms: number | null): string {
  return ms === null ? "never" : (ms / 1000).toFixed(1);
}
