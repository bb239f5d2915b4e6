import { assertEquals } from "#assert";
import { formatRanked, mergeAlike, rank, type Scored } from "../../../../lib/cli/simulate/sweep/sweep.ts";

Deno.test("rank() puts kills last, and otherwise goes by places in slack, throttling and resizes", () => {
  const scored = [
    score("kills", { slack: 1, oomKills: 1 }),
    score("middling", { slack: 20, throttledSeconds: 5 }),
    score("slack", { slack: 90 }),
    score("good", { slack: 10 }),
  ];
  assertEquals(rank(scored).map(({ name }) => name), ["good", "slack", "middling", "kills"]);
});

Deno.test("rank() marks those that no other beats in all, alike ones together", () => {
  const scored = [
    score("cheap", { slack: 1, throttledSeconds: 9 }),
    score("safe", { slack: 9, throttledSeconds: 1 }),
    score("also safe", { slack: 9, throttledSeconds: 1 }),
    score("beaten", { slack: 9, throttledSeconds: 2 }),
    score("still", { slack: 20, throttledSeconds: 20, resizesPerHour: 0 }),
  ];
  const front = rank(scored).filter(({ isOnFront }) => isOnFront).map(({ name }) => name).sort();
  assertEquals(front, ["also safe", "cheap", "safe", "still"]);
});

Deno.test("rank() says in which figure a policy is the best, for one policy each, and for none where all are alike", () => {
  const ranked = rank([
    score("cheap", { slack: 1, throttledSeconds: 9 }),
    score("safe", { slack: 9, throttledSeconds: 1 }),
    score("also safe", { slack: 8, throttledSeconds: 1 }),
  ]);
  const best = ranked.map(({ name, bestIn }) => [name, ...bestIn]);
  assertEquals(best, [["also safe", "throttledSeconds"], ["cheap", "slack"], ["safe"]]);
  assertEquals(ranked.map(({ isOnFront }) => isOnFront), [true, true, false]);
});

Deno.test("a sweep's table has one row for policies that are alike, and marks what is best", () => {
  const scored = [
    score("as given", { slack: 5 }),
    score("thrifty", { slack: 1, throttledSeconds: 60 }),
    score("profile=balanced", { slack: 5 }),
  ];
  const text = formatRanked(rank(mergeAlike(scored)));
  assertEquals(text.split("\n").slice(2).map((line) => line.trimEnd()), [
    "   slack  under  throttled  OOM kills  resizes/h  best in    policy",
    "1     5m      0         0s          0          1  throttled  as given = profile=balanced",
    "2     1m      0         1m          0          1  slack      thrifty",
    "",
  ]);
});

function score(name: string, totals: Partial<Scored>): Scored {
  return { name, slack: 0, under: 0, throttledSeconds: 0, oomKills: 0, resizesPerHour: 1, ...totals };
}
