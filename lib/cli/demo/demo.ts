/**
 * `podfit demo`: the real daemon on an embedded cluster with a faster clock, compared with the same cluster without
 * podfit.
 *
 * On a terminal it draws frames. Elsewhere it prints one line per event.
 */
import { scaleClock, systemClock } from "../../runtime/clock.ts";
import { EXIT, listenForSignals } from "../command/process.ts";
import { toLine, writeOutput } from "../terminal/output.ts";
import { getConsoleSize, openScreen } from "../terminal/screen.ts";
import { isColored } from "../terminal/text.ts";
import { type Line, render, trimEnd } from "./drawing.ts";
import { withEvaluation, withReplicas, withTrouble } from "./evaluations.ts";
import { type FrameOptions, toEventLine, toFrame, toFrameOfBoth } from "./frames.ts";
import type { DemoOptions, SceneName } from "./options.ts";
import { getScene } from "./scene.ts";
import { newStory, nextStory, type Story } from "./story.ts";
import { listTotals } from "./totals.ts";
import { openWorld } from "./world.ts";

/** Resolves to the exit code: 0 at the end of the time, after a signal, or when the reader of stdout has ended. */
export async function demo({ scene, speed, seconds, keeps, color }: DemoOptions): Promise<number> {
  using ending = listenForSignals();
  const clock = scaleClock(systemClock, speed);
  let story = newStory(clock.now(), seconds * speed * 1000, scene);
  await using world = await openWorld({
    scene: getScene(scene),
    clock,
    toWallTime: (at) => at - clock.now() + systemClock.now(),
    onEvaluation: (evaluation) => story = withEvaluation(story, evaluation),
    onPass: (pass) => story = withReplicas(story, pass),
    onTrouble: (trouble) => story = withTrouble(story, { at: clock.now(), trouble }),
  });
  const isTerminal = Deno.stdout.isTerminal();
  const hasColor = isColored(color, { isTerminal, noColor: Deno.noColor ? "1" : "" });
  const view = isTerminal ? openTerminalView(hasColor) : openLineView(scene, hasColor);
  const startedMs = systemClock.monotonic();
  let passedMs = 0;
  const hint = keeps ? `curl -so kc ${world.origin}/kubeconfig; export KUBECONFIG=kc` : "";
  const readProgress = () => ({
    speed,
    progress: keeps ? "until Ctrl-C" : `${Math.min(seconds, Math.floor(passedMs / 1000))} of ${seconds} s`,
    hint,
  });
  if (keeps) view.announce(hint);
  try {
    while (!ending.signal.aborted && (keeps || passedMs < seconds * 1000)) {
      await Promise.race([world.failed, systemClock.sleep(FRAME_MS, ending.signal).catch(() => {})]);
      passedMs = systemClock.monotonic() - startedMs;
      story = nextStory(story, { at: clock.now(), ...world.listUses() });
      if (!view.show(story, readProgress())) return EXIT.ok;
    }
  } finally {
    // Before the world ends, which takes time: the terminal is usable at once.
    view[Symbol.dispose]();
  }
  view.conclude(story, readProgress(), listAdvice(scene));
  return EXIT.ok;
}

const FRAME_MS = 100;

function listAdvice(scene: SceneName): readonly string[] {
  return [
    "What to try next",
    scene === "sizes"
      ? "  deno task demo --scene both  first larger pods, then more of them, and back"
      : "  deno task demo               sizes alone, of three workloads",
    "  deno task demo --speed 5     in slow motion",
    "  deno task demo --keep        until Ctrl-C: kubectl and podfit explain can ask it",
    "  deploy/demo/*.yaml           the manifests: change them, and run it again",
    "  README.md, Install           podfit on a real cluster",
  ];
}

/** The speed and the progress of the run. */
type Progress = Pick<FrameOptions, "speed" | "progress" | "hint">;

/** Where a story is shown. Disposal restores the terminal. */
interface View extends Disposable {
  /** Says it at once where frames do not show it. */
  readonly announce: (text: string) => void;
  /** Returns false when the reader of stdout has ended. */
  readonly show: (story: Story, progress: Progress) => boolean;
  /** Prints what stays after the view. */
  readonly conclude: (story: Story, progress: Progress, advice: readonly string[]) => void;
}

/** Draws frames on the terminal. */
function openTerminalView(hasColor: boolean): View {
  const screen = openScreen();
  return {
    announce() {},
    show: (story, progress) =>
      screen.draw((size) => FRAMES[story.scene](story, { ...size, ...progress }).map((line) => render(line, hasColor))),
    conclude(story, progress, advice) {
      const below: readonly Line[] = [[], ...advice.map((text) => [{ text }])];
      // The prompt of the shell takes one more row.
      const keptRows = below.length + 1;
      const frame = FRAMES[story.scene](story, { ...getConsoleSize(), ...progress, keptRows });
      print([...frame, ...below], hasColor);
    },
    [Symbol.dispose]: () => screen[Symbol.dispose](),
  };
}

/** Prints each event as a line, and the totals at the end. */
function openLineView(scene: SceneName, hasColor: boolean): View {
  let shown = 0;
  print([[{ text: HEADINGS[scene] }]], hasColor);
  return {
    announce: (text) => void print([[{ text }]], hasColor),
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

function print(lines: readonly Line[], hasColor: boolean): boolean {
  return writeOutput(lines.map((line) => [toLine(render(trimEnd(line), hasColor)), "\n"]));
}
