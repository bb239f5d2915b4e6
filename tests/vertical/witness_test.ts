/**
 * The pod CPU series: the pod's own counter as a second source for its one container.
 * Clauses: L60.
 */
import { assertAlmostEquals, assertEquals } from "#assert";
import type { PodCpu } from "../../lib/api/usage.ts";
import type { SizeOutcome } from "../../lib/model/decision.ts";
import { newSampling, nextPodCpuSeries, type PodCpuContext } from "../../lib/vertical/samples.ts";
import type { Sampling } from "../../lib/model/state.ts";
import {
  container,
  MI,
  MINUTE,
  pod,
  point,
  policy,
  sample,
  SECOND,
  side,
  SIZE,
  START,
  usage,
} from "../support/builders.ts";
import { Story } from "../support/story.ts";

const CONTEXT: PodCpuContext = {
  now: START,
  capacity: { cpuMillicores: 8000, memoryBytes: 32768 * MI },
  podUsageBytes: null,
  cpuLimitMillicores: 200,
  throttling: "measure",
  silenceMs: MINUTE,
  aloneAt: START - 60 * MINUTE,
};

/** The container was sampled from -20 to -10 s; the pod's counter was last seen at -16 s. */
const SEEN: Sampling = {
  ...newSampling(START),
  anchor: { instance: "run-1", at: START - 10 * SECOND, counterNs: 5e9, pressure: null },
  witness: { instance: "run-1", at: START - 16 * SECOND, counterNs: 4e9, pressure: null },
  sample: sample({ from: START - 20 * SECOND, at: START - 10 * SECOND }),
};

function cpu(overrides: Partial<PodCpu> = {}): PodCpu {
  return { at: START, resolutionMs: SECOND, counterNs: 4e9 + 1.6e9, pressure: null, ...overrides };
}

Deno.test("nextPodCpuSeries() makes a rate of the pod's own points, with the memory of the newest sample (L60)", () => {
  const { sample: seen, sampling } = nextPodCpuSeries(SEEN, cpu(), CONTEXT);
  assertAlmostEquals(seen?.cpuMillicores ?? 0, 100, 1e-9);
  assertEquals([seen?.from, seen?.at, seen?.workingSetBytes], [START - 16 * SECOND, START, 64 * MI]);
  assertEquals([sampling.witness?.counterNs, sampling.anchor, sampling.sample], [5.6e9, SEEN.anchor, seen]);
});

Deno.test("nextPodCpuSeries() gives no sample that half overlaps the newest, but moves on (L60)", () => {
  // 16 s long: 6 s of it are known, or 8.
  const overlapping = { ...SEEN, sample: sample({ from: START - 20 * SECOND, at: START - 8 * SECOND }) };
  const { sample: seen, sampling } = nextPodCpuSeries(overlapping, cpu(), CONTEXT);
  assertEquals([seen, sampling.witness?.at], [null, START]);
});

const NOTHING: Readonly<Record<string, Partial<PodCpu>>> = {
  "a repeat": { at: START - 16 * SECOND },
  "a point closer than four resolutions": { at: START - 13 * SECOND },
  "a point from before the container ran": { at: START - 61 * MINUTE },
};
for (const [what, overrides] of Object.entries(NOTHING)) {
  Deno.test(`nextPodCpuSeries() leaves ${what} aside (L60)`, () => {
    assertEquals(nextPodCpuSeries(SEEN, cpu(overrides), CONTEXT), { sampling: SEEN, sample: null });
  });
}

const ANEW: Readonly<Record<string, readonly [Partial<Sampling>, Partial<PodCpu>]>> = {
  "without an earlier point": [{ witness: null }, {}],
  "over a restart of the container": [{ anchor: { instance: "run-2", at: START, counterNs: 1, pressure: null } }, {}],
  "where the counter started over": [{}, { counterNs: 1 }],
  "over a minute": [{}, { at: START + 44 * SECOND }],
  "while memory is not known": [{ sample: null }, {}],
  "of more than the node has": [{}, { counterNs: 4e9 + 160e9 }],
};
for (const [what, [sampling, overrides]] of Object.entries(ANEW)) {
  Deno.test(`nextPodCpuSeries() begins anew ${what} (L60)`, () => {
    const { sample: seen, sampling: next } = nextPodCpuSeries({ ...SEEN, ...sampling }, cpu(overrides), CONTEXT);
    assertEquals([seen, next.witness?.at], [null, cpu(overrides).at]);
  });
}

Deno.test("nextPodCpuSeries() leaves a saturated sample to the container's series where only that one is measured (L60)", () => {
  const pressure = { fullNs: 1e9, throttledNs: null, largestCpuNs: null };
  const measured = { ...SEEN, anchor: { instance: "run-1", at: START - 10 * SECOND, counterNs: 5e9, pressure } };
  const full = cpu({ counterNs: 4e9 + 3.2e9 });
  assertEquals(nextPodCpuSeries(measured, full, CONTEXT).sample, null);
  assertEquals(nextPodCpuSeries(SEEN, full, CONTEXT).sample?.isSaturated, true);
  assertEquals(nextPodCpuSeries(measured, cpu(), CONTEXT).sample?.isSaturated, false);
});

