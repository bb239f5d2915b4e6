/**
 * Fields that node, namespace and version hold, while the others go on.
 * Clauses: L30 to L33.
 */
import { assertEquals } from "#assert";
import { NO_RESOURCES } from "../../lib/units/resources.ts";
import {
  container,
  MI,
  MINUTE,
  pod,
  policy,
  resizeEntry,
  resources,
  SECOND,
  side,
  SIZE,
  START,
} from "../support/builders.ts";
import { Story } from "../support/story.ts";
import { candidate, findFirstObjection } from "./candidates.ts";

const CPU = [
  side("cpu.requests"),
  side("cpu.limits", { scaleUpThresholdPercent: 90, scaleDownThresholdPercent: 0, targetUtilizationPercent: 70 }),
];
const FULL = { cpuMillicores: 0, memoryBytes: 1024 * MI };

Deno.test("decideSize() holds a request that does not fit, and its limit goes (L30, L31)", () => {
  const story = new Story({ contenders: [policy({ sides: CPU })], load: { cpu: 190 }, surroundings: { room: FULL } });
  const { changes, to } = story.pollToRequest();
  assertEquals([changes, to["cpu.requests"], to["cpu.limits"]], [["cpu.limits"], 100, 272]);
});

Deno.test("decideSize() sends nothing for a request that does not fit, and tells it once (L30)", () => {
  const story = new Story({ load: { cpu: 90 }, surroundings: { room: FULL } });
  story.poll(200);
  assertEquals([story.requests, story.reason()], [[], "NodeCapacity"]);
  assertEquals(story.notified(), ["ScaleFailed"]);
  assertEquals(
    story.notices[0]?.message,
    'scaleUp of container "main" of pod "web-1" is blocked (NodeCapacity): cpu.requests stays at 100m: the node has ' +
      "room for 0 more",
  );
});

Deno.test("decideSize() tells once of a held request, though its limit is resized again and again (L30)", () => {
  const story = new Story({ contenders: [policy({ sides: CPU })], load: { cpu: 190 }, surroundings: { room: FULL } });
  for (const cpu of [190, 260, 350, 480]) {
    story.use({ cpu });
    story.pollToRequest(100);
  }
  story.poll(20);
  assertEquals(story.notified().filter((name) => name === "ScaleFailed").length, 1);
  // Nothing is wanted for a while: then it is news again.
  story.use({ cpu: 60 }).poll(30);
  story.use({ cpu: 480 }).poll(60);
  assertEquals(story.notified().filter((name) => name === "ScaleFailed").length, 2);
});

Deno.test("decideSize() goes as soon as a change shows room, between two polls (L30)", () => {
  const story = new Story({ load: { cpu: 90 }, surroundings: { room: FULL } });
  story.poll(10);
  story.surroundings = { ...story.surroundings, room: { cpuMillicores: 20, memoryBytes: 0 } };
  const { request } = story.observe({ kind: "changed" });
  assertEquals([request?.to["cpu.requests"], request?.why], [120, "cpu.requests at 90 %, capped by node"]);
});

Deno.test("decideSize() lets memory go while cpu has no room (L31)", () => {
  const sides = [side("cpu.requests"), side("memory.requests")];
  const story = new Story({
    contenders: [policy({ sides })],
    load: { cpu: 90, memory: 120 * MI },
    surroundings: { room: FULL },
  });
  assertEquals(story.pollToRequest().changes, ["memory.requests"]);
});

Deno.test("decideSize() holds a side that a quota or a limit range leaves no more, and the others go (L31, L32)", () => {
  const sides = [side("cpu.requests"), side("memory.requests")];
  const NONE = { cpu: null, memory: null };
  const range = {
    name: "sizes",
    type: "Container" as const,
    min: NONE,
    max: { cpu: 100, memory: null },
    maxLimitRequestRatio: NONE,
    defaults: NO_RESOURCES,
  };
  const one = container({ spec: { ...SIZE, "cpu.limits": 100 } });
  for (
    const limits of [
      { ranges: [], quota: resources({ "cpu.requests": 0 }) },
      { ranges: [range], quota: NO_RESOURCES },
    ]
  ) {
    const story = new Story({
      pod: pod({ containers: [one] }),
      contenders: [policy({ sides })],
      load: { cpu: 90, memory: 120 * MI },
      surroundings: { limits },
    });
    assertEquals(story.pollToRequest().changes, ["memory.requests"]);
    assertEquals(story.notified()[0], "ScaleFailed");
  }
});

