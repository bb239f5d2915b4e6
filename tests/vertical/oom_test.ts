/**
 * The answer to an OOM kill: how far the limit goes up, when it is sent, and how often.
 * Clauses: L10, L11.
 */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { PodFacts } from "../../lib/model/pod.ts";
import {
  container,
  MI,
  MINUTE,
  pod,
  policy,
  resizeEntry,
  restartsOn,
  SECOND,
  side,
  SIZE,
  START,
} from "../support/builders.ts";
import { Story, type StoryOptions } from "../support/story.ts";

const LIMIT = 256;
const BOTH = [side("memory.requests"), side("memory.limits")];

function raising(overrides: Partial<Autoscaler> = {}): Autoscaler {
  return policy({ oom: "raise", sides: BOTH, ...overrides });
}

function newStory(overrides: Partial<Autoscaler> = {}, options: StoryOptions = {}): Story {
  return new Story({ contenders: [raising(overrides)], load: { memory: 150 * MI }, ...options });
}

/** Killed, and running again a second later. */
function killAndRestart(story: Story): Story {
  story.wait(SECOND).endContainer();
  story.wait(SECOND).restartContainer();
  return story;
}

/** Mi of the limits that were asked for. */
function limits(story: Story): (number | null)[] {
  return story.requests.map(({ to }) => (to["memory.limits"] ?? 0) / MI);
}

Deno.test("decideSize() raises the limit by 100Mi or a fifth once a killed container runs again, and the request with it (L10, L11)", () => {
  const story = newStory();
  story.poll();
  story.wait(SECOND).endContainer();
  assertEquals([story.reason(), story.requests.length], ["NotRunning", 0], "no PATCH while it is not running");
  story.wait(12 * SECOND).restartContainer();
  assertEquals(limits(story), [356], "on the change that shows it running, without a poll");
  assertEquals(story.requests[0]?.to["memory.requests"], 178 * MI);
  assertEquals(story.requests[0]?.why, "OOM-killed at a memory limit of 256Mi");
  assertEquals(story.notified(), ["ScaleUp"]);
  const [decision] = story.last?.decisions ?? [];
  assertEquals(decision?.candidates, ["memory.limits", "memory.requests"]);
  assertEquals(decision?.isNewSample, true, "counted, as a sample is (C52)");
});

Deno.test("decideSize() raises a large limit by a fifth (L11)", () => {
  const spec = { ...SIZE, "memory.limits": 1000 * MI };
  const story = newStory({}, { pod: pod({ containers: [container({ spec })] }) });
  story.poll();
  killAndRestart(story);
  assertEquals(limits(story), [1200]);
});

Deno.test("decideSize() doubles what it adds for each further kill within ten minutes (L11)", () => {
  const story = newStory();
  story.poll();
  for (let kill = 0; kill < 4; kill++) killAndRestart(story).wait(30 * SECOND);
  assertEquals(limits(story), [356, 356 + 200, 556 + 4 * 111.2, 1001 + 8 * 200.2].map(Math.ceil));
  story.wait(10 * MINUTE);
  const before = limits(story).at(-1) ?? 0;
  killAndRestart(story);
  assertEquals(limits(story).at(-1), Math.ceil(before * 1.2), "after ten minutes it begins anew");
});

Deno.test("decideSize() answers a kill once, by its containerID (L10)", () => {
  const story = newStory();
  story.poll();
  killAndRestart(story);
  story.change();
  story.poll(3);
  story.change();
  assertEquals(limits(story), [356]);
});

Deno.test("decideSize() leaves alone a limit that a person lowers after the answer (L10)", () => {
  const story = newStory();
  story.poll();
  killAndRestart(story);
  story.wait(SECOND).changeContainer({ spec: SIZE, reported: SIZE });
  story.poll();
  assertEquals(limits(story), [356]);
});

