/** Is the table of the reaction bench held against its bars (L62)? */
import { assertEquals } from "#assert";
import { readMedian, type StepResult, type Subject, writeReport } from "./reaction_table.ts";

const GOOD: Readonly<Record<Subject, readonly StepResult[]>> = {
  cgroup: [up(3_100, 1), up(2_000, 1), up(3_000, 1), down(4_000, 1)],
  kubelet: [up(17_000, 2), up(30_000, 1), up(9_000, 2), down(35_000, 2), down(20_000, 3), down(60_000, 2)],
  VPA: [up(35_000, 3), down(116_000, 4)],
};

Deno.test("the reaction table shows each step, its median and the bars, and misses none that are met (L62)", () => {
  const results = (["cgroup", "kubelet", "VPA"] as const).map((subject) => ({ subject, steps: GOOD[subject] }));
  const { text, missed } = writeReport(results);
  assertEquals(missed, []);
  assertEquals(text.split("\n"), [
    "| source | step | fits after, s | median, s | bar | resizes | bar |",
    "|---|---|---|---|---|---|---|",
    "| cgroup | 50m to 600m | 3.1 2.0 3.0 | 3.0 | <= 3 | 1 1 1 | <= 1 |",
    "| cgroup | 600m to 50m | 4.0 | 4.0 |  | 1 |  |",
    "| kubelet | 50m to 600m | 17.0 30.0 9.0 | 17.0 | <= 17 | 2 1 2 | <= 2 |",
    "| kubelet | 600m to 50m | 35.0 20.0 60.0 | 35.0 | <= 35 | 2 3 2 |  |",
    "| VPA | 50m to 600m | 35.0 | 35.0 |  | 3 |  |",
    "| VPA | 600m to 50m | 116.0 | 116.0 |  | 4 |  |",
  ]);
});

const BAD: readonly (readonly [string, Subject, readonly StepResult[], string])[] = [
  ["the cgroup source is slow", "cgroup", [up(3_001, 1)], "cgroup, up: median 3.0 s, bar 3 s"],
  ["the cgroup source resizes twice", "cgroup", [up(2_000, 1), up(2_000, 2)], "cgroup, up: 2 resizes, bar 1"],
  ["the kubelet source is slow", "kubelet", [up(17_001, 1), down(1, 1)], "kubelet, up: median 17.0 s, bar 17 s"],
  ["the kubelet source resizes thrice", "kubelet", [up(1, 3), down(1, 1)], "kubelet, up: 3 resizes, bar 2"],
  ["the way down is slow", "kubelet", [up(1, 1), down(35_001, 1)], "kubelet, down: median 35.0 s, bar 35 s"],
  ["a step is never met", "cgroup", [up(null, 1)], "cgroup, up: median never s, bar 3 s"],
];

for (const [title, subject, steps, miss] of BAD) {
  Deno.test(`the reaction table misses a bar when ${title} (L62)`, () => {
    assertEquals(writeReport([{ subject, steps }]).missed, [miss]);
  });
}

Deno.test("the median of steps is the middle one, and one that never fitted is the longest (L62)", () => {
  assertEquals(readMedian([up(9, 1), up(null, 1), up(1, 1), down(5, 1)], "up"), 9);
  assertEquals(readMedian([up(9, 1), up(null, 1)], "up"), Infinity);
  assertEquals(readMedian([], "down"), Infinity);
});

function up(fitMs: number | null, resizes: number): StepResult {
  return { direction: "up", fitMs, resizes };
}

function down(fitMs: number | null, resizes: number): StepResult {
  return { direction: "down", fitMs, resizes };
}
