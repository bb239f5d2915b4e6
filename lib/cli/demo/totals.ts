/** The table of the demo: what podfit saved, compared with the same time without it. */
import { formatWholeMebibytes, formatWholeMillicores } from "../terminal/numbers.ts";
import type { Line, Span } from "./drawing.ts";
import type { SceneName } from "./options.ts";
import type { Story, Tally } from "./story.ts";
import { toShortWords } from "./words.ts";

/** Returns the table with its heading, and the counts below it. */
export function listTotals(story: Story): readonly Line[] {
  const { podfit, comparison, scene } = story;
  const other = scene === "both" ? "HPA alone" : "without";
  return [
    [{
      text: `${"".padEnd(NAME_WIDTH)}${"with podfit".padStart(AMOUNT_WIDTH)}${other.padStart(AMOUNT_WIDTH)}`,
      style: "dim",
    }],
    ...ROWS[scene].map(({ name, read, format, judge, isLoss }): Line => {
      const cell = (tally: Tally): Span => ({
        text: format(tally).padStart(AMOUNT_WIDTH),
        style: isLoss && read(tally) > 0 ? "lost" : "plain",
      });
      const { text, isGood } = judge(read(podfit), read(comparison));
      const verdict: Span = { text: `   ${text}`, style: isGood ? "good" : "plain" };
      return [{ text: name.padEnd(NAME_WIDTH) }, cell(podfit), cell(comparison), verdict];
    }),
    formatCounts(story),
  ];
}

/** Returns the mean over the time of what all containers together requested, in millicores or bytes. */
export function computeAverage(tally: Tally, resource: "cpu" | "memory"): number {
  if (tally.elapsedMs === 0) return 0;
  return (resource === "cpu" ? tally.reservedCpu : tally.reservedMemory) / tally.elapsedMs;
}

const NAME_WIDTH = 29;

const AMOUNT_WIDTH = 14;

interface Row {
  readonly name: string;
  readonly read: (tally: Tally) => number;
  readonly format: (tally: Tally) => string;
  readonly judge: (podfit: number, comparison: number) => Verdict;
  /** Zero is the goal. */
  readonly isLoss: boolean;
}

interface Verdict {
  readonly text: string;
  readonly isGood: boolean;
}

const CPU: Row = {
  name: "CPU requested, on average",
  read: (tally) => computeAverage(tally, "cpu"),
  format: (tally) => formatWholeMillicores(computeAverage(tally, "cpu")),
  judge: judgeSaving,
  isLoss: false,
};

const MEMORY: Row = {
  name: "memory requested, on average",
  read: (tally) => computeAverage(tally, "memory"),
  format: (tally) => formatWholeMebibytes(computeAverage(tally, "memory")),
  judge: judgeSaving,
  isLoss: false,
};

const HELD_BACK: Row = {
  name: "CPU time throttled by limits",
  read: ({ throttledNs }) => Math.round(throttledNs / 1e8),
  format: ({ throttledNs }) => `${(throttledNs / 1e9).toFixed(throttledNs < 1e10 ? 1 : 0)}s`,
  judge: judgeLoss,
  isLoss: true,
};

const KILLED: Row = {
  name: "killed for memory",
  read: ({ kills }) => kills,
  format: ({ kills, downMs }) => kills === 0 ? "0" : `${kills}, ${Math.round(downMs / 1000)}s down`,
  judge: judgeLoss,
  isLoss: true,
};

const MAX_PODS: Row = {
  name: "most pods at one time",
  read: ({ mostPods }) => mostPods,
  format: ({ mostPods }) => String(mostPods),
  judge: judgeCount,
  isLoss: false,
};

const ROWS: Readonly<Record<SceneName, readonly Row[]>> = {
  sizes: [CPU, MEMORY, HELD_BACK, KILLED],
  both: [CPU, MEMORY, MAX_PODS, { ...HELD_BACK, name: "core-seconds unserved" }],
};

function judgeSaving(podfit: number, comparison: number): Verdict {
  const percent = comparison === 0 ? 0 : Math.round((1 - podfit / comparison) * 100);
  if (percent === 0) return { text: "", isGood: false };
  return percent > 0
    ? { text: `${percent} % given back`, isGood: true }
    : { text: `${-percent} % more`, isGood: false };
}

function judgeCount(podfit: number, comparison: number): Verdict {
  if (podfit === comparison) return { text: "", isGood: false };
  return podfit < comparison
    ? { text: `${comparison - podfit} fewer`, isGood: true }
    : { text: `${podfit - comparison} more`, isGood: false };
}

function judgeLoss(podfit: number, comparison: number): Verdict {
  if (podfit >= comparison) return { text: podfit > comparison ? "more" : "", isGood: false };
  return { text: podfit === 0 ? "none" : `${Math.floor((1 - podfit / comparison) * 100)} % less`, isGood: true };
}

/** `resizes 41 (23 up, 18 down)   blocked 23: cooldown 19, node full 4`, and in between `replicas 4 (2 out, 2 in)`. */
function formatCounts({ scene, resizes, blocked, replicas: { changes } }: Story): Line {
  const reasons = Object.entries(blocked).filter(([, count]) => count > 0).toSorted(([, a], [, b]) => b - a);
  const total = reasons.reduce((sum, [, count]) => sum + count, 0);
  const line: Line = [
    { text: `resizes ${resizes.up + resizes.down}`, style: "strong" },
    { text: ` (${resizes.up} up, ${resizes.down} down)   ` },
    ...(scene === "both"
      ? [
        { text: `replicas ${changes.out + changes.in}`, style: "strong" as const },
        { text: ` (${changes.out} out, ${changes.in} in)   ` },
      ]
      : []),
    { text: `blocked ${total}`, style: "strong" },
  ];
  return total === 0
    ? line
    : [...line, { text: `: ${reasons.map(([reason, count]) => `${toShortWords(reason)} ${count}`).join(", ")}` }];
}
