/**
 * Bugs that `decideSize` once had, one story each: another client, a busy server, a wrong clock, an owner that left.
 */
import { assertEquals } from "#assert";
import { container, MI, MINUTE, pod, policy, resizeEntry, SECOND, side, SIZE, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const condition = (reason: string, since = START) => ({ reason, message: "no room", since });
const AUX = policy({ name: "aux", containerName: "aux" });

Deno.test("decideSize() gives the kubelet its 5m for a scale-down under a sibling's older Deferred (C47)", () => {
  const aux = container({ name: "aux", spec: { ...SIZE, "cpu.requests": 200 }, reported: SIZE });
  const story = new Story({
    pod: pod({ containers: [container(), aux], pending: condition("Deferred", START - 60 * MINUTE) }),
    contenders: [policy({ cooldownMs: 0, sides: [side("cpu.requests", { cooldownMs: 0 })] })],
    load: { cpu: 20 },
    answer: "accept",
  });
  assertEquals(story.pollToRequest().action, "scaleDown");
  const sentAt = story.now;
  story.change({ observedGeneration: story.pod.generation });
  assertEquals([story.pollToRequest(100).action, story.now - sentAt], ["revert", 5 * MINUTE]);
});

Deno.test("decideSize() writes over its own failing resize 30s after it was sent, though the error is older (C47)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0 })];
  const story = new Story({
    pod: pod({
      containers: [container({ spec: { ...SIZE, "cpu.requests": 180 }, reported: SIZE })],
      inProgress: condition("Error", START - 60 * MINUTE),
      resizes: [resizeEntry("podfit.main", START - SECOND, { main: ["cpu.requests"] })],
    }),
    contenders: [policy({ sides, cooldownMs: 0 })],
    load: { cpu: 90 },
  });
  assertEquals([story.pollToRequest().action, story.now - START], ["scaleUp", 30 * SECOND]);
});

Deno.test("decideSize() begins the cooldown with one field that a person changes while podfit keeps the others (C42)", () => {
  const both = { main: ["cpu.requests", "memory.requests"] } as const;
  const own = resizeEntry("podfit.main", START - 60 * MINUTE, both);
  const sides = [side("cpu.requests", { bounds: { step: 10 } }), side("memory.requests")];
  const story = new Story({ pod: pod({ resizes: [own] }), contenders: [policy({ sides })], load: { cpu: 150 } });
  story.poll(2);
  const spec = { ...SIZE, "memory.requests": 100 * MI };
  story.change({
    generation: 2,
    containers: [container({ spec })],
    resizes: [
      { ...own, owned: [{ container: "main", sides: ["cpu.requests"] }] },
      resizeEntry("kubectl", story.now, { main: ["memory.requests"] }),
    ],
  });
  story.enact();
  const changedAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - changedAt, 2 * MINUTE);
});

Deno.test("decideSize() says NotRunning of a container that has stopped while something was wanted (C46, C53)", () => {
  const story = new Story({ contenders: [policy({ cooldownMs: 0 })], load: { cpu: 90 }, dryRun: true });
  story.poll(5);
  story.changeContainer({ runningAt: null });
  story.wait(2 * MINUTE).observe({ kind: "tick" });
  assertEquals(story.reason(), "NotRunning");
});

Deno.test("decideSize() tells QoSInvariantBlocked once where a poll is rarer than a minute and the pod changes (C22, C50)", () => {
  const equal = { ...SIZE, "cpu.requests": 200, "memory.requests": 256 * MI };
  const story = new Story({
    pod: pod({ qosClass: "Guaranteed", containers: [container({ spec: equal })] }),
    contenders: [policy({ pollIntervalMs: 5 * MINUTE })],
    load: { cpu: 20 },
    everyMs: 5 * MINUTE,
  });
  story.poll(4);
  for (let poll = 0; poll < 5; poll++) {
    story.wait(2 * MINUTE).change({ labels: { touched: String(poll) } });
    assertEquals(story.reason(), "MetricsUnavailable");
    story.wait(-2 * MINUTE).poll();
  }
  assertEquals([story.reason(), story.notified()], ["QoSInvariantBlocked", ["QoSInvariantBlocked"]]);
});

Deno.test("decideSize() asks a busy server for nothing else of the pod meanwhile (C44)", () => {
  const memory = side("memory.requests", { cooldownMs: 0 });
  const story = new Story({
    pod: pod({ containers: [container(), container({ name: "aux" })] }),
    contenders: [policy({ sides: [side("cpu.requests", { cooldownMs: 0 }), memory], cooldownMs: 0 }), AUX],
    load: { cpu: 90 },
    answer: { kind: "refused", reason: "RetryLater", message: "busy", resources: [], waitMs: 40 * SECOND },
  });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
  const busyAt = story.now;
  story.use({ cpu: 60, memory: 120 * MI }).use({ cpu: 95 }, "aux");
  story.poll(5);
  assertEquals([story.reason("web"), story.reason("aux"), story.requests.length], ["RetryLater", "RetryLater", 1]);
  story.answer = "enact";
  story.pollToRequest();
  assertEquals(story.now - busyAt, 40 * SECOND);
});

