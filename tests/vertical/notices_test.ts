/**
 * What is reported, and how often: when it begins, and again after it ended; and the closed list of reasons.
 * Clauses: C37, C50, C53.
 */
import { assertEquals } from "#assert";
import { AUTOSCALER_REASONS, BLOCK_NOTICE, BLOCK_REASONS, HOLD_REASONS, NOTICES } from "../../lib/model/reasons.ts";
import { nextReported } from "../../lib/vertical/notices/notices.ts";
import { container, MI, pod, policy, resources, SECOND, side, SIZE } from "../support/builders.ts";
import { Story } from "../support/story.ts";

Deno.test("nextReported() is another object only for news, and changes none that it was given", () => {
  const first = nextReported({}, "block", "Quota");
  const other = nextReported(first, "block", "Rights");
  const ended = nextReported(other, "block", null);
  assertEquals([first, other, ended], [{ block: "Quota" }, { block: "Rights" }, {}]);
  assertEquals(nextReported(first, "block", "Quota") === first, true);
  assertEquals(nextReported(ended, "block", null) === ended, true);
});

const noRequest = resources({ "cpu.limits": 200, "memory.requests": 128 * MI });
const both = [policy({ sides: [side("cpu.requests"), side("memory.requests")] })];

Deno.test("decideSize() skips a side without baseline, says so once, and goes on with the others (C37)", () => {
  const story = new Story({
    pod: pod({ containers: [container({ spec: noRequest })] }),
    contenders: both,
    load: { cpu: 90, memory: 120 * MI },
  });
  assertEquals(story.pollToRequest().changes, ["memory.requests"]);
  story.poll(3);
  assertEquals(story.notified(), ["BaselineUnavailable", "ScaleUp"]);
});

Deno.test("decideSize() notifies of a baseline that came back, and its next loss (C37)", () => {
  const story = new Story({
    pod: pod({ containers: [container({ spec: noRequest })] }),
    contenders: both,
    load: { cpu: 60, memory: 60 * MI },
  });
  story.poll(3);
  story.changeContainer({ spec: SIZE, reported: SIZE });
  story.poll(3);
  story.changeContainer({ reported: { ...SIZE, "cpu.requests": 0 } });
  story.poll(3);
  assertEquals(story.notified(), ["BaselineUnavailable", "BaselineAvailable", "BaselineUnavailable"]);
});

Deno.test("decideSize() says nothing of baselines that are there from the beginning", () => {
  const story = new Story({ load: { cpu: 60 } });
  story.poll(4);
  assertEquals(story.notified(), []);
});

Deno.test("decideSize() holds BaselineUnavailable where no side has one, and adds none (C37)", () => {
  const spec = resources({ "memory.requests": 128 * MI });
  const story = new Story({ pod: pod({ containers: [container({ spec })] }), load: { cpu: 90 } });
  story.poll(5);
  assertEquals([story.reason(), story.requests], ["BaselineUnavailable", []]);
});

Deno.test("decideSize() reports a bare baseline of zero as none (C37)", () => {
  const spec = { ...SIZE, "cpu.requests": 0 };
  const story = new Story({ pod: pod({ containers: [container({ spec })] }), load: { cpu: 90 } });
  story.poll(5);
  assertEquals([story.reason(), story.notified()], ["BaselineUnavailable", ["BaselineUnavailable"]]);
});

Deno.test("decideSize() notifies of a blocking resize once, and again after it had ended (C50)", () => {
  const running = { reason: "", message: "", since: null };
  const story = new Story({ load: { cpu: 90 }, pod: pod({ inProgress: running }) });
  story.poll(6);
  assertEquals(story.notified(), ["ResizeInProgress"]);
  story.use({ cpu: 60 }).poll(2);
  story.use({ cpu: 90 }).poll(4);
  assertEquals(story.notified(), ["ResizeInProgress", "ResizeInProgress"]);
});

Deno.test("decideSize() notifies of a deferred resize once, not as a stuck one and as a block (C50)", () => {
  const story = new Story({
    load: { cpu: 90 },
    pod: pod({ pending: { reason: "Deferred", message: "", since: null } }),
  });
  story.poll(6);
  assertEquals([story.reason(), story.notified()], ["ResizeDeferred", ["ResizePending"]]);
});

/** Only its CPU request may change, and that would change the pod's QoS class. */
function blockedByQos(): Story {
  const guaranteed = { ...SIZE, "cpu.requests": 200, "memory.requests": 256 * MI };
  return new Story({
    pod: pod({ qosClass: "Guaranteed", containers: [container({ spec: guaranteed })] }),
    load: { cpu: 40 },
  });
}

Deno.test("decideSize() notifies of a QoS block once (C35, C50)", () => {
  const story = blockedByQos();
  story.poll(6);
  assertEquals([story.reason(), story.notified()], ["QoSInvariantBlocked", ["QoSInvariantBlocked"]]);
});