const SKIPPED: readonly [string, Partial<Autoscaler>][] = [
  ["a cooldown", { cooldownMs: 60 * MINUTE }],
  ["the delay", { delayMs: 60 * MINUTE }],
  ["a shut gate", { after: "podReady" }],
  ["step", { sides: BOTH.map(({ key }) => side(key, { bounds: { step: MI, stepPercent: 1 } })) }],
];
for (const [what, overrides] of SKIPPED) {
  Deno.test(`decideSize() is not held by ${what} after an OOM kill (L11)`, () => {
    const resizes = [resizeEntry("podfit.main", START - SECOND, { main: ["memory.limits"] })];
    const story = newStory(overrides, { pod: pod({ resizes, readyAt: what === "a shut gate" ? null : START }) });
    story.poll();
    killAndRestart(story);
    assertEquals(limits(story), [356]);
  });
}

Deno.test("decideSize() answers a kill before any usage was read (L11)", () => {
  const story = newStory();
  story.change();
  killAndRestart(story);
  assertEquals(limits(story), [356]);
});

Deno.test("decideSize() goes no further than max, and starts the cooldown (L11)", () => {
  const sides = [side("memory.requests"), side("memory.limits", { bounds: { max: 300 * MI } })];
  const story = newStory({ sides });
  story.poll();
  killAndRestart(story);
  assertEquals(limits(story), [300]);
  assertEquals(story.requests[0]?.to["memory.requests"], 150 * MI, "the same ratio as the limit, capped");
  story.use({ memory: 290 * MI });
  story.poll(6);
  assertEquals(story.reason(), "Cooldown");
});

Deno.test("decideSize() goes on with CPU where the answer to a kill is refused (L11, L31)", () => {
  const quota = { kind: "refused", reason: "Quota", message: "", resources: ["memory"], waitMs: null } as const;
  const story = newStory({ sides: [...BOTH, side("cpu.requests", { consecutiveSamples: 1 })] }, { answer: quota });
  story.poll();
  killAndRestart(story);
  assertEquals(limits(story), [356]);
  story.answer = "enact";
  story.use({ cpu: 95 }).poll();
  assertEquals(story.pollToRequest(6).changes, ["cpu.requests"]);
});

Deno.test("decideSize() keeps a Guaranteed pod so after an OOM kill (L11, C35)", () => {
  const spec = { ...SIZE, "cpu.requests": 200, "memory.requests": 256 * MI };
  const story = newStory({}, { pod: pod({ qosClass: "Guaranteed", containers: [container({ spec })] }) });
  story.poll();
  killAndRestart(story);
  const { to } = story.requests[0] ?? {};
  assertEquals([to?.["memory.requests"], to?.["memory.limits"]], [356 * MI, 356 * MI]);
});

Deno.test("decideSize() tells a restart that answers a kill, once though the first PATCH met a conflict (L11, C43)", () => {
  const story = newStory({}, { pod: pod({ containers: [container({ restartsOn: restartsOn("memory") })] }) });
  story.answer = { kind: "conflict" };
  story.poll();
  killAndRestart(story);
  story.answer = "enact";
  story.wait(SECOND).change();
  assertEquals(limits(story), [356, 356]);
  assertEquals(story.notified(), ["ResizeMayRestart", "ScaleUp"]);
});

Deno.test("decideSize() answers a kill before a sibling's older proposal (L11, C12)", () => {
  const containers = [container({ name: "a" }), container({ name: "b", instance: "containerd://b" })];
  const contenders = [
    policy({ name: "a", containerName: "a" }),
    raising({ name: "b", containerName: "b", sides: BOTH }),
  ];
  const story = new Story({ pod: pod({ containers }), contenders, answer: "hold" });
  story.use({ cpu: 150 }, "a").use({ memory: 150 * MI }, "b");
  story.poll(2);
  story.wait(SECOND).endContainer({}, "b");
  story.poll(2);
  const before = story.requests.length;
  story.wait(SECOND).restartContainer("b");
  assertEquals(story.requests.slice(before).map((one) => one.container), ["b"]);
});