Deno.test("decideSize() asks at once for what else is wanted when a server that was busy has accepted something (C44)", () => {
  const sides = [side("cpu.requests", { cooldownMs: 0 }), side("memory.requests", { cooldownMs: 0 })];
  const story = new Story({
    contenders: [policy({ sides, cooldownMs: 0 })],
    load: { cpu: 90 },
    answer: { kind: "refused", reason: "RetryLater", message: "busy", resources: [], waitMs: null },
  });
  story.pollToRequest();
  story.answer = "enact";
  story.pollToRequest();
  assertEquals(story.state.containers["main"]?.refusals, {});
});

const ERRING = {
  containers: [container(), container({ name: "aux", spec: { ...SIZE, "memory.limits": 160 * MI }, reported: SIZE })],
  inProgress: condition("Error", START - MINUTE),
  resizes: [resizeEntry("podfit.aux", START - MINUTE, { aux: ["memory.limits"] })],
};

Deno.test("decideSize() gives up the failing resize of a container whose autoscaler is gone, for its siblings (C47)", () => {
  const story = new Story({ pod: pod(ERRING), contenders: [policy()], load: { cpu: 90 } });
  const order = story.pollToRequest();
  assertEquals([order.action, order.container, order.to, order.autoscaler], ["revert", "aux", SIZE, "uid-of-web"]);
  story.change({ inProgress: null });
  assertEquals(story.pollToRequest().container, "main");
  assertEquals(Object.keys(story.state.containers), ["main"], "nothing is remembered of it any longer");
});

Deno.test("decideSize() waits after a refused revert of a container whose autoscaler is gone (C44, C47)", () => {
  const story = new Story({ pod: pod(ERRING), contenders: [policy()], load: { cpu: 60 } });
  story.answer = { kind: "refused", reason: "Quota", message: "", resources: [], waitMs: null };
  story.pollToRequest();
  const refusedAt = story.now;
  story.pollToRequest();
  assertEquals(story.now - refusedAt, 30 * SECOND);
});

Deno.test("decideSize() leaves a failing resize of another's in a container without an autoscaler alone (C47)", () => {
  const resizes = [resizeEntry("kubectl", START - MINUTE, { aux: ["memory.limits"] })];
  const story = new Story({ pod: pod({ ...ERRING, resizes }), contenders: [policy()], load: { cpu: 60 } });
  story.poll(40);
  assertEquals(story.requests, []);
});

const BIG = { ...SIZE, "cpu.requests": 180 };
const OURS = [resizeEntry("podfit.main", START - 60 * MINUTE, { main: ["cpu.requests"] })];

Deno.test("decideSize() counts a condition from when it was first seen, where the node's clock is off (C47)", () => {
  for (const offsetMs of [-60 * MINUTE, 60 * MINUTE]) {
    const story = new Story({ pod: pod({ resizes: OURS }), load: { cpu: 60 } });
    story.poll(3);
    const containers = [container({ spec: BIG, reported: SIZE })];
    story.change({ containers, pending: condition("Deferred", story.now + offsetMs) });
    const seenAt = story.now;
    assertEquals([story.pollToRequest(100).action, story.now - seenAt], ["revert", 5 * MINUTE], `${offsetMs}`);
  }
});

Deno.test("decideSize() counts a condition that has another reason anew, though its time stays (C47)", () => {
  const containers = [container({ spec: BIG, reported: SIZE })];
  const story = new Story({
    pod: pod({ containers, resizes: OURS, inProgress: condition("", START - 60 * MINUTE) }),
    load: { cpu: 60 },
  });
  story.poll(3);
  story.change({ inProgress: condition("Error", START - 60 * MINUTE) });
  const failedAt = story.now;
  assertEquals([story.pollToRequest(100).action, story.now - failedAt], ["revert", 30 * SECOND]);
});

Deno.test("decideSize() begins a delay no earlier than podfit last saw the pod, where the node's clock is behind (C24)", () => {
  const contenders = [policy({ after: "podReady", delayMs: 60 * SECOND })];
  const story = new Story({ pod: pod({ readyAt: null }), contenders, load: { cpu: 90 } });
  story.poll(5);
  const seenAt = story.now;
  story.wait(2 * SECOND).change({ readyAt: START - 60 * MINUTE });
  story.pollToRequest();
  assertEquals(story.now - seenAt, 62 * SECOND, "the first poll of the 5 s after its end");
});

Deno.test("decideSize() resizes and reverts nothing while a request is not answered yet (C23, C41)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.inFlight = true;
  story.poll(5);
  assertEquals([story.requests, story.reason(), story.notices], [[], "ResizeInProgress", []]);
  story.change({
    containers: [container({ spec: BIG, reported: SIZE })],
    resizes: OURS,
    pending: condition("Infeasible"),
  });
  story.use({ cpu: 60 }).poll(5);
  assertEquals(story.requests, []);
  story.inFlight = false;
  assertEquals(story.pollToRequest().action, "revert");
});
