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
const LATENCY = play({ profile: "latency" });

function report(overrides: Partial<Report> = {}): Report {
  return {
    title: "deployment/web",
    about: "an hour",
    runs: [{ name: "balanced", simulation: BALANCED, replicas: [] }],
    candidates: [],
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
  const other = { name: "latency", simulation: LATENCY, replicas: [] };
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
  const runs = ["a", "b"].map((name) => ({ name, simulation: BALANCED, replicas: [] }));
  const html = formatHtml(report({ runs }));
  const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assertEquals(ids.length, 4);
  assertEquals(new Set(ids).size, ids.length);
});

Deno.test("formatHtml() draws replicas where something scales them", () => {
  const runs = [{ name: "both", simulation: BALANCED, replicas: [[0, 2], [1800, 5]] as const }];
  const html = formatHtml(report({ runs }));
  assertMatch(html, /<h2>Pods<\/h2>[^]*<path class="replicas" d="M46 [\d.]+H[\d.]+V45.3H936"/);
  assertEquals(count(formatHtml(report()), /<h2>Pods/g), 0);
});

Deno.test("formatHtml() shows a sweep's front, by slack", () => {
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
  assertStringIncludes(html, "3 policies, 2 of which");
  const rows = [...html.matchAll(/<th scope="row">(\w+)<\/th><td>([^<]*)<\/td><td>([^<]*)</g)].map((row) =>
    row.slice(1)
  );
  assertEquals(rows, [["cheap", "20m", "1m 30s"], ["dear", "200m", "0s"]]);
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
    about: evil,
    runs: [{ name: evil, simulation: { ...BALANCED, containers }, replicas: [[0, 1]] }],
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
  assertStringIncludes(formatHtml(report({ runs: [{ name: "none", simulation: empty, replicas: [] }] })), "</html>");
  assertStringIncludes(formatHtml(report({ runs: [] })), "</html>");
  const idle = run(loadOf(() => ({ cpuMillicores: 0, workingSetBytes: 0 })), { autoscalers: [], stepSeconds: 60 });
  const html = formatHtml(report({ runs: [{ name: "idle", simulation: idle, replicas: [] }] }));
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
  assertEquals(listTimes(3600, 8), [0, 600, 1200, 1800, 2400, 3000, 3600]);
  assertEquals(listTimes(0, 8), [0]);
});
