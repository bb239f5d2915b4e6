/**
 * A new pod gets the size of its siblings.
 * Clauses: L40.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { decideSize } from "../../lib/vertical/decide.ts";
import type { PodFacts, Siblings } from "../../lib/model/pod.ts";
import { wantsSiblings } from "../../lib/vertical/proposals.ts";
import type { Resources } from "../../lib/units/resources.ts";
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

const ALL = [side("cpu.requests"), side("cpu.limits"), side("memory.requests"), side("memory.limits")];
const INHERIT = policy({ newPods: "inherit", sides: ALL, delayMs: MINUTE });

/** Started at START. */
function newborn(overrides: Partial<PodFacts> = {}): PodFacts {
  return pod({ containers: [container({ runningAt: START })], readyAt: START, containersReadyAt: START, ...overrides });
}

function grown(median: Partial<Resources>, pods = 3): Siblings {
  return { main: { pods, median: { ...SIZE, ...median }, floorBytes: 0 } };
}

const LARGER = grown({ "cpu.requests": 180, "memory.limits": 512 * MI });

function start(siblings: Siblings | null, options: StoryOptions = {}, overrides: Partial<Autoscaler> = {}): Story {
  const story = new Story({
    pod: newborn(),
    contenders: [{ ...INHERIT, ...overrides }],
    load: { cpu: 60 },
    ...options,
  });
  story.siblings = siblings;
  return story;
}

/** Polls once a second for so long, and gives the ages at which something was requested, in seconds. */
function ages(story: Story, seconds: number): number[] {
  const requested: number[] = [];
  for (let second = 0; second < seconds; second++) {
    if (story.poll().request !== null) requested.push((story.now - START) / SECOND);
  }
  return requested;
}

const EACH_SECOND = { pollIntervalMs: SECOND };

Deno.test("decideSize() gives a new pod the size of its siblings after 5 s of running, in one PATCH (L40)", () => {
  const story = start(LARGER, { everyMs: SECOND }, EACH_SECOND);
  assertEquals(ages(story, 30), [5]);
  const [request] = story.requests;
  assertEquals(request?.to, { ...SIZE, "cpu.requests": 180, "memory.limits": 512 * MI });
  assertEquals([request?.action, request?.reason], ["scaleUp", "Inherited"]);
  assertEquals(request?.why, "Inherited: memory.limits of 3 siblings; Inherited: cpu.requests of 3 siblings");
});

Deno.test("decideSize() inherits as soon as after and delay are over, where that is sooner (L40)", () => {
  const story = start(LARGER, { everyMs: SECOND }, { ...EACH_SECOND, delayMs: 2 * SECOND });
  assertEquals(ages(story, 10), [2]);
});

Deno.test("decideSize() inherits whether or not the pod is ready by then (L40)", () => {
  const contained = [container({ runningAt: START, ready: false })];
  const pod = newborn({ containers: contained, readyAt: null, containersReadyAt: null });
  const story = start(LARGER, { everyMs: SECOND, pod }, { ...EACH_SECOND, after: "podReady" });
  assertEquals(ages(story, 10), [5]);
});

Deno.test("decideSize() says Inherited in the decision and in the event (L40)", () => {
  const story = start(LARGER);
  const outcome = story.poll();
  const decision = outcome.decisions[0]?.decision;
  assertEquals(decision?.kind === "resize" ? decision.reason : null, "Inherited");
  assertEquals(story.notified(), ["Inherited"]);
  assertStringIncludes(
    story.notices[0]?.message ?? "",
    'Gave the size of its siblings to container "main" of pod "web-1": cpu.requests 100m -> 180m',
  );
});

Deno.test("decideSize() inherits once, starts the cooldown with it, and goes on by usage (L40)", () => {
  const story = start(LARGER, {}, { delayMs: 0 });
  story.poll(2);
  assertEquals(story.requests.length, 1);
  story.use({ cpu: 170 });
  // Nobody's entry shows it: the state does.
  story.siblings = grown({ "cpu.requests": 190, "memory.limits": 600 * MI });
  story.change({ resizes: [] });
  story.poll(4);
  assertEquals([story.requests.length, story.reason()], [1, "Cooldown"]);
  story.pollToRequest();
  assertEquals(story.requests[1]?.reason, null);
});

