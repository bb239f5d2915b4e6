/** The report as a file: what it holds, that nothing in it leaves it, and that no name can break it. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { formatHtml } from "../../../lib/cli/simulate/html/page.ts";
import {
  escapeHtml,
  formatCoordinate,
  listTicks,
  listTimes,
  type Report,
  type ReportCandidate,
  type ReportRun,
} from "../../../lib/cli/simulate/html/report.ts";
import { formatNumber, formatQuantity, formatSpan } from "../../../lib/cli/terminal/numbers.ts";
import type { Simulation } from "../../../lib/simulate/simulate.ts";
import { MI } from "../../support/builders.ts";
import { autoscalerOf, HOUR, loadOf, run } from "../../simulate/runs.ts";

/** CPU of ten times as much in its second half, memory over the limit for a while. */
const LOAD = loadOf((second) => ({
  cpuMillicores: second < HOUR / 2 ? 60 : 600,
  workingSetBytes: second > 600 && second < 700 ? 600 * MI : 100 * MI,
}));

function play(spec: Readonly<Record<string, unknown>>): Simulation {
  return run(LOAD, { autoscalers: [autoscalerOf(spec)], stepSeconds: 4 });
}

const BALANCED = play({ profile: "balanced" });
const DAY = 24 * HOUR;
const LATENCY = play({ profile: "latency" });

const runOf = (name: string, simulation: Simulation, replicas: ReportRun["replicas"] = []): ReportRun => ({
  name,
  simulation,
  replicas,
  isBaseline: false,
  group: "web",
});

function report(overrides: Partial<Report> = {}): Report {
  return {
    title: "deployment/web",
    about: [["length", "an hour"]],
    runs: [runOf("balanced", BALANCED)],
    candidates: [],
    unknown: {},
    ...overrides,
  };
}

function count(html: string, pattern: RegExp): number {
  return [...html.matchAll(pattern)].length;
}

