/** One plot over time as SVG: what was wanted as an area, request and limit as steps, resizes and kills as marks. */
import { type Column, listTicks, listTimes } from "./html_scale.ts";
import { escapeHtml, formatCoordinate as at, formatQuantity, formatSpan, type Unit } from "./html_text.ts";

export interface Plot {
  /** For those who do not see it. */
  readonly label: string;
  readonly unit: Unit;
  readonly seconds: number;
  /** The highest value that is shown. */
  readonly top: number;
  readonly columns: readonly Column[];
  readonly lines: readonly PlotLine[];
  /** Seconds, and whether the size went up. */
  readonly resizes: readonly Mark[];
  readonly kills: readonly number[];
}

export interface PlotLine {
  /** Of the style sheet: `request`, `limit` or `replicas`. */
  readonly kind: string;
  /** Second, amount from then on. A gap where it is `null`. */
  readonly steps: readonly (readonly [second: number, amount: number | null])[];
}

export interface Mark {
  readonly second: number;
  readonly isUp: boolean;
  readonly text: string;
}

const WIDTH = 640;
const HEIGHT = 232;
const LEFT = 46;
const RIGHT = 8;
const TOP = 16;
const BOTTOM = 192;
/** Marks of resizes lie on two lines below the plot. */
const UP_AT = BOTTOM + 8;
const DOWN_AT = BOTTOM + 15;
const LABELS_AT = BOTTOM + 33;
export const PLOT_COLUMNS = WIDTH - LEFT - RIGHT;

export function drawPlot(plot: Plot): string {
  const toX = (second: number) => LEFT + Math.min(1, second / Math.max(1, plot.seconds)) * (WIDTH - LEFT - RIGHT);
  const ticks = listTicks(plot.top, { count: 4, base: plot.unit === "memory" ? 2 : 10 });
  const top = ticks.at(-1) ?? 1;
  const toY = (amount: number) => BOTTOM - Math.min(1, Math.max(0, amount / top)) * (BOTTOM - TOP);
  const place: Place = { toX, toY };
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(plot.label)}">`,
    ...drawGrid(plot, ticks, place),
    drawArea(plot.columns.map(({ max }) => max), "peak", place.toY),
    drawArea(plot.columns.map(({ mean }) => mean), "used", place.toY),
    ...plot.lines.map(({ kind, steps }) => `<path class="${kind}" d="${drawSteps(steps, plot.seconds, place)}"/>`),
    ...plot.resizes.map((mark) => drawMark(mark, toX(mark.second))),
    ...plot.kills.map((second) => drawKill(second, toX(second))),
    "</svg>",
  ].join("\n");
}

interface Place {
  readonly toX: (second: number) => number;
  readonly toY: (amount: number) => number;
}

function drawGrid({ unit, seconds }: Plot, ticks: readonly number[], { toX, toY }: Place): readonly string[] {
  const rows = ticks.map((tick) => {
    const y = at(toY(tick));
    const text = escapeHtml(formatQuantity(tick, unit));
    return `<path class="grid" d="M${LEFT} ${y}H${WIDTH - RIGHT}"/>` +
      `<text class="tick end" x="${LEFT - 6}" y="${y}" dy="0.35em">${text}</text>`;
  });
  const columns = listTimes(seconds, 8).map((second) => {
    const x = at(toX(second));
    const align = second === 0 ? "" : toX(second) > WIDTH - 24 ? " end" : " middle";
    return `<path class="grid" d="M${x} ${BOTTOM}v4"/>` +
      `<text class="tick${align}" x="${x}" y="${LABELS_AT}">${second === 0 ? "0" : formatSpan(second)}</text>`;
  });
  return [...rows, ...columns];
}

/** From one column's middle to the next, and along both edges. */
function drawArea(values: readonly number[], kind: string, toY: Place["toY"]): string {
  const width = (WIDTH - LEFT - RIGHT) / Math.max(1, values.length);
  const points = values.map((value, index) => `${at(LEFT + (index + 0.5) * width)} ${at(toY(value))}`);
  const [first, last] = [at(toY(values[0] ?? 0)), at(toY(values.at(-1) ?? 0))];
  const line = `M${LEFT} ${first}L${points.join("L")}L${WIDTH - RIGHT} ${last}`;
  return `<path class="${kind}" d="${line}V${BOTTOM}H${LEFT}Z"/>`;
}

/** What changes again within a quarter of a pixel is not drawn. */
const LEAST_PIXELS = 0.25;

function drawSteps(steps: PlotLine["steps"], seconds: number, { toX, toY }: Place): string {
  const parts: string[] = [];
  let isOpen = false;
  for (const [index, [second, amount]] of steps.entries()) {
    const x = toX(second);
    const end = toX(steps[index + 1]?.[0] ?? seconds);
    if (end - x < LEAST_PIXELS && index < steps.length - 1) continue;
    if (amount !== null) parts.push(`${isOpen ? "V" : `M${at(x)} `}${at(toY(amount))}H${at(end)}`);
    isOpen = amount !== null;
  }
  return parts.join("");
}

function drawMark({ isUp, text }: Mark, x: number): string {
  const [kind, y, tip] = isUp ? ["up", UP_AT, -4] as const : ["down", DOWN_AT, 4] as const;
  return `<path class="${kind}" d="M${at(x - 2.5)} ${y}h5l-2.5 ${tip}z"><title>${escapeHtml(text)}</title></path>`;
}

function drawKill(second: number, x: number): string {
  const text = `killed for memory at ${formatSpan(second)}`;
  return `<g class="kill"><path d="M${at(x)} ${TOP}V${BOTTOM}m-4 ${TOP - BOTTOM - 9}l8 8m0 -8l-8 8"/>` +
    `<title>${text}</title></g>`;
}
