/** Is the picture of the demo one of the demo that there is? */
import { assert, assertEquals, assertMatch } from "#assert";
import { SCENES } from "../../lib/cli/demo/options.ts";
import { newStory, nextStory } from "../../lib/cli/demo/story.ts";
import { listTotals } from "../../lib/cli/demo/totals.ts";
import { runDemo } from "../../tools/docs/demo_run.ts";
import { drawPicture } from "../../tools/docs/picture.ts";

const FILES = { sizes: "demo", both: "demo-both" } as const;
const MAX_BYTES = 20_000;

Deno.test("a run of the demo becomes a picture with its charts, kills and totals", async () => {
  const svg = drawPicture(await runDemo("sizes", 8));
  for (const kind of ["used", "requests", "limits"]) {
    const paths = [...svg.matchAll(new RegExp(`<path class="${kind}" d="(M[^"]+H[^"]+)"`, "g"))];
    assertEquals(paths.length >= 2, true, kind);
  }
  assertMatch(svg, /OOM-killed without podfit/);
  assertMatch(svg, />CPU requested, on average<.*>\d+m<.*>\d+m<.*% given back</);
  assertEquals(svg.match(/NaN|undefined|null/g), null);
});

Deno.test("a story without a point is drawn without lines", () => {
  const story = nextStory(newStory(0, 60_000), { at: 1000, podfit: [], comparison: [] });
  assertEquals(drawPicture(story).match(/NaN|undefined|Infinity/g), null);
});

for (const scene of SCENES) {
  Deno.test(`the picture of the scene "${scene}" in docs has the words that the demo has now, and is small`, async () => {
    const svg = await Deno.readTextFile(new URL(`../../docs/pictures/${FILES[scene]}.svg`, import.meta.url));
    assert(svg.length < MAX_BYTES, `${svg.length} bytes`);
    assertMatch(svg, /prefers-color-scheme: dark/);
    assertEquals(svg.match(/<script|<foreignObject|href=|url\(/g), null);
    const story = newStory(0, 60_000, scene);
    const words = listTotals(story).slice(1, -1).map(([name]) => name?.text.trim() ?? "");
    const titles = [...drawPicture(story).matchAll(/class="title"[^>]*>([^<]+)</g)].map(([, title = ""]) => title);
    assertEquals([...words, ...titles].filter((text) => !svg.includes(`>${text}<`)), []);
    // A whole run was drawn.
    assertMatch(svg, />20 min</);
  });
}
