/**
 * Every reason for which a wanted resize must wait, one row each: what differs, and the reason.
 * Clauses: C24, C35, C41, C46.
 */
import { assertEquals } from "#assert";
import { GATES } from "../../lib/vertical/gates/gates.ts";
import { newSampling } from "../../lib/vertical/samples.ts";
import type { Streak } from "../../lib/model/state.ts";
import { BLOCK_REASONS, HOLD_REASONS } from "../../lib/model/reasons.ts";
import { container, MI, resizeEntry, resources, SECOND, SIZE, START } from "../support/builders.ts";
import { candidate, type Differs, findFirstObjection, SAMPLE, VIEW } from "./candidates.ts";

const stuck = (reason: string, agoMs: number) => ({ reason, message: "no room", since: START - agoMs });
const BIG = { ...SIZE, "cpu.requests": 180 };
const ours = [resizeEntry("podfit.main", START - 60 * SECOND, { main: ["cpu.requests"] })];
const theirs = [resizeEntry("kubectl", START - 60 * SECOND, { main: ["cpu.requests"] })];
const down: Differs["candidate"] = { action: "scaleDown", to: { ...SIZE, "cpu.requests": 50 } };
/** The first and the newest sample, seconds ago. */
const seen = (sinceS: number, untilS: number) => ({
  ...VIEW,
  sampling: { ...VIEW.sampling, sample: SAMPLE },
  evidence: { since: START - sinceS * SECOND, until: START - untilS * SECOND, sides: {} },
});
const SATURATED: Streak = {
  direction: "up",
  count: 1,
  peakUsage: 1,
  olderPeakUsage: null,
  isSaturated: true,
  peakUsageBytes: null,
  olderPeakUsageBytes: null,
};
const EQUAL = { ...SIZE, "cpu.requests": 200, "memory.requests": 256 * MI };

