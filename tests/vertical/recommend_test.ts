/**
 * Mode recommend: everything is decided and nothing is resized.
 * Clauses: L51.
 */
import { assert, assertEquals } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { explainSize } from "../../lib/vertical/explain.ts";
import { findRecommendedSize } from "../../lib/vertical/recommend.ts";
import { parseState } from "../../lib/record/parse.ts";
import {
  container,
  input,
  MI,
  MINUTE,
  pod,
  point,
  policy,
  resizeEntry,
  SECOND,
  side,
  SIZE,
  START,
  usage,
} from "../support/builders.ts";
import { Story, type StoryOptions } from "../support/story.ts";

const RECOMMEND = policy({ mode: "recommend", cooldownMs: 30 * SECOND });

function recommending(overrides: Partial<Autoscaler> = {}): Autoscaler {
  return { ...RECOMMEND, ...overrides };
}

function start(options: StoryOptions = {}): Story {
  return new Story({ contenders: [RECOMMEND], load: { cpu: 90 }, ...options });
}

function wouldBe(story: Story, container = "main") {
  return findRecommendedSize(story.state.shadow?.sizes ?? {}, container);
}

Deno.test("decideSize() in mode recommend says what it would do, sends nothing and publishes no resize (L51)", () => {
  const story = start();
  for (let poll = 0; poll < 3; poll++) story.poll();
  assertEquals(story.decision(), {
    kind: "blocked",
    action: "scaleUp",
    reason: "DryRun",
    message: "would resize: cpu.requests 100m -> 150m (mode: recommend)",
  });
  assertEquals(story.last?.decisions[0]?.candidates, ["cpu.requests"]);
  assertEquals([story.requests, story.notices, story.scaled, story.enacted], [[], [], [], []]);
});

Deno.test("decideSize() in mode recommend goes on from what it has recommended (L51)", () => {
  const sides = [side("cpu.requests", { bounds: { step: 20 }, cooldownMs: 30 * SECOND })];
  const story = start({ contenders: [recommending({ sides })] });
  const seen: (number | null | undefined)[] = [];
  for (let poll = 0; poll < 40; poll++) {
    story.poll();
    const cpu = wouldBe(story)?.["cpu.requests"];
    if (cpu !== undefined && cpu !== seen.at(-1)) seen.push(cpu);
  }
  assertEquals(seen, [120], "90m of 120m are below the threshold");
  story.use({ cpu: 180 });
  for (let poll = 0; poll < 100; poll++) {
    story.poll();
    const cpu = wouldBe(story)?.["cpu.requests"];
    if (cpu !== seen.at(-1)) seen.push(cpu);
  }
  assertEquals(seen, [120, 140, 160, 180, 200], "a step at a time, up to the limit");
  assertEquals(story.requests, []);
  assertEquals(story.pod.containers[0]?.spec, SIZE, "the pod is as it was");
});

Deno.test("decideSize() in mode recommend gives what a node or a quota has left only once (L51)", () => {
  const quota = { "cpu.requests": 50, "cpu.limits": null, "memory.requests": null, "memory.limits": null };
  for (
    const left of [{ room: { cpuMillicores: 50, memoryBytes: 1024 * MI } }, { limits: { ranges: [], quota } }] as const
  ) {
    const story = start({ load: { cpu: 190 }, surroundings: { ...left } });
    for (let poll = 0; poll < 60; poll++) story.poll();
    assertEquals(wouldBe(story)?.["cpu.requests"], 150);
  }
});

Deno.test("decideSize() in mode recommend holds the cooldown of what it has recommended (L51)", () => {
  const story = start();
  for (let poll = 0; poll < 3; poll++) story.poll();
  story.use({ cpu: 145 });
  for (let poll = 0; poll < 4; poll++) story.poll();
  assertEquals(story.reason(), "Cooldown");
});

