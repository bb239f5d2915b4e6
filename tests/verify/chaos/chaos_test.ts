/** The short form of `deno task chaos`: each scenario of virtual time, once, under one seed. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { type ChaosRun, formatReport, type Played } from "./report.ts";
import { SCENARIOS } from "./scenarios/all.ts";
import { describeFailures, play, Stage, summarize } from "./stage.ts";

for (const scenario of SCENARIOS.filter(({ isShort }) => isShort)) {
  Deno.test(`podfit recovers by itself, and resizes nothing wrongly or twice: ${scenario.about}`, async () => {
    const stage = await play(scenario, { seed: "podfit", isShort: true });
    assertEquals(describeFailures([stage]), []);
  });
}

Deno.test("summarize() adds up what stages noted, and a size decided on stale data is a wrong one", () => {
  const stage = new Stage("one", { seed: "a" });
  stage.note({ name: "a", recoveredMs: 1234, withinMs: 5000 });
  stage.note({ name: "b", recoveredMs: 5000, withinMs: 5000, why: "it hangs" });
  stage.broke("wrong size", "x");
  stage.broke("stale resize", "y");
  stage.broke("double resize", "z");
  assertEquals(summarize([stage]), "faults: 2, recovered: 1, slowest: 1.2 s, wrong sizes: 2, double resizes: 1");
  assertEquals(describeFailures([stage]), [
    "NOT RECOVERED one: b, within 5 s: it hangs",
    "WRONG SIZE one: x",
    "STALE RESIZE one: y",
    "DOUBLE RESIZE one: z",
  ]);
});

const HEAD: Omit<ChaosRun, "played"> = {
  backend: "embedded",
  options: "--short",
  taken: "Taken at commit 1234567 on 2026-11-25",
  seed: "podfit",
  leftOut: [],
  peakMiB: 300.4,
};

function played(name: string, limits: string | null, recoveredMs: number | null = 1500): Played {
  const stage = new Stage(name, { seed: "podfit" });
  stage.limits = limits;
  stage.note({ name: "a fault", recoveredMs, withinMs: 5000, why: recoveredMs === null ? "it hangs" : "" });
  return { stage, about: "something breaks", seconds: 61 };
}

Deno.test("formatReport() says which cluster there was, what had the chart's limits and what had not, and what was left out", () => {
  const text = formatReport({
    ...HEAD,
    played: [played("huge-body", "256 MiB and 1 CPU by cgroups"), played("api-lost", null, null)],
    leftOut: ["burst"],
  });
  const lines = text.split("\n");
  assertEquals(lines[0], "# `deno task chaos --short`");
  assertStringIncludes(text, "Taken at commit 1234567 on 2026-11-25, in 3 minutes");
  const find = (part: string) => lines.find((line) => line.startsWith("- ") && line.includes(part)) ?? "";
  assertStringIncludes(find("embedded:"), "No real cluster was used");
  assertStringIncludes(find("`huge-body`"), "under the limits of the chart, 256 MiB and 1 CPU by cgroups");
  assertStringIncludes(find("`api-lost`"), "The limits of the chart do not bound it here");
  assertStringIncludes(find("`api-lost`"), "at most 300 MiB");
  assertEquals(find("Not run"), "- Not run: `burst`.");
  for (
    const line of [
      "  a fault: recovered after 1.5 s",
      "  a fault: NOT recovered",
      "NOT RECOVERED api-lost: a fault, within 5 s: it hangs",
      "faults: 2, recovered: 1, slowest: 1.5 s, wrong sizes: 0, double resizes: 0",
    ]
  ) assert(lines.includes(line), line);
});

Deno.test("formatReport() of a real cluster says so, and which limits each podfit had", () => {
  const text = formatReport({
    ...HEAD,
    backend: "real",
    options: "",
    played: [played("real", "256 MiB and 1 CPU by cgroups"), played("leader", null)],
  });
  assertStringIncludes(text, "# `deno task chaos --backend real`\n");
  assertStringIncludes(text, "- The cluster is real");
  assertStringIncludes(text, "own process has the limits of the chart: 256 MiB and 1 CPU by cgroups");
  assertStringIncludes(text, "`leader` are pods that the chart has installed, with its limits");
  assert(!text.includes("embedded"), "it says nothing of the embedded cluster");
});
