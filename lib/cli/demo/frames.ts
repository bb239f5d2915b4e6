/** One frame of the demo for a terminal of 80 x 24 or more: plots, the last decisions, events and totals. */
import type { Resource } from "../../units/resources.ts";
import { formatElapsed, formatSize, formatWholeMillicores } from "../terminal/numbers.ts";
import { fitWidth, fitWords, GLYPHS, type Line, plot, type Span, spread } from "./drawing.ts";
import type { Point, Story, StoryEvent, Tone } from "./story.ts";
import { listTotals } from "./totals.ts";
import { toShortWords } from "./words.ts";

/** The size of the terminal, and the text of the first line. */
export interface FrameOptions {
  readonly columns: number;
  readonly rows: number;
  /** How much faster time passes in the cluster than outside. */
  readonly speed: number;
  /** How far the run is, at the right of the top. */
  readonly progress: string;
  /** What a reader can type meanwhile, in the rule above the events. */
  readonly hint: string;
  /** Rows that stay free below: there are fewer events, and the plots keep their height. */
  readonly keptRows?: number;
}

/** The character before a decision of this tone. */
const TONE_SIGNS: Readonly<Record<Tone, string>> = { up: "↑", down: "↓", blocked: "‖", lost: "✗", trouble: "!" };

/** `podfit demo  +10m00s (20×)   ▆ used  ─ request  ┄ limit  ═ both      30 of 60 s` */
function toHeader(story: Story, { columns, speed, progress }: FrameOptions): Line {
  const left: Line = [
    { text: "podfit demo", style: "strong" },
    { text: `  ${formatElapsed(story.at - story.startedAt)} (${speed}×)   ` },
    ...LEGEND,
  ];
  return spread(left, [{ text: progress, style: "dim" }], columns);
}

const LEGEND: Line = [
  { text: "▆", style: "used" as const },
  { text: " used  " },
  { text: GLYPHS.requests, style: "requests" as const },
  { text: " request  " },
  { text: GLYPHS.limits, style: "limits" as const },
  { text: " limit  " },
  { text: GLYPHS.both, style: "requests" as const },
  { text: " both" },
];

/** The newest events between two rules, as many as fit, and the totals. */
function toBottom(
  story: Story,
  { columns, eventCount, totals, hint }: {
    readonly columns: number;
    readonly eventCount: number;
    readonly totals: readonly Line[];
    readonly hint: string;
  },
): readonly Line[] {
  const rule = fitWidth([{ text: "─".repeat(columns), style: "dim" }], columns);
  const head = hint === "" ? rule : fitWidth([{ text: `── ${hint} ${"─".repeat(columns)}`, style: "dim" }], columns);
  const events = story.events.slice(eventCount === 0 ? Infinity : -eventCount);
  const told = Array.from({ length: eventCount }, (_, index) => {
    const event = events[index];
    return event === undefined ? fitWidth([], columns) : fitWords(toEventLine(event, story), columns);
  });
  return [head, ...told, rule, ...totals.map((line) => fitWords(line, columns))];
}

/** `+08m12s web    ↑ cpu.requests 599m → 953m  cpu.requests at 125 %` */
export function toEventLine({ at, tone, subject, text, why }: StoryEvent, { startedAt }: Story): Line {
  return [
    { text: `${formatElapsed(at - startedAt)} `, style: "dim" },
    { text: `${subject.padEnd(6)} ` },
    { text: `${TONE_SIGNS[tone]} `, style: tone },
    { text: text.replaceAll("->", "→"), style: tone === "up" || tone === "down" ? "plain" : tone },
    { text: `  ${why}`, style: "dim" },
  ];
}

/** The times at the edges of a plot: a window moves by whole columns, else all bars would flicker. */
function toEdges(story: Story, width: number): { readonly fromAt: number; readonly toAt: number } {
  const stepMs = story.windowMs / width;
  const passed = Math.max(width, Math.ceil((story.at - story.startedAt) / stepMs));
  const toAt = story.startedAt + passed * stepMs;
  return { fromAt: toAt - story.windowMs, toAt };
}

/** As many lines as there are rows, each as wide as the terminal. */
export function toFrame(story: Story, options: FrameOptions): readonly Line[] {
  const { columns, rows, keptRows = 0, hint } = options;
  const totals = listTotals(story);
  const spare = Math.max(0, rows - MIN_ROWS);
  const plotHeight = MIN_PLOT_ROWS + Math.min(8, Math.floor(spare / 3));
  const eventCount = Math.max(0, rows - keptRows - 3 - 2 * (plotHeight + 2) - totals.length);
  const width = Math.floor((columns - GAP) / 2);
  const lines: Line[] = [toHeader(story, options)];
  for (const pair of PANELS) {
    const [left = [], right = []] = pair.map((one) => toPanel(story, one, { width, plotHeight }));
    for (const [index, line] of left.entries()) {
      lines.push(fitWidth([...line, { text: " ".repeat(GAP) }, ...(right[index] ?? [])], columns));
    }
  }
  return [...lines, ...toBottom(story, { columns, eventCount, totals, hint })].slice(0, rows);
}

const PANELS: readonly (readonly PanelName[])[] = [
  [{ container: "web", resource: "cpu" }, { container: "cache", resource: "memory" }],
  [{ container: "worker", resource: "cpu" }, { container: "worker", resource: "memory" }],
];

const GAP = 2;

const MIN_ROWS = 24;

const MIN_PLOT_ROWS = 3;

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
    amount === null ? "none" : resource === "cpu" ? formatWholeMillicores(amount) : formatSize(amount, "memory");
  return [
    { text: "▆", style: "used" },
    { text: ` ${point.used === null ? "down" : format(point.used)} ` },
    { text: GLYPHS.requests, style: "requests" },
    { text: ` ${format(point.requests)} ` },
    { text: GLYPHS.limits, style: "limits" },
    { text: ` ${format(point.limits)}` },
  ];
}

