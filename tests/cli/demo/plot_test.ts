/** Plots as they stand on a screen: usage, request and limit at a few points in time. */
import { assertEquals } from "#assert";
import { plot, render } from "../../../lib/cli/demo/drawing.ts";
import type { Point } from "../../../lib/cli/demo/story.ts";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";

const AREA = { width: 8, height: 3, fromAt: 0, toAt: 8000 };

function draw(points: readonly Point[], area = AREA): readonly string[] {
  return plot(points, area).map((line) => toCharacters(render(line, false)));
}

/** One point a second. */
function series(used: readonly (number | null)[], requests: number | null, limits: number | null): readonly Point[] {
  return used.map((value, index) => ({ at: index * 1000, used: value, requests, limits }));
}

Deno.test("plot() draws usage in eighths of a character under request and limit", () => {
  assertEquals(draw(series([0, 10, 30, 80, 120, 160, 200, 240], 150, 240)), [
    "┄┄┄┄┄┄┄┄",
    "────────",
    " ▁▃█████",
  ]);
  assertEquals(draw(series([0, 10, 30, 80, 120, 160, 200, 240], null, null)), [
    "      ▄█",
    "    ▄███",
    " ▁▃█████",
  ]);
});

Deno.test("plot() draws one line where request and limit are in one row", () => {
  assertEquals(draw(series([100, 100], 230, 240)), ["══      ", "▂▂      ", "██      "]);
});

Deno.test("plot() leaves the time to come empty and fills columns that nobody looked at", () => {
  const points = series([120, 120], null, null).map((point) => ({ ...point, at: point.at * 3 }));
  assertEquals(draw(points).at(-1), "████    ");
  assertEquals(draw([]), ["        ", "        ", "        "]);
});

Deno.test("plot() shows the mean of a column, nothing of what is down, and something of the least usage", () => {
  const points = [240, 0, 240, 240, null].map((used, index) => ({
    at: index * 1000,
    used,
    requests: null,
    limits: null,
  }));
  assertEquals(draw(points, { ...AREA, width: 4 }), [" █  ", "▄█  ", "██  "]);
  assertEquals(draw([{ at: 0, used: 1, requests: 100, limits: 200 }]).at(-1), "▁       ");
});
