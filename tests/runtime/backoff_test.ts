import { assertEquals } from "#assert";
import { backoffMs } from "../../lib/runtime/backoff.ts";

Deno.test("backoffMs() doubles up to the ceiling and stays between half of it and all of it", () => {
  const cases: readonly (readonly [string, number, number, number])[] = [
    ["the first failure waits about the base", 0, 500, 1000],
    ["each further one twice as long", 1, 1000, 2000],
    ["the ceiling holds", 5, 15_000, 30_000],
    ["also for an attempt whose power overflows", 5000, 15_000, 30_000],
    ["a negative attempt counts as the first", -3, 500, 1000],
  ];
  for (const [sentence, attempt, shortestMs, longestMs] of cases) {
    const options = { baseMs: 1000, maxMs: 30_000 };
    assertEquals(backoffMs(attempt, { ...options, random: () => 0 }), shortestMs, sentence);
    assertEquals(backoffMs(attempt, { ...options, random: () => 0.999_999 }), longestMs, sentence);
  }
});