Deno.test("decideSize() gives memory and limits only upwards (L40)", () => {
  const smaller = grown({ "cpu.limits": 150, "memory.requests": 64 * MI, "memory.limits": 128 * MI });
  const story = start(smaller);
  story.poll(6);
  assertEquals(story.requests, []);
});

Deno.test("decideSize() gives a smaller CPU request where nothing goes up (L40)", () => {
  const story = start(grown({ "cpu.requests": 40 }));
  assertEquals(story.poll().request?.to, { ...SIZE, "cpu.requests": 40 });
  assertEquals(story.notified(), ["Inherited"]);
  const mixed = start(grown({ "cpu.requests": 40, "memory.limits": 512 * MI }));
  assertEquals(mixed.poll().request?.to, { ...SIZE, "memory.limits": 512 * MI });
  mixed.poll(2);
  assertEquals(mixed.requests.length, 1, "the request is left to the law");
});

Deno.test("decideSize() restarts no new container for a smaller CPU request, and parts no Guaranteed pair (L40)", () => {
  const siblings = grown({ "cpu.requests": 40 });
  const restarting = newborn({ containers: [container({ runningAt: START, restartsOn: restartsOn("cpu") })] });
  const equal = { ...SIZE, "cpu.requests": 200, "memory.requests": 256 * MI };
  const guaranteed = newborn({ containers: [container({ runningAt: START, spec: equal })], qosClass: "Guaranteed" });
  for (const pod of [restarting, guaranteed]) {
    const story = start(siblings, { pod });
    story.poll(2);
    assertEquals([story.requests, story.notices], [[], []]);
  }
});

Deno.test("decideSize() takes no steps to the size of the siblings, and holds bounds (L40)", () => {
  const sides = [side("cpu.requests", { bounds: { step: 10, max: 170 } })];
  const story = start(LARGER, {}, { sides });
  assertEquals(story.poll().request?.to["cpu.requests"], 170);
});

Deno.test("decideSize() inherits without having read any usage (L40)", () => {
  const story = start(LARGER);
  story.wait(6 * SECOND);
  assertEquals(story.observe({ kind: "tick" }).request?.reason, "Inherited");
});

Deno.test("decideSize() waits for a container that runs, and for a resize that is under way (L40)", () => {
  const starting = start(LARGER, { pod: newborn({ containers: [container({ runningAt: null })] }) });
  starting.poll(2);
  assertEquals(starting.requests, []);
  const busy = start(LARGER, { pod: newborn({ inProgress: { reason: "", message: "", since: START } }) });
  assertEquals(busy.poll().request, null);
  assertEquals(busy.reason(), "ResizeInProgress");
  busy.change({ inProgress: null });
  assertEquals(busy.poll().request?.reason, "Inherited");
});

Deno.test("decideSize() leaves a pod to the law that is no longer new, or that somebody has resized (L40)", () => {
  const old = start(LARGER);
  old.wait(71 * SECOND).poll(2);
  assertEquals(old.requests, []);
  const entry = resizeEntry("somebody", START, { main: ["cpu.requests"] });
  const resized = start(LARGER, { pod: newborn({ resizes: [entry] }) });
  resized.poll(2);
  assertEquals(resized.requests, []);
});

Deno.test("decideSize() leaves a new pod at its template's size unless newPods says inherit (L40)", () => {
  const story = start(LARGER, {}, { newPods: "template" });
  story.poll(4);
  assertEquals(story.requests, []);
  const alone = start(null);
  alone.poll(4);
  assertEquals(alone.requests, []);
  const recommending = start(LARGER, {}, { mode: "recommend" });
  recommending.poll(4);
  assertEquals(recommending.state.shadow?.sizes, {});
});

Deno.test("decideSize() sends an inherited size again that a busy server has not taken (L40, C44)", () => {
  const busy = { kind: "refused", reason: "RetryLater", message: "no", resources: [], waitMs: 8 * SECOND } as const;
  const contenders = ["main", "side"].map((containerName) =>
    policy({ ...INHERIT, name: containerName, uid: `uid-of-${containerName}`, key: containerName, containerName })
  );
  const [main] = Object.values(LARGER);
  assert(main !== undefined);
  const siblings = { main, side: main };
  for (const answer of [busy, { kind: "unconfirmed", message: "timeout" }] as const) {
    const containers = ["main", "side"].map((name) => container({ name, runningAt: START }));
    const story = start(siblings, {
      pod: newborn({ containers }),
      contenders,
      answer,
    });
    story.use({ cpu: 60 }, "side").poll();
    story.answer = "enact";
    for (let poll = 0; poll < 6; poll++) story.poll();
    const sent = story.requests.map((one) => [one.container, one.reason]);
    assertEquals(sent, [["main", "Inherited"], ["main", "Inherited"], ["side", "Inherited"]], answer.kind);
  }
});