Deno.test("decideSize() in mode recommend warns of no restart (L51)", () => {
  const main = pod().containers[0];
  assert(main !== undefined);
  const story = start({ pod: pod({ containers: [{ ...main, restartsOn: { cpu: true, memory: true } }] }) });
  for (let poll = 0; poll < 4; poll++) story.poll();
  assertEquals([wouldBe(story)?.["cpu.requests"], story.notices], [150, []]);
});

Deno.test("decideSize() in mode recommend still says what is wrong (L51)", () => {
  const story = start({ contenders: [recommending({ sides: [side("cpu.requests"), side("memory.limits")] })] });
  story.changeContainer({ spec: { ...SIZE, "memory.limits": null }, reported: null });
  story.poll(3);
  assertEquals(story.notified(), ["BaselineUnavailable"]);
});

Deno.test("decideSize() lets one that applies and one that recommends decide about the same container (L51)", () => {
  const apply = policy({ name: "apply", sides: [side("cpu.requests", { targetUtilizationPercent: 75 })] });
  const story = start({ contenders: [apply, recommending({ priority: 100 })] });
  for (let poll = 0; poll < 3; poll++) story.poll();
  assertEquals([story.reason("apply"), story.reason("web")], ["scaleUp", "DryRun"]);
  assertEquals(story.requests.map(({ autoscaler, to }) => [autoscaler, to["cpu.requests"]]), [["uid-of-apply", 120]]);
  assertEquals(story.scaled.map(({ autoscaler }) => autoscaler), ["uid-of-apply"]);
  assertEquals(wouldBe(story)?.["cpu.requests"], 150);
});

Deno.test("decideSize() recommends for each container of a pod (L51)", () => {
  const main = pod().containers[0];
  assert(main !== undefined);
  const story = start({
    pod: pod({ containers: [main, { ...main, name: "side" }] }),
    contenders: [
      RECOMMEND,
      recommending({ name: "side", uid: "uid-of-side", key: "uid-of-side", containerName: "side" }),
    ],
  });
  story.use({ cpu: 90 }, "side");
  for (let poll = 0; poll < 4; poll++) story.poll();
  assertEquals([wouldBe(story)?.["cpu.requests"], wouldBe(story, "side")?.["cpu.requests"]], [150, 150]);
});

Deno.test("decideSize() forgets a shadow once nobody recommends, and keeps what was seen (L51)", () => {
  const sides = [side("cpu.requests", { down: { windowMs: 10 * MINUTE } })];
  const story = start({ contenders: [recommending({ sides })], load: { cpu: 60 } });
  for (let poll = 0; poll < 24; poll++) story.poll();
  const since = story.state.shadow?.state.views[RECOMMEND.key]?.evidence.since;
  assert(typeof since === "number");
  story.contend([recommending({ sides, mode: "apply", generation: 2 })]);
  assertEquals(story.state.shadow, null);
  assertEquals(story.state.views[RECOMMEND.key]?.evidence.since, since);
  assertEquals(story.state.views[RECOMMEND.key]?.streaks, {});
  story.contend([recommending({ sides, generation: 3 })]);
  assertEquals(story.state.shadow?.state.views[RECOMMEND.key]?.evidence.since, since);
  assertEquals(story.state.views, {});
});

Deno.test("decideSize() applies at once what it only recommended, when the mode changes (L51)", () => {
  const story = start();
  for (let poll = 0; poll < 6; poll++) story.poll();
  assertEquals(story.requests, []);
  story.contend([recommending({ mode: "apply", generation: 2 })]);
  assertEquals(story.pollToRequest(4).to["cpu.requests"], 150);
});

Deno.test("a state with a shadow is plain JSON that its parser takes, and a shadow has none of its own (L51)", () => {
  const story = start();
  for (let poll = 0; poll < 5; poll++) story.poll();
  const stored = JSON.parse(JSON.stringify(story.state));
  assertEquals(parseState(stored), { ok: true, value: story.state });
  stored.shadow.state.shadow = structuredClone(stored.shadow);
  assertEquals(parseState(stored).ok, false);
});

