/**
 * `podfit demo`: the daemon as it is against an embedded cluster on a faster clock, shown while it runs, and what came of
 * it beside the same cluster without podfit.
 */
import { systemClock } from "../../runtime/clock.ts";
import { scaleClock } from "../../runtime/scaled_clock.ts";
import type { DemoOptions } from "./options.ts";
import { noteEvaluation, noteTrouble } from "./note_evaluation.ts";
import { newStory, nextStory } from "./story.ts";
import { openLineView, openTerminalView } from "./view.ts";
import { openWorld } from "./world.ts";
import { listenForSignals } from "../signals.ts";

/** Resolves to the exit code: 0 when the time was up, when a signal came, or when nobody reads any more. */
export async function demo({ speed, seconds, keeps }: DemoOptions): Promise<number> {
  using ending = listenForSignals();
  const clock = scaleClock(systemClock, speed);
  let story = newStory(clock.now(), seconds * speed * 1000);
  await using world = await openWorld({
    clock,
    isServed: true,
    onEvaluation: (evaluation) => story = noteEvaluation(story, evaluation),
    onTrouble: (trouble) => story = noteTrouble(story, { at: clock.now(), trouble }),
  });
  const isTerminal = Deno.stdout.isTerminal();
  const view = isTerminal ? openTerminalView(!Deno.noColor) : openLineView();
  const startedMs = systemClock.monotonic();
  let passedMs = 0;
  const readProgress = () => ({
    speed,
    progress: keeps ? world.origin ?? "" : `${Math.min(seconds, Math.floor(passedMs / 1000))} of ${seconds} s`,
  });
  try {
    while (!ending.signal.aborted && (keeps || passedMs < seconds * 1000)) {
      await Promise.race([world.failed, systemClock.sleep(FRAME_MS, ending.signal).catch(() => {})]);
      passedMs = systemClock.monotonic() - startedMs;
      story = nextStory(story, { at: clock.now(), ...world.read() });
      if (!view.show(story, readProgress())) return 0;
    }
  } finally {
    // Before the world ends, which takes its time: whoever is impatient has the terminal back by then.
    view[Symbol.dispose]();
  }
  view.conclude(story, readProgress(), NEXT);
  return 0;
}

const FRAME_MS = 100;

const NEXT = [
  "What to try next",
  "  demo --speed 5               in slow motion",
  "  demo --keep                  until Ctrl-C, with the address of its API server:",
  "      kubectl --insecure-skip-tls-verify --token=any -s ADDRESS get pra,pods",
  "  deploy/demo/*.yaml           the workloads and autoscalers: change them, look again",
  "  podfit lint -f deploy/demo   what podfit finds wrong in such files",
  "  README.md, Install           podfit on a real cluster",
];
