/** The demo's screen, letter by letter: at the least size, at a larger one, and before anything runs. */
import { assert, assertEquals } from "#assert";
import { toFrame } from "../../../lib/cli/demo/frames.ts";
import { newStory } from "../../../lib/cli/demo/story.ts";
import { lengthOf, render } from "../../../lib/cli/demo/drawing.ts";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";
import { toTenMinutes } from "../../support/demo_story.ts";

const AT_TEN_MINUTES = `
podfit demo  +10m00s (20×)   ▆ used  ─ request  ┄ limit  ═ both       30 of 60 s
web cpu            ▆ 430m ─ 600m ┄ 900m  cache memory    ▆ 264Mi ─ 192Mi ┄ 512Mi
┄┄┄┄┄┄┄┄┄┄══════════                     ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄
          ▃▃▃▃▃▃▃▃▃▃                     ────────────────────
──────────██████████                     ▃▄▄▅▅▆▆▇▇███████████
‖ kubelet waits for room since +09m50s
worker cpu          ▆ 15m ─ 22m ┄ 1000m  worker memory    ▆ 86Mi ─ 115Mi ┄ 1.5Gi
┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄                     ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄

────────────────────                     ────────────────────

────────────────────────────────────────────────────────────────────────────────
+05m10s web    ↑ cpu.requests 200m → 600m, cpu.limits 700m → 900m  cpu.requests…
+09m36s cache  ✗ without podfit: OOMKilled  at its limit of 256Mi
+09m50s web    ‖ ResizeDeferred  Node didn't have enough resource: cpu


────────────────────────────────────────────────────────────────────────────────
                                with podfit       without
CPU requested, on average              472m         1550m   70 % given back
memory requested, on average          435Mi        1344Mi   68 % given back
CPU time throttled by limits           0.0s           15s   none
killed for memory                         0   1, 10s down   none
resizes 1 (1 up, 0 down)   blocked 1: kubelet waits for room 1
`;

const SCREEN = { columns: 80, rows: 24, speed: 20, progress: "30 of 60 s", hint: "" };

Deno.test("toFrame() fills a terminal of 80 x 24", () => {
  const lines = toFrame(toTenMinutes(), SCREEN).map((line) => toCharacters(render(line, false)).trimEnd());
  assertEquals(lines, AT_TEN_MINUTES.split("\n").slice(1, -1));
});

Deno.test("toFrame() has as many lines as there are rows, each as wide as the terminal, at any size", () => {
  for (const story of [newStory(0, 1_200_000), toTenMinutes()]) {
    for (const [columns, rows] of [[80, 24], [81, 25], [100, 30], [120, 40], [240, 80], [40, 10], [1, 1]] as const) {
      const frame = toFrame(story, { ...SCREEN, columns, rows });
      assertEquals(frame.length, rows, `${columns} x ${rows}`);
      for (const line of frame) assertEquals(lengthOf(line), columns, `${columns} x ${rows}`);
    }
  }
});

Deno.test("toFrame() gives what a larger terminal has more to plots and to what happened", () => {
  const [small, large] = [24, 48].map((rows) => toFrame(toTenMinutes(), { ...SCREEN, rows }));
  const text = (frame = small) => frame?.map((line) => toCharacters(render(line, false))).join("\n") ?? "";
  const bars = (frame = small) => (text(frame).match(/█/g) ?? []).length;
  assert(bars(large) > 2 * bars(small));
});

Deno.test("toFrame() keeps the height of its plots where rows stay free below, and shows fewer events", () => {
  const text = (keptRows: number) =>
    toFrame(toTenMinutes(), { ...SCREEN, rows: 40, keptRows }).map((line) => toCharacters(render(line, false)));
  const [live, last] = [text(0), text(9)];
  const rule = live.findIndex((line) => line.startsWith("──────────────────────────────────────────────"));
  assertEquals([live.length, last.length], [40, 31]);
  assertEquals(last.slice(0, rule + 1), live.slice(0, rule + 1));
  assertEquals(last.at(-1), live.at(-1));
});

Deno.test("toFrame() has what a reader can type in the rule above the events", () => {
  const frame = toFrame(toTenMinutes(), { ...SCREEN, hint: "curl -so kc URL" });
  const lines = frame.map((line) => toCharacters(render(line, false)));
  assertEquals(lines.filter((line) => /^── curl -so kc URL ─+$/.test(line)).length, 1);
});