Deno.test("a limit range that the resized pod would break, or fill in, holds it; a ratio holds the limit alone (L32)", () => {
  const NONE = { cpu: null, memory: null };
  const RANGE = { name: "r", type: "Container" as const, min: NONE, max: NONE, maxLimitRequestRatio: NONE };
  const ask = (rule: object, differs = {}) => {
    const limits = { ranges: [{ ...RANGE, defaults: NO_RESOURCES, ...rule }], quota: NO_RESOURCES };
    const found = findFirstObjection(candidate({ limits, ...differs }));
    return found === null ? null : [found.reason, ...found.sides];
  };
  assertEquals(ask({}), null);
  assertEquals(ask({ min: { cpu: null, memory: 200 * MI } }), ["LimitRange", "cpu.requests"]);
  const bare = container({ spec: { ...SIZE, "memory.limits": null } });
  assertEquals(ask({ defaults: SIZE }, { pod: { containers: [bare] } }), null, "nothing is missing of what moves");
  const lacking = { ...SIZE, "memory.limits": null, "cpu.requests": 150 };
  assertEquals(ask({ defaults: SIZE }, { candidate: { to: lacking } }), ["LimitRange", "cpu.requests"]);
  const both = {
    moving: ["cpu.requests", "cpu.limits"] as const,
    to: { ...SIZE, "cpu.requests": 150, "cpu.limits": 400 },
  };
  const ratio = { maxLimitRequestRatio: { cpu: 2, memory: null } };
  assertEquals(ask(ratio, { candidate: both }), ["LimitRange", "cpu.limits"]);
  const down = { moving: ["cpu.requests"] as const, to: { ...SIZE, "cpu.requests": 50 }, direction: "down" as const };
  assertEquals(ask(ratio, { candidate: down }), ["LimitRange", "cpu.requests"]);
});

const MEMORY = [side("memory.requests"), side("memory.limits")];

Deno.test("decideSize() lowers no memory limit before Kubernetes 1.34, says so once, and lowers the request (L33)", () => {
  const lowersMemoryLimits = false;
  const story = new Story({
    contenders: [policy({ sides: MEMORY })],
    load: { cpu: 60, memory: 30 * MI },
    surroundings: { lowersMemoryLimits },
  });
  assertEquals(story.pollToRequest().changes, ["memory.requests"]);
  story.poll(100);
  assertEquals([story.requests.length, story.reason()], [1, "Unsupported"]);
  assertEquals(story.notified().filter((name) => name === "ScaleFailed").length, 1);
  const restarting = container({ restartsOn: { cpu: false, memory: true } });
  const other = new Story({
    pod: pod({ containers: [restarting] }),
    contenders: [policy({ sides: MEMORY })],
    load: { cpu: 60, memory: 30 * MI },
    surroundings: { lowersMemoryLimits },
  });
  assertEquals(other.pollToRequest().changes, ["memory.requests", "memory.limits"]);
});

Deno.test("decideSize() raises a memory limit before Kubernetes 1.34 (L33)", () => {
  const story = new Story({
    contenders: [policy({ sides: MEMORY })],
    load: { cpu: 60, memory: 240 * MI },
    surroundings: { lowersMemoryLimits: false },
  });
  assertEquals(story.pollToRequest().changes, ["memory.requests", "memory.limits"]);
});

const BIG = { ...SIZE, "cpu.requests": 180 };
const DEFERRED = { reason: "Deferred", message: "no room", since: START };
const OURS = [resizeEntry("podfit.main", START, { main: ["cpu.requests"] })];

/** podfit has commanded 180m of cpu, which waits; 240 of 256Mi of memory are used, which wants its limit up. */
function waiting(facts: Parameters<typeof pod>[0] = {}, cpu = 60): Story {
  return new Story({
    pod: pod({ containers: [container({ spec: BIG, reported: SIZE })], pending: DEFERRED, resizes: OURS, ...facts }),
    contenders: [policy({ sides: [side("cpu.requests"), side("memory.limits")] })],
    load: { cpu, memory: 240 * MI },
    answer: "hold",
  });
}

Deno.test("decideSize() takes back what of its own waits for room, in one PATCH with what can go (L31)", () => {
  const { action, from, to, changes, givesUp } = waiting().pollToRequest();
  assertEquals([action, changes], ["scaleUp", ["cpu.requests", "memory.limits"]]);
  assertEquals([from, to], [SIZE, { ...SIZE, "memory.limits": 400 * MI }]);
  assertEquals(givesUp, BIG);
});

Deno.test("decideSize() takes it back beside a plain init container, whatever size that had (L31)", () => {
  const setup = container({ name: "setup", kind: "init", spec: BIG, reported: SIZE });
  const request = waiting({ containers: [container({ spec: BIG, reported: SIZE }), setup] }).pollToRequest();
  assertEquals(request.changes, ["cpu.requests", "memory.limits"]);
});

Deno.test("decideSize() takes it back too where it is still wanted, and that waits on (L31)", () => {
  const { to, changes } = waiting({}, 95).pollToRequest();
  assertEquals([changes, to["cpu.requests"]], [["cpu.requests", "memory.limits"], 100]);
});

