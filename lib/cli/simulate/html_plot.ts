/** One plot over time as SVG: what was wanted as an area, request and limit as steps, resizes and kills as marks. */
import { listTicks, listTimes } from "./html_scale.ts";
import { escapeHtml, formatCoordinate as at, formatQuantity, formatSpan, type Unit } from "./html_text.ts";

export interface Plot {
  /** For those who do not see it; and, for what is drawn once and used by its name, different from those of all others. */
  readonly label: string;
  readonly id: string;
  /** Pixels of a screen of usual size. */
  readonly width: number;
  readonly unit: Unit;
  readonly seconds: number;
  /** The highest value that is shown. */
  readonly top: number;
  /** What was wanted, at equal distances: the highest second of each, and the mean. */
  readonly peaks: ArrayLike<number>;
  readonly means: ArrayLike<number>;
  readonly lines: readonly PlotLine[];
  readonly resizes: readonly Mark[];
  /** Seconds. */
  readonly kills: readonly number[];
}

export interface PlotLine {
  /** `limit`: what is wanted beyond it is shown as lost. */
  readonly kind: "request" | "limit" | "replicas";
  readonly steps: Steps;
}

/** Amounts from a second on; a gap where it is `null`. */
export type Steps = readonly (readonly [second: number, amount: number | null])[];

/** A resize. */
export interface Mark {
  readonly second: number;
  readonly isUp: boolean;
  readonly text: string;
}

const HEIGHT = 232;
const LEFT = 46;
const RIGHT = 8;
const TOP = 16;
const BOTTOM = 192;
/** Marks of resizes lie on two lines below the plot. */
const UP_AT = BOTTOM + 8;
const DOWN_AT = BOTTOM + 15;
const LABELS_AT = BOTTOM + 33;
/** Pixels between labels of the time axis. */
const LABEL_PIXELS = 72;

export function drawPlot(plot: Plot): string {
  const right = plot.width - RIGHT;
  const toX = (second: number) => LEFT + Math.min(1, second / Math.max(1, plot.seconds)) * (right - LEFT);
  const ticks = listTicks(plot.top, { count: 4, base: plot.unit === "memory" ? 2 : 10 });
  const top = ticks.at(-1) ?? 1;
  const toY = (amount: number) => BOTTOM - Math.min(1, Math.max(0, amount / top)) * (BOTTOM - TOP);
  const place: Place = { toX, toY, right };
  return [
    `<svg viewBox="0 0 ${plot.width} ${HEIGHT}" role="img" aria-label="${escapeHtml(plot.label)}">`,
    ...drawGrid(plot, ticks, place),
    drawArea(plot.peaks, "peak", place),
    drawArea(plot.means, "used", place),
    ...plot.lines.filter(({ kind }) => kind === "limit").flatMap(({ steps }) => drawLost(plot, steps, place)),
    ...plot.lines.map(({ kind, steps }) => `<path class="${kind}" d="${drawSteps(steps, plot.seconds, place)}"/>`),
    ...plot.resizes.map((mark) => drawMark(mark, toX(mark.second))),
    ...plot.kills.map((second) => drawKill(second, toX(second))),
    "</svg>",
  ].join("\n");
}

interface Place {
  readonly toX: (second: number) => number;
  readonly toY: (amount: number) => number;
  readonly right: number;
}

function drawGrid(
  { unit, seconds }: Plot,
  ticks: readonly number[],
  { toX, toY, right }: Place,
): readonly string[] {
  const rows = ticks.map((tick) => {
    const y = at(toY(tick));
    const text = escapeHtml(formatQuantity(tick, unit));
    return `<path class="grid" d="M${LEFT} ${y}H${right}"/>` +
      `<text class="tick end" x="${LEFT - 6}" y="${y}" dy="0.35em">${text}</text>`;
  });
  const columns = listTimes(seconds, (right - LEFT) / LABEL_PIXELS).map((second) => {
    const x = at(toX(second));
    const align = second === 0 ? "" : toX(second) > right - 24 ? " end" : " middle";
    return `<path class="grid" d="M${x} ${BOTTOM}v4"/>` +
      `<text class="tick${align}" x="${x}" y="${LABELS_AT}">${second === 0 ? "0" : formatSpan(second)}</text>`;
  });
  return [...rows, ...columns];
}

/** From one value's middle to the next, and along both edges. */
function drawArea(values: ArrayLike<number>, kind: string, place: Place): string {
  return values.length === 0 ? "" : `<path class="${kind}" d="${toArea(values, place)}"/>`;
}

function toArea(values: ArrayLike<number>, { toY, right }: Place): string {
  const width = (right - LEFT) / values.length;
  const points = Array.from(values, (value, index) => `${at(LEFT + (index + 0.5) * width)} ${at(toY(value))}`);
  const [first, last] = [at(toY(values[0] ?? 0)), at(toY(values[values.length - 1] ?? 0))];
  return `M${LEFT} ${first}L${points.join("L")}L${right} ${last}V${BOTTOM}H${LEFT}Z`;
}

/** What was wanted, cut off where the limit is. */
function drawLost({ id, peaks, seconds }: Plot, steps: Steps, place: Place): readonly string[] {
  const above = steps.map(([second, amount], index) => {
    if (amount === null) return "";
    const [from, to] = [place.toX(second), place.toX(steps[index + 1]?.[0] ?? seconds)];
    return to - from < LEAST_PIXELS ? "" : `M${at(from)} 0H${at(to)}V${at(place.toY(amount))}H${at(from)}Z`;
  }).join("");
  if (above === "" || peaks.length === 0) return [];
  return [
    `<clipPath id="${id}"><path d="${above}"/></clipPath>`,
    `<path class="lost" clip-path="url(#${id})" d="${toArea(peaks, place)}"/>`,
  ];
}

/** What changes again within a quarter of a pixel is not drawn. */
const LEAST_PIXELS = 0.25;

function drawSteps(steps: Steps, seconds: number, { toX, toY }: Place): string {
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