Deno.test("decideSize() recommends over a real resize that is under way (L51)", () => {
  const story = start({ pod: pod({ generation: 2, observedGeneration: 1, containers: [] }) });
  const main = pod().containers[0];
  assert(main !== undefined);
  const pending = { reason: "Deferred", message: "no room", since: story.now };
  story.change({ containers: [{ ...main, reported: { ...SIZE, "memory.limits": 300 * MI } }], pending });
  for (let poll = 0; poll < 4; poll++) story.poll();
  assertEquals(wouldBe(story)?.["cpu.requests"], 150);
});

Deno.test("decideSize() raises a recommended limit once for the kills that the limit in force goes on to make (L51)", () => {
  const sides = [side("memory.limits")];
  const story = start({ contenders: [recommending({ sides, oom: "raise" })], load: { cpu: 60, memory: 150 * MI } });
  story.poll();
  for (let kill = 0; kill < 4; kill++) {
    story.wait(MINUTE);
    story.changeContainer({
      instance: `containerd://after-${kill}`,
      runningAt: story.now,
      terminations: [{ id: `containerd://${kill}`, reason: "OOMKilled", exitCode: 137, finishedAt: story.now }],
    });
    for (let poll = 0; poll < 3; poll++) story.poll();
  }
  assertEquals(wouldBe(story)?.["memory.limits"], 356 * MI, "256Mi and 100Mi");
  assertEquals(story.requests, []);
});

Deno.test("decideSize() in mode recommend takes a kill for one at the limit in force, not at the recommended one (L10, L12, L51)", () => {
  const spec = { ...SIZE, "memory.limits": 1000 * MI };
  const story = start({
    pod: pod({ containers: [container({ spec })] }),
    contenders: [recommending({ sides: [side("memory.limits")], oom: "raise" })],
    load: { cpu: 60, memory: 20 * MI },
  });
  for (let poll = 0; poll < 4; poll++) story.poll();
  assertEquals(wouldBe(story)?.["memory.limits"], 128 * MI, "as the request lets it");
  story.wait(SECOND).endContainer();
  story.wait(SECOND).restartContainer();
  assertEquals(wouldBe(story)?.["memory.limits"], 1200 * MI);
  story.wait(40 * MINUTE);
  for (let poll = 0; poll < 60; poll++) story.poll();
  assertEquals(wouldBe(story)?.["memory.limits"], 1200 * MI, "the kill has left a floor");
});

Deno.test("decideSize() in mode recommend takes no kill of long ago for a new one (L10, L51)", () => {
  const sides = [side("memory.limits")];
  const story = start({ contenders: [recommending({ sides, oom: "raise" })], load: { cpu: 60, memory: 230 * MI } });
  for (let poll = 0; poll < 4; poll++) story.poll();
  assertEquals(wouldBe(story)?.["memory.limits"], 384 * MI, "more than the limit that kills");
  story.wait(SECOND).endContainer();
  story.wait(SECOND).restartContainer();
  story.use({ memory: 20 * MI }).wait(25 * 60 * MINUTE);
  for (let poll = 0; poll < 60; poll++) story.poll();
  assertEquals(wouldBe(story)?.["memory.limits"], 128 * MI);
});

Deno.test("decideSize() in mode recommend takes usage for held back by the limit in force, whatever it recommends (L20, L21, L51)", () => {
  const sides = [side("cpu.requests"), side("cpu.limits")];
  const spec = { ...SIZE, "cpu.requests": 100, "cpu.limits": 100 };
  const pollIntervalMs = 15 * SECOND;
  const story = start({
    pod: pod({ containers: [container({ spec })] }),
    contenders: [recommending({ throttling: "measure", sides, pollIntervalMs })],
  });
  let [counterNs, fullNs] = [1e9, 0];
  for (let poll = 0; poll < 100; poll++) {
    story.wait(pollIntervalMs);
    counterNs += 99 * pollIntervalMs * 1000;
    fullNs += 0.9 * pollIntervalMs * 1e6;
    const pressure = { fullNs, throttledNs: null, largestCpuNs: null };
    story.observe(usage([point({ at: story.now, counterNs, pressure })]));
    if (poll >= 2) assertEquals(wouldBe(story)?.["cpu.requests"], 660, "four times the usage is 60 % of it");
  }
  const view = story.state.shadow?.state.views[RECOMMEND.key];
  assert((view?.shortage.atLimit.cpu ?? 0) > 90, "it stays at the limit in force");
});