const IGNORED: readonly [string, Partial<Autoscaler>, Partial<PodFacts>][] = [
  ["with policy.memory.oom ignore", { oom: "ignore" }, {}],
  ["of a container whose limit is not managed", { sides: [side("memory.requests")] }, {}],
  ["at max", { sides: [side("memory.requests"), side("memory.limits", { bounds: { max: LIMIT * MI } })] }, {}],
];
for (const [sentence, overrides, facts] of IGNORED) {
  Deno.test(`decideSize() requests nothing after a kill ${sentence} (L11, L13)`, () => {
    const story = newStory(overrides, { pod: pod(facts) });
    story.poll();
    killAndRestart(story);
    story.poll();
    assertEquals([story.requests.length, story.notified()], [0, ["OOMKilled"]]);
  });
}

/** Kills before podfit's start: [sentence, how long ago, who resized and when after it in seconds, Mi]. */
const FOUND: readonly [string, number, [string, number] | null, number[]][] = [
  ["answers a kill of a minute ago", MINUTE, null, [356]],
  ["answers one after its own resize", MINUTE, ["podfit.main", -5], [356]],
  ["leaves one that it has resized since", MINUTE, ["podfit.main", 5], []],
  ["leaves one that a person has resized since", MINUTE, ["kubectl", 5], []],
  ["answers one that only a sibling was resized since", MINUTE, ["podfit.proxy", 5], [356]],
  ["leaves one of over ten minutes ago", 10 * MINUTE + SECOND, null, []],
];
for (const [sentence, agoMs, entry, expected] of FOUND) {
  Deno.test(`decideSize() at podfit's start ${sentence} (L10)`, () => {
    const finishedAt = START - agoMs;
    const terminations = [{ id: "containerd://0", reason: "OOMKilled", exitCode: 137, finishedAt }];
    const resizes = entry === null ? [] : [resizeEntry(entry[0], finishedAt + entry[1] * SECOND)];
    const story = newStory({}, { pod: pod({ resizes, containers: [container({ terminations })] }) });
    story.change();
    assertEquals(limits(story), expected);
  });
}

Deno.test("decideSize() answers a kill that it watched though the node's clock is an hour behind (L10)", () => {
  const story = newStory();
  story.poll();
  const finishedAt = story.now - 60 * MINUTE;
  const terminations = [{ id: "containerd://1", reason: "OOMKilled", exitCode: 137, finishedAt }];
  story.wait(SECOND).changeContainer({ terminations, instance: "containerd://2" });
  assertEquals(limits(story), [356]);
});

Deno.test("decideSize() asks for no more than what a person has raised the limit to since (L11)", () => {
  const story = newStory();
  story.poll();
  story.wait(SECOND).endContainer();
  const spec = { ...SIZE, "memory.limits": 400 * MI };
  story.changeContainer({ spec, reported: spec });
  story.wait(SECOND).restartContainer();
  assertEquals(story.requests, []);
});

/** The kubelet says that it has resized, and the pod's cgroup stays as it was. */
function enactContainerOnly(story: Story, order: { readonly to: typeof SIZE }): void {
  const generation = (story.pod.generation ?? 0) + 1;
  story.observe({
    kind: "answered",
    request: story.requests.at(-1) ?? fail(),
    answer: { kind: "accepted", generation },
  });
  const containers = story.pod.containers.map((one) => ({ ...one, spec: order.to, reported: order.to }));
  story.change({ generation, observedGeneration: generation, containers });
}

function fail(): never {
  throw new Error("Cannot find a request");
}

Deno.test("decideSize() sends a size that has not reached the pod's cgroup again at the next runs, three times, then says so (L11, L13)", () => {
  const story = newStory({}, { pod: pod({ memoryLimitBytes: LIMIT * MI }), answer: "hold" });
  story.poll();
  for (let start = 0; start < 6; start++) {
    const before = story.requests.length;
    killAndRestart(story);
    const order = story.requests[before];
    if (order !== undefined) enactContainerOnly(story, order);
    assertEquals(story.requests.length, Math.min(start + 1, 4), "once for each run");
    story.wait(10 * SECOND);
  }
  assertEquals(limits(story), [356, 357, 358, 359]);
  const told = story.notices.filter(({ name }) => name === "OOMKilled").map(({ message }) => message);
  assertEquals(told.length, 1);
  assert(told[0]?.includes("delete the pod"), told[0]);
});

