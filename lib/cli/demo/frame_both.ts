/**
 * One frame of the scene with replicas: how large its pods are over how many there are, at the same times, and what
 * decided either; laid out for a terminal of 80 x 24 and more.
 */
import { type FrameOptions, SIGNS, toBottom, toEdges, toHeader } from "./frame_parts.ts";
import { GLYPHS, plot } from "./plot.ts";
import type { Point, Story } from "./story.ts";
import { fit, formatCpu, formatElapsed, type Line, type Span, spread } from "./text.ts";
import { listTotals } from "./totals.ts";

/** As many lines as there are rows, each as wide as the terminal. */
export function toFrameOfBoth(story: Story, options: FrameOptions): readonly Line[] {
  const { columns, rows } = options;
  const totals = listTotals(story);
  const spare = Math.max(0, rows - LEAST_ROWS);
  const height = LEAST_PLOT + Math.min(8, Math.floor(spare / 3));
  const eventCount = Math.max(0, rows - 3 - 2 * (height + 1) - totals.length);
  const size = { width: columns, height, ...toEdges(story, columns) };
  const [sizes, pods] = [story.traces[`${WORKLOAD}.cpu`] ?? [], story.traces[`${WORKLOAD}.pods`] ?? []];
  return [
    toHeader(story, options),
    spread([{ text: "cpu per pod", style: "strong" }, ...toSizing(story)], toSizes(sizes.at(-1)), columns),
    ...plot(sizes, size),
    spread([{ text: "pods", style: "strong" }, ...toScaling(story)], toCounts(pods.at(-1)), columns),
    // A line over a bar as high as itself would hide it.
    ...plot(pods.map((one) => one.limits === one.used ? { ...one, limits: null } : one), size),
    ...toBottom(story, { columns, eventCount, totals }),
  ].slice(0, rows).map((line) => fit(line, columns));
}

const WORKLOAD = "shop";
const LEAST_ROWS = 24;
const LEAST_PLOT = 4;

/** The last resize, or what holds pods at their size for the sake of their number. */
function toSizing({ replicas: { pendingSince }, changes, startedAt }: Story): Line {
  if (pendingSince !== null) return toBlocked(`ScaleInPending since ${formatElapsed(pendingSince - startedAt)}`);
  const change = changes[`${WORKLOAD}.cpu`];
  const said = change?.requests ?? change?.limits;
  if (change === undefined || said === undefined || said === null) return [];
  const side = change.requests === null ? "limits" : "requests";
  return [
    { text: `  ${SIGNS[change.tone]} `, style: change.tone },
    { text: formatElapsed(change.at - startedAt), style: "dim" },
    { text: ` ${GLYPHS[side]}`, style: side },
    { text: ` ${said}` },
  ];
}

/** What the last tick ended with. */
function toScaling({ replicas: { last, standing }, startedAt }: Story): Line {
  if (standing === null) return [];
  const { reason, since } = standing;
  if (last !== null && (reason === "ScaledOut" || reason === "ScaledIn")) {
    return [
      { text: `  ${SIGNS[last.tone]} `, style: last.tone },
      { text: formatElapsed(last.at - startedAt), style: "dim" },
      { text: ` ${last.text.replace("->", "→")}` },
    ];
  }
  const said = `${reason} since ${formatElapsed(since - startedAt)}`;
  return reason === "WithinTolerance" ? [{ text: `  ${said}`, style: "dim" }] : toBlocked(said);
}

function toBlocked(said: string): Line {
  return [{ text: `  ${SIGNS.blocked} ${said}`, style: "blocked" }];
}

function toSizes(point: Point | undefined): Line {
  if (point === undefined) return STARTING;
  const { used, requests, limits } = point;
  const format = (amount: number | null) => amount === null ? "none" : formatCpu(amount);
  return [
    ...bar(used === null ? "down" : format(used)),
    ...mark("requests", format(requests)),
    ...mark("limits", format(limits)),
  ];
}

function toCounts(point: Point | undefined): Line {
  if (point === undefined) return STARTING;
  return [...bar(`${point.used ?? 0} with podfit`), ...mark("limits", `${point.limits ?? 0} with an HPA alone`)];
}

const STARTING: Line = [{ text: "starting", style: "dim" }];

function bar(text: string): readonly Span[] {
  return [{ text: "▆", style: "used" }, { text: ` ${text} ` }];
}

function mark(side: "requests" | "limits", text: string): readonly Span[] {
  return [{ text: GLYPHS[side], style: side }, { text: ` ${text} ` }];
}