Deno.test("decideSize() makes what it took back wait like a refused size where room is unknown (L31)", () => {
  const story = waiting({}, 95);
  const request = story.pollToRequest();
  story.reply(request, "enact");
  const { "cpu.requests": cpu, "memory.limits": memory } = story.state.containers["main"]?.refusals ?? {};
  assertEquals([cpu?.givenUp?.reason, cpu?.givenUp?.to, cpu?.givenUp?.action, memory], [
    "ResizeDeferred",
    180,
    "scaleUp",
    undefined,
  ]);
  assertEquals([story.scaled[0]?.change], ["memory.limits 256Mi -> 400Mi"]);
});

Deno.test("decideSize() leaves what it took back to the room where that is known (L31)", () => {
  const story = waiting({}, 95);
  story.surroundings = { ...story.surroundings, room: { cpuMillicores: -80, memoryBytes: 0 } };
  const request = story.pollToRequest();
  assertEquals([request.to["cpu.requests"], request.givesUp], [100, null]);
});

Deno.test("decideSize() fits a request that waits into the room there is (L30, L31)", () => {
  const story = waiting({}, 95);
  story.use({ memory: 150 * MI });
  story.surroundings = { ...story.surroundings, room: { cpuMillicores: -50, memoryBytes: 0 } };
  const { changes, to } = story.pollToRequest();
  assertEquals([changes, to["cpu.requests"]], [["cpu.requests"], 130]);
});

/** [sentence, facts] */
const LEFT: readonly [string, Parameters<typeof pod>[0]][] = [
  ["that another has commanded", { resizes: [resizeEntry("kubectl", START, { main: ["cpu.requests"] })] }],
  ["beside which another's waits", {
    containers: [
      container({ spec: BIG, reported: SIZE }),
      container({ name: "aux", spec: BIG, reported: SIZE }),
    ],
  }],
  ["that is of podfit's and another's", {
    containers: [container({ spec: { ...BIG, "memory.requests": 200 * MI }, reported: SIZE })],
  }],
];
for (const [sentence, facts] of LEFT) {
  Deno.test(`decideSize() only reports a waiting resize ${sentence} (L31)`, () => {
    const story = waiting(facts);
    story.poll(30);
    assertEquals([story.requests, story.reason()], [[], "ResizeDeferred"]);
  });
}

Deno.test("decideSize() sends nothing again where only what waits is wanted (L31)", () => {
  const story = waiting({}, 95);
  story.use({ memory: 150 * MI }).poll(40);
  assertEquals([story.requests, story.reason()], [[], "ResizeDeferred"]);
});

Deno.test("decideSize() gives up at once what waits for room in one container and holds up another (L31)", () => {
  const aux = container({ name: "aux", instance: "containerd://2" });
  const story = new Story({
    pod: pod({ containers: [container({ spec: BIG, reported: SIZE }), aux], pending: DEFERRED, resizes: OURS }),
    contenders: [policy(), policy({ name: "second", containerName: "aux" })],
    load: { cpu: 60 },
  }).use({ cpu: 95 }, "aux");
  story.pollToRequest();
  const sent = story.requests.map(({ action, container }) => `${action} ${container}`);
  assertEquals([sent, story.now - START < MINUTE], [["revert main", "scaleUp aux"], true]);
});

Deno.test("decideSize() gives up nothing at once beside a waiting resize of somebody else, but beside its own (L31)", () => {
  for (const [manager, isOwn] of [["podfit.third", true], ["kubectl", false]] as const) {
    const containers = [
      container({ spec: BIG, reported: SIZE }),
      container({ name: "aux", instance: "containerd://2" }),
      container({ name: "third", instance: "containerd://3", spec: BIG, reported: SIZE }),
    ];
    const resizes = [...OURS, resizeEntry(manager, START, { third: ["cpu.requests"] })];
    const story = new Story({
      pod: pod({ containers, pending: DEFERRED, resizes }),
      contenders: [policy(), policy({ name: "second", containerName: "aux" })],
      load: { cpu: 60 },
      answer: "hold",
    }).use({ cpu: 95 }, "aux");
    // Past the cooldown after the resize of somebody else, and before five minutes have passed.
    story.poll(40);
    assertEquals(story.requests.map(({ action, container }) => `${action} ${container}`), isOwn ? ["revert main"] : []);
  }
});

Deno.test("decideSize() lets a limit go whose request the node refused (L31)", () => {
  const refused = {
    kind: "refused",
    reason: "NodeCapacity",
    message: "cpu",
    resources: ["cpu"],
    waitMs: null,
  } as const;
  const story = new Story({ contenders: [policy({ sides: CPU })], load: { cpu: 190 }, answer: refused });
  assertEquals(story.pollToRequest().changes, ["cpu.requests", "cpu.limits"]);
  story.answer = "enact";
  assertEquals([story.pollToRequest().changes, (story.now - START) / SECOND < 30], [["cpu.limits"], true]);
});
