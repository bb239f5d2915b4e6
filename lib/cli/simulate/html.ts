/**
 * The report of a simulation as one HTML file that needs nothing else: no script, no network, plots as inline SVG. What
 * names and numbers say is text, whatever they are.
 */
import { drawCandidates } from "./html_pareto.ts";
import { drawPlot, type Mark, PLOT_COLUMNS } from "./html_plot.ts";
import type { Report, ReportContainer, ReportSize } from "./html_report.ts";
import { type Column, listColumns } from "./html_scale.ts";
import { STYLE } from "./html_style.ts";
import { formatFigures, formatFront, formatTiles } from "./html_table.ts";
import { escapeHtml, formatQuantity, formatSpan } from "./html_text.ts";

/** Gives the whole file. Never throws. */
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
    ...(runs[0]?.containers ?? []).map((_, index) => formatContainer(report, index)),
    ...runs.some(({ replicas }) => replicas.length > 0) ? [formatReplicas(report)] : [],
    ...candidates.length > 0 ? [formatSweep(report)] : [],
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

const KEYS: readonly (readonly [svg: string, text: string])[] = [
  ['<path class="used" d="M0 2h26v10H0z"/>', "wanted, the mean of each moment"],
  ['<path class="peak" d="M0 2h26v10H0z"/>', "its highest second"],
  ['<path class="request" d="M0 7h26"/>', "request"],
  ['<path class="limit" d="M0 7h26"/>', "limit"],
  ['<path class="up" d="M9 10h8l-4 -7z"/>', "resized up"],
  ['<path class="down" d="M9 4h8l-4 7z"/>', "resized down"],
  ['<g class="kill"><path d="M9 3l8 8m0 -8l-8 8"/></g>', "killed for memory"],
];

const LEGEND = `<ul class="legend">${
  KEYS.map(([svg, text]) => `<li><svg viewBox="0 0 26 14" aria-hidden="true">${svg}</svg>${text}</li>`).join("")
}</ul>`;

function wrapRuns(sections: readonly string[]): string {
  return `<div class="${sections.length === 1 ? "single" : "runs"}">\n${sections.join("\n")}\n</div>`;
}

function formatContainer(report: Report, index: number): string {
  const { runs, seconds } = report;
  const shown = runs.flatMap(({ name, containers }) => {
    const container = containers[index];
    return container === undefined ? [] : [{ name, container }];
  });
  const containers = shown.map(({ container }) => container);
  const tops = { cpu: findTop(containers, "cpu", seconds), memory: findTop(containers, "memory", seconds) };
  const sections = shown.map(({ name, container }) =>
    [
      "<section>",
      runs.length > 1 ? `<h3>${escapeHtml(name)}</h3>` : "",
      ...(["cpu", "memory"] as const).map((resource) =>
        formatFigure(container, { resource, seconds, top: tops[resource], run: name })
      ),
      "</section>",
    ].join("\n")
  );
  const heading = `<h2>Container ${escapeHtml(shown[0]?.container.name ?? "")}</h2>`;
  return [heading, wrapRuns(sections), `<div class="scroll">${formatFigures(runs, index)}</div>`].join("\n");
}

type ResourceName = "cpu" | "memory";

interface FigureOptions {
  readonly resource: ResourceName;
  readonly seconds: number;
  readonly top: number;
  readonly run: string;
}

function formatFigure(container: ReportContainer, { resource, seconds, top, run }: FigureOptions): string {
  const sides = (side: "requests" | "limits") =>
    container.sizes.map((size) => [size.second, size[resource][side]] as const);
  const highest = maxOf(sides("limits").map(([, amount]) => amount ?? 0));
  const beyond = highest > top * 1.001 ? `; limits go up to ${formatQuantity(highest, resource)}, beyond the plot` : "";
  const name = resource === "cpu" ? "CPU" : "Memory";
  const plot = drawPlot({
    label: `${name} of container ${container.name} under ${run}`,
    unit: resource,
    seconds,
    top,
    columns: readColumns(container, resource, seconds),
    lines: [{ kind: "limit", steps: sides("limits") }, { kind: "request", steps: sides("requests") }],
    resizes: listResizes(container.sizes, resource),
    kills: resource === "memory" ? container.kills : [],
  });
  return `<figure><figcaption>${name}${beyond}</figcaption>\n${plot}\n</figure>`;
}

function readColumns({ wantedAt }: ReportContainer, resource: ResourceName, seconds: number): readonly Column[] {
  const read = resource === "cpu"
    ? (second: number) => wantedAt(second).cpuMillicores
    : (second: number) => wantedAt(second).workingSetBytes;
  return listColumns(read, { seconds, count: PLOT_COLUMNS });
}

/** Limits that are more than so many times what else is shown would press it flat. */
const MOST_OF_LIMIT = 2.5;

/** The same in every run, so that heights compare. */
function findTop(containers: readonly ReportContainer[], resource: ResourceName, seconds: number): number {
  const amounts = (side: "requests" | "limits") =>
    containers.flatMap(({ sizes }) => sizes.map((size) => size[resource][side] ?? 0));
  const wanted = containers.slice(0, 1).flatMap((one) => readColumns(one, resource, seconds).map(({ max }) => max));
  const most = Math.max(maxOf(wanted), maxOf(amounts("requests")));
  const limit = maxOf(amounts("limits"));
  return limit <= most * MOST_OF_LIMIT ? Math.max(limit, most) : most * MOST_OF_LIMIT;
}

/** Of lists that are too long for arguments, too. */
function maxOf(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

/** What changed of the resource, and from what to what. */
function listResizes(sizes: readonly ReportSize[], resource: ResourceName): readonly Mark[] {
  return sizes.flatMap((size, index): readonly Mark[] => {
    const before = sizes[index - 1]?.[resource];
    const after = size[resource];
    if (before === undefined) return [];
    const changes = (["requests", "limits"] as const).filter((side) => before[side] !== after[side]);
    const [first] = changes;
    if (first === undefined) return [];
    const show = (amount: number | null) => amount === null ? "none" : formatQuantity(amount, resource);
    const texts = changes.map((side) => `${side} ${show(before[side])} to ${show(after[side])}`);
    const isUp = (after[first] ?? Infinity) > (before[first] ?? Infinity);
    return [{ second: size.second, isUp, text: `${formatSpan(size.second)}: ${texts.join(", ")}` }];
  });
}

function formatReplicas({ runs, seconds }: Report): string {
  const top = Math.max(...runs.flatMap(({ replicas }) => replicas.map(([, pods]) => pods)), 1);
  const sections = runs.map(({ name, replicas }) => {
    const plot = drawPlot({
      label: `Pods under ${name}`,
      unit: "pods",
      seconds,
      top,
      columns: [],
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
    "resizes at once (filled, on the line). A ring throttles (orange) or is killed for memory (red).";
  return [
    "<h2>Sweep</h2>",
    `<p>${text}</p>`,
    `<div class="single">${drawCandidates(candidates)}</div>`,
    `<div class="scroll">${formatFront(candidates)}</div>`,
  ].join("\n");
}
