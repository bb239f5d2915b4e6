/** The candidates of a sweep as SVG: slack beside resizes, and in colour those that are throttled or killed more than others. */
import type { ReportCandidate } from "./html_report.ts";
import { listTicks } from "./html_scale.ts";
import { escapeHtml, formatCoordinate as at, formatNumber, formatQuantity, formatSpan } from "./html_text.ts";

const WIDTH = 960;
const HEIGHT = 380;
const LEFT = 60;
const RIGHT = 24;
const TOP = 16;
const BOTTOM = 330;

export function drawCandidates(candidates: readonly ReportCandidate[]): string {
  const most = (read: (one: ReportCandidate) => number) => Math.max(...candidates.map(read), 0);
  const slacks = listTicks(most(({ slack }) => slack), { count: 6, base: 10 });
  const resizes = listTicks(most(({ resizesPerHour }) => resizesPerHour), { count: 5, base: 10 });
  const toX = (slack: number) => LEFT + slack / (slacks.at(-1) ?? 1) * (WIDTH - LEFT - RIGHT);
  const toY = (perHour: number) => BOTTOM - perHour / (resizes.at(-1) ?? 1) * (BOTTOM - TOP);
  const toPoint = ({ slack, resizesPerHour }: ReportCandidate) => `${at(toX(slack))} ${at(toY(resizesPerHour))}`;
  const front = candidates.filter(({ isOnFront }) => isOnFront).toSorted((a, b) => a.slack - b.slack);
  const behind = candidates.filter(({ isOnFront }) => !isOnFront);
  const draw = (one: ReportCandidate) =>
    drawCandidate(one, { kind: toKind(one, candidates), x: toX(one.slack), y: toY(one.resizesPerHour) });
  const edge = listEdge(front);
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="slack and resizes of ${candidates.length} policies">`,
    ...resizes.map((tick) => {
      const y = at(toY(tick));
      return `<path class="grid" d="M${LEFT} ${y}H${WIDTH - RIGHT}"/>` +
        `<text class="tick end" x="${LEFT - 8}" y="${y}" dy="0.35em">${formatNumber(tick)}</text>`;
    }),
    ...slacks.map((tick) =>
      `<text class="tick middle" x="${at(toX(tick))}" y="${BOTTOM + 18}">${formatQuantity(tick, "cpu")}</text>`
    ),
    `<text class="tick" x="${LEFT + 6}" y="${TOP + 4}">resizes an hour</text>`,
    `<text class="tick end" x="${WIDTH - RIGHT}" y="${BOTTOM + 38}">CPU requested and not used, mean</text>`,
    edge.length > 1 ? `<path class="front" d="M${edge.map(toPoint).join("L")}"/>` : "",
    ...behind.map(draw),
    ...front.map(draw),
    "</svg>",
  ].join("\n");
}

/** Those of the front that no other beats in slack and resizes alone: the front has other figures, too. */
function listEdge(front: readonly ReportCandidate[]): readonly ReportCandidate[] {
  let least = Infinity;
  return front.filter(({ resizesPerHour }) => {
    const isLower = resizesPerHour < least;
    least = Math.min(least, resizesPerHour);
    return isLower;
  });
}

/** Classes of the style sheet. */
function toKind({ oomKills, throttledSeconds, isOnFront }: ReportCandidate, all: readonly ReportCandidate[]): string {
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
