/**
 * One frame of the demo: four plots with the last decision about each, what happened last, and the totals beside the
 * shadow's; laid out for a terminal of 80 x 24 and more.
 */
import type { Resource } from "../../units/resources.ts";
import { GLYPHS, plot } from "./plot.ts";
import type { Point, Story, StoryEvent, Tone } from "./story.ts";
import { fit, formatCpu, formatElapsed, formatMemory, type Line, spread } from "./text.ts";
import { listTotals } from "./totals.ts";

/** The size of the terminal, and what stands in the first line. */
export interface FrameOptions {
  readonly columns: number;
  readonly rows: number;
  /** How much faster time passes in the cluster than outside. */
  readonly speed: number;
  /** How far the run is, at the right of the top. */
  readonly progress: string;
}

/** As many lines as there are rows, each as wide as the terminal. */
export function toFrame(story: Story, { columns, rows, speed, progress }: FrameOptions): readonly Line[] {
  const totals = listTotals(story);
  const spare = Math.max(0, rows - LEAST_ROWS);
  const plotHeight = LEAST_PLOT + Math.min(8, Math.floor(spare / 3));
  const eventCount = Math.max(0, rows - 3 - 2 * (plotHeight + 2) - totals.length);
  const width = Math.floor((columns - GAP) / 2);
  const lines: Line[] = [
    spread(
      [
        { text: "podfit demo", style: "strong" },
        { text: `  ${formatElapsed(story.at - story.startedAt)} (${speed}×)   ` },
        ...KEY,
      ],
      [{ text: progress, style: "dim" }],
      columns,
    ),
  ];
  for (const pair of PANELS) {
    const [left = [], right = []] = pair.map((one) => toPanel(story, one, { width, plotHeight }));
    for (const [index, line] of left.entries()) {
      lines.push(fit([...line, { text: " ".repeat(GAP) }, ...(right[index] ?? [])], columns));
    }
  }
  lines.push(fit([{ text: "─".repeat(columns), style: "dim" }], columns));
  const events = story.events.slice(eventCount === 0 ? Infinity : -eventCount);
  for (let index = 0; index < eventCount; index++) {
    const event = events[index];
    lines.push(fit(event === undefined ? [] : toEventLine(event, story), columns));
  }
  lines.push(fit([{ text: "─".repeat(columns), style: "dim" }], columns));
  return [...lines, ...totals.map((line) => fit(line, columns))].slice(0, rows);
}

/** `08:12 web    ↑ cpu.requests 599m → 953m  cpu.requests at 125 %` */
export function toEventLine({ at, tone, subject, text, why }: StoryEvent, { startedAt }: Story): Line {
  return [
    { text: `${formatElapsed(at - startedAt)} `, style: "dim" },
    { text: `${subject.padEnd(6)} ` },
    { text: `${SIGNS[tone]} `, style: tone },
    { text: text.replaceAll("->", "→"), style: tone === "up" || tone === "down" ? "plain" : tone },
    { text: `  ${why}`, style: "dim" },
  ];
}

const PANELS: readonly (readonly PanelName[])[] = [
  [{ container: "web", resource: "cpu" }, { container: "cache", resource: "memory" }],
  [{ container: "worker", resource: "cpu" }, { container: "worker", resource: "memory" }],
];
const KEY: Line = [
  { text: "▆", style: "used" as const },
  { text: " used  " },
  { text: GLYPHS.requests, style: "requests" as const },
  { text: " request  " },
  { text: GLYPHS.limits, style: "limits" as const },
  { text: " limit" },
];
const SIGNS: Readonly<Record<Tone, string>> = { up: "↑", down: "↓", blocked: "‖", lost: "✗", trouble: "!" };
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
  // A window that moves does so by whole columns, or all bars would tremble.
  const stepMs = story.windowMs / width;
  const passed = Math.max(width, Math.ceil((story.at - story.startedAt) / stepMs));
  const toAt = story.startedAt + passed * stepMs;
  return [
    spread([{ text: `${container} ${resource}`, style: "strong" }], toLegend(points.at(-1), resource), width),
    ...plot(points, { width, height: plotHeight, fromAt: toAt - story.windowMs, toAt }),
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
