/** What came of the attacks as a table, and which goals were missed. */
import { computePercentile, type StepKind } from "./meter.ts";
import type { NoisyResult, Window } from "./run.ts";

/** Honest reactions may take this many times as long as without the neighbour. */
const MAX_RATIO = 2;
const MAX_BLOCK_MS = 100;
/** A Lease is lost after 15 s without a renewal, and a leader stops before that. */
const MAX_LEASE_GAP_MS = 10_000;

/** How reactions of one kind changed; Infinity where a reaction is missing. */
export interface Change {
  readonly aloneMs: number;
  readonly attackedMs: number;
  readonly ratio: number;
}

/** Compares the reactions at one percentile. */
export function compareReactions(
  { alone, attacked }: Pick<NoisyResult, "alone" | "attacked">,
  { kind, percent }: { readonly kind: StepKind; readonly percent: number },
): Change {
  const aloneMs = computePercentile(alone.reactions[kind], percent);
  const attackedMs = computePercentile(attacked.reactions[kind], percent);
  return { aloneMs, attackedMs, ratio: attackedMs / aloneMs };
}

/** The goals that one attack misses, in words; none where all is well. */
export function listMissed(result: NoisyResult, { memoryBytes }: { readonly memoryBytes: number }): readonly string[] {
  const { alone, attacked, ending, standby, leaks, failures } = result;
  const limitMiB = memoryBytes / 2 ** 20;
  const slow = KINDS.flatMap((kind) =>
    PERCENTS.flatMap((percent) => {
      const { ratio } = compareReactions(result, { kind, percent });
      // Without any reaction there is no ratio.
      if (ratio <= MAX_RATIO) return [];
      return [`p${percent} of ${kind} is ${formatRatio(ratio)} of what it is alone`];
    })
  );
  return [
    ...(ending === null ? [] : [`podfit ended: ${ending}`]),
    ...slow,
    ...(attacked.blockMs < MAX_BLOCK_MS ? [] : [`its loop was blocked for ${formatMs(attacked.blockMs)}`]),
    ...(attacked.peakMiB < limitMiB ? [] : [`it held ${Math.round(attacked.peakMiB)} MiB`]),
    ...(attacked.leaseGapMs < MAX_LEASE_GAP_MS
      ? []
      : [`its Lease was not renewed for ${formatMs(attacked.leaseGapMs)}`]),
    ...(attacked.holders.every((holder) => alone.holders.includes(holder)) ? [] : ["another one took the Lease"]),
    ...(attacked.failedProbes === 0 ? [] : [`${attacked.failedProbes} of ${attacked.probes} probes failed`]),
    ...(standby.readyMs === null ? ["a podfit that starts then does not become ready"] : []),
    ...(standby.peakMiB < limitMiB ? [] : [`a podfit that starts then held ${Math.round(standby.peakMiB)} MiB`]),
    ...(leaks === 0 ? [] : [`a hostile server got a credential ${leaks} times`]),
    ...failures,
  ];
}

const KINDS = ["size", "replicas"] as const;
const PERCENTS = [50, 99] as const;

const HEAD = [
  "attack",
  ...KINDS.flatMap((kind) => PERCENTS.map((percent) => `${kind} p${percent}, s`)),
  "block, ms",
  "peak, MiB",
  "CPU, s/min",
  "waited, s/min",
  "Lease gap, s",
  "failed probes",
  "start, s (MiB)",
];

/** A table in Markdown: each cell is "alone → attacked", and the reactions have their ratio. */
export function writeTable(results: readonly NoisyResult[]): string {
  const rows = results.map((result) => {
    const { name, alone, attacked, standby } = result;
    const both = (pick: (window: Window) => number, digits = 0) =>
      `${formatNumber(pick(alone), digits)} → ${formatNumber(pick(attacked), digits)}`;
    const reactions = KINDS.flatMap((kind) =>
      PERCENTS.map((percent) => {
        const { aloneMs, attackedMs, ratio } = compareReactions(result, { kind, percent });
        const seconds = (ms: number) => formatNumber(ms / 1000, 1);
        return `${seconds(aloneMs)} → ${seconds(attackedMs)} (${formatRatio(ratio)})`;
      })
    );
    const started = standby.readyMs === null ? "never" : formatNumber(standby.readyMs / 1000, 1);
    return [
      name,
      ...reactions,
      both(({ blockMs }) => blockMs),
      both(({ peakMiB }) => peakMiB),
      both(({ cpuSeconds, seconds }) => 60 * cpuSeconds / seconds, 1),
      both(({ waitedSeconds, seconds }) => 60 * waitedSeconds / seconds, 1),
      both(({ leaseGapMs }) => leaseGapMs / 1000, 1),
      both(({ failedProbes }) => failedProbes),
      `${started} (${Math.round(standby.peakMiB)})`,
    ];
  });
  return [HEAD, HEAD.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function formatNumber(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "none";
}

function formatRatio(ratio: number): string {
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : "none";
}

function formatMs(ms: number): string {
  return Number.isNaN(ms) ? "a time that it could not tell" : `${(ms / 1000).toFixed(1)} s`;
}
