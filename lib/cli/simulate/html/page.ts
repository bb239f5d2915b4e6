/**
 * The report of a simulation as one HTML file without script and without network.
 *
 * Plots are inline SVG. Names and numbers are escaped.
 */
import { type Course, WEIGHTS } from "../../../simulate/figures.ts";
import type { ContainerRun } from "../../../simulate/simulate.ts";
import type { Resource } from "../../../units/resources.ts";
import { listUnknown } from "../../loads/loads.ts";
import { formatNumber, formatQuantity, formatSpan } from "../../terminal/numbers.ts";
import {
  computePodSeconds,
  computeShare,
  describeUnknown,
  formatChange,
  formatCpu,
  formatMemory,
  formatShare,
  RUN_FIGURES,
} from "../figures.ts";
import {
  drawCandidates,
  drawPlot,
  findTop,
  listMarks,
  listMarksIn,
  listSteps,
  listStepsIn,
  maxOf,
  type Plot,
  SLACK,
} from "./plot.ts";
import { escapeHtml, type Report, type ReportCandidate, type ReportRun, type TimeRange } from "./report.ts";

const DAY_SECONDS = 86_400;

/** The number of points that a plot can show. */
const MAX_POINTS = 1000;

/** Returns the whole file. Never throws. */
export function formatHtml(report: Report): string {
  const { title, about, runs, candidates } = report;
  const policies = runs.filter(({ isBaseline }) => !isBaseline);
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
    `<dl>${about.map(([name, value]) => `<div><dt>${name}</dt><dd>${escapeHtml(value)}</dd></div>`).join("")}</dl>`,
    ...listVerdicts(report).map((text) => `<p class="verdict">${escapeHtml(text)}</p>`),
    wrapRuns(
      policies.map((run) => `<section>\n<h3>${escapeHtml(run.name)}</h3>\n${formatTiles(run, report)}\n</section>`),
    ),
    ...policies.length > 0 ? [LEGEND] : [],
    ...listContainers(report).map((one, index) => formatContainer(report, { ...one, id: String(index) })),
    ...policies.some(({ replicas }) => replicas.length > 0) ? [formatReplicas(policies)] : [],
    ...candidates.length > 0 ? [formatSweep(report)] : [],
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

/** One sentence or two on each policy, compared with a workload that is never resized. */
function listVerdicts({ runs, unknown }: Report): readonly string[] {
  return runs.filter(({ isBaseline }) => !isBaseline).map((run) => {
    const baseline = runs.find((one) => one.isBaseline && one.group === run.group);
    const [own, other] = [
      computeTotals(run, unknown),
      baseline === undefined ? null : computeTotals(baseline, unknown),
    ];
    const compare = (value: number, before: number | undefined) => {
      const change = before === undefined ? "" : formatChange(before, value);
      const word = change.startsWith("-") ? "less" : "more";
      return change === "" ? "" : `, ${change.slice(1)} ${word} than never resized`;
    };
    const than = (text: string | undefined) => text === undefined ? "" : ` (never resized: ${text})`;
    const parts = [
      ...own.cpuRequest === null ? [] : [
        `${run.name} requests ${formatCpu(own.cpuRequest)} of CPU on average${
          compare(own.cpuRequest, other?.cpuRequest ?? undefined)
        }. It is throttled ${formatShare(own.throttledShare)} of the time${
          than(other === null ? undefined : formatShare(other.throttledShare))
        }.`,
      ],
      ...own.memoryRequest === null ? [] : [
        `${run.name} requests ${formatMemory(own.memoryRequest)} of memory on average${
          compare(own.memoryRequest, other?.memoryRequest ?? undefined)
        }, and is killed for memory ${own.kills === 1 ? "once" : `${own.kills} times`}${
          than(other === null ? undefined : String(other.kills))
        }.`,
      ],
    ];
    return parts.join(" ");
  }).filter((text) => text !== "");
}

/** Sums over the containers whose load has the resource; `null` where none has it. */
function computeTotals({ simulation }: ReportRun, unknown: Report["unknown"]) {
  const { containers } = simulation;
  const known = (resource: Resource) =>
    containers.filter(({ container }) => !listUnknown(unknown, container).includes(resource));
  const sum = (list: readonly ContainerRun[], read: (run: ContainerRun) => number) =>
    list.length === 0 ? null : list.reduce((all, run) => all + read(run), 0);
  const [cpu, memory] = [known("cpu"), known("memory")];
  const throttledSeconds = sum(cpu, (run) => run.cpu.throttledSeconds) ?? 0;
  return {
    cpuRequest: sum(cpu, (run) => run.cpu.request),
    cpuUsed: sum(cpu, (run) => run.cpu.used),
    throttledSeconds,
    throttledShare: computeShare(throttledSeconds, computePodSeconds(simulation) * cpu.length),
    memoryRequest: sum(memory, (run) => run.memory.request),
    memoryUsed: sum(memory, (run) => run.memory.used),
    kills: sum(memory, ({ oomKills }) => oomKills.length) ?? 0,
    resizesPerHour: sum(containers, (run) => run.resizesPerHour) ?? 0,
  };
}

const LEGEND_ITEMS: readonly (readonly [svg: string, text: string])[] = [
  ['<path class="used" d="M0 2h26v10H0z"/>', "wanted, the mean of each moment"],
  ['<path class="peak" d="M0 2h26v10H0z"/>', "its highest second"],
  ['<path class="lost" d="M0 2h26v10H0z"/>', "beyond the limit: lost"],
  ['<path class="request" d="M0 7h26"/>', "request"],
  ['<path class="limit" d="M0 7h26"/>', "limit"],
  ['<path class="up" d="M9 10h8l-4 -7z"/>', "resized up (bars: how often)"],
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

/** A container of one workload. */
interface ReportContainer {
  readonly group: string;
  readonly name: string;
  /** With the workload if there are several. */
  readonly title: string;
}

/** Workloads can have containers of one name, or as many of other names. */
function listContainers({ runs }: Report): readonly ReportContainer[] {
  const groups = Map.groupBy(runs.filter(({ isBaseline }) => !isBaseline), ({ group }) => group);
  return [...groups].flatMap(([group, [first]]) =>
    (first?.simulation.containers ?? []).map(({ container: name }) => ({
      group,
      name,
      title: groups.size > 1 ? `${group}, container ${name}` : `Container ${name}`,
    }))
  );
}

function findContainer({ simulation }: ReportRun, name: string): ContainerRun | undefined {
  return simulation.containers.find(({ container }) => container === name);
}

function formatContainer(
  { runs: all, unknown }: Report,
  { group, name, title, id }: ReportContainer & { readonly id: string },
): string {
  const runs = all.filter((run) => run.group === group);
  const policies = runs.filter(({ isBaseline }) => !isBaseline);
  const shown = policies.flatMap((run) => {
    const container = findContainer(run, name);
    return container === undefined ? [] : [{ name: run.name, container, simulation: run.simulation }];
  });
  const containers = shown.map(({ container }) => container);
  const missing = listUnknown(unknown, name);
  const resources = (["cpu", "memory"] as const).filter((one) => !missing.includes(one));
  const tops = { cpu: findTop(containers, "cpu"), memory: findTop(containers, "memory") };
  const width = policies.length > 1 ? COMPARED_WIDTH : FULL_WIDTH;
  const draw = (range: TimeRange, part: string) =>
    wrapRuns(shown.map(({ name, container, simulation }, at) =>
      [
        "<section>",
        policies.length > 1 ? `<h3>${escapeHtml(name)}</h3>` : "",
        ...resources.map((resource) =>
          formatFigure(container, {
            resource,
            range,
            stepSeconds: simulation.stepSeconds ?? 1,
            top: tops[resource],
            width,
            run: name,
            id: `${part}${resource}${id}-${at}`,
          })
        ),
        "</section>",
      ].join("\n")
    ));
  const [first] = shown;
  const seconds = first?.simulation.seconds ?? 0;
  const day = isLong(seconds) ? findWorstDay(containers, first?.simulation.stepSeconds ?? 1, seconds) : null;
  return [
    `<h2>${escapeHtml(title)}</h2>`,
    ...missing.length === 0 ? [] : [`<p>${describeUnknown(missing)}.</p>`],
    draw({ from: 0, to: seconds }, "all"),
    ...day === null ? [] : [
      "<p>A long run in equal parts: request and limit are the means of each part, and bars count its resizes.</p>",
      `<h2>${escapeHtml(title)}, the worst day: from ${formatSpan(day.from)} to ${formatSpan(day.to)}</h2>`,
      "<p>The day with the most CPU beyond the limit, and after that beyond the request, under all policies together.</p>",
      draw(day, "day"),
    ],
    `<div class="scroll">${formatFigures(runs, name, missing)}</div>`,
  ].join("\n");
}

interface FigureOptions extends Pick<Plot, "id" | "range" | "top" | "width"> {
  readonly resource: Resource;
  readonly run: string;
  readonly stepSeconds: number;
}

const AXIS_NAMES = { cpu: "CPU, in cores (500m is half a core)", memory: "Memory, in bytes (Mi, Gi)" } as const;

function formatFigure(container: ContainerRun, options: FigureOptions): string {
  const { resource, run, top, stepSeconds, ...plot } = options;
  const [requests, limits] = [listSteps(container, resource, "requests"), listSteps(container, resource, "limits")];
  const highest = maxOf(limits.map(([, amount]) => amount ?? 0));
  const beyond = highest > top * 1.001 ? `; limits go up to ${formatQuantity(highest, resource)}, beyond the plot` : "";
  const name = resource === "cpu" ? "CPU" : "Memory";
  const course = container.series?.[resource] ?? null;
  const { peaks, means } = sumUp(course, stepSeconds, plot.range);
  const drawn = drawPlot({
    ...plot,
    top,
    label: `${name} of container ${container.container} under ${run}`,
    unit: resource,
    peaks,
    means,
    lines: [
      { kind: "request", steps: listStepsIn(requests, plot.range) },
      { kind: "limit", steps: listStepsIn(limits, plot.range) },
    ],
    limits,
    resizes: listMarksIn(listMarks(container, resource), plot.range),
    kills: resource === "memory"
      ? container.oomKills.filter((second) => second >= plot.range.from && second < plot.range.to)
      : [],
  });
  return `<figure><figcaption>${AXIS_NAMES[resource]}, by the time since the start${beyond}</figcaption>\n` +
    `<div class="scroll">${drawn}</div></figure>`;
}

/** So that the ticks of the axis are whole pods. */
const MIN_AXIS_PODS = 4;

function formatReplicas(runs: readonly ReportRun[]): string {
  const top = Math.max(MIN_AXIS_PODS, maxOf(runs.flatMap(({ replicas }) => replicas.map(([, pods]) => pods))));
  const sections = runs.map(({ name, replicas, simulation: { seconds } }, at) => {
    const plot = drawPlot({
      label: `Pods under ${name}`,
      id: `pods-${at}`,
      width: runs.length > 1 ? COMPARED_WIDTH : FULL_WIDTH,
      unit: "pods",
      range: { from: 0, to: seconds },
      top,
      peaks: [],
      means: [],
      lines: [{ kind: "replicas", steps: replicas }],
      limits: [],
      resizes: [],
      kills: [],
    });
    return `<section><h3>${escapeHtml(name)}</h3>\n<figure><div class="scroll">${plot}</div></figure></section>`;
  });
  return `<h2>Pods</h2>\n${wrapRuns(sections)}`;
}

function formatSweep({ candidates }: Report): string {
  const front = candidates.filter(({ isOnFront }) => isOnFront).length;
  const text =
    `${candidates.length} policies, best first: fewest OOM kills, then the lowest sum of places in slack, throttled time ` +
    `and resizes. Numbers are places. Large dots are the ${front} policies that no other beats in all of these figures, and ` +
    "the line joins those that are best in the two figures shown. Orange is throttled for longer than the best of all, " +
    "red is killed for memory more often.";
  return [
    "<h2>Sweep</h2>",
    `<p>${text}</p>`,
    `<div class="single scroll">${drawCandidates(candidates)}</div>`,
    `<div class="scroll">${formatFront(candidates)}</div>`,
  ].join("\n");
}

/**
 * The figures of one container, a column for each run. With two policies `change` is from the first to the second, with
 * one policy from the workload that is never resized.
 */
function formatFigures(runs: readonly ReportRun[], of: string, missing: readonly Resource[]): string {
  const columns = runs.flatMap((run) => {
    const container = findContainer(run, of);
    const { name, isBaseline, simulation } = run;
    return container === undefined ? [] : [{ name, container, isBaseline, podSeconds: computePodSeconds(simulation) }];
  });
  const policies = columns.filter(({ isBaseline }) => !isBaseline).length;
  const isCompared = columns.length > 1 && policies <= 2;
  const head = columns.map(({ name }) => `<th scope="col">${escapeHtml(name)}</th>`).join("");
  const known = RUN_FIGURES.filter(({ hint, resource }) =>
    hint !== undefined && (resource === null || !missing.includes(resource))
  );
  const rows = known.map(({ name, hint, read, format, isCost }) => {
    const values = columns.map(({ container, podSeconds }) => read(container, podSeconds));
    const own = values.filter((_, at) => columns[at]?.isBaseline === false);
    const best = Math.min(...own);
    const isMarked = isCost && new Set(own).size > 1;
    const cells = values.map((value, at) =>
      `<td${isMarked && value === best && !columns[at]?.isBaseline ? ' class="best"' : ""}>${
        escapeHtml(format(value))
      }</td>`
    );
    const [from, to] = policies === 2 ? [own[0], own[1]] : [values.at(-1), own[0]];
    const change = isCompared ? `<td class="change">${escapeHtml(formatChange(from ?? NaN, to ?? NaN))}</td>` : "";
    return `<tr><th scope="row">${name} <small>${hint}</small></th>${cells.join("")}${change}</tr>`;
  });
  const last = isCompared ? '<th scope="col">change</th>' : "";
  return `<table><thead><tr><td></td>${head}${last}</tr></thead>\n<tbody>${rows.join("\n")}</tbody></table>`;
}

/** From this share of the time on, throttling is bad news. Percent. */
const BAD_SHARE = 1;

/** The main figures of a policy. */
function formatTiles(run: ReportRun, { unknown }: Report): string {
  const totals = computeTotals(run, unknown);
  const { cpuRequest, cpuUsed, memoryRequest, memoryUsed, kills, throttledSeconds, throttledShare } = totals;
  const tile = (value: string, label: string, kind = "") =>
    `<div class="tile ${kind}"><b>${escapeHtml(value)}</b><span>${escapeHtml(label)}</span></div>`;
  const throttled = `of the time throttled, ${formatSpan(throttledSeconds)}`;
  return `<div class="tiles">${
    [
      ...cpuRequest === null ? [] : [
        tile(formatCpu(cpuRequest), `CPU requested, ${formatCpu(cpuUsed ?? 0)} used`),
        tile(formatShare(throttledShare), throttled, throttledShare >= BAD_SHARE ? "bad" : ""),
      ],
      ...memoryRequest === null ? [] : [
        tile(formatMemory(memoryRequest), `memory requested, ${formatMemory(memoryUsed ?? 0)} used`),
        tile(formatNumber(kills), kills === 1 ? "OOM kill" : "OOM kills", kills > 0 ? "bad" : ""),
      ],
      tile(formatNumber(totals.resizesPerHour), "resizes an hour"),
    ].join("")
  }</div>`;
}

/** More rows would not help the reader. */
const MAX_ROWS = 40;

/** The candidates of a sweep, best first. */
function formatFront(candidates: readonly ReportCandidate[]): string {
  const rows = candidates.slice(0, MAX_ROWS)
    .map(({ name, slack, throttledSeconds, oomKills, resizesPerHour }, index) =>
      `<tr><th scope="row">${index + 1}. ${escapeHtml(name)}</th><td>${formatQuantity(slack, "cpu")}</td>` +
      `<td>${formatSpan(throttledSeconds)}</td><td>${formatNumber(oomKills)}</td>` +
      `<td>${formatNumber(resizesPerHour)}</td></tr>`
    );
  const head = [SLACK, "throttled", "OOM kills", "resizes an hour"].map((one) => `<th scope="col">${one}</th>`);
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
dl { display: flex; flex-wrap: wrap; gap: 4px 24px; margin: 8px 0 16px; font-size: 13px; }
dl div { display: flex; gap: 6px; min-width: 0; } dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
.verdict { color: var(--text); font-size: 16px; max-width: 1000px; margin: 0 0 8px; }
.verdict + .runs, .verdict + .single { margin-top: 20px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(100px, 1fr)); gap: 8px; }
.tile { background: var(--card); border-radius: 8px; padding: 8px 12px; }
.tile b { display: block; font-size: 21px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile span { color: var(--dim); font-size: 13px; }
.tile.bad b { color: var(--bad); }
figure { margin: 0 0 14px; }
figcaption { color: var(--dim); font-size: 13px; }
svg { display: block; width: 100%; height: auto; }
figure svg, .single svg { min-width: 560px; }
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
tbody th { text-align: left; padding-left: 0; min-width: 10em; } thead th { color: var(--dim); }
.legend .up, .legend .down { stroke: none; }
small { color: var(--dim); } .best { color: var(--good); font-weight: 600; } .change { color: var(--dim); }
@media print { body { max-width: none; padding: 0; } }
`.trim();

/** A plot of a longer run shows too little of a day. */
function isLong(seconds: number): boolean {
  return seconds > 2 * DAY_SECONDS;
}

/** Returns the day, counted from the start, in which CPU cost most under all policies; `null` without series. */
function findWorstDay(
  containers: readonly ContainerRun[],
  stepSeconds: number,
  seconds: number,
): TimeRange | null {
  const courses = containers.flatMap(({ series }) => series?.cpu ?? []);
  if (courses.length === 0) return null;
  const days = Math.max(1, Math.floor(seconds / DAY_SECONDS));
  const costs = new Float64Array(days);
  for (const { wanted, used, request } of courses) {
    for (const [index, amount] of wanted.entries()) {
      const day = Math.min(days - 1, Math.floor(index * stepSeconds / DAY_SECONDS));
      const lost = amount - (used[index] ?? 0);
      const under = Math.max(0, amount - (request[index] ?? 0));
      costs[day] = (costs[day] ?? 0) + WEIGHTS.throttled * lost + WEIGHTS.under * under;
    }
  }
  const from = costs.indexOf(Math.max(...costs)) * DAY_SECONDS;
  return { from, to: from + DAY_SECONDS };
}

/** Returns at most 1000 points of the range, at equal distances: the highest second of each, and the mean. */
function sumUp(course: Course | null, stepSeconds: number, { from, to }: TimeRange) {
  if (course === null) return { peaks: [], means: [] };
  const [first, end] = [Math.floor(from / stepSeconds), Math.ceil(to / stepSeconds)];
  const size = Math.max(1, Math.ceil((end - first) / MAX_POINTS));
  const [peaks, means]: [number[], number[]] = [[], []];
  for (let start = first; start < Math.min(end, course.wanted.length); start += size) {
    const wanted = course.wanted.slice(start, Math.min(start + size, end));
    peaks.push(Math.max(...course.peak.slice(start, Math.min(start + size, end))));
    means.push(wanted.reduce((sum, amount) => sum + amount, 0) / wanted.length);
  }
  return { peaks, means };
}
