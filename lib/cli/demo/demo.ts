/**
 * `podfit demo`: the daemon as it is against an embedded cluster on a faster clock, shown while it runs, and what came of
 * it beside the same cluster without podfit.
 */
import { systemClock } from "../../runtime/clock.ts";
import { scaleClock } from "../../runtime/scaled_clock.ts";
import type { DemoOptions } from "./options.ts";
import { readScene } from "./manifests.ts";
import { noteEvaluation, noteTrouble } from "./note_evaluation.ts";
import { noteReplicas } from "./note_replicas.ts";
import type { SceneName } from "./scene_name.ts";
import { newStory, nextStory } from "./story.ts";
import { openLineView, openTerminalView } from "./view.ts";
import { openWorld } from "./world.ts";
import { listenForSignals } from "../signals.ts";
import { isColored } from "../style.ts";

/** Resolves to the exit code: 0 when the time was up, when a signal came, or when nobody reads any more. */
export async function demo({ scene, speed, seconds, keeps, color }: DemoOptions): Promise<number> {
  using ending = listenForSignals();
  const clock = scaleClock(systemClock, speed);
  let story = newStory(clock.now(), seconds * speed * 1000, scene);
  await using world = await openWorld({
    scene: readScene(scene),
    clock,
    isServed: true,
    onEvaluation: (evaluation) => story = noteEvaluation(story, evaluation),
    onPass: (pass) => story = noteReplicas(story, pass),
    onTrouble: (trouble) => story = noteTrouble(story, { at: clock.now(), trouble }),
  });
  const isTerminal = Deno.stdout.isTerminal();
  const hasColor = isColored(color, { isTerminal, noColor: Deno.noColor ? "1" : "" });
  const view = isTerminal ? openTerminalView(hasColor) : openLineView(scene, hasColor);
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
  view.conclude(story, readProgress(), listAdvice(scene));
  return 0;
}

const FRAME_MS = 100;

function listAdvice(scene: SceneName): readonly string[] {
  return [
    "What to try next",
    scene === "sizes"
      ? "  demo --scene both            first larger pods, then more of them, and back"
      : "  demo                         sizes alone, of three workloads",
    "  demo --speed 5               in slow motion",
    "  demo --keep                  until Ctrl-C, with the address of its API server:",
    `      kubectl --insecure-skip-tls-verify --token=any -s ADDRESS get pra,pods${scene === "both" ? ",so" : ""}`,
    "  deploy/demo/*.yaml           the manifests: change them, look again",
    "  podfit lint -f deploy/demo   what podfit finds wrong in such files",
    "  README.md, Install           podfit on a real cluster",
  ];
}
