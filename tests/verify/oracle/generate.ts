/**
 * Makes courses up, the same ones for the same seed, so that each rule of the controller is met, and its edges above all: usage at exactly the
 * tolerance, ages of exactly 300 s and 30 s, windows and periods of just one tick, everything that may be wrong with a pod.
 */
import type { Course, CourseTick, HpaSpec } from "./course.ts";
import { generateAnswers } from "./generate_answers.ts";
import { generateSpec } from "./generate_spec.ts";
import { generatePods } from "./generate_pods.ts";
import { generateExternal, generateUsage, type Load } from "./generate_usage.ts";
import { createRandom, mixSeed, type Random } from "./random.ts";

export function generateCourse(seed: number, index: number): Course {
  const random = createRandom(mixSeed(seed, index));
  const spec = generateSpec(random);
  const replicas = random.pick([0, 1, 1, 2, 3, 4, 5, 7, 10, 10, 20, 40, 100]);
  return { id: `${seed}/${index}`, spec, replicas, ticks: generateTicks(random, { spec, replicas }) };
}

function generateTicks(
  random: Random,
  { spec, replicas }: { readonly spec: HpaSpec; readonly replicas: number },
): readonly CourseTick[] {
  const length = random.whole(1, 16);
  // Half of the courses have well-behaved pods, so that their needs, windows and rates are about something.
  const isCalm = random.chance(0.5);
  const isExact = random.chance(0.3);
  const sizes = {
    cpu: random.chance(0.05) ? 0 : random.pick([100, 250, 500]),
    memoryMi: random.pick([64, 100, 256, 256 * 1024]),
  };
  let [at, load, count] = [random.whole(0, 5000), random.between(0.05, 6), Math.max(replicas, 1)];
  return Array.from({ length }, () => {
    at += random.pick([15_000, 15_000, 15_000, 15_000, 15_001, 16_000, 30_000, 60_000, 285_000, 300_000]);
    load *= random.pick([1, 1, 1, random.between(0.3, 3)]);
    count = Math.max(0, count + random.pick([0, 0, 0, 0, 1, -1, 3]));
    const pods = generatePods(random, { at, count: Math.min(count, 40), isCalm, sizes });
    const now: Load = { at, load, isExact, isCalm, spec, status: replicas };
    const usage = generateUsage(random, pods, now);
    const external = generateExternal(random, now);
    const events = generateEvents(random, spec, replicas);
    return { at, ...events, pods, usage, external, ...generateAnswers(random, pods, now) };
  });
}

/** What other people and the API server do. */
function generateEvents(random: Random, spec: HpaSpec, replicas: number): Partial<CourseTick> {
  return {
    ...(random.chance(0.05) ? { replicas: random.pick([0, 1, 3, 10, 50]) } : {}),
    ...(random.chance(0.1) ? { status: random.pick([0, 1, Math.max(0, replicas - 1), replicas + 1]) } : {}),
    ...(random.chance(0.03) ? { refused: true } : {}),
    ...(random.chance(0.03) ? { spec: { ...generateSpec(random), metrics: spec.metrics } } : {}),
  };
}
