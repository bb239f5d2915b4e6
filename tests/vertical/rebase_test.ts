/** A wall clock that stepped back: nothing in the state lies ahead of now, and what lies behind stays as it was. */
import {
  type AutoscalerView,
  type ContainerState,
  NEW_POD_STATE,
  NO_EVIDENCE,
  NO_SHORTAGE,
  type PodState,
} from "../../lib/model/state.ts";
import { assertEquals } from "#assert";
import { rebase } from "../../lib/vertical/clock_steps.ts";
import { newSampling } from "../../lib/vertical/samples.ts";
import type { Refusals, SizeRefusal } from "../../lib/model/container_history.ts";
import { MI, MINUTE, policy, request, SECOND, SIZE, START } from "../support/builders.ts";

const UID = "uid-of-web";
const QUOTA: SizeRefusal = {
  kind: "size",
  reason: "Quota",
  message: "",
  until: 0,
  waitMs: 30 * SECOND,
  action: "scaleUp",
  podGeneration: 1,
  autoscaler: UID,
  autoscalerGeneration: 1,
  to: 150,
};

/** Everything that can be dated is dated `at`; the pod was evaluated last at that time. */
function stateOf(at: number): PodState {
  const { until: _, to, kind, reason, ...wait } = QUOTA;
  const until = at + QUOTA.waitMs;
  const refusals: Refusals = {
    "cpu.requests": {
      everything: { ...wait, kind: "everything", reason: "RetryLater", until },
      size: { ...wait, kind, reason, until, to },
      givenUp: { ...wait, kind: "givenUp", reason: "ResizeInfeasible", until, to },
    },
  };
  const container: ContainerState = {
    instance: "containerd://1",
    running: { at: START - MINUTE, since: at },
    readySince: at,
    podReady: { at: START - MINUTE, since: at },
    actual: SIZE,
    countsFrom: at,
    resizedAt: at,
    raisedAt: at,
    entryAt: null,
    revertedAt: at,
    refusals,
    isInherited: false,
    endings: [{ id: "containerd://0", at, kind: "oom", limitBytes: 64 * MI }],
    reflex: null,
    killFloor: { bytes: 77 * MI, until: at + 24 * 60 * MINUTE },
  };
  const view: AutoscalerView = {
    generation: 1,
    container: "main",
    dueAt: at + 5 * SECOND,
    sampling: {
      ...newSampling(at),
      sample: {
        at,
        from: at - 5 * SECOND,
        seenAt: at,
        cpuMillicores: 90,
        heldBack: null,
        isSaturated: false,
        demandMillicores: 90,
        workingSetBytes: 0,
        usageBytes: null,
        podUsageBytes: null,
      },
    },
    streaks: {},
    evidence: NO_EVIDENCE,
    wantedSince: at,
    shortage: NO_SHORTAGE,
    limited: null,
    vetoedSince: at,
    silentSince: at,
    notified: {},
  };
  return {
    ...NEW_POD_STATE,
    at,
    containers: { main: container },
    views: { [UID]: view },
    pendingSince: { reason: "Deferred", at, since: at },
    inProgressSince: { reason: "", at, since: at },
    differingSince: at,
    conflict: { resourceVersion: "100", at },
    command: { container: "main", autoscaler: UID, action: "scaleUp", generation: 2, at, to: SIZE },
    unconfirmed: [{ ...request(), at }],
  };
}

const main = (state: PodState) => state.containers["main"];
const view = (state: PodState) => state.views[UID];
const untils = (state: PodState) =>
  Object.values(main(state)?.refusals["cpu.requests"] ?? {}).map(({ until }) => until);

/** [what it is, where it stands, what it is after the step]; the clock goes from an hour after START back to START. */
const FIELDS: readonly [string, (state: PodState) => unknown, unknown][] = [
  ["the start of a container, from which a delay runs (C24)", (state) => main(state)?.running?.since, START],
  ["the readiness of a container, from which a delay runs (C24)", (state) => main(state)?.readySince, START],
  ["the readiness of the pod, from which a delay runs (C24)", (state) => main(state)?.podReady?.since, START],
  ["the time from which samples count (C31)", (state) => main(state)?.countsFrom, START],
  ["the last resize, from which a cooldown runs (C42)", (state) => main(state)?.resizedAt, START],
  ["the last revert, from which a cooldown runs (C47)", (state) => main(state)?.revertedAt, START],
  ["the end of the wait after a refusal, of each kind (C44)", untils, [START, START, START]],
  ["the next evaluation, in whole intervals (C20)", (state) => view(state)?.dueAt, START],
  ["the beginning of a silence (C22)", (state) => view(state)?.silentSince, START],
  ["the time of anything new, from which a silence is counted (C22)", (state) => view(state)?.sampling.newAt, START],
  ["the time at which a sample was seen (C22)", (state) => view(state)?.sampling.sample?.seenAt, START],
  ["the beginning of a pending condition (C47)", (state) => state.pendingSince?.since, START],
  ["the beginning of a condition in progress (C47)", (state) => state.inProgressSince?.since, START],
  ["the beginning of a bare difference (C41)", (state) => state.differingSince, START],
  ["an OOM kill, which is answered for ten minutes (L10)", (state) => main(state)?.endings.map(({ at }) => at), [
    START,
  ]],
  ["the end of a floor after an OOM kill (L12)", (state) => main(state)?.killFloor?.until, START + 24 * 60 * MINUTE],
  ["a conflict: it is over (C40)", (state) => state.conflict, null],
  ["the accepted PATCH, from which the time to apply runs (C45)", (state) => state.command?.at, START],
  ["a request without an answer (C45)", (state) => state.unconfirmed.map(({ at }) => at), [START]],
];
for (const [sentence, read, expected] of FIELDS) {
  Deno.test(`rebase() moves back ${sentence}`, () => {
    const state = stateOf(START + 60 * MINUTE);
    assertEquals(read(rebase(state, { now: START, contenders: [policy()] })), expected);
  });
}

Deno.test("rebase() leaves alone what lies behind the new time: cooldowns, delays and waits run on (C24, C42, C44)", () => {
  const before = stateOf(START - 10 * SECOND);
  const state = { ...before, at: START + 60 * MINUTE };
  assertEquals(rebase(state, { now: START, contenders: [policy()] }), { ...state, at: START });
});

Deno.test("rebase() keeps the phase of evaluations (C20)", () => {
  const contenders = [policy({ pollIntervalMs: 10 * SECOND })];
  const { views } = rebase(stateOf(START + 60 * MINUTE), { now: START, contenders });
  // It was due 5 s past a whole interval, and is so still.
  assertEquals(views[UID]?.dueAt, START - 5 * SECOND);
});

Deno.test("rebase() heeds a step of a millisecond (C42)", () => {
  const { containers } = rebase(stateOf(START + 1), { now: START, contenders: [policy()] });
  assertEquals(containers["main"]?.resizedAt, START);
});

Deno.test("rebase() gives the same object while time passes, or stands still", () => {
  const state = stateOf(START);
  assertEquals([START, START + 1].map((now) => rebase(state, { now, contenders: [policy()] }) === state), [true, true]);
});
