/**
 * One frame of the demo: four plots with the last decision about each, what happened last, and the totals beside the
 * shadow's; laid out for a terminal of 80 x 24 and more.
 */
import type { Resource } from "../../units/resources.ts";
import { type FrameOptions, SIGNS, toBottom, toEdges, toHeader } from "./frame_parts.ts";
import { GLYPHS, plot } from "./plot.ts";
import type { Point, Story } from "./story.ts";
import { fit, formatCpu, formatElapsed, formatMemory, type Line, spread } from "./text.ts";
import { listTotals } from "./totals.ts";

/** As many lines as there are rows, each as wide as the terminal. */
export function toFrame(story: Story, options: FrameOptions): readonly Line[] {
  const { columns, rows } = options;
  const totals = listTotals(story);
  const spare = Math.max(0, rows - LEAST_ROWS);
  const plotHeight = LEAST_PLOT + Math.min(8, Math.floor(spare / 3));
  const eventCount = Math.max(0, rows - 3 - 2 * (plotHeight + 2) - totals.length);
  const width = Math.floor((columns - GAP) / 2);
  const lines: Line[] = [toHeader(story, options)];
  for (const pair of PANELS) {
    const [left = [], right = []] = pair.map((one) => toPanel(story, one, { width, plotHeight }));
    for (const [index, line] of left.entries()) {
      lines.push(fit([...line, { text: " ".repeat(GAP) }, ...(right[index] ?? [])], columns));
    }
  }
  return [...lines, ...toBottom(story, { columns, eventCount, totals })].slice(0, rows);
}

const PANELS: readonly (readonly PanelName[])[] = [
  [{ container: "web", resource: "cpu" }, { container: "cache", resource: "memory" }],
  [{ container: "worker", resource: "cpu" }, { container: "worker", resource: "memory" }],
];
const GAP = 2;
const LEAST_ROWS = 24;
const LEAST_PLOT = 3;

interface PanelName {
  readonly container: string;
  readonly resource: Resource;
}

function toPanel(
  story: Story,
  { container, resource }: PanelName,
  { width, plotHeight }: { readonly width: number; readonly plotHeight: number },
): readonly Line[] {
  const points = story.traces[`${container}.${resource}`] ?? [];
  return [
    spread([{ text: `${container} ${resource}`, style: "strong" }], toLegend(points.at(-1), resource), width),
    ...plot(points, { width, height: plotHeight, ...toEdges(story, width) }),
    toDecision(story, { container, resource }, width),
  ];
}

function toLegend(point: Point | undefined, resource: Resource): Line {
  if (point === undefined) return [{ text: "starting", style: "dim" }];
  const format = (amount: number | null) =>
    amount === null ? "none" : resource === "cpu" ? formatCpu(amount) : formatShort(amount);
  return [
    { text: "▆", style: "used" },
    { text: ` ${point.used === null ? "down" : format(point.used)} ` },
    { text: GLYPHS.requests, style: "requests" },
    { text: ` ${format(point.requests)} ` },
    { text: GLYPHS.limits, style: "limits" },
    { text: ` ${format(point.limits)}` },
  ];
}

function formatShort(bytes: number): string {
  return bytes < 1000 * 2 ** 20 ? formatMemory(bytes) : `${(bytes / 2 ** 30).toFixed(1)}Gi`;
}

/** The last resize; in its place, or beside it where there is room, what holds the next one back. */
function toDecision(story: Story, { container, resource }: PanelName, width: number): Line {
  const standing = story.standing[container];
  const isBlocked = standing?.kind === "blocked";
  if (isBlocked && standing.reason !== "Cooldown") {
    return fit([{
      text: `${SIGNS.blocked} ${standing.reason} since ${formatElapsed(standing.since - story.startedAt)}`,
      style: "blocked",
    }], width);
  }
  const change = story.changes[`${container}.${resource}`];
  if (change === undefined) return fit([{ text: standing?.reason ?? "", style: "dim" }], width);
  const { requests, limits } = change;
  const left: Line = [
    { text: `${SIGNS[change.tone]} `, style: change.tone },
    { text: formatElapsed(change.at - story.startedAt), style: "dim" },
    ...(requests === null ? [] : [
      { text: ` ${GLYPHS.requests}`, style: "requests" as const },
      { text: ` ${requests}` },
    ]),
    ...(limits === null ? [] : [{ text: ` ${GLYPHS.limits}`, style: "limits" as const }, { text: ` ${limits}` }]),
  ];
  return spread(left, [{ text: standing?.reason ?? "", style: isBlocked ? "blocked" : "dim" }], width);
}
