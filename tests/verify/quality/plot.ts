/** The picture of `deno task quality`: what each controller costs, and how often it resizes for it. Pure. */

/** One controller. */
export interface Mark {
  readonly name: string;
  readonly resizesPerHour: number;
  readonly cost: number;
  readonly isOwn: boolean;
}

const WIDTH = 720;
const HEIGHT = 420;
const FRAME = { left: 64, right: 24, top: 56, bottom: 56 } as const;
const TICKS_X = [0, 0.5, 1, 2, 4, 8, 16, 32, 64];
const MOST_TICKS_Y = 5;
const LABEL_HEIGHT = 15;
const OWN = "#1a6fd4";
const OTHER = "#8a8f98";
const INK = "#2b2f36";
const FAINT = "#e3e6ea";

/** An SVG document. Fewer resizes lie to the left, on a scale of roots, as 0 is among them; a lower cost lies below. */
export function drawPlot(title: string, marks: readonly Mark[]): string {
  const mostX = TICKS_X.find((tick) => marks.every(({ resizesPerHour }) => resizesPerHour <= tick * 0.9)) ?? 64;
  const mostCost = Math.max(...marks.map(({ cost }) => cost));
  const stepY = toRound(mostCost / MOST_TICKS_Y);
  const mostY = Math.ceil(mostCost / stepY) * stepY;
  const inner = { width: WIDTH - FRAME.left - FRAME.right, height: HEIGHT - FRAME.top - FRAME.bottom };
  const x = (resizes: number) => FRAME.left + Math.sqrt(resizes / mostX) * inner.width;
  const y = (cost: number) => FRAME.top + (1 - cost / mostY) * inner.height;
  const bottom = FRAME.top + inner.height;
  const ticksX = TICKS_X.filter((tick) => tick <= mostX);
  const ticksY = Array.from({ length: mostY / stepY + 1 }, (_, index) => index * stepY);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" ` +
    `font-family="system-ui, sans-serif" font-size="12" fill="${INK}">`,
    `<title>${escape(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${FRAME.left}" y="28" font-size="15" font-weight="600">${escape(title)}</text>`,
    ...ticksY.map((tick) => writeLine(FRAME.left, y(tick), WIDTH - FRAME.right, y(tick))),
    ...ticksY.map((tick) => writeText(FRAME.left - 8, y(tick) + 4, String(tick), "end")),
    ...ticksX.map((tick) => writeLine(x(tick), bottom, x(tick), bottom + 5)),
    ...ticksX.map((tick) => writeText(x(tick), bottom + 19, String(tick), "middle")),
    writeText(FRAME.left + inner.width / 2, HEIGHT - 14, "resizes an hour", "middle"),
    `<text transform="translate(16 ${FRAME.top + inner.height / 2}) rotate(-90)" text-anchor="middle">cost</text>`,
    ...placeMarks(marks, x, y).flatMap(drawMark),
    "</svg>",
    "",
  ].join("\n");
}

interface Placed {
  readonly mark: Mark;
  readonly x: number;
  readonly y: number;
  readonly labelY: number;
  /** On which side of the mark its name stands. */
  readonly anchor: "start" | "end";
}

/** Names stand beside their marks and never on each other: one that would goes up as far as it has to. */
function placeMarks(
  marks: readonly Mark[],
  x: (resizes: number) => number,
  y: (cost: number) => number,
): readonly Placed[] {
  const placed: Placed[] = [];
  for (const mark of marks.toSorted((a, b) => a.cost - b.cost)) {
    const [left, top] = [x(mark.resizesPerHour), y(mark.cost)];
    const anchor = left > WIDTH * 0.75 ? "end" : "start";
    const beside = placed.filter((one) => Math.abs(one.x - left) < 150 && one.anchor === anchor);
    const labelY = Math.min(top + 4, ...beside.map((one) => one.labelY - LABEL_HEIGHT));
    placed.push({ mark, x: left, y: top, labelY, anchor });
  }
  return placed;
}

function drawMark({ mark: { name, isOwn }, x, y, labelY, anchor }: Placed): readonly string[] {
  const color = isOwn ? OWN : OTHER;
  const labelX = anchor === "start" ? x + 10 : x - 10;
  const weight = isOwn ? ` font-weight="600"` : "";
  return [
    `<circle cx="${round(x)}" cy="${round(y)}" r="${isOwn ? 6 : 5}" fill="${color}"/>`,
    `<text x="${round(labelX)}" y="${round(labelY)}" text-anchor="${anchor}" fill="${isOwn ? OWN : INK}"${weight}>` +
    `${escape(name)}</text>`,
  ];
}

function writeLine(x1: number, y1: number, x2: number, y2: number): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${FAINT}"/>`;
}

function writeText(x: number, y: number, text: string, anchor: "start" | "middle" | "end"): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escape(text)}</text>`;
}

/** 1, 2 or 5 of some power of ten, not less than the value. */
function toRound(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return (([1, 2, 5].find((one) => one * power >= value)) ?? 10) * power;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
