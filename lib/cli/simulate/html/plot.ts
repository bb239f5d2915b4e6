/**
 * The plots of the report as SVG: usage over time with requests, limits, resizes and kills, and the policies of a
 * sweep.
 */
import type { Course } from "../../../simulate/figures.ts";
import type { ContainerRun } from "../../../simulate/simulate.ts";
import type { RequestOrLimit, Resource, Resources } from "../../../units/resources.ts";
import { formatNumber, formatQuantity, formatSpan, type Unit } from "../../terminal/numbers.ts";
import {
  escapeHtml,
  formatCoordinate as at,
  listTicks,
  listTimes,
  type ReportCandidate,
  type TimeRange,
} from "./report.ts";

export interface Plot {
  /** For screen readers. A shape that is drawn once and reused needs its own name. */
  readonly label: string;
  readonly id: string;
  /** Pixels of a screen of usual size. */
  readonly width: number;
  readonly unit: Unit;
  readonly range: TimeRange;
  /** The highest value that is shown. */
  readonly top: number;
  /** What was wanted, at equal distances: the highest second of each, and the mean. */
  readonly peaks: ArrayLike<number>;
  readonly means: ArrayLike<number>;
  readonly lines: readonly PlotLine[];
  /** What is wanted above them is shown as lost. */
  readonly limits: Steps;
  readonly resizes: readonly Mark[];
  /** Seconds. */
  readonly kills: readonly number[];
}

interface PlotLine {
  readonly kind: "request" | "limit" | "replicas";
  readonly steps: Steps;
}

/** Amounts from a second on; a gap where it is `null`. */
type Steps = readonly (readonly [second: number, amount: number | null])[];

