/** What frames of all scenes have: the line at the top, what happened last, and the totals beside the shadow's. */
import { GLYPHS } from "./plot.ts";
import type { Story, StoryEvent, Tone } from "./story.ts";
import { fit, formatElapsed, type Line, spread } from "./text.ts";

/** The size of the terminal, and what stands in the first line. */
export interface FrameOptions {
  readonly columns: number;
  readonly rows: number;
  /** How much faster time passes in the cluster than outside. */
  readonly speed: number;
  /** How far the run is, at the right of the top. */
  readonly progress: string;
}

/** What stands before a decision of this tone. */
export const SIGNS: Readonly<Record<Tone, string>> = { up: "↑", down: "↓", blocked: "‖", lost: "✗", trouble: "!" };

/** `podfit demo  10:00 (20×)   ▆ used  ─ request  ┄ limit                 30 of 60 s` */
export function toHeader(story: Story, { columns, speed, progress }: FrameOptions): Line {
  const left: Line = [
    { text: "podfit demo", style: "strong" },
    { text: `  ${formatElapsed(story.at - story.startedAt)} (${speed}×)   ` },
    ...KEY,
  ];
  return spread(left, [{ text: progress, style: "dim" }], columns);
}

const KEY: Line = [
  { text: "▆", style: "used" as const },
  { text: " used  " },
  { text: GLYPHS.requests, style: "requests" as const },
  { text: " request  " },
  { text: GLYPHS.limits, style: "limits" as const },
  { text: " limit" },
];

/** The newest events between two rules, as many as there is room for, and the totals. */
export function toBottom(
  story: Story,
  { columns, eventCount, totals }: {
    readonly columns: number;
    readonly eventCount: number;
    readonly totals: readonly Line[];
  },
): readonly Line[] {
  const rule = fit([{ text: "─".repeat(columns), style: "dim" }], columns);
  const events = story.events.slice(eventCount === 0 ? Infinity : -eventCount);
  const told = Array.from({ length: eventCount }, (_, index) => {
    const event = events[index];
    return fit(event === undefined ? [] : toEventLine(event, story), columns);
  });
  return [rule, ...told, rule, ...totals.map((line) => fit(line, columns))];
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

/** The times at the edges of a plot: a window that moves does so by whole columns, or all bars would tremble. */
export function toEdges(story: Story, width: number): { readonly fromAt: number; readonly toAt: number } {
  const stepMs = story.windowMs / width;
  const passed = Math.max(width, Math.ceil((story.at - story.startedAt) / stepMs));
  const toAt = story.startedAt + passed * stepMs;
  return { fromAt: toAt - story.windowMs, toAt };
}
