/**
 * What the reaction bench prints: how long each source of usage takes from a step of load to a size that fits it, in how
 * many resizes, and whether that is within the bars (L62). Pure, so that what is committed as a result is what a test
 * has seen.
 */

/** One step of load. */
export interface StepResult {
  readonly direction: "up" | "down";
  /** From the step to the first enacted size that fits; `null` = not within the time given. */
  readonly fitMs: number | null;
  /** From the step until the size rested. */
  readonly resizes: number;
}

/** Who followed the load, and how. */
export interface ReactionResult {
  readonly subject: Subject;
  readonly steps: readonly StepResult[];
}

export type Subject = "cgroup" | "kubelet" | "VPA";

export interface Report {
  readonly text: string;
  /** One line each. */
  readonly missed: readonly string[];
}

/** Medians, seconds; resizes of any step up. VPA is only looked at. */
const BARS: Readonly<Record<Subject, Bars>> = {
  cgroup: { up: 3, resizesUp: 1, down: null },
  kubelet: { up: 17, resizesUp: 2, down: 35 },
  VPA: { up: null, resizesUp: null, down: null },
};

interface Bars {
  readonly up: number | null;
  readonly resizesUp: number | null;
  readonly down: number | null;
}

/** In the order given. */
export function writeReport(results: readonly ReactionResult[]): Report {
  const rows = results.flatMap(({ subject, steps }) =>
    (["up", "down"] as const).map((direction) => toRow(subject, direction, steps))
  );
  return {
    text: [HEAD, ...rows].map((cells) => `| ${cells.join(" | ")} |`).toSpliced(1, 0, RULE).join("\n"),
    missed: results.flatMap(listMissed),
  };
}

/** The middle one, or the upper of the two; a step that never fitted counts as endless. */
export function readMedian(steps: readonly StepResult[], direction: StepResult["direction"]): number {
  const fits = steps.filter((step) => step.direction === direction).map(({ fitMs }) => fitMs ?? Infinity);
  return fits.sort((a, b) => a - b)[Math.floor(fits.length / 2)] ?? Infinity;
}

const HEAD = ["source", "step", "fits after, s", "median, s", "bar", "resizes", "bar"];
const RULE = `|${"---|".repeat(HEAD.length)}`;

function toRow(subject: Subject, direction: StepResult["direction"], all: readonly StepResult[]): readonly string[] {
  const steps = all.filter((step) => step.direction === direction);
  const { up, down, resizesUp } = BARS[subject];
  return [
    subject,
    direction === "up" ? "50m to 600m" : "600m to 50m",
    steps.map(({ fitMs }) => toSeconds(fitMs ?? Infinity)).join(" "),
    toSeconds(readMedian(all, direction)),
    toBar(direction === "up" ? up : down),
    steps.map(({ resizes }) => resizes).join(" "),
    toBar(direction === "up" ? resizesUp : null),
  ];
}

function toSeconds(ms: number): string {
  return ms === Infinity ? "never" : (ms / 1000).toFixed(1);
}

function toBar(bar: number | null): string {
  return bar === null ? "" : `<= ${bar}`;
}

function listMissed({ subject, steps }: ReactionResult): readonly string[] {
  const bars = BARS[subject];
  const medians = (["up", "down"] as const).flatMap((direction) => {
    const bar = bars[direction];
    const median = readMedian(steps, direction);
    return bar === null || median <= bar * 1000
      ? []
      : [`${subject}, ${direction}: median ${toSeconds(median)} s, bar ${bar} s`];
  });
  const most = Math.max(0, ...steps.filter(({ direction }) => direction === "up").map(({ resizes }) => resizes));
  const { resizesUp } = bars;
  return resizesUp === null || most <= resizesUp
    ? medians
    : [...medians, `${subject}, up: ${most} resizes, bar ${resizesUp}`];
}