Deno.test("decideSize() sends it once more to a run that lives for long after all were in vain (L11)", () => {
  const story = newStory({}, { pod: pod({ memoryLimitBytes: LIMIT * MI }), answer: "hold" });
  story.poll();
  for (let start = 0; start < 5; start++) {
    const before = story.requests.length;
    killAndRestart(story);
    const order = story.requests[before];
    if (order !== undefined) enactContainerOnly(story, order);
    story.wait(8 * SECOND);
  }
  assertEquals(limits(story), [356, 357, 358, 359]);
  story.wait(3 * SECOND).poll();
  assertEquals(limits(story), [356, 357, 358, 359, 360]);
});

Deno.test("decideSize() sends it again to a run that lives for five seconds, not to one that the resize itself has started (L11)", () => {
  const story = newStory({}, { pod: pod({ memoryLimitBytes: LIMIT * MI }), answer: "hold" });
  story.poll();
  killAndRestart(story);
  enactContainerOnly(story, story.requests[0] ?? fail());
  killAndRestart(story);
  assertEquals(limits(story), [356], "2 s later: it may be dead already");
  story.wait(SECOND).poll();
  assertEquals(limits(story), [356, 357], "at the poll that finds it alive");
});

Deno.test("decideSize() sends it again to a run that was not killed, but for another reason is the next (L11)", () => {
  const story = newStory({}, { pod: pod({ memoryLimitBytes: LIMIT * MI }), answer: "hold" });
  story.poll();
  killAndRestart(story);
  enactContainerOnly(story, story.requests[0] ?? fail());
  story.wait(10 * SECOND).endContainer({ reason: "Error", exitCode: 1 });
  story.wait(10 * SECOND).restartContainer();
  assertEquals(limits(story), [356, 357]);
  const reached = 357 * MI;
  enactContainerOnly(story, story.requests[1] ?? fail());
  story.change({ memoryLimitBytes: reached });
  story.wait(10 * SECOND).restartContainer();
  assertEquals(limits(story), [356, 357], "it has arrived");
});

Deno.test("decideSize() takes a pod's cgroup as it is where a container has no limit, or the pod has its own (L11)", () => {
  const free = container({ name: "free", spec: { ...SIZE, "memory.limits": null } });
  const roomy = { ...SIZE, "memory.requests": 1024 * MI, "memory.limits": 1024 * MI };
  for (const facts of [{ containers: [container(), free] }, { podResources: roomy }] as const) {
    const story = newStory({}, { pod: pod({ memoryLimitBytes: 100 * MI, ...facts }) });
    story.poll();
    killAndRestart(story);
    story.wait(10 * SECOND).restartContainer();
    assertEquals(limits(story), [356]);
  }
});

Deno.test("kills end: each answer is larger than the last, and fits any demand after a few of them (L11)", () => {
  fc.assert(
    fc.property(fc.integer({ min: 16, max: 2000 }), fc.integer({ min: 1, max: 16_000 }), (limit, demand) => {
      const spec = { ...SIZE, "memory.requests": 8 * MI, "memory.limits": limit * MI };
      const story = newStory({}, { pod: pod({ containers: [container({ spec })] }) });
      story.poll();
      let kills = 0;
      const now = () => (story.pod.containers[0]?.spec["memory.limits"] ?? 0) / MI;
      while (demand > now()) {
        const before = now();
        killAndRestart(story).wait(10 * SECOND);
        assert(now() > before, `killed at ${before}Mi, and again`);
        assert(++kills <= 8, `${kills} kills on the way from ${limit}Mi to ${demand}Mi`);
      }
      // It stays: a load below the limit, and far below it, brings it no nearer than the floor.
      const reached = now();
      story.use({ memory: 10 * MI, cache: 10 * MI });
      story.wait(31 * MINUTE);
      story.poll(40);
      const least = kills === 0 ? 0 : (story.state.containers["main"]?.killFloor?.bytes ?? Infinity) / MI;
      assert(now() >= Math.min(reached, least), `${now()}Mi after kills below ${least}Mi`);
    }),
    { seed: 20261122, numRuns: 200 },
  );
});

