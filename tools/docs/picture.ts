/** Draws a run of the demo as an SVG: what people see before they install anything. Light and dark, without scripts. */
import type { Point, Story } from "../../lib/cli/demo/story.ts";
import { listTotals } from "../../lib/cli/demo/totals.ts";
import { formatWholeMebibytes, formatWholeMillicores } from "../../lib/cli/terminal/numbers.ts";

/** One chart: a trace of the story. */
interface Panel {
  readonly title: string;
  /** Its name in `Story.traces`. */
  readonly trace: string;
  readonly format: (amount: number) => string;
  readonly legend: readonly Legend[];
  /** Kills of this container without podfit are marked. */
  readonly kills?: string;
}

interface Legend {
  readonly kind: "used" | "requests" | "limits";
  readonly text: string;
}

const SIZE: readonly Legend[] = [
  { kind: "used", text: "used" },
  { kind: "requests", text: "request" },
  { kind: "limits", text: "limit" },
];

const PANELS: Readonly<Record<Story["scene"], readonly Panel[]>> = {
  sizes: [
    { title: "web, CPU", trace: "web.cpu", format: formatWholeMillicores, legend: SIZE },
    { title: "cache, memory", trace: "cache.memory", format: formatWholeMebibytes, legend: SIZE, kills: "cache" },
  ],
  both: [
    { title: "CPU of each pod", trace: "shop.cpu", format: formatWholeMillicores, legend: SIZE },
    {
      title: "number of pods",
      trace: "shop.pods",
      format: (count) => String(Math.round(count)),
      legend: [{ kind: "used", text: "with podfit" }, { kind: "limits", text: "with an HPA alone" }],
    },
  ],
};

const WIDTH = 600;
const LEFT = 58;
const RIGHT = 8;
const PLOT_HEIGHT = 100;
const PANEL_HEIGHT = PLOT_HEIGHT + 52;
const ROW_HEIGHT = 23;
/** More would not be seen. */
const COLUMNS = 240;

const STYLE = `
svg { --text: #1f2328; --dim: #59636e; --rule: #d1d9e0; --used: #a8d5ba; --requests: #0969da; --limits: #bc4c00;
  --good: #1a7f37; --lost: #cf222e; --back: #ffffff; }
@media (prefers-color-scheme: dark) { svg { --text: #f0f6fc; --dim: #9198a1; --rule: #3d444d; --used: #23633f;
  --requests: #4493f8; --limits: #f0883e; --good: #3fb950; --lost: #f85149; --back: #0d1117; } }
text { font: 14px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: var(--text); }
.title { font-weight: 600; } .dim { fill: var(--dim); } .good { fill: var(--good); } .lost { fill: var(--lost); }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.back { fill: var(--back); } .rule { stroke: var(--rule); fill: none; }
.used { fill: var(--used); } .requests, .limits { fill: none; stroke-width: 2; }
.requests { stroke: var(--requests); } .limits { stroke: var(--limits); stroke-dasharray: 5 3; }
.kill { stroke: var(--lost); stroke-dasharray: 2 3; }
`;

/** Returns the SVG of the whole story. */
export function drawPicture(story: Story): string {
  const panels = PANELS[story.scene];
  const table = listTotals(story);
  const tableTop = panels.length * PANEL_HEIGHT + 14;
  // The last line counts resizes by reason, which needs more words than a picture has.
  const rows = table.slice(0, -1);
  const height = tableTop + rows.length * ROW_HEIGHT + 6;
  const minutes = Math.round((story.at - story.startedAt) / 60_000);
  const label = `A run of podfit's demo over ${minutes} minutes: ${
    panels.map(({ title }) => title).join(", ")
  }, and totals`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="680" role="img" aria-label="${label}">`,
    `<style>${STYLE}</style>`,
    `<rect class="back" width="${WIDTH}" height="${height}" rx="6"/>`,
    ...panels.map((panel, index) => drawPanel(story, panel, index * PANEL_HEIGHT)),
    ...rows.map((line, index) => drawRow(line.map(({ text }) => text.trim()), tableTop + index * ROW_HEIGHT, line)),
    "</svg>",
    "",
  ].join("\n");
}

function drawPanel(story: Story, { title, trace, format, legend, kills }: Panel, top: number): string {
  const points = story.traces[trace] ?? [];
  const most = Math.max(1, ...points.flatMap(({ used, requests, limits }) => [used ?? 0, requests ?? 0, limits ?? 0])) *
    1.05;
  const plotTop = top + 30;
  const bottom = plotTop + PLOT_HEIGHT;
  const duration = Math.max(1, story.at - story.startedAt);
  const x = (at: number) => LEFT + ((at - story.startedAt) / duration) * (WIDTH - LEFT - RIGHT);
  const y = (amount: number) => bottom - (amount / most) * PLOT_HEIGHT;
  const minutes = duration / 60_000;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    `<text class="dim ${share === 1 ? "end" : share === 0 ? "" : "middle"}" x="${
      round(x(story.startedAt + share * duration))
    }" y="${bottom + 17}">${share === 0 ? "0" : `${Math.round(share * minutes)} min`}</text>`
  );
  const killed = kills === undefined
    ? []
    : story.events.filter(({ tone, subject, text }) =>
      tone === "lost" && subject === kills && text.startsWith("without podfit")
    );
  return [
    `<text class="title" x="8" y="${top + 20}">${title}</text>`,
    drawLegend(legend, top + 20),
    `<path class="rule" d="M${LEFT} ${plotTop}V${bottom}H${WIDTH - RIGHT}"/>`,
    `<text class="dim end" x="${LEFT - 6}" y="${plotTop + 10}">${format(most / 1.05)}</text>`,
    `<text class="dim end" x="${LEFT - 6}" y="${bottom}">0</text>`,
    `<path class="used" d="${drawArea(points, { x, y, bottom })}"/>`,
    `<path class="requests" d="${drawSteps(points.map(({ at, requests }) => [at, requests]), { x, y })}"/>`,
    `<path class="limits" d="${drawSteps(points.map(({ at, limits }) => [at, limits]), { x, y })}"/>`,
    ...killed.flatMap(({ at }, index) => [
      `<path class="kill" d="M${round(x(at))} ${plotTop}V${bottom}"/>`,
      ...(index > 0
        ? []
        : [`<text class="lost" x="${round(x(at) + 5)}" y="${plotTop + 12}">OOM-killed without podfit</text>`]),
    ]),
    ...ticks,
  ].join("\n");
}