/** The container is read at 0, 10, 30 s, and its pod at 5, 20 s: both run so fast. */
class Pair {
  readonly story: Story;
  #ns = 1e9;
  #container = { at: START, ns: 1e9 };
  #pod = { at: START, ns: 2e9 };

  constructor(story: Story) {
    this.story = story;
  }

  /** Five seconds pass; the named one is read again. */
  poll(millicores: number, reads: "container" | "pod" | "none"): SizeOutcome {
    const { story } = this;
    story.wait(5 * SECOND);
    this.#ns += millicores * 5e6;
    if (reads === "container") this.#container = { at: story.now, ns: this.#ns };
    if (reads === "pod") this.#pod = { at: story.now, ns: this.#ns + 1e9 };
    const main = point({
      at: this.#container.at,
      counterNs: this.#container.ns,
      workingSetBytes: 64 * MI,
      usageBytes: 64 * MI,
    });
    const observation = usage([main]);
    const podCpu = { at: this.#pod.at, resolutionMs: SECOND, counterNs: this.#pod.ns, pressure: null };
    return story.observe({ ...observation, usage: { ...observation.usage, cpu: podCpu } });
  }
}

const SIDES = [
  side("cpu.requests", { consecutiveSamples: 1, cooldownMs: SECOND }),
  side("memory.requests", { scaleUpThresholdPercent: 45, consecutiveSamples: 9 }),
];

/** Quiet until both series have begun. */
function begin(story: Story): Pair {
  const pair = new Pair(story);
  pair.poll(60, "container");
  pair.poll(60, "pod");
  pair.poll(60, "container");
  return pair;
}

Deno.test("decideSize() acts on the pod's counter before the container's is read again (L60)", () => {
  const pair = begin(new Story({ contenders: [policy({ sides: SIDES, throttling: "measure" })] }));
  const streak = pair.story.state.views["uid-of-web"]?.streaks["memory.requests"];
  assertEquals(streak?.count, 1);
  assertEquals(pair.poll(190, "none").request, null);
  pair.poll(190, "none");
  const { request, state } = pair.poll(190, "pod");
  // 60m for 5 s and 190m for 15.
  assertEquals(request?.to["cpu.requests"], 200);
  assertEquals(state.views["uid-of-web"]?.streaks["memory.requests"], streak);
});

Deno.test("decideSize() hears no pod of more containers than one that runs (L60)", () => {
  const aside = container({ name: "aside" });
  const pair = begin(
    new Story({
      pod: pod({ containers: [container(), aside] }),
      contenders: [policy({ sides: SIDES, throttling: "measure" })],
    }),
  );
  pair.poll(190, "none");
  pair.poll(190, "none");
  assertEquals(pair.poll(190, "pod").request, null);
  const debugged = begin(
    new Story({
      pod: { ...pod(), hasEphemeralContainers: true },
      contenders: [policy({ sides: SIDES, throttling: "measure" })],
    }),
  );
  debugged.poll(190, "none");
  debugged.poll(190, "none");
  assertEquals(debugged.poll(190, "pod").request, null, "an ephemeral container may be what uses CPU");
  const ended = container({ name: "aside", runningAt: null });
  const other = begin(
    new Story({
      pod: pod({ containers: [container(), ended] }),
      contenders: [policy({ sides: SIDES, throttling: "measure" })],
    }),
  );
  other.poll(190, "none");
  other.poll(190, "none");
  assertEquals(other.poll(190, "pod").request === null, false);
});

Deno.test("decideSize() counts nothing of the pod's counter from before another container ended (L60)", () => {
  const aside = container({ name: "aside", runningAt: null });
  const pair = begin(
    new Story({
      pod: pod({ containers: [container(), aside] }),
      contenders: [policy({ sides: SIDES, throttling: "measure" })],
    }),
  );
  pair.story.changeContainer({ runningAt: pair.story.now }, "aside");
  pair.poll(60, "none");
  pair.story.endContainer({}, "aside");
  pair.poll(190, "none");
  assertEquals(pair.poll(190, "pod").request, null, "its first point");
  pair.poll(190, "none");
  pair.poll(190, "none");
  assertEquals(pair.poll(190, "pod").request?.to["cpu.requests"], 200);
});

Deno.test("decideSize() counts an unsaturated up of before the new size, and a down or a saturated one not (L60)", () => {
  const at = (cpuMillicores: number, throttling: "measure" | "ignore" = "measure") => {
    const story = new Story({ contenders: [policy({ sides: SIDES, throttling })] });
    const pair = begin(story);
    story.wait(4 * SECOND);
    const size = { ...SIZE, "cpu.requests": 70 };
    story.changeContainer({ spec: size, reported: size });
    story.wait(-4 * SECOND);
    return pair.poll(cpuMillicores, "container").request;
  };
  assertEquals([at(80) === null, at(10) === null, at(199) === null], [false, true, true]);
  assertEquals(at(80, "ignore"), null);
});