/** A poll of a source that counts the processes killed in the container's cgroup since it began. */
function pollKilled(story: Story, oomKills: number | null): void {
  story.wait(15 * SECOND);
  const reading = story.read();
  const instance = story.pod.containers[0]?.instance ?? "";
  const points = reading.usage.points.map((one) => ({ ...one, instance, oomKills }));
  story.observe({ ...reading, usage: { ...reading.usage, points } });
}

Deno.test("decideSize() answers the kill of a process that its container survives, once (L13)", () => {
  const story = newStory({ sides: [side("memory.limits")] });
  for (const oomKills of [null, 2, 2]) pollKilled(story, oomKills);
  assertEquals(limits(story), [], "those of before they were counted are nobody's news");
  pollKilled(story, 3);
  assertEquals(limits(story), [356]);
  assertEquals(story.requests[0]?.why, "OOM-killed at a memory limit of 256Mi");
  assertEquals(story.state.containers["main"]?.killFloor?.bytes, 256 * 1.2 * MI);
  for (let polls = 0; polls < 4; polls++) pollKilled(story, 3);
  assertEquals(limits(story), [356]);
  pollKilled(story, 4);
  assertEquals(limits(story), [356, 556], "the next one is another kill");
});

Deno.test("decideSize() takes the kills of another run of the container for no news (L13)", () => {
  const story = newStory();
  for (let polls = 0; polls < 2; polls++) pollKilled(story, 0);
  story.wait(SECOND).endContainer({ reason: "Completed", exitCode: 0 });
  story.wait(SECOND).restartContainer();
  for (let polls = 0; polls < 3; polls++) pollKilled(story, 7);
  assertEquals(story.requests.filter(({ changes }) => changes.includes("memory.limits")), []);
});

Deno.test("decideSize() takes a kill that the cgroup and then the pod's status show for one (L13)", () => {
  const story = newStory({ sides: [side("memory.limits")] });
  for (const oomKills of [0, 0]) pollKilled(story, oomKills);
  // The status comes later than the sample.
  const finishedAt = story.now + 15 * SECOND;
  const id = story.pod.containers[0]?.instance ?? "";
  pollKilled(story, 1);
  assertEquals(limits(story), [356]);
  story.wait(SECOND);
  const end = { id, reason: "OOMKilled", exitCode: 137, finishedAt };
  story.changeContainer({ runningAt: null, ready: false, terminations: [end] });
  story.wait(SECOND).restartContainer();
  pollKilled(story, 0);
  assertEquals(limits(story), [356], "one answer");
  assertEquals(story.state.containers["main"]?.endings.map((one) => [one.id, one.limitBytes]), [[id, 256 * MI]]);
  assertEquals(story.state.containers["main"]?.reflex?.kill, id);
});

Deno.test("a kill without an answer is told once, though its sample comes before the pod's status (L13)", () => {
  const story = newStory({ sides: [side("memory.limits")], oom: "ignore" });
  for (const oomKills of [0, 0, 1]) pollKilled(story, oomKills);
  const terminations = [{
    id: story.pod.containers[0]?.instance ?? "",
    reason: "OOMKilled",
    exitCode: 137,
    finishedAt: story.now,
  }];
  story.changeContainer({ terminations });
  for (let polls = 0; polls < 100; polls++) pollKilled(story, 1);
  assertEquals(story.notices.filter(({ name }) => name === "OOMKilled").length, 1);
});

Deno.test("decideSize() answers the kill of a process that made its container end, whatever is seen first (L13)", () => {
  const story = newStory({ sides: [side("memory.limits")] });
  for (const oomKills of [0, 0]) pollKilled(story, oomKills);
  const id = story.pod.containers[0]?.instance ?? "";
  const end = { id, reason: "Error", exitCode: 1, finishedAt: story.now };
  story.changeContainer({ runningAt: null, ready: false, terminations: [end] });
  pollKilled(story, 1);
  assertEquals(story.state.containers["main"]?.endings.map(({ kind }) => kind), ["crash", "oom"]);
});