/** From the right, in their order. */
function drawLegend(legend: readonly Legend[], y: number): string {
  let right = WIDTH - RIGHT;
  return legend.toReversed().map(({ kind, text }) => {
    const end = right;
    const start = end - text.length * 7.7 - 26;
    right = start - 10;
    const sign = kind === "used"
      ? `<rect class="used" x="${round(start)}" y="${y - 11}" width="20" height="11"/>`
      : `<path class="${kind}" d="M${round(start)} ${y - 5}h20"/>`;
    return `${sign}<text class="dim" x="${round(start + 25)}" y="${y}">${text}</text>`;
  }).join("");
}

interface Axes {
  readonly x: (at: number) => number;
  readonly y: (amount: number) => number;
}

/** The most that was used in each column. */
function drawArea(points: readonly Point[], { x, y, bottom }: Axes & { readonly bottom: number }): string {
  const step = (WIDTH - LEFT - RIGHT) / COLUMNS;
  const columns = new Map<number, number>();
  for (const { at, used } of points) {
    const column = Math.min(COLUMNS - 1, Math.floor((x(at) - LEFT) / step));
    columns.set(column, Math.max(columns.get(column) ?? 0, used ?? 0));
  }
  const end = (column: number) => Math.min(WIDTH - RIGHT, LEFT + (column + 1) * step);
  const tops = [...columns].map(([column, used]) =>
    `L${round(LEFT + column * step)} ${round(y(used))}H${round(end(column))}`
  );
  return `M${LEFT} ${bottom}${tops.join("")}V${bottom}Z`;
}

/** A new point where the amount changes. */
function drawSteps(amounts: readonly (readonly [at: number, amount: number | null])[], { x, y }: Axes): string {
  let path = "";
  let before: number | null = null;
  for (const [at, amount] of amounts) {
    if (amount === null) before = null;
    else if (before === null) path += `M${round(x(at))} ${round(y(amount))}`;
    else if (amount !== before) path += `H${round(x(at))}V${round(y(amount))}`;
    if (amount !== null) before = amount;
  }
  const last = amounts.findLast(([, amount]) => amount !== null);
  return last === undefined || path === "" ? "" : `${path}H${round(x(last[0]))}`;
}

/** The name, two amounts, and what the difference is. */
function drawRow(
  [name = "", podfit = "", other = "", verdict = ""]: readonly string[],
  y: number,
  line: readonly { readonly style?: string | undefined }[],
): string {
  // The heading of the table is one text, with its two words at the right.
  const cells = podfit === "" ? ["", ...name.split(/ {2,}/)] : [name, podfit, other, verdict];
  const classes = podfit === "" ? ["dim", "dim end", "dim end", "dim"] : [
    "",
    `end ${line[1]?.style === "lost" ? "lost" : ""}`,
    `end ${line[2]?.style === "lost" ? "lost" : ""}`,
    line[3]?.style === "good" ? "good" : "dim",
  ];
  const xs = [8, 332, 458, 474];
  const texts = cells.map((text, index) =>
    text === "" ? "" : `<text class="${classes[index]?.trim()}" x="${xs[index]}" y="${y + 16}">${text}</text>`
  );
  return `<path class="rule" d="M8 ${y}H${WIDTH - RIGHT}"/>${texts.join("")}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
