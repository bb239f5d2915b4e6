import { assertEquals } from "#assert";
import { writeTrials } from "./scale_out_table.ts";

Deno.test("writeTrials() shows each trial and the medians", () => {
  const { text } = writeTrials([{ podfitMs: 20_000, hpaMs: 40_000 }, { podfitMs: 30_000, hpaMs: null }]);
  assertEquals(text.split("\n").slice(2), ["| 1 | 20.0 | 40.0 |", "| 2 | 30.0 | never |", "| median | 30.0 | never |"]);
});

Deno.test("writeTrials() misses where podfit is behind once, equal, or nothing was measured", () => {
  const isMissed = (...trials: readonly (readonly [number | null, number | null])[]) =>
    writeTrials(trials.map(([podfitMs, hpaMs]) => ({ podfitMs, hpaMs }))).isMissed;
  assertEquals(isMissed([20, 30], [20, null]), false);
  assertEquals([isMissed([20, 30], [30, 30]), isMissed([null, null]), isMissed()], [true, true, true]);
});