Deno.test("decideSize() takes a process killed before the container itself was killed for another kill (L13)", () => {
  const story = newStory({ sides: [side("memory.limits")] });
  for (const oomKills of [0, 0, 1]) pollKilled(story, oomKills);
  story.wait(20 * SECOND);
  killAndRestart(story);
  assertEquals(limits(story), [356, 556]);
});

/** The peaks in the window of the memory request, oldest first, Mi. */
function listPeaks({ state }: Story): readonly number[] {
  const seen = state.views["uid-of-web"]?.evidence.sides["memory.requests"];
  return seen?.kind === "peaks" ? seen.pairs.filter((_, index) => index % 2 === 1).map((one) => one / MI) : [];
}

Deno.test("decideSize() takes the kill of a process for a sample of memory, once (L10, L13)", () => {
  const sides = [side("memory.requests", { down: { windowMs: 20 * MINUTE } })];
  const story = newStory({ sides, pollIntervalMs: 15 * SECOND });
  story.use({ memory: 20 * MI });
  for (const oomKills of [0, 0, 1]) pollKilled(story, oomKills);
  const finishedAt = story.now;
  assertEquals(listPeaks(story), [256], "the limit");
  for (let polls = 0; polls < 4; polls++) pollKilled(story, 1);
  assertEquals(listPeaks(story), [256, 20]);
  // The pod's status says later that it was the end of the container.
  const id = story.pod.containers[0]?.instance ?? "";
  story.changeContainer({ terminations: [{ id, reason: "OOMKilled", exitCode: 137, finishedAt }] });
  assertEquals(story.state.containers["main"]?.endings.map((one) => one.id), [id]);
  assertEquals(listPeaks(story), [256, 20]);
});

Deno.test("decideSize() takes no killed process for a restart of its container (L7, L13)", () => {
  const story = newStory({ sides: [side("memory.requests")], pollIntervalMs: 15 * SECOND });
  story.use({ memory: 20 * MI });
  for (const oomKills of [0, 0, 1, 2]) pollKilled(story, oomKills);
  const killedAt = story.now;
  for (let polls = 0; polls < 20; polls++) pollKilled(story, 2);
  assertEquals(story.reason(), "CrashLoop");
  for (let polls = 0; polls < 40 && story.requests.length === 0; polls++) pollKilled(story, 2);
  assertEquals(story.now - killedAt, 10 * MINUTE);
});

Deno.test("decideSize() tells of processes killed where it may not answer (L13)", () => {
  const story = newStory({ oom: "ignore" });
  for (const oomKills of [0, 0, 1]) pollKilled(story, oomKills);
  assert(story.notified().includes("OOMKilled"));
  assertEquals(story.requests.filter(({ changes }) => changes.includes("memory.limits")), []);
});

Deno.test("decideSize() answers a killed process once, though the pod's own counter brings samples in between (L13)", () => {
  const story = newStory();
  const witnessed: number[] = [];
  let points = story.read().usage.points;
  for (const oomKills of [0, 0, 1, null, null]) {
    story.wait(15 * SECOND);
    const reading = story.read();
    // Without a new number the container's point is the one before, and only the pod's is new.
    if (oomKills !== null) points = reading.usage.points.map((one) => ({ ...one, oomKills }));
    const cpu = { at: story.now, resolutionMs: SECOND, counterNs: story.now * 1e3, pressure: null };
    story.observe({ ...reading, usage: { ...reading.usage, points, cpu } });
    const sample = story.state.views["uid-of-web"]?.sampling.sample;
    if (oomKills === null) witnessed.push(story.now - (sample?.at ?? NaN));
  }
  assertEquals(witnessed, [0, 0], "samples of the pod's counter");
  assertEquals(story.state.containers["main"]?.endings.length, 1);
  assertEquals(limits(story), [356]);
});