Deno.test("decideSize() lets usage go first after a refused inheritance (L40)", () => {
  const answer = { kind: "refused", reason: "Quota", message: "no", resources: ["memory"], waitMs: null } as const;
  const story = start(grown({ "memory.limits": 512 * MI }), { answer, load: { cpu: 95 } }, { delayMs: 0 });
  assertEquals(story.poll().request?.reason, "Inherited");
  story.answer = "enact";
  assertEquals(story.pollToRequest().reason, null);
});

/** [sentence, age of the pod when the container restarts, whether it inherits] */
const RESTARTED: readonly [string, number, boolean][] = [
  ["lets a new pod inherit though its container has already restarted", 20 * SECOND, true],
  ["lets no old pod inherit when its container restarts", 5 * 24 * 60 * MINUTE, false],
];
for (const [sentence, ageMs, isNew] of RESTARTED) {
  Deno.test(`decideSize() ${sentence} (L40)`, () => {
    const terminations = [{ id: "containerd://0", reason: "Error", exitCode: 1, finishedAt: START - SECOND }];
    const containers = [container({ runningAt: START, terminations })];
    const story = start(LARGER, { pod: newborn({ containers, startAt: START - ageMs }) });
    assertEquals(wantsSiblings(story.pod, story.contenders, START), isNew);
    story.poll(3);
    assertEquals(story.requests.map(({ reason }) => reason), isNew ? ["Inherited"] : []);
  });
}

Deno.test("decideSize() lets a container inherit that starts long after its pod, as one whose image was pulled (L40)", () => {
  const story = start(LARGER, { pod: newborn({ startAt: START - 20 * MINUTE }) });
  assertEquals(wantsSiblings(story.pod, story.contenders, START), true);
  assertEquals(story.poll().request?.reason, "Inherited");
});

Deno.test("decideSize() lets each container of a pod inherit (L40)", () => {
  const contained = [container({ runningAt: START }), container({ name: "side", runningAt: START })];
  const other = policy({ ...INHERIT, name: "side", uid: "uid-of-side", key: "uid-of-side", containerName: "side" });
  const size = { pods: 2, median: { ...SIZE, "memory.limits": 512 * MI }, floorBytes: 0 };
  const story = start({ main: size, side: size }, {
    pod: newborn({ containers: contained }),
    contenders: [INHERIT, other],
  });
  story.use({ cpu: 1 }, "side");
  story.poll();
  story.poll();
  assertEquals(story.requests.map(({ container, reason }) => [container, reason]), [
    ["main", "Inherited"],
    ["side", "Inherited"],
  ]);
});

Deno.test("wantsSiblings() asks for new pods of autoscalers that inherit, and for no others (L40)", () => {
  const now = START + 10 * SECOND;
  const wants = (facts: PodFacts, overrides: Partial<Autoscaler> = {}, at = now) =>
    wantsSiblings(facts, [{ ...INHERIT, ...overrides }], at);
  assert(wants(newborn()));
  assert(!wants(newborn(), { newPods: "template" }));
  assert(!wants(newborn(), { mode: "recommend" }));
  assert(!wants(newborn(), {}, START + 2 * MINUTE));
  assert(!wants(newborn({ containers: [container({ runningAt: null })] })));
  assert(!wants(newborn({ resizes: [resizeEntry("podfit.main", START, { main: ["cpu.limits"] })] })));
  assert(wants(newborn({ resizes: [resizeEntry("podfit.side", START, { side: ["cpu.limits"] })] })));
});

Deno.test("decideSize() inherits no memory limit below what has killed a sibling (L14, L40)", () => {
  const [size] = Object.values(grown({ "cpu.requests": 180 }));
  assert(size !== undefined);
  const story = start({ main: { ...size, floorBytes: 400 * MI } });
  assertEquals(story.poll().request?.to["memory.limits"], 400 * MI);
  const floored = start(grown({ "cpu.requests": 180 }));
  floored.decide = (before, input) => decideSize(before, { ...input, killFloors: { main: 300 * MI } });
  assertEquals(floored.poll().request?.to["memory.limits"], 300 * MI);
});