Deno.test("decideSize() in mode recommend keeps the floor of memory next to the limit in force (L12, L51)", () => {
  const sides = [side("memory.limits")];
  const story = start({ contenders: [recommending({ sides, oom: "raise" })], load: { cpu: 60, memory: 250 * MI } });
  for (let poll = 0; poll < 4; poll++) story.poll();
  assertEquals(wouldBe(story)?.["memory.limits"], 417 * MI);
  story.wait(20 * 60 * MINUTE);
  for (let poll = 0; poll < 4; poll++) story.poll();
  story.use({ memory: 20 * MI }).wait(20 * 60 * MINUTE);
  for (let poll = 0; poll < 60; poll++) story.poll();
  assertEquals(wouldBe(story)?.["memory.limits"], 308 * MI, "a fifth more than 256Mi");
});

Deno.test("decideSize() keeps the floor of memory and the kills of a container when the mode changes (L12, L51, L54)", () => {
  const applying = policy({ oom: "raise", sides: [side("memory.limits")] });
  const story = start({ contenders: [applying], load: { cpu: 60, memory: 250 * MI } });
  story.poll(3);
  assertEquals(story.state.containers["main"]?.killFloor?.bytes, 256 * MI * 1.2, "next to its limit");
  story.wait(SECOND).endContainer();
  story.wait(SECOND).restartContainer();
  const before = story.state.containers["main"];
  assertEquals(before?.endings.length, 1);
  assert(before?.reflex !== null);
  story.contend([{ ...applying, mode: "recommend", generation: 2 }]);
  const recommended = story.state.shadow?.state.containers["main"];
  const { endings, killFloor, reflex } = before ?? {};
  assertEquals([recommended?.endings, recommended?.killFloor, recommended?.reflex], [endings, killFloor, reflex]);
  story.contend([{ ...applying, generation: 3 }]);
  const again = story.state.containers["main"];
  assertEquals([again?.endings, again?.killFloor], [endings, killFloor]);
});

Deno.test("decideSize() answers a kill for which it has only recommended a larger limit, once the mode is apply (L10, L51)", () => {
  const sides = [side("memory.limits")];
  const story = start({ contenders: [recommending({ sides, oom: "raise" })], load: { cpu: 60, memory: 150 * MI } });
  story.poll(3);
  story.wait(SECOND).endContainer();
  story.wait(SECOND).restartContainer();
  assertEquals([wouldBe(story)?.["memory.limits"], story.requests], [356 * MI, []]);
  story.contend([recommending({ sides, oom: "raise", mode: "apply", generation: 2 })]);
  assertEquals(story.requests.map(({ to }) => to["memory.limits"]), [356 * MI]);
});

/** Two containers that need more CPU at the same time. */
function startTwo(options: StoryOptions = {}): Story {
  const contenders = ["main", "side"].map((containerName) =>
    recommending({ name: containerName, uid: `uid-of-${containerName}`, key: containerName, containerName })
  );
  const containers = ["main", "side"].map((name) => container({ name }));
  return start({ pod: pod({ containers }), contenders, ...options }).use({ cpu: 90 }, "side");
}

Deno.test("decideSize() in mode recommend says of no container that another one is resized first (L51)", () => {
  const story = startTwo();
  story.poll(3);
  assertEquals([wouldBe(story)?.["cpu.requests"], wouldBe(story, "side")?.["cpu.requests"]], [150, 150]);
  assertEquals([story.reason("main"), story.reason("side"), story.notices], ["DryRun", "DryRun", []]);
});

