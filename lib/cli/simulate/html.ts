/**
 * The report of a simulation as one HTML file that needs nothing else: no script, no network, plots as inline SVG. What
 * names and numbers say is text, whatever they are.
 */
import type { ContainerRun } from "../../simulate/engine/simulate.ts";
import type { Resource } from "../../units/resources.ts";
import { findTop, listMarks, listSteps, maxOf } from "./html_course.ts";
import { drawCandidates } from "./html_pareto.ts";
import { drawPlot, type Plot } from "./html_plot.ts";
import type { Report } from "./html_report.ts";
import { STYLE } from "./html_style.ts";
import { formatFigures, formatFront, formatTiles } from "./html_table.ts";
import { escapeHtml, formatQuantity } from "./html_text.ts";

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
    ...(runs[0]?.simulation.containers ?? []).map((_, index) => formatContainer(report, index)),
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
  ['<path class="lost" d="M0 2h26v10H0z"/>', "beyond the limit: lost"],
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

/** Pixels of a plot alone, and beside another one. */
const ALONE = 944;
const BESIDE = 640;

function formatContainer({ runs }: Report, index: number): string {
  const shown = runs.flatMap(({ name, simulation }) => {
    const container = simulation.containers[index];
    return container === undefined ? [] : [{ name, container, seconds: simulation.seconds }];
  });
  const containers = shown.map(({ container }) => container);
  const tops = { cpu: findTop(containers, "cpu"), memory: findTop(containers, "memory") };
  const width = runs.length > 1 ? BESIDE : ALONE;
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
const LEAST_PODS = 4;

function formatReplicas({ runs }: Report): string {
  const top = Math.max(LEAST_PODS, maxOf(runs.flatMap(({ replicas }) => replicas.map(([, pods]) => pods))));
  const sections = runs.map(({ name, replicas, simulation: { seconds } }, at) => {
    const plot = drawPlot({
      label: `Pods under ${name}`,
      id: `pods-${at}`,
      width: runs.length > 1 ? BESIDE : ALONE,
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
