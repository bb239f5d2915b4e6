/**
 * The report of a simulation as one HTML file without script and without network.
 *
 * Plots are inline SVG. Names and numbers are escaped.
 */
import type { ContainerRun } from "../../../simulate/simulate.ts";
import type { Resource } from "../../../units/resources.ts";
import { formatNumber, formatQuantity, formatSpan } from "../../terminal/numbers.ts";
import { formatCpu, formatMemory, RUN_FIGURES } from "../figures.ts";
import { drawCandidates, drawPlot, findTop, listMarks, listSteps, maxOf, type Plot } from "./plot.ts";
import { escapeHtml, type Report, type ReportCandidate, type ReportRun } from "./report.ts";

/** Returns the whole file. Never throws. */
export function formatHtml(report: Report): string {
  const { title, about, runs, candidates } = report;
  return [
    "<!doctype html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    `<title>${escapeHtml(title)} - podfit simulate</title>`,
    `<style>\n${STYLE}\n</style>`,
    "</head>",
    "<body>",
    `<h1>${escapeHtml(title)}</h1>`,
    `<p>${escapeHtml(about)}</p>`,
    wrapRuns(runs.map((run) => `<section>\n<h3>${escapeHtml(run.name)}</h3>\n${formatTiles(run)}\n</section>`)),
    ...runs.length > 0 ? [LEGEND] : [],
    ...(runs[0]?.simulation.containers ?? []).map((_, index) => formatContainer(report, index)),
    ...runs.some(({ replicas }) => replicas.length > 0) ? [formatReplicas(report)] : [],
    ...candidates.length > 0 ? [formatSweep(report)] : [],
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

const LEGEND_ITEMS: readonly (readonly [svg: string, text: string])[] = [
  ['<path class="used" d="M0 2h26v10H0z"/>', "wanted, the mean of each moment"],
  ['<path class="peak" d="M0 2h26v10H0z"/>', "its highest second"],
  ['<path class="lost" d="M0 2h26v10H0z"/>', "beyond the limit: lost"],
  ['<path class="request" d="M0 7h26"/>', "request"],
  ['<path class="limit" d="M0 7h26"/>', "limit"],
  ['<path class="up" d="M9 10h8l-4 -7z"/>', "resized up"],
  ['<path class="down" d="M9 4h8l-4 7z"/>', "resized down"],
  ['<g class="kill"><path d="M9 3l8 8m0 -8l-8 8"/></g>', "killed for memory"],
];

const LEGEND = `<ul class="legend">${
  LEGEND_ITEMS.map(([svg, text]) => `<li><svg viewBox="0 0 26 14" aria-hidden="true">${svg}</svg>${text}</li>`).join("")
}</ul>`;

function wrapRuns(sections: readonly string[]): string {
  return `<div class="${sections.length === 1 ? "single" : "runs"}">\n${sections.join("\n")}\n</div>`;
}

/** Pixels of a single plot, and of a plot next to another one. */
const FULL_WIDTH = 944;

const COMPARED_WIDTH = 640;

function formatContainer({ runs }: Report, index: number): string {
  const shown = runs.flatMap(({ name, simulation }) => {
    const container = simulation.containers[index];
    return container === undefined ? [] : [{ name, container, seconds: simulation.seconds }];
  });
  const containers = shown.map(({ container }) => container);
  const tops = { cpu: findTop(containers, "cpu"), memory: findTop(containers, "memory") };
  const width = runs.length > 1 ? COMPARED_WIDTH : FULL_WIDTH;
  const sections = shown.map(({ name, container, seconds }, at) =>
    [
      "<section>",
      runs.length > 1 ? `<h3>${escapeHtml(name)}</h3>` : "",
      ...(["cpu", "memory"] as const).map((resource) =>
        formatFigure(container, {
          resource,
          seconds,
          top: tops[resource],
          width,
          run: name,
          id: `${resource}${index}-${at}`,
        })
      ),
      "</section>",
    ].join("\n")
  );
  const heading = `<h2>Container ${escapeHtml(containers[0]?.container ?? "")}</h2>`;
  return [heading, wrapRuns(sections), `<div class="scroll">${formatFigures(runs, index)}</div>`].join("\n");
}

interface FigureOptions extends Pick<Plot, "id" | "seconds" | "top" | "width"> {
  readonly resource: Resource;
  readonly run: string;
}

function formatFigure(container: ContainerRun, { resource, run, top, ...options }: FigureOptions): string {
  const [requests, limits] = [listSteps(container, resource, "requests"), listSteps(container, resource, "limits")];
  const highest = maxOf(limits.map(([, amount]) => amount ?? 0));
  const beyond = highest > top * 1.001 ? `; limits go up to ${formatQuantity(highest, resource)}, beyond the plot` : "";
  const name = resource === "cpu" ? "CPU" : "Memory";
  const course = container.series?.[resource];
  const plot = drawPlot({
    ...options,
    top,
    label: `${name} of container ${container.container} under ${run}`,
    unit: resource,
    peaks: course?.peak ?? [],
    means: course?.wanted ?? [],
    lines: [{ kind: "request", steps: requests }, { kind: "limit", steps: limits }],
    resizes: listMarks(container, resource),
    kills: resource === "memory" ? container.oomKills : [],
  });
  return `<figure><figcaption>${name}${beyond}</figcaption>\n${plot}\n</figure>`;
}

/** So that the ticks of the axis are whole pods. */
const MIN_AXIS_PODS = 4;

function formatReplicas({ runs }: Report): string {
  const top = Math.max(MIN_AXIS_PODS, maxOf(runs.flatMap(({ replicas }) => replicas.map(([, pods]) => pods))));
  const sections = runs.map(({ name, replicas, simulation: { seconds } }, at) => {
    const plot = drawPlot({
      label: `Pods under ${name}`,
      id: `pods-${at}`,
      width: runs.length > 1 ? COMPARED_WIDTH : FULL_WIDTH,
      unit: "pods",
      seconds,
      top,
      peaks: [],
      means: [],
      lines: [{ kind: "replicas", steps: replicas }],
      resizes: [],
      kills: [],
    });
    return `<section><h3>${escapeHtml(name)}</h3>\n<figure>${plot}</figure></section>`;
  });
  return `<h2>Pods</h2>\n${wrapRuns(sections)}`;
}

function formatSweep({ candidates }: Report): string {
  const front = candidates.filter(({ isOnFront }) => isOnFront).length;
  const text =
    `${candidates.length} policies, ${front} of which no other beats in slack, throttled seconds, OOM kills and ` +
    "resizes at once: the large dots, and on the line those of them that are best in the two figures shown. Orange is " +
    "throttled for longer than the best of all, red is killed for memory more often.";
  return [
    "<h2>Sweep</h2>",
    `<p>${text}</p>`,
    `<div class="single">${drawCandidates(candidates)}</div>`,
    `<div class="scroll">${formatFront(candidates)}</div>`,
  ].join("\n");
}

/** The figures of one container, a column for each run, and the last compared with the first. */
function formatFigures(runs: readonly ReportRun[], index: number): string {
  const containers = runs.map(({ simulation }) => simulation.containers[index]).filter((one) => one !== undefined);
  const isCompared = containers.length === 2;
  const head = runs.map(({ name }) => `<th scope="col">${escapeHtml(name)}</th>`).join("");
  const rows = RUN_FIGURES.filter(({ hint }) => hint !== undefined).map(({ name, hint, read, format, isCost }) => {
    const values = containers.map(read);
    const best = Math.min(...values);
    const isMarked = isCost && isCompared && values[0] !== values[1];
    const cells = values.map((value) =>
      `<td${isMarked && value === best ? ' class="best"' : ""}>${format(value)}</td>`
    );
    const change = isCompared ? `<td class="change">${formatChange(values)}</td>` : "";
    return `<tr><th scope="row">${name} <small>${hint}</small></th>${cells.join("")}${change}</tr>`;
  });
  const last = isCompared ? '<th scope="col">change</th>' : "";
  return `<table><thead><tr><td></td>${head}${last}</tr></thead>\n<tbody>${rows.join("\n")}</tbody></table>`;
}

function formatChange([from = 0, to = 0]: readonly number[]): string {
  if (from === 0 || !Number.isFinite(from) || !Number.isFinite(to)) return "";
  const percent = Math.round((to / from - 1) * 100);
  return percent === 0 ? "" : `${percent > 0 ? "+" : "\u2212"}${Math.abs(percent)}&nbsp;%`;
}

/** The main figures of a policy. */
function formatTiles({ simulation: { containers } }: ReportRun): string {
  const total = (read: (container: ContainerRun) => number) =>
    containers.reduce((sum, container) => sum + read(container), 0);
  const kills = total(({ oomKills }) => oomKills.length);
  const throttled = total(({ cpu }) => cpu.throttledSeconds);
  const tile = (value: string, label: string, kind = "") =>
    `<div class="tile ${kind}"><b>${value}</b><span>${label}</span></div>`;
  return `<div class="tiles">${
    [
      tile(
        formatCpu(total(({ cpu }) => cpu.request)),
        `CPU requested, ${formatCpu(total(({ cpu }) => cpu.used))} used`,
      ),
      tile(
        formatMemory(total(({ memory }) => memory.request)),
        `memory requested, ${formatMemory(total(({ memory }) => memory.used))} used`,
      ),
      tile(formatSpan(throttled), "throttled", throttled > 0 ? "bad" : ""),
      tile(formatNumber(kills), kills === 1 ? "OOM kill" : "OOM kills", kills > 0 ? "bad" : ""),
      tile(formatNumber(total((one) => one.resizesPerHour)), "resizes an hour"),
    ].join("")
  }</div>`;
}

/** More rows would not help the reader. */
const MAX_ROWS = 40;

/** The candidates of a sweep on the front, by slack. */
function formatFront(candidates: readonly ReportCandidate[]): string {
  const rows = candidates.filter(({ isOnFront }) => isOnFront).toSorted((a, b) => a.slack - b.slack)
    .slice(0, MAX_ROWS)
    .map(({ name, slack, throttledSeconds, oomKills, resizesPerHour }) =>
      `<tr><th scope="row">${escapeHtml(name)}</th><td>${formatQuantity(slack, "cpu")}</td>` +
      `<td>${formatSpan(throttledSeconds)}</td><td>${formatNumber(oomKills)}</td>` +
      `<td>${formatNumber(resizesPerHour)}</td></tr>`
    );
  const head = ["CPU slack", "throttled", "OOM kills", "resizes an hour"].map((one) => `<th scope="col">${one}</th>`);
  return `<table><thead><tr><td></td>${head.join("")}</tr></thead>\n<tbody>${rows.join("\n")}</tbody></table>`;
}

const STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1d2530; --dim: #667080; --rule: #e3e7ec; --card: #f5f7f9;
  --used: #8fb3d9; --peak: #d3e2f2; --request: #0b5cad; --limit: #b06a00; --replicas: #5b4bb5;
  --up: #0b5cad; --down: #2f8f4e; --bad: #c62828; --good: #1e7a3c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --text: #e4e8ee; --dim: #95a0ae; --rule: #2b333d; --card: #1b212a;
    --used: #3d6b9c; --peak: #24405f; --request: #7fbcff; --limit: #f0ab4a; --replicas: #a99bff;
    --up: #7fbcff; --down: #6fd08c; --bad: #ff7066; --good: #6fd08c;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1360px; padding: 24px 28px 48px; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 36px 0 8px; overflow-wrap: anywhere; }
h3 { font-size: 16px; margin: 0 0 8px; overflow-wrap: anywhere; }
p { margin: 4px 0 16px; color: var(--dim); overflow-wrap: anywhere; }
.runs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 20px 28px; }
.runs > * { min-width: 0; }
.single { max-width: 1000px; }
.tiles { display: flex; flex-wrap: wrap; gap: 8px; }
.tile { background: var(--card); border-radius: 8px; padding: 8px 12px; flex: 1 1 120px; }
.tile b { display: block; font-size: 21px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile span { color: var(--dim); font-size: 13px; }
.tile.bad b { color: var(--bad); }
figure { margin: 0 0 14px; }
figcaption { color: var(--dim); font-size: 13px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.grid { stroke: var(--rule); fill: none; }
.peak { fill: var(--peak); } .lost { fill: var(--bad); fill-opacity: 0.75; } .used { fill: var(--used); }
.request, .limit, .replicas, .front { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.request { stroke: var(--request); } .limit { stroke: var(--limit); stroke-dasharray: 5 3; }
.replicas { stroke: var(--replicas); stroke-width: 2; }
.up { fill: var(--up); } .down { fill: var(--down); }
.kill { stroke: var(--bad); stroke-width: 1.6; fill: none; }
.front { stroke: var(--request); }
circle { fill: var(--request); } circle.throttles { fill: var(--limit); } circle.kills { fill: var(--bad); }
circle.off { fill-opacity: 0.35; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; color: var(--dim); font-size: 13px; margin: 18px 0 0; padding: 0; }
.legend li { display: flex; align-items: center; gap: 6px; list-style: none; }
.legend svg { width: 26px; height: 14px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0; }
th, td { text-align: right; padding: 4px 14px; border-bottom: 1px solid var(--rule); font-weight: normal; }
tbody th { text-align: left; padding-left: 0; } thead th { color: var(--dim); overflow-wrap: anywhere; }
small { color: var(--dim); } .best { color: var(--good); font-weight: 600; } .change { color: var(--dim); }
@media print { body { max-width: none; padding: 0; } }
`.trim();