/** The last resize; also, or instead where it does not fit, what blocks the next one. */
function toDecision(story: Story, { container, resource }: PanelName, width: number): Line {
  const standing = story.standing[container];
  const isBlocked = standing?.kind === "blocked";
  if (isBlocked && standing.reason !== "Cooldown") {
    return fitWidth([{
      text: `${TONE_SIGNS.blocked} ${toShortWords(standing.reason)} since ${
        formatElapsed(standing.since - story.startedAt)
      }`,
      style: "blocked",
    }], width);
  }
  const held = standing === undefined ? "" : toShortWords(standing.reason);
  const change = story.changes[`${container}.${resource}`];
  if (change === undefined) return fitWidth([{ text: held, style: "dim" }], width);
  const { requests, limits } = change;
  const left: Line = [
    { text: `${TONE_SIGNS[change.tone]} `, style: change.tone },
    { text: formatElapsed(change.at - story.startedAt), style: "dim" },
    ...(requests === null ? [] : [
      { text: ` ${GLYPHS.requests}`, style: "requests" as const },
      { text: ` ${requests}` },
    ]),
    ...(limits === null ? [] : [{ text: ` ${GLYPHS.limits}`, style: "limits" as const }, { text: ` ${limits}` }]),
  ];
  return spread(left, [{ text: held, style: isBlocked ? "blocked" : "dim" }], width);
}

/** As many lines as there are rows, each as wide as the terminal. */
export function toFrameOfBoth(story: Story, options: FrameOptions): readonly Line[] {
  const { columns, rows, keptRows = 0, hint } = options;
  const totals = listTotals(story);
  const spare = Math.max(0, rows - BOTH_MIN_ROWS);
  const height = BOTH_MIN_PLOT_ROWS + Math.min(8, Math.floor(spare / 3));
  const eventCount = Math.max(0, rows - keptRows - 3 - 2 * (height + 1) - totals.length);
  const size = { width: columns, height, ...toEdges(story, columns) };
  const [sizes, pods] = [story.traces[`${WORKLOAD}.cpu`] ?? [], story.traces[`${WORKLOAD}.pods`] ?? []];
  return [
    toHeader(story, options),
    spread([{ text: "cpu per pod", style: "strong" }, ...toSizing(story)], toSizes(sizes.at(-1)), columns),
    ...plot(sizes, size),
    spread([{ text: "pods", style: "strong" }, ...toScaling(story)], toCounts(pods.at(-1)), columns),
    // A line over a bar as high as itself would hide it.
    ...plot(pods.map((one) => one.limits === one.used ? { ...one, limits: null } : one), size),
    ...toBottom(story, { columns, eventCount, totals, hint }),
  ].slice(0, rows).map((line) => fitWidth(line, columns));
}

const WORKLOAD = "shop";

const BOTH_MIN_ROWS = 24;

const BOTH_MIN_PLOT_ROWS = 4;

/** The last resize, or what keeps pods at their size because their number changes. */
function toSizing({ replicas: { pendingSince }, changes, startedAt }: Story): Line {
  if (pendingSince !== null) {
    return toBlocked(`${toShortWords("ScaleInPending")} since ${formatElapsed(pendingSince - startedAt)}`);
  }
  const change = changes[`${WORKLOAD}.cpu`];
  const said = change?.requests ?? change?.limits;
  if (change === undefined || said === undefined || said === null) return [];
  const side = change.requests === null ? "limits" : "requests";
  return [
    { text: `  ${TONE_SIGNS[change.tone]} `, style: change.tone },
    { text: formatElapsed(change.at - startedAt), style: "dim" },
    { text: ` ${GLYPHS[side]}`, style: side },
    { text: ` ${said}` },
  ];
}

/** The result of the last scaling loop. */
function toScaling({ replicas: { last, standing }, startedAt }: Story): Line {
  if (standing === null) return [];
  const { reason, since } = standing;
  if (last !== null && (reason === "ScaledOut" || reason === "ScaledIn")) {
    return [
      { text: `  ${TONE_SIGNS[last.tone]} `, style: last.tone },
      { text: formatElapsed(last.at - startedAt), style: "dim" },
      { text: ` ${last.text.replace("->", "→")}` },
    ];
  }
  const said = `${toShortWords(reason)} since ${formatElapsed(since - startedAt)}`;
  return reason === "WithinTolerance" ? [{ text: `  ${said}`, style: "dim" }] : toBlocked(said);
}

function toBlocked(said: string): Line {
  return [{ text: `  ${TONE_SIGNS.blocked} ${said}`, style: "blocked" }];
}

function toSizes(point: Point | undefined): Line {
  if (point === undefined) return STARTING;
  const { used, requests, limits } = point;
  const format = (amount: number | null) => amount === null ? "none" : formatWholeMillicores(amount);
  return [
    ...bar(used === null ? "down" : format(used)),
    ...mark("requests", format(requests)),
    ...mark("limits", format(limits)),
  ];
}

function toCounts(point: Point | undefined): Line {
  if (point === undefined) return STARTING;
  return [...bar(`${point.used ?? 0} with podfit`), ...mark("limits", `${point.limits ?? 0} with an HPA`)];
}

const STARTING: Line = [{ text: "starting", style: "dim" }];

function bar(text: string): readonly Span[] {
  return [{ text: "▆", style: "used" }, { text: ` ${text} ` }];
}

function mark(side: "requests" | "limits", text: string): readonly Span[] {
  return [{ text: GLYPHS[side], style: side }, { text: ` ${text} ` }];
}