Deno.test("decideSize() in mode recommend publishes what one recommendation makes of the next (L51)", () => {
  const story = startTwo({ surroundings: { room: { cpuMillicores: 52, memoryBytes: 1024 * MI } } });
  for (let poll = 0; poll < 6; poll++) story.poll();
  assertEquals([wouldBe(story)?.["cpu.requests"], wouldBe(story, "side")], [150, null]);
  assertEquals([story.reason("side"), story.notified()], ["NodeCapacity", ["ScaleFailed"]]);
});

Deno.test("explainSize() explains a recommending autoscaler as it decides (L51)", () => {
  const surroundings = { room: { cpuMillicores: 50, memoryBytes: 1024 * MI } };
  const sides = [side("cpu.requests", { cooldownMs: 0 })];
  const contenders = [recommending({ sides })];
  const story = start({ contenders, load: { cpu: 190 }, surroundings });
  for (let poll = 0; poll < 6; poll++) story.poll();
  const given = input({
    now: story.now,
    pod: story.pod,
    contenders,
    observation: { kind: "changed" },
    ...surroundings,
  });
  assertEquals(explainSize(story.state, given).map(({ decision }) => decision), [story.decision()]);
  const pods = { ...story.pod, labels: { "podfit.dev/mode": "sidecar" } };
  assertEquals(explainSize(story.state, { ...given, pod: pods }).length, 1, "any podfit may recommend");
});

Deno.test("decideSize() counts an implausible point once, whether autoscalers of the pod apply or recommend (L51, C22)", () => {
  const applying = policy({ name: "apply" });
  const counts = [[RECOMMEND], [applying], [applying, RECOMMEND]].map((contenders) => {
    const story = start({ contenders });
    story.poll(2);
    const [point] = story.read().usage.points;
    assert(point !== undefined);
    story.wait(5 * SECOND);
    return story.observe(usage([{ ...point, at: story.now, workingSetBytes: NaN }])).implausible;
  });
  assertEquals(counts, [1, 1, 1]);
});

Deno.test("decideSize() in mode recommend takes a kill before its start that a resize has followed for an answered one (L10, L51)", () => {
  const finishedAt = START - 2 * MINUTE;
  const killed = container({
    spec: { ...SIZE, "memory.limits": 512 * MI },
    instance: "containerd://2",
    runningAt: finishedAt + SECOND,
    terminations: [{ id: "containerd://1", reason: "OOMKilled", exitCode: 137, finishedAt }],
  });
  const resizes = [resizeEntry("podfit.main", finishedAt + 2 * SECOND, { main: ["memory.limits"] })];
  const story = start({
    pod: pod({ containers: [killed], resizes }),
    contenders: [recommending({ sides: [side("memory.limits")], oom: "raise", cooldownMs: MINUTE })],
    load: { cpu: 60, memory: 250 * MI },
  });
  for (let poll = 0; poll < 10; poll++) story.poll();
  assertEquals(wouldBe(story)?.["memory.limits"] ?? 512 * MI, 512 * MI, "they are the answer");
  assertEquals(story.state.shadow?.state.containers["main"]?.killFloor?.bytes, 512 * MI);
});

Deno.test("decideSize() in mode recommend goes on to recommend less CPU while memory stalls at the limit in force (L15, L51)", () => {
  const sides = [
    side("memory.limits", { up: { targetUtilizationPercent: 60 }, cooldownMs: 30 * SECOND }),
    side("cpu.requests", { cooldownMs: 30 * SECOND }),
  ];
  const spec = { "cpu.requests": 1000, "cpu.limits": null, "memory.requests": 10 * MI, "memory.limits": 100 * MI };
  const story = start({
    pod: pod({ containers: [container({ spec })] }),
    contenders: [recommending({ sides, oom: "raise" })],
    load: { cpu: 20, memory: 92 * MI, stall: 30 },
  });
  for (let poll = 0; poll < 200; poll++) story.poll();
  const { "cpu.requests": cpu = null, "memory.limits": memory = null } = wouldBe(story) ?? {};
  assertEquals([cpu, memory], [34, 154 * MI]);
});
