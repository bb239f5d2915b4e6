import { assertEquals } from "#assert";
import { rank, type Scored } from "../../../../lib/cli/simulate/sweep/sweep.ts";

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

function score(name: string, totals: Partial<Scored>): Scored {
  return { name, slack: 0, under: 0, throttledSeconds: 0, oomKills: 0, resizesPerHour: 1, ...totals };
}
