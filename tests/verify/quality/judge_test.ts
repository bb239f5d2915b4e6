import { assert, assertEquals, assertStringIncludes } from "#assert";
import { CONTROLLERS, judge } from "./judge.ts";
import { drawPlot } from "./plot.ts";
import { writeBars, writeTables } from "./report.ts";
import type { Score } from "./score.ts";

Deno.test("judge() is content with figures that meet every bar", () => {
  assertEquals(judge(GOOD).filter(({ isMet }) => !isMet), []);
});

Deno.test("judge() misses the bar that a figure breaks, and no other", async (t) => {
  const { example, balanced, latency, thrifty, slowVpa } = CONTROLLERS;
  const cases: readonly (readonly [string, Change, readonly string[]])[] = [
    ["a cost", of(balanced, "real", { cost: 121 }), ["balanced: cost"]],
    ["many resizes", of(balanced, "real", { resizesPerHour: 3.1 }), ["balanced: resizes an hour"]],
    ["time under", of(balanced, "real", { underTime: 1.1 }), ["balanced: % of time under"]],
    ["wide limits", of(balanced, "real", { limit: 310 }), ["balanced: mean CPU limit"]],
    ["a better rival", of(slowVpa, "real", { resizesPerHour: 1.9, cost: 99 }), [
      "balanced: cost",
      "balanced: vpa-30m is not",
    ]],
    ["throttling", of(latency, "real", { throttledTime: 0.5 }), ["latency: % of time under and throttled"]],
    ["slack", of(latency, "real", { slack: 171 }), ["latency: slack"]],
    ["haste", of(latency, "real", { resizesPerHour: 6.1 }), ["latency: resizes"]],
    ["slow steps", (score) => ["phase-0", "phase-1", "phase-2"].includes(score.curve) ? { settlesUp: 31 } : {}, [
      "latency: seconds to fit",
    ]],
    ["a step that never fits", (score) => score.curve.startsWith("phase-") ? { settlesUp: null } : {}, [
      "latency: seconds to fit",
    ]],
    ["a thrifty cost", of(thrifty, "real", { cost: 81 }), ["thrifty: cost"]],
    ["thrifty resizes", of(thrifty, "real", { resizesPerHour: 4.1 }), ["thrifty: resizes an hour, to a quarter"]],
    ["thrifty time under", of(thrifty, "real", { underTime: 4.1 }), ["thrifty: % of time under"]],
    ["a late kill", of(example, "memory", { killsLate: 1 }), ["example: most OOM kills of a curve after two hours"]],
    ["early kills", of(thrifty, "memory", { killsEarly: 3 }), ["thrifty: most OOM kills of a curve before"]],
    ["memory slack", of(latency, "memory", { slack: 201 }), ["latency: slack of memory"]],
    ["unrest", of(balanced, "constant", { resizesPerHour: 0.6 }), ["balanced: resizes an hour of a constant load"]],
  ];
  for (const [name, change, missed] of cases) {
    await t.step(name, () => {
      const scores = GOOD.map((score) => ({ ...score, ...change(score) }));
      const found = judge(scores).filter(({ isMet }) => !isMet).map((bar) => bar.name);
      assertEquals(found.map((bar, index) => bar.slice(0, missed[index]?.length)), missed);
    });
  }
});

Deno.test("judge() misses every bar of what was not measured", () => {
  const bars = judge([]);
  assert(bars.length > 15);
  assertEquals(bars.filter(({ isMet }) => isMet), []);
  assertStringIncludes(bars[0]?.figure ?? "", "not measured");
});

Deno.test("writeTables() means a controller's curves in one row, podfit first, and leaves out who has not all of them", () => {
  const scores = [
    scoreOf("vpa", "real", { cost: 10 }),
    scoreOf("vpa", "real", { cost: 30, curve: "real-2" }),
    scoreOf("podfit-balanced", "real", { cost: 5 }),
    scoreOf("podfit-balanced", "real", { cost: 6, curve: "real-2" }),
    scoreOf("vpa-warm", "real", { cost: 1 }),
    scoreOf("vpa", "memory", { killsEarly: 1, killsLate: 2 }),
  ];
  const lines = writeTables(scores).split("\n");
  assertEquals(lines[0], "CPU of real servers, means (2 curves):");
  const rows = lines.filter((line) => line.startsWith("| ")).map((line) => line.split(" | ").slice(0, 2).join(" "));
  assertEquals(rows, [
    "| controller cost",
    "| --- ---",
    "| podfit-balanced 6",
    "| vpa 20",
    "| controller slack MiB",
    "| --- ---",
    "| vpa 100",
  ]);
  assert(lines.includes("| vpa | 100 | 0.50 | 1 | 2 | 2.0 |"));
});