Deno.test("formatHtml() marks every resize and every kill of a run", () => {
  const html = formatHtml(report());
  const [container] = BALANCED.containers;
  assert(container !== undefined);
  const changes = (resource: "cpu" | "memory") =>
    container.resizes.filter(({ from, to }) =>
      from[`${resource}.requests`] !== to[`${resource}.requests`] ||
      from[`${resource}.limits`] !== to[`${resource}.limits`]
    ).length;
  assert(changes("cpu") > 1 && container.oomKills.length > 0);
  assertEquals(count(html, /<path class="(up|down)"[^>]*><title>/g), changes("cpu") + changes("memory"));
  assertEquals(count(html, /<g class="kill">.*?<title>/g), container.oomKills.length);
  assertEquals(count(html, /<svg viewBox="0 0 944 /g), 2);
});

Deno.test("formatHtml() shows what was wanted beyond the limit as lost, where there is a limit", () => {
  assertEquals(count(formatHtml(report()), /<path class="lost" clip-path=/g), 2);
});

Deno.test("formatHtml() has plots of two policies side by side at one scale, and the better figure marked", () => {
  const other = runOf("latency", LATENCY);
  const html = formatHtml(report({ runs: [...report().runs, other] }));
  assertEquals(count(html, /<svg viewBox="0 0 640 /g), 4);
  const tops = [...html.matchAll(/<figcaption>CPU[^]*?<\/svg>/g)].map(([plot]) =>
    [...plot.matchAll(/class="tick end" x="40"[^>]*>([^<]*)</g)].map(([, text]) => text)
  );
  assertEquals(tops.length, 2);
  assertEquals(tops[0], tops[1]);
  assertMatch(html, /cpu slack[^]*?<td class="best">/);
  assertMatch(html, /<th scope="col">change<\/th>/);
});

Deno.test("formatHtml() names each thing that is drawn once and used by its name differently", () => {
  const runs = ["a", "b"].map((name) => runOf(name, BALANCED));
  const html = formatHtml(report({ runs }));
  const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assertEquals(ids.length, 4);
  assertEquals(new Set(ids).size, ids.length);
});

Deno.test("formatHtml() has a part for each container of each workload, with the runs of that workload alone", () => {
  const named = (simulation: Simulation, ...names: readonly string[]): Simulation => ({
    ...simulation,
    containers: names.flatMap((container) => simulation.containers.map((one) => ({ ...one, container }))),
  });
  const runs = [
    { ...runOf("web, balanced", named(BALANCED, "app")), group: "Deployment web" },
    { ...runOf("web, never", named(LATENCY, "app")), group: "Deployment web", isBaseline: true },
    { ...runOf("db, balanced", named(LATENCY, "postgres", "app")), group: "StatefulSet db" },
    { ...runOf("db, never", named(BALANCED, "postgres", "app")), group: "StatefulSet db", isBaseline: true },
  ];
  const html = formatHtml(report({ runs }));
  const [, ...parts] = html.split("<h2>");
  assertEquals(parts.map((part) => part.slice(0, part.indexOf("<"))), [
    "Deployment web, container app",
    "StatefulSet db, container postgres",
    "StatefulSet db, container app",
  ]);
  const columns = parts.map((part) => [...part.matchAll(/<th scope="col">([^<]*)</g)].map(([, name]) => name));
  assertEquals(columns, [
    ["web, balanced", "web, never", "change"],
    ["db, balanced", "db, never", "change"],
    ["db, balanced", "db, never", "change"],
  ]);
  // One plot of each resource, at full width: there is nothing to compare it with.
  assertEquals(parts.map((part) => count(part, /<svg viewBox="0 0 944 /g)), [2, 2, 2]);
  assertEquals(count(html, /class="best"/g), 0);
  const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assertEquals(new Set(ids).size, ids.length);
});

Deno.test("formatHtml() draws replicas where something scales them", () => {
  const runs = [runOf("both", BALANCED, [[0, 2], [1800, 5]])];
  const html = formatHtml(report({ runs }));
  assertMatch(html, /<h2>Pods<\/h2>[^]*<path class="replicas" d="M46 [\d.]+H[\d.]+V45.3H936"/);
  assertEquals(count(formatHtml(report()), /<h2>Pods/g), 0);
});

Deno.test("formatHtml() shows a sweep in the order of its places", () => {
  const candidate = (name: string, overrides: Partial<ReportCandidate>): ReportCandidate => ({
    name,
    slack: 10,
    throttledSeconds: 0,
    oomKills: 0,
    resizesPerHour: 1,
    isOnFront: true,
    ...overrides,
  });
  const candidates = [
    candidate("dear", { slack: 200 }),
    candidate("cheap", { slack: 20, resizesPerHour: 4, throttledSeconds: 90 }),
    candidate("behind", { isOnFront: false, oomKills: 2 }),
  ];
  const html = formatHtml(report({ candidates }));
  assertStringIncludes(html, "3 policies, best first");
  // Slack is of CPU and memory, in the table and at the axis.
  assertEquals(count(html, />slack \(a core = 4 GiB\)</g), 2);
  assertEquals(count(html, /CPU slack|CPU requested and not used/g), 0);
  assertStringIncludes(html, "the 2 policies that no other beats");
  const rows = [...html.matchAll(/<th scope="row">([\w. ]+)<\/th><td>([^<]*)<\/td><td>([^<]*)</g)].map((row) =>
    row.slice(1)
  );
  assertEquals(rows, [["1. dear", "200m", "0s"], ["2. cheap", "20m", "1m 30s"], ["3. behind", "10m", "0s"]]);
  assertEquals(count(html, /<circle class="off kills"/g), 1);
  assertEquals(count(html, /<circle class="on throttles"/g), 1);
  // The third is on the front for what the drawing does not show, and so not on its line.
  const dearest = candidate("dearest", { slack: 300, resizesPerHour: 2 });
  const [line = ""] =
    /<path class="front" d="[^"]*"/.exec(formatHtml(report({ candidates: [...candidates, dearest] }))) ?? [];
  assertEquals(count(line, /L/g), 1);
});

Deno.test("formatHtml() lets no name become markup", () => {
  const evil = `</title><script>alert("1")</script>'&`;
  const containers = BALANCED.containers.map((one) => ({ ...one, container: evil }));
  const html = formatHtml({
    title: evil,
    about: [["load", evil]],
    unknown: {},
    runs: [runOf(evil, { ...BALANCED, containers }, [[0, 1]])],
    candidates: [{ name: evil, slack: 1, throttledSeconds: 0, oomKills: 0, resizesPerHour: 1, isOnFront: true }],
  });
  assertEquals(count(html, /<script|alert\("/g), 0);
  assertEquals(count(html, /<\/title>/g), count(html, /<title>/g));
  assert(count(html, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&#39;&amp;/g) >= 8);
});

Deno.test("formatHtml() gives a file that needs nothing else: no script, no address, a policy that forbids both", () => {
  const html = formatHtml(report());
  assertEquals(count(html, /<script|<link|<img|<iframe|@import|https?:|src=|href=|\son\w+=/g), 0);
  assertEquals([...html.matchAll(/url\(([^)]*)\)/g)].filter(([, target]) => !target?.startsWith("#")), []);
  assertStringIncludes(html, `content="default-src 'none'; style-src 'unsafe-inline'"`);
  assertStringIncludes(html, "prefers-color-scheme: dark");
});

Deno.test("formatHtml() is well formed: each element ends where it has to", () => {
  const open: string[] = [];
  for (const [, close, name = "", rest = ""] of formatHtml(report()).matchAll(/<(\/?)([a-z][\w]*)([^>]*)>/gi)) {
    if (close === "/") assertEquals(open.pop(), name);
    else if (!rest.endsWith("/") && name !== "meta") open.push(name);
  }
  assertEquals(open, []);
});

Deno.test("formatHtml() survives a run without resizes, limits, time or containers", () => {
  const empty: Simulation = { ...BALANCED, seconds: 0, containers: [] };
  assertStringIncludes(formatHtml(report({ runs: [runOf("none", empty)] })), "</html>");
  assertStringIncludes(formatHtml(report({ runs: [] })), "</html>");
  const idle = run(loadOf(() => ({ cpuMillicores: 0, workingSetBytes: 0 })), { autoscalers: [], stepSeconds: 60 });
  const html = formatHtml(report({ runs: [runOf("idle", idle)] }));
  assertEquals(count(html, /NaN|Infinity|undefined/g), 0);
});

Deno.test("text of the report is short and harmless", () => {
  assertEquals(escapeHtml("a\u202eb\n<"), "a\\u{202e}b\\u{a}&lt;");
  assertEquals([0, 0.314, 4.25, 42, 42.04, 99.6, 1204.4, NaN].map(formatNumber), [
    "0",
    "0.31",
    "4.25",
    "42",
    "42",
    "100",
    "1,204",
    "-",
  ]);
  assertEquals([0, 250, 1500, 12_345].map((amount) => formatQuantity(amount, "cpu")), ["0", "250m", "1.5", "12.3"]);
  assertEquals([0, 64 * MI, 1536 * MI].map((amount) => formatQuantity(amount, "memory")), ["0", "64Mi", "1.5Gi"]);
  assertEquals([0, 59.6, 3661, 90_000, 172_800].map(formatSpan), ["0s", "1m", "1h 1m", "1d 1h", "2d"]);
  assertEquals([1.26, NaN, Infinity].map(formatCoordinate), ["1.3", "0", "0"]);
});

Deno.test("listTicks() has round steps, binary ones of bytes, and listTimes() as many as there is room for", () => {
  assertEquals(listTicks(390, { count: 4, base: 10 }), [0, 100, 200, 300, 400]);
  assertEquals(listTicks(500 * MI, { count: 4, base: 2 }), [0, 128, 256, 384, 512].map((one) => one * MI));
  assertEquals(listTicks(0, { count: 4, base: 10 }), [0, 1]);
  assertEquals(listTimes({ from: 0, to: 3600 }, 8), [0, 600, 1200, 1800, 2400, 3000, 3600]);
  assertEquals(listTimes({ from: 0, to: 0 }, 8), [0]);
});

const WEEK = run(
  // From the second day on it oscillates, which resizes it often; the fourth has the highest peaks.
  loadOf((second) => ({
    cpuMillicores: 100 + (second % 1200 < 600 ? 0 : second >= 3 * DAY && second < 4 * DAY ? 900 : 300),
  })),
  { autoscalers: [autoscalerOf({ profile: "thrifty" })], stepSeconds: 87, seconds: 6 * DAY },
);

Deno.test("formatHtml() counts the resizes of a long run in parts, and shows its worst day in full", () => {
  const [container] = WEEK.containers;
  assert(container !== undefined && container.resizes.length > 500, `${container?.resizes.length}`);
  const html = formatHtml(report({ runs: [runOf("thrifty", WEEK)] }));
  const [all = "", day = ""] = html.split("<h2>Container main, the worst day:");
  assertMatch(day.slice(0, 80), /^ from 3d to 4d</);
  assertMatch(all, /<title>[^<]*: \d+ resizes up in /);
  const [, request = ""] = /<path class="request" d="([^"]*)"/.exec(all) ?? [];
  assert(count(request, /H/g) <= 168, request.slice(0, 80));
  // Two rows of at most 168 parts, of two resources.
  assert(count(all, /<title>/g) < 2 * 2 * 168 + 2);
  const resizes = [...all.matchAll(/: (\d+) resizes (?:up|down) in /g)].reduce((sum, [, one]) => sum + Number(one), 0);
  const changed = (resource: "cpu" | "memory") =>
    container.resizes.filter(({ from, to }) =>
      from[`${resource}.requests`] !== to[`${resource}.requests`] ||
      from[`${resource}.limits`] !== to[`${resource}.limits`]
    ).length;
  assert(resizes >= changed("cpu"), `${resizes} of ${changed("cpu")}`);
  assert(html.length < 300_000, `${html.length}`);
});

Deno.test("formatHtml() has the unit of each axis, and what it takes to make the report again", () => {
  const html = formatHtml(report({ about: [["load", "monday.csv"], ["seed", "7"], ["podfit", "0.1.0"]] }));
  assertMatch(html, /<figcaption>CPU, in cores /);
  assertMatch(html, /<figcaption>Memory, in bytes /);
  assertStringIncludes(html, "<div><dt>load</dt><dd>monday.csv</dd></div><div><dt>seed</dt><dd>7</dd></div>");
});

Deno.test("formatHtml() compares with never resized, and gives throttling its share of the time", () => {
  const frozen = run(LOAD, { autoscalers: [{ ...autoscalerOf({ profile: "balanced" }), sides: [] }], stepSeconds: 4 });
  const runs = [runOf("balanced", BALANCED), { ...runOf("never resized", frozen), isBaseline: true }];
  const html = formatHtml(report({ runs }));
  assertMatch(
    html,
    /<p class="verdict">balanced requests \d+m of CPU on average, \d+ % (less|more) than never resized\. It is throttled [\d.]+ % of the time \(never resized: [\d.]+ %\)\./,
  );
  assertMatch(html, /<b>[\d.]+ %<\/b><span>of the time throttled, /);
  assertMatch(html, /<th scope="col">never resized<\/th><th scope="col">change<\/th>/);
  assertEquals(count(html, /<h3>never resized/g), 0);
});

Deno.test("formatHtml() shows nothing of a resource that no load has, and says so", () => {
  const html = formatHtml(report({ unknown: { main: ["memory"] } }));
  assertStringIncludes(html, "<p>Not known: the load has no memory; it stays as it is, and no figure shows it.</p>");
  assertEquals(count(html, /<figcaption>Memory|memory (used|requested|slack)|OOM kill/g), 0);
});
