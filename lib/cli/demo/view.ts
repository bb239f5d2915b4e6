/** How a demo is shown while it runs: frames on a terminal, or each event as a plain line where there is none. */
import { toFrame } from "./frame.ts";
import { toFrameOfBoth } from "./frame_both.ts";
import { type FrameOptions, toEventLine } from "./frame_parts.ts";
import type { SceneName } from "./scene_name.ts";
import { openScreen, readConsoleSize } from "./screen.ts";
import type { Story } from "./story.ts";
import { type Line, render, trimEnd } from "./text.ts";
import { listTotals } from "./totals.ts";
import { toLine, writeOutput } from "../terminal/output.ts";

/** How fast the run is and how far. */
export type Progress = Pick<FrameOptions, "speed" | "progress">;

/** Where a story is shown; disposal gives the terminal back. */
export interface View extends Disposable {
  /** False when nobody looks any more. */
  readonly show: (story: Story, progress: Progress) => boolean;
  /** What stays, once the view is gone. */
  readonly conclude: (story: Story, progress: Progress, advice: readonly string[]) => void;
}

/** Draws frames on the terminal. */
export function openTerminalView(hasColor: boolean): View {
  const screen = openScreen();
  return {
    show: (story, progress) =>
      screen.draw((size) => FRAMES[story.scene](story, { ...size, ...progress }).map((line) => render(line, hasColor))),
    conclude(story, progress, advice) {
      const { columns } = readConsoleSize();
      const frame = FRAMES[story.scene](story, { columns, rows: LAST_ROWS, ...progress });
      print([...frame, [], ...advice.map((text) => [{ text }])], hasColor);
    },
    [Symbol.dispose]: () => screen[Symbol.dispose](),
  };
}

/** Prints each event as a line, and the totals at the end. */
export function openLineView(scene: SceneName, hasColor: boolean): View {
  let shown = 0;
  print([[{ text: HEADINGS[scene] }]], hasColor);
  return {
    show(story) {
      const news = story.events.filter(({ number }) => number > shown);
      shown = news.at(-1)?.number ?? shown;
      return print(news.map((event) => toEventLine(event, story)), hasColor);
    },
    conclude(story, _, advice) {
      print([[], ...listTotals(story), [], ...advice.map((text) => [{ text }])], hasColor);
    },
    [Symbol.dispose]() {},
  };
}

const FRAMES = { sizes: toFrame, both: toFrameOfBoth };
const HEADINGS: Readonly<Record<SceneName, string>> = {
  sizes: "podfit demo: three workloads on an embedded cluster, with podfit and without",
  both: "podfit demo: sizes and number of pods on an embedded cluster, with podfit and with an HPA alone",
};

/** A frame of the least height, with room for some more of what happened. */
const LAST_ROWS = 26;

function print(lines: readonly Line[], hasColor: boolean): boolean {
  return writeOutput(lines.map((line) => [toLine(render(trimEnd(line), hasColor)), "\n"]));
}