const ROWS: readonly [string, Differs, string | null][] = [
  ["goes when nothing is in the way", {}, null],
  ["waits for a container that does not run", { container: { runningAt: null } }, "NotRunning"],

  ["after running: needs no readiness (C24)", { containerState: { readySince: null }, pod: { readyAt: null } }, null],
  ["after containerReady: waits for the container (C24)", {
    policy: { after: "containerReady" },
    containerState: { readySince: null },
  }, "NotReady"],
  ["after containerReady: goes when it is", { policy: { after: "containerReady" }, pod: { readyAt: null } }, null],
  ["after podReady: waits for the pod (C24)", { policy: { after: "podReady" }, pod: { readyAt: null } }, "NotReady"],
  ["after podReady: goes when it is", { policy: { after: "podReady" }, containerState: { readySince: null } }, null],

  ["delays from the start of the container", {
    policy: { delayMs: 15 * SECOND },
    container: { runningAt: START - 14_999 },
  }, "Delay"],
  ["ends the delay on time", { policy: { delayMs: 15 * SECOND }, container: { runningAt: START - 15_000 } }, null],
  ["delays from readiness", {
    policy: { after: "containerReady", delayMs: 15 * SECOND },
    containerState: { readySince: START - 10 * SECOND },
  }, "Delay"],
  ["delays from the pod's readiness", {
    policy: { after: "podReady", delayMs: 15 * SECOND },
    pod: { readyAt: START - 10 * SECOND },
  }, "Delay"],
  ["delays anew when the container restarted while the pod stayed Ready (C43)", {
    policy: { after: "podReady", delayMs: 15 * SECOND },
    container: { runningAt: START - 10 * SECOND },
  }, "Delay"],
  ["counts a start by a clock that is ahead from now", {
    policy: { delayMs: 15 * SECOND },
    container: { runningAt: START + 60 * SECOND },
  }, "Delay"],
  ["goes at once with a delay of 0s", { policy: { delayMs: 0 }, container: { runningAt: START } }, null],

  ["has seen one sample of what runs for longer than this podfit leads (C55)", {
    container: { runningAt: START - 60 * SECOND },
    ledSince: START - 30 * SECOND,
    candidate: { view: seen(0, 0) },
  }, "Warmup"],
  ["goes by one sample of memory at its limit, though it leads anew (L11, C55)", {
    container: { runningAt: START - 60 * SECOND },
    ledSince: START - 30 * SECOND,
    candidate: {
      view: { ...seen(0, 0), streaks: { "memory.limits": SATURATED } },
      proposals: [{ side: "memory.limits", direction: "up", amount: 150 * MI, why: "", cause: "usage" }],
    },
  }, null],
  ["goes by an OOM kill before any sample, though it leads anew (L11, C55)", {
    container: { runningAt: START - 60 * SECOND },
    ledSince: START - 30 * SECOND,
    candidate: {
      view: VIEW,
      proposals: [{ side: "memory.limits", direction: "up", amount: 150 * MI, why: "", cause: "oom" }],
    },
  }, null],
  ["goes by its siblings before any sample, though it leads anew (L40, C55)", {
    container: { runningAt: START - 60 * SECOND },
    ledSince: START - 30 * SECOND,
    candidate: {
      view: VIEW,
      proposals: [{ side: "cpu.requests", direction: "up", amount: 150, why: "", cause: "newPod" }],
    },
  }, null],
  ["has seen two of it (C55)", {
    container: { runningAt: START - 60 * SECOND },
    ledSince: START - 30 * SECOND,
    candidate: { view: seen(10, 0) },
  }, null],
  ["has seen one of what has come since it leads (C55)", {
    container: { runningAt: START - 20 * SECOND },
    ledSince: START - 30 * SECOND,
    candidate: { view: seen(0, 0) },
  }, null],
  ["has seen one where nobody else may have led (C55)", {
    container: { runningAt: START - 60 * SECOND },
    candidate: { view: seen(0, 0) },
  }, null],

  ["waits for the kubelet to see a generation", { pod: { generation: 2 } }, "ResizeInProgress"],
  ["waits for the generation that a PATCH was answered with", { state: { generation: 2 } }, "ResizeInProgress"],
  ["waits for a resize in progress", { pod: { inProgress: stuck("", 0) } }, "ResizeInProgress"],
  ["lets no scale-down pass a resize in progress", {
    pod: { inProgress: stuck("", 0) },
    candidate: down,
  }, "ResizeInProgress"],
  ["scales up nothing over a deferred resize", { pod: { pending: stuck("Deferred", 0) } }, "ResizeDeferred"],
  ["scales up nothing over an infeasible resize", { pod: { pending: stuck("Infeasible", 0) } }, "ResizeInfeasible"],
  ["scales down over a deferred resize", { pod: { pending: stuck("Deferred", 0) }, candidate: down }, null],
  ["scales down over an infeasible resize (C41)", { pod: { pending: stuck("Infeasible", 0) }, candidate: down }, null],
  ["waits for 30s on a resize that fails", {
    container: { spec: BIG, reported: SIZE },
    pod: { inProgress: stuck("Error", 29_999), resizes: ours },
  }, "ResizeError"],
  ["writes over its own failed resize after 30s (C47)", {
    container: { spec: BIG, reported: SIZE },
    pod: { inProgress: stuck("Error", 30_000), resizes: ours },
  }, null],
  ["never writes over the failed resize of another (C47)", {
    container: { spec: BIG, reported: SIZE },
    pod: { inProgress: stuck("Error", 60_000), resizes: theirs },
  }, "ResizeError"],
  ["waits for allocation where the kubelet tells no generation", {
    container: { allocated: resources({ "cpu.requests": 90, "memory.requests": 128 * MI }) },
    pod: { observedGeneration: null },
  }, "ResizeInProgress"],
  ["waits for a bare difference", {
    container: { spec: BIG, reported: SIZE },
    state: { differingSince: START - 29_999 },
  }, "ResizeInProgress"],
  ["waits no longer than 30s for it", {
    container: { spec: BIG, reported: SIZE },
    state: { differingSince: START - 30_000 },
  }, null],

  [
    "waits for the newer pod after a conflict",
    { state: { conflict: { resourceVersion: "100", at: START } } },
    "RetryLater",
  ],

  ["turns no Burstable pod Guaranteed", { candidate: { to: EQUAL } }, "QoSInvariantBlocked"],
  [
    "turns no Guaranteed pod Burstable",
    { container: { spec: EQUAL }, pod: { qosClass: "Guaranteed" } },
    "QoSInvariantBlocked",
  ],
  ["judges by the pod's own size alone where it has one", {
    pod: { podResources: resources({ "cpu.requests": 300 }) },
    candidate: { to: EQUAL },
  }, null],
  [
    "leaves the class to the server where the pod shows none",
    { pod: { qosClass: null }, candidate: { to: EQUAL } },
    null,
  ],

  ["resizes nothing in a dry run", { dryRun: true }, "DryRun"],

  ["acts on no usage that was first seen a minute ago (C22)", {
    candidate: {
      view: { ...VIEW, sampling: { ...newSampling(START), sample: { ...SAMPLE, seenAt: START - 60_000 } } },
    },
  }, "MetricsUnavailable"],
  ["acts on usage that is younger", {
    candidate: {
      view: { ...VIEW, sampling: { ...newSampling(START), sample: { ...SAMPLE, seenAt: START - 59_999 } } },
    },
  }, null],
  ["waits for the cooldown (C36)", { containerState: { resizedAt: START - 119_999 } }, "Cooldown"],
  ["goes when the cooldown ends", { containerState: { resizedAt: START - 120_000 } }, null],
  ["asks for no size that the spec has already", { candidate: { changes: [] } }, "AtTarget"],
  ["says so while the kubelet is at work on that size", {
    candidate: { changes: [] },
    pod: { inProgress: stuck("", 0) },
  }, "ResizeInProgress"],
  ["lets a container of the same pod go first (C12)", { candidate: { ahead: "proxy" } }, "ResizeInProgress"],
];

for (const [sentence, differs, reason] of ROWS) {
  Deno.test(`findFirstObjection() ${sentence}`, () => {
    assertEquals(findFirstObjection(candidate(differs))?.reason ?? null, reason);
  });
}

Deno.test("findFirstObjection() counts other containers into the QoS class (C35)", () => {
  const sidecar = container({ name: "proxy", kind: "sidecar", spec: resources({ "cpu.requests": 10 }) });
  for (const other of [sidecar, { ...sidecar, kind: "container" }, { ...sidecar, kind: "init" }] as const) {
    const differs: Differs = { pod: { containers: [container(), other] }, candidate: { to: EQUAL } };
    assertEquals(findFirstObjection(candidate(differs)), null, other.kind);
  }
});

Deno.test("findFirstObjection() says until when a delay lasts, and for which sides", () => {
  const objection = findFirstObjection(
    candidate({ policy: { delayMs: 15 * SECOND }, container: { runningAt: START - 4500 } }),
  );
  assertEquals(objection?.kind === "blocked" && [objection.until, objection.sides], [
    START + 10_500,
    ["cpu.requests"],
  ]);
});

const REASONS: readonly string[] = [...BLOCK_REASONS, ...HOLD_REASONS];

Deno.test("GATES object with reasons of the closed list only (C53)", () => {
  const given = ROWS.flatMap(([, differs]) => findFirstObjection(candidate(differs))?.reason ?? []);
  assertEquals(given.filter((reason) => !REASONS.includes(reason)), []);
  const names = Object.keys(GATES);
  assertEquals([names[0], names.at(-1)], ["fresh", "siblingDone"]);
});
