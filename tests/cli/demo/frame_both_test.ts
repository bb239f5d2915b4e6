/** The screen of the scene with replicas, letter by letter, at any size, and what it says of sizes that wait. */
import { assert, assertEquals } from "#assert";
import { toFrameOfBoth } from "../../../lib/cli/demo/frames.ts";
import { newStory } from "../../../lib/cli/demo/story.ts";
import { lengthOf, render } from "../../../lib/cli/demo/drawing.ts";
import { toCharacters } from "../../../lib/cli/terminal/output.ts";
import { toTenMinutesOfBoth } from "../../support/demo_story.ts";

const AT_TEN_MINUTES = `
podfit demo  +10m00s (20×)   ▆ used  ─ request  ┄ limit  ═ both       30 of 60 s
cpu per pod  ↑ +03m30s ─ 500m → 1800m                   ▆ 1200m ─ 1800m ┄ 3000m
┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄
              ───────────────────────────
              ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅
──────────────███████████████████████████
pods  ‖ pods grow first since +07m00s           ▆ 3 with podfit ┄ 7 with an HPA
              ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄

                           ▆▆▆▆▆▆▆▆▆▆▆▆▆▆
▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅██████████████
────────────────────────────────────────────────────────────────────────────────
+06m50s shop   ↑ 1 → 3 pods  ScaledOut: at full size it takes 3, at initial…




────────────────────────────────────────────────────────────────────────────────
                                with podfit     HPA alone
CPU requested, on average             2567m         2500m   3 % more
memory requested, on average          427Mi        1280Mi   67 % given back
most pods at one time                     3             7   4 fewer
core-seconds unserved                  0.0s          0.0s
resizes 1 (1 up, 0 down)   replicas 1 (1 out, 0 in)   blocked 0
`;

const SCREEN = { columns: 80, rows: 24, speed: 20, progress: "30 of 60 s", hint: "" };

Deno.test("toFrameOfBoth() fills a terminal of 80 x 24", () => {
  const lines = toFrameOfBoth(toTenMinutesOfBoth(), SCREEN).map((line) => toCharacters(render(line, false)).trimEnd());
  assertEquals(lines, AT_TEN_MINUTES.split("\n").slice(1, -1));
});

Deno.test("toFrameOfBoth() has as many lines as there are rows, each as wide as the terminal, at any size", () => {
  for (const story of [newStory(0, 1_200_000, "both"), toTenMinutesOfBoth()]) {
    for (const [columns, rows] of [[80, 24], [81, 25], [100, 30], [240, 80], [40, 10], [1, 1]] as const) {
      const frame = toFrameOfBoth(story, { ...SCREEN, columns, rows });
      assertEquals(frame.length, rows, `${columns} x ${rows}`);
      for (const line of frame) assertEquals(lengthOf(line), columns, `${columns} x ${rows}`);
    }
  }
});

Deno.test("toFrameOfBoth() says over the plots what decided, and what waits for what", () => {
  const story = toTenMinutesOfBoth();
  const { replicas } = story;
  const titles = (change: Partial<typeof replicas>) => {
    const frame = toFrameOfBoth({ ...story, replicas: { ...replicas, ...change } }, SCREEN);
    return frame.map((line) => toCharacters(render(line, false))).filter((line) => /^(cpu per pod|pods)/.test(line))
      .map((line) => line.split("▆")[0]?.trim());
  };
  assertEquals(titles({ pendingSince: 540_000, standing: { reason: "WithinTolerance", since: 480_000 } }), [
    "cpu per pod  ‖ fewer pods soon since +09m00s",
    "pods  within tolerance since +08m00s",
  ]);
  assertEquals(titles({ standing: { reason: "ScaledOut", since: 410_000 } })[1], "pods  ↑ +06m50s 1 → 3 pods");
});

Deno.test("toFrameOfBoth() draws no line of the HPA's pods where there are as many", () => {
  const story = toTenMinutesOfBoth();
  const alike = (story.traces["shop.pods"] ?? []).map((point) => ({ ...point, limits: point.used }));
  const plotOf = (one: typeof story) =>
    toFrameOfBoth(one, SCREEN).slice(7, 11).map((line) => toCharacters(render(line, false))).join();
  assert(plotOf(story).includes("┄"));
  assert(!plotOf({ ...story, traces: { ...story.traces, "shop.pods": alike } }).includes("┄"));
});