Deno.test("decideSize() notifies of a QoS block once, though a resize of the pod passes in between (C35, C50)", () => {
  const story = blockedByQos();
  story.poll(6);
  for (let resize = 0; resize < 2; resize++) {
    story.change({ inProgress: { reason: "", message: "", since: null } });
    story.poll(3);
    assertEquals(story.reason(), "ResizeInProgress");
    story.change({ inProgress: null });
    story.poll(3);
  }
  assertEquals([story.reason(), story.notified()], ["QoSInvariantBlocked", ["QoSInvariantBlocked"]]);
});

Deno.test("decideSize() resizes a Guaranteed pod whose requests and limits move together (C35)", () => {
  const guaranteed = { ...SIZE, "cpu.requests": 200, "memory.requests": 256 * MI };
  const story = new Story({
    pod: pod({ qosClass: "Guaranteed", containers: [container({ spec: guaranteed })] }),
    contenders: [policy({ sides: [side("cpu.requests"), side("cpu.limits")] })],
    load: { cpu: 180 },
  });
  const { to } = story.pollToRequest();
  assertEquals([to["cpu.requests"], to["cpu.limits"]], [300, 300]);
});

Deno.test("decideSize() has no event for waits that end by themselves (C53)", () => {
  const story = new Story({ load: { cpu: 90 }, contenders: [policy({ delayMs: 10 * 3600 * SECOND })] });
  story.poll(6);
  assertEquals([story.reason(), story.notified()], ["Delay", []]);
});

Deno.test("decideSize() goes on telling after a spec changed what blocks (C16, C50)", () => {
  const story = new Story({ load: { cpu: 90 }, pod: pod({ inProgress: { reason: "", message: "", since: null } }) });
  story.poll(4);
  story.contend([policy({ generation: 2 })]);
  story.poll(4);
  assertEquals(story.notified(), ["ResizeInProgress", "ResizeInProgress"]);
});

/** The table at the end of the contract, row by row. */
const TABLE: readonly [reasons: string, event: string | null][] = [
  ["Cooldown Delay NotReady NotRunning ScaleDownWindow CrashLoop ScaleInPending RetryLater DryRun", null],
  ["ResizeInProgress", "ResizeInProgress"],
  ["ResizeDeferred ResizeInfeasible ResizeError", "ResizePending"],
  ["QoSInvariantBlocked", "QoSInvariantBlocked"],
  ["RestartRequired", "ResizeMayRestart"],
  ["MaxUnavailable DisruptionBudget", "RestartWaiting"],
  ["MemoryInUse NodeCapacity Quota LimitRange PodResources Rights Invalid Unsupported", "ScaleFailed"],
];
Deno.test("BLOCK_NOTICE has the event of each reason of the closed list (C53)", () => {
  const rows = TABLE.flatMap(([reasons, event]) => reasons.split(" ").map((reason) => [reason, event] as const));
  assertEquals(rows.map(([reason]) => reason).toSorted(), BLOCK_REASONS.toSorted());
  const given = new Map<string, string | undefined>(Object.entries(BLOCK_NOTICE));
  for (const [reason, event] of rows) assertEquals(given.get(reason) ?? null, event, reason);
});

Deno.test("HOLD_REASONS and AUTOSCALER_REASONS complete the closed list (C53)", () => {
  assertEquals(
    HOLD_REASONS.toSorted(),
    "AtBound AtTarget BaselineUnavailable InBand MetricsUnavailable NotOwner NotRunning StreakShort Warmup".split(" "),
  );
  assertEquals(
    AUTOSCALER_REASONS.toSorted(),
    "ContainerNotFound Disabled InvalidSpec NamespaceExcluded OverBudget Paused TargetNotFound TooLarge TooMany".split(
      " ",
    ),
  );
});

Deno.test("NOTICES are Normal for what goes well and Warning for the rest (C50)", () => {
  const normal = Object.entries(NOTICES).filter(([, type]) => type === "Normal").map(([name]) => name);
  assertEquals(
    normal.toSorted(),
    "BaselineAvailable Inherited MetricsRecovered ResizeInProgress RestartWaiting ScaleDown ScaleUp".split(" "),
  );
  assertEquals(Object.keys(NOTICES).length, 22);
});

Deno.test("decideSize() says nothing of a baseline that a profile manages only where there is one (L50)", () => {
  const sides = [side("cpu.requests", { isOptional: true }), side("memory.requests", { isOptional: true })];
  const story = new Story({
    pod: pod({ containers: [container({ spec: noRequest })] }),
    contenders: [policy({ sides })],
    load: { cpu: 90, memory: 120 * MI },
  });
  assertEquals(story.pollToRequest().changes, ["memory.requests"]);
  story.changeContainer({ spec: SIZE, reported: SIZE });
  story.poll(3);
  assertEquals(story.notified(), ["ScaleUp"]);
});
