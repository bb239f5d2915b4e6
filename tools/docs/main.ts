// deno-lint-ignore-file no-console
/**
 * `deno task pages [pictures|screenshot|outputs|tables]...`: writes what pages copy from elsewhere. Without arguments, outputs
 * and tables.
 *   pictures    docs/pictures, from a run of the demo
 *   screenshot  the report of a simulation, in docs/pictures; it needs chromium
 *   outputs     what commands print, from the transcripts of tests/testdata/transcripts
 *   tables      tables of measurements, from tests/verify/results
 */
import { fillOutput, parseTranscript } from "./commands.ts";
import { runDemo } from "./demo_run.ts";
import { drawPicture } from "./picture.ts";
import { takeScreenshot } from "./screenshot.ts";
import { TABLES } from "./tables.ts";
import { TRANSCRIPTS } from "./transcripts.ts";

const ROOT = new URL("../../", import.meta.url);

const PICTURES = { "docs/pictures/demo.svg": "sizes", "docs/pictures/demo-both.svg": "both" } as const;

const SCREENSHOT = "docs/pictures/simulate.png";

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  async pictures() {
    for (const [path, scene] of Object.entries(PICTURES)) await write(path, drawPicture(await runDemo(scene, 20)));
  },
  async screenshot() {
    await takeScreenshot(SCREENSHOT);
    console.log(SCREENSHOT);
  },
  async outputs() {
    for (const [page, path] of Object.entries(TRANSCRIPTS)) {
      await write(page, fillOutput(await read(page), parseTranscript(await read(path))));
    }
  },
  async tables() {
    for (const { page, source, fill } of TABLES) await write(page, fill(await read(page), await read(source)));
  },
};

function read(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}

async function write(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(new URL(path, ROOT), text);
  console.log(path);
}

for (const name of Deno.args.length === 0 ? ["outputs", "tables"] : Deno.args) {
  const part = PARTS[name];
  if (part === undefined) throw new Error(`Cannot write "${name}": one of ${Object.keys(PARTS).join(", ")}`);
  await part();
}