/** A resize, or how many there are in a part of a plot; `share` is the height of its bar, 0 to 1. */
interface Mark {
  readonly second: number;
  readonly isUp: boolean;
  readonly text: string;
  readonly bar?: { readonly toSecond: number; readonly share: number };
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
  const { from, to } = plot.range;
  const toX = (second: number) =>
    LEFT + Math.max(0, Math.min(1, (second - from) / Math.max(1, to - from))) * (right - LEFT);
  const ticks = listTicks(plot.top, { count: 4, base: plot.unit === "memory" ? 2 : 10 });
  const top = ticks.at(-1) ?? 1;
  const toY = (amount: number) => BOTTOM - Math.min(1, Math.max(0, amount / top)) * (BOTTOM - TOP);
  const place: Place = { toX, toY, right };
  return [
    `<svg viewBox="0 0 ${plot.width} ${HEIGHT}" role="img" aria-label="${escapeHtml(plot.label)}">`,
    ...drawGrid(plot, ticks, place),
    drawArea(plot.peaks, "peak", place),
    drawArea(plot.means, "used", place),
    ...plot.limits.length === 0 ? [] : drawLost(plot, plot.limits, place),
    ...plot.lines.map(({ kind, steps }) => `<path class="${kind}" d="${drawSteps(steps, to, place)}"/>`),
    ...plot.resizes.map((mark) => drawMark(mark, place)),
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
  { unit, range }: Plot,
  ticks: readonly number[],
  { toX, toY, right }: Place,
): readonly string[] {
  const rows = ticks.map((tick) => {
    const y = at(toY(tick));
    const text = escapeHtml(formatQuantity(tick, unit));
    return `<path class="grid" d="M${LEFT} ${y}H${right}"/>` +
      `<text class="tick end" x="${LEFT - 6}" y="${y}" dy="0.35em">${text}</text>`;
  });
  const columns = listTimes(range, (right - LEFT) / LABEL_PIXELS).map((second) => {
    const x = at(toX(second));
    const align = second === range.from ? "" : toX(second) > right - 24 ? " end" : " middle";
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
function drawLost({ id, peaks, range }: Plot, steps: Steps, place: Place): readonly string[] {
  const above = steps.map(([second, amount], index) => {
    if (amount === null) return "";
    const [from, to] = [place.toX(second), place.toX(steps[index + 1]?.[0] ?? range.to)];
    return to - from < MIN_PIXELS ? "" : `M${at(from)} 0H${at(to)}V${at(place.toY(amount))}H${at(from)}Z`;
  }).join("");
  if (above === "" || peaks.length === 0) return [];
  return [
    `<clipPath id="${id}"><path d="${above}"/></clipPath>`,
    `<path class="lost" clip-path="url(#${id})" d="${toArea(peaks, place)}"/>`,
  ];
}

/** What changes again within a quarter of a pixel is not drawn. */
const MIN_PIXELS = 0.25;

function drawSteps(steps: Steps, seconds: number, { toX, toY }: Place): string {
  const parts: string[] = [];
  let isOpen = false;
  for (const [index, [second, amount]] of steps.entries()) {
    const x = toX(second);
    const end = toX(steps[index + 1]?.[0] ?? seconds);
    if (end - x < MIN_PIXELS && index < steps.length - 1) continue;
    if (amount !== null) parts.push(`${isOpen ? "V" : `M${at(x)} `}${at(toY(amount))}H${at(end)}`);
    isOpen = amount !== null;
  }
  return parts.join("");
}

function drawMark({ isUp, text, second, bar }: Mark, { toX }: Place): string {
  const title = `<title>${escapeHtml(text)}</title>`;
  const kind = isUp ? "up" : "down";
  const x = toX(second);
  if (bar !== undefined) {
    const height = Math.max(1, bar.share * BAR_PIXELS);
    const [y, width] = [isUp ? UP_AT - height : UP_AT, toX(bar.toSecond) - x];
    return `<path class="${kind}" d="M${at(x)} ${at(y)}h${at(width)}v${at(height)}h-${at(width)}z">${title}</path>`;
  }
  const [y, tip] = isUp ? [UP_AT, -4] : [DOWN_AT, 4];
  return `<path class="${kind}" d="M${at(x - 2.5)} ${y}h5l-2.5 ${tip}z">${title}</path>`;
}

/** The highest bar of resizes. */
const BAR_PIXELS = 7;

function drawKill(second: number, x: number): string {
  const text = `killed for memory at ${formatSpan(second)}`;
  return `<g class="kill"><path d="M${at(x)} ${TOP}V${BOTTOM}m-4 ${TOP - BOTTOM - 9}l8 8m0 -8l-8 8"/>` +
    `<title>${text}</title></g>`;
}

/** The steps of a resource field: its first size, and each size that came into force. */
export function listSteps(container: ContainerRun, resource: Resource, side: RequestOrLimit): Steps {
  const [first] = container.resizes;
  const course = container.series?.[resource];
  const began = first === undefined ? findFirstAmount(course, side) : first.from[`${resource}.${side}`];
  return [
    [0, began],
    ...container.resizes.map(({ second, to }) => [second, to[`${resource}.${side}`]] as const),
  ];
}

function findFirstAmount(course: Course | undefined, side: RequestOrLimit): number | null {
  const amount = (side === "requests" ? course?.request : course?.limit)?.[0] ?? 0;
  return amount > 0 && Number.isFinite(amount) ? amount : null;
}

/** When the resource was resized, and from what to what. */
export function listMarks({ resizes }: ContainerRun, resource: Resource): readonly Mark[] {
  return resizes.flatMap(({ second, action, from, to }): readonly Mark[] => {
    const sides = (["requests", "limits"] as const).filter((side) =>
      from[`${resource}.${side}`] !== to[`${resource}.${side}`]
    );
    if (sides.length === 0) return [];
    const show = (size: Resources, side: RequestOrLimit) => {
      const amount = size[`${resource}.${side}`];
      return amount === null ? "none" : formatQuantity(amount, resource);
    };
    const texts = sides.map((side) => `${side} ${show(from, side)} to ${show(to, side)}`);
    return [{ second, isUp: action === "scaleUp", text: `${formatSpan(second)}: ${texts.join(", ")}` }];
  });
}

/** More marks than this overlap: then parts of the plot are counted. */
const MAX_MARKS = 300;

/** Into how many equal parts a long plot is divided. */
const PARTS = 168;

/** Returns the marks within the range: each resize, or how many there are in each part, with ups above downs. */
export function listMarksIn(marks: readonly Mark[], { from, to }: TimeRange): readonly Mark[] {
  const inside = marks.filter(({ second }) => second >= from && second < to);
  if (inside.length <= MAX_MARKS) return inside;
  const partSeconds = (to - from) / PARTS;
  const parts = Map.groupBy(inside, ({ second, isUp }) => `${Math.floor((second - from) / partSeconds)} ${isUp}`);
  const most = Math.max(...[...parts.values()].map(({ length }) => length));
  return [...parts].map(([key, { length }]) => {
    const [index = "0", isUp = ""] = key.split(" ");
    const second = from + Number(index) * partSeconds;
    const text = `${formatSpan(second)}: ${length} resizes ${isUp === "true" ? "up" : "down"} in ${
      formatSpan(partSeconds)
    }`;
    return { second, isUp: isUp === "true", text, bar: { toSecond: second + partSeconds, share: length / most } };
  });
}

/** Returns the steps in the range; of too many, the means of equal parts. */
export function listStepsIn(steps: Steps, range: TimeRange): Steps {
  const { from, to } = range;
  const before = steps.findLast(([second]) => second <= from);
  const inside = steps.filter(([second]) => second > from && second < to);
  const shown: Steps = [...before === undefined ? [] : [[from, before[1]] as const], ...inside];
  return inside.length <= MAX_MARKS ? shown : listMeans(shown, range);
}

/** By time. A part in which there is no amount for a while is a gap. */
function listMeans(steps: Steps, { from, to }: TimeRange): Steps {
  const partSeconds = (to - from) / PARTS;
  let index = 0;
  return Array.from({ length: PARTS }, (_, part) => {
    const [start, end] = [from + part * partSeconds, from + (part + 1) * partSeconds];
    let [sum, isWhole] = [0, true];
    for (let at = start; at < end;) {
      while ((steps[index + 1]?.[0] ?? Infinity) <= at) index++;
      const until = Math.min(end, steps[index + 1]?.[0] ?? end);
      const amount = steps[index]?.[1] ?? null;
      if (amount === null) isWhole = false;
      else sum += amount * (until - at);
      at = until;
    }
    return [start, isWhole ? sum / partSeconds : null] as const;
  });
}

/** A limit this many times above everything else would flatten the plot. */
const MAX_LIMIT_FACTOR = 2.5;

/** The highest value of all runs, so that heights compare. */
export function findTop(containers: readonly ContainerRun[], resource: Resource): number {
  const most = (side: RequestOrLimit) =>
    maxOf(containers.flatMap((one) => listSteps(one, resource, side).map(([, amount]) => amount ?? 0)));
  const wanted = maxOf(containers.map((one) => maxOf([...one.series?.[resource].peak ?? []])));
  const shown = Math.max(wanted, most("requests"));
  return Math.min(Math.max(most("limits"), shown), shown * MAX_LIMIT_FACTOR);
}

/** Also for lists that are too long for arguments. */
export function maxOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

const CHART_WIDTH = 960;

const CHART_HEIGHT = 380;

const CHART_LEFT = 60;

const CHART_RIGHT = 24;

const CHART_TOP = 16;

const CHART_BOTTOM = 330;

/** More numbers would lie over each other. */
const MAX_LABELS = 12;

/** The name of the slack of a sweep, which counts CPU and memory. */
export const SLACK = "slack (a core = 4 GiB)";

/** `candidates`: best first. The best have the number of their place. */
export function drawCandidates(candidates: readonly ReportCandidate[]): string {
  const most = (read: (one: ReportCandidate) => number) => Math.max(...candidates.map(read), 0);
  const slacks = listTicks(most(({ slack }) => slack), { count: 6, base: 10 });
  const resizes = listTicks(most(({ resizesPerHour }) => resizesPerHour), { count: 5, base: 10 });
  const toX = (slack: number) => CHART_LEFT + slack / (slacks.at(-1) ?? 1) * (CHART_WIDTH - CHART_LEFT - CHART_RIGHT);
  const toY = (perHour: number) => CHART_BOTTOM - perHour / (resizes.at(-1) ?? 1) * (CHART_BOTTOM - CHART_TOP);
  const toPoint = ({ slack, resizesPerHour }: ReportCandidate) => `${at(toX(slack))} ${at(toY(resizesPerHour))}`;
  const front = candidates.filter(({ isOnFront }) => isOnFront).toSorted((a, b) => a.slack - b.slack);
  const behind = candidates.filter(({ isOnFront }) => !isOnFront);
  const draw = (one: ReportCandidate) =>
    drawCandidate(one, { kind: toDotClass(one, candidates), x: toX(one.slack), y: toY(one.resizesPerHour) });
  const edge = listEdge(front);
  return [
    `<svg viewBox="0 0 ${CHART_WIDTH} ${CHART_HEIGHT}" role="img" aria-label="slack and resizes of ${candidates.length} policies">`,
    ...resizes.map((tick) => {
      const y = at(toY(tick));
      return `<path class="grid" d="M${CHART_LEFT} ${y}H${CHART_WIDTH - CHART_RIGHT}"/>` +
        `<text class="tick end" x="${CHART_LEFT - 8}" y="${y}" dy="0.35em">${formatNumber(tick)}</text>`;
    }),
    ...slacks.map((tick) =>
      `<text class="tick middle" x="${at(toX(tick))}" y="${CHART_BOTTOM + 18}">${formatQuantity(tick, "cpu")}</text>`
    ),
    `<text class="tick" x="${CHART_LEFT + 6}" y="${CHART_TOP + 4}">resizes an hour</text>`,
    `<text class="tick end" x="${CHART_WIDTH - CHART_RIGHT}" y="${CHART_BOTTOM + 38}">${SLACK}</text>`,
    edge.length > 1 ? `<path class="front" d="M${edge.map(toPoint).join("L")}"/>` : "",
    ...behind.map(draw),
    ...front.map(draw),
    ...candidates.slice(0, MAX_LABELS).map((one, index) =>
      `<text class="tick" x="${at(toX(one.slack) + 8)}" y="${at(toY(one.resizesPerHour) - 6)}">${index + 1}</text>`
    ),
    "</svg>",
  ].join("\n");
}

/** Those of the front that are best in slack and resizes: the front has other figures, too. */
function listEdge(front: readonly ReportCandidate[]): readonly ReportCandidate[] {
  let least = Infinity;
  return front.filter(({ resizesPerHour }) => {
    const isLower = resizesPerHour < least;
    least = Math.min(least, resizesPerHour);
    return isLower;
  });
}

/** Classes of the style sheet. */
function toDotClass(
  { oomKills, throttledSeconds, isOnFront }: ReportCandidate,
  all: readonly ReportCandidate[],
): string {
  const least = (read: (one: ReportCandidate) => number) => Math.min(...all.map(read));
  const place = isOnFront ? "on" : "off";
  if (oomKills > least((one) => one.oomKills)) return `${place} kills`;
  return throttledSeconds > least((one) => one.throttledSeconds) ? `${place} throttles` : place;
}

interface Drawn {
  readonly kind: string;
  readonly x: number;
  readonly y: number;
}

function drawCandidate(candidate: ReportCandidate, { kind, x, y }: Drawn): string {
  const { name, slack, throttledSeconds, oomKills, resizesPerHour, isOnFront } = candidate;
  const text = `${name}: slack ${formatQuantity(slack, "cpu")}, throttled ${formatSpan(throttledSeconds)}, ` +
    `OOM kills ${oomKills}, resizes an hour ${formatNumber(resizesPerHour)}`;
  return `<circle class="${kind}" cx="${at(x)}" cy="${at(y)}" r="${isOnFront ? 5 : 3.5}">` +
    `<title>${escapeHtml(text)}</title></circle>`;
}