Deno.test("writeBars() says of each bar what was measured and whether it is met", () => {
  const text = writeBars([{ name: "a", figure: "1, at most 2", isMet: true }, {
    name: "b",
    figure: "3",
    isMet: false,
  }]);
  assertEquals(text.split("\n").slice(2), ["| a | 1, at most 2 | met |", "| b | 3 | missed |"]);
});

Deno.test("drawPlot() puts fewer resizes to the left and a lower cost below, and no name upon another", () => {
  const marks = [
    { name: "podfit & co", resizesPerHour: 2, cost: 80, isOwn: true },
    { name: "near", resizesPerHour: 2.1, cost: 82, isOwn: true },
    { name: "vpa", resizesPerHour: 0, cost: 300, isOwn: false },
    { name: "vpa-fast", resizesPerHour: 16, cost: 60, isOwn: false },
  ];
  const svg = drawPlot("cost < resizes", marks);
  const circles = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);
  // Drawn from the lowest cost up.
  const [fast = [], own = [], near = [], vpa = []] = circles;
  const [x, y] = [0, 1] as const;
  assert((vpa[x] ?? 0) < (own[x] ?? 0) && (own[x] ?? 0) < (near[x] ?? 0) && (near[x] ?? 0) < (fast[x] ?? 0));
  assert((fast[y] ?? 0) > (own[y] ?? 0) && (own[y] ?? 0) > (near[y] ?? 0) && (near[y] ?? 0) > (vpa[y] ?? 0));
  const labels = [...svg.matchAll(/<text x="[\d.]+" y="([\d.]+)" text-anchor="start" fill/g)].map(([, at]) =>
    Number(at)
  );
  assert(Math.abs((labels[1] ?? 0) - (labels[2] ?? 0)) >= 15);
  assertStringIncludes(svg, "podfit &amp; co");
  assertStringIncludes(svg, "cost &lt; resizes");
  assert(circles.every(([x = 0, y = 0]) => x >= 64 && x <= 696 && y >= 56 && y <= 364));
});

type Kind = "real" | "constant" | "memory" | "phase";
type Change = (score: Score) => Partial<Score>;

/** Changes the scores of one controller on curves of that kind. */
function of(controller: string, kind: Kind, change: Partial<Score>): Change {
  return (score) => score.controller === controller && score.curve.startsWith(kind) ? change : {};
}

function scoreOf(controller: string, kind: Kind, change: Partial<Score>): Score {
  return {
    controller,
    curve: kind,
    kind: kind === "real" || kind === "constant" ? "cpu" : kind,
    isReal: kind === "real",
    used: 200,
    slack: 100,
    under: 1,
    underTime: 0.5,
    throttled: 0,
    throttledTime: 0,
    request: 100,
    limit: 250,
    resizesPerHour: 2,
    settlesUp: null,
    killsEarly: 0,
    killsLate: 0,
    cost: 100,
    ...change,
  };
}

const { example, balanced, latency, thrifty, vpa, slowVpa, fastVpa } = CONTROLLERS;
const OWN = [example, balanced, latency, thrifty];
const GOOD: readonly Score[] = [
  scoreOf(vpa, "real", { cost: 300, resizesPerHour: 0 }),
  scoreOf(slowVpa, "real", { cost: 200, slack: 170, underTime: 1, resizesPerHour: 1 }),
  scoreOf(fastVpa, "real", { cost: 80, underTime: 2.5, throttledTime: 0.2, resizesPerHour: 16 }),
  scoreOf(vpa, "memory", { slack: 200 }),
  scoreOf(balanced, "real", {}),
  scoreOf(latency, "real", { slack: 150 }),
  scoreOf(thrifty, "real", { cost: 70, underTime: 3 }),
  ...OWN.flatMap((name) => [
    scoreOf(name, "memory", { killsEarly: 1 }),
    scoreOf(name, "constant", { resizesPerHour: 0.3 }),
  ]),
  ...Array.from(
    { length: 20 },
    (_, index) => scoreOf(latency, "phase", { curve: `phase-${index}`, settlesUp: index < 18 ? 25 : null }),
  ),
];
