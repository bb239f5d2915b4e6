/** Somebody sets podfit's wall clock: every decision is the same as if nobody had. */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { decideSize } from "../../lib/vertical/decide.ts";
import { NEW_POD_STATE } from "../../lib/model/state.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { PodFacts } from "../../lib/model/pod.ts";
import { container, input, MINUTE, pod, policy, resizeEntry, SECOND, side, START } from "../support/builders.ts";
import { lawPolicies, usageCurves } from "../support/law_arbitraries.ts";
import { Story } from "../support/story.ts";

interface Curve {
  readonly contender: Autoscaler;
  readonly curve: readonly { readonly cpu: number; readonly memory: number }[];
  /** Which poll comes after the step, and how far it goes. */
  readonly stepAt: number;
  readonly byMs: number;
}

/** What was decided at each poll, and all that was sent. */
function play({ contender, curve, stepAt, byMs }: Curve) {
  const story = new Story({ pod: pod(), contenders: [contender], everyMs: 15 * SECOND });
  const reasons = curve.map((load, index) => {
    if (index === stepAt) story.setWall(byMs);
    story.use(load).poll();
    return story.reason();
  });
  return { reasons, requests: story.requests, notices: story.notices };
}

Deno.test("decideSize() decides the same when the wall clock is set, whatever its policy and load (C22, C31, C42, L2)", () => {
  let requests = 0;
  fc.assert(
    fc.property(
      lawPolicies,
      usageCurves,
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: -7200, max: 7200 }).map((seconds) => seconds * SECOND),
      fc.boolean(),
      (drawn, curve, stepAt, byMs, recommends) => {
        const contender: Autoscaler = { ...drawn, mode: recommends ? "recommend" : "apply" };
        const [plain, stepped] = [0, byMs].map((by) => play({ contender, curve, stepAt, byMs: by }));
        assertEquals(stepped, plain);
        requests += plain?.requests.length ?? 0;
      },
    ),
    { seed: 20261122, numRuns: 100 },
  );
  assert(requests > 50, `${requests} requests`);
});

/** A pod whose writers' clocks are ahead of podfit's steady time by this. */
function podOf(aheadMs: number): PodFacts {
  const at = (agoMs: number) => START - agoMs + aheadMs;
  return pod({
    readyAt: at(5 * MINUTE),
    containersReadyAt: at(6 * MINUTE),
    pending: { reason: "Deferred", message: "", since: at(2 * MINUTE) },
    inProgress: { reason: "Error", message: "", since: at(3 * MINUTE) },
    resizes: [resizeEntry("podfit.main", at(4 * MINUTE))],
    containers: [
      container({
        runningAt: at(7 * MINUTE),
        terminations: [{ id: "containerd://0", reason: "OOMKilled", exitCode: 137, finishedAt: at(8 * MINUTE) }],
      }),
    ],
  });
}

/** The state without what it remembers of other clocks as they are. */
function withoutTheirs(json: string): string {
  return json.replaceAll(/"(?:entryAt|at)":[0-9]+/g, "");
}

for (const wallAheadMs of [60 * MINUTE, -60 * MINUTE]) {
  const how = wallAheadMs > 0 ? "ahead of" : "behind";

  Deno.test(`decideSize() dates a pod by steady time when the wall clock is an hour ${how} it (C24, C42, C47, L10)`, () => {
    const [plain, stepped] = [0, wallAheadMs].map((ms) => {
      const { state } = decideSize(
        NEW_POD_STATE,
        input({ now: START, pod: podOf(ms), ...(ms !== 0 && { wallAheadMs: ms }) }),
      );
      const { running, podReady, readySince, resizedAt, endings, killFloor } = state.containers["main"] ?? {};
      const since = [running, podReady, state.pendingSince, state.inProgressSince].map((one) => one?.since);
      const own = { since, readySince, resizedAt, endedAt: endings?.map(({ at }) => at), floor: killFloor };
      return { own, all: withoutTheirs(JSON.stringify(state)) };
    });
    assertEquals(plain?.own.since, [7, 5, 2, 3].map((minutes) => START - minutes * MINUTE));
    assertEquals(plain?.own.endedAt, [START - 8 * MINUTE]);
    assertEquals(stepped, plain);
  });

  Deno.test(`decideSize() misses usage after a minute when the wall clock is an hour ${how} steady time (C22)`, () => {
    const waited = [0, wallAheadMs].map((ms) => {
      const story = new Story({
        contenders: [policy()],
        pod: pod({ containers: [container({ runningAt: START + ms })] }),
      });
      story.setWall(ms);
      for (let turn = 0; turn < 40 && story.reason() !== "MetricsUnavailable"; turn++) {
        story.wait(5 * SECOND).observe({ kind: "tick" });
      }
      return story.now - START;
    });
    // The first tick, after 5 s, is the first sight of the pod.
    assertEquals(waited, [65 * SECOND, 65 * SECOND]);
  });

  Deno.test(`a new leader knows what started under it when the wall clock is an hour ${how} steady time (C55)`, () => {
    const reasonOf = (startedAt: number) => {
      const facts = pod({ containers: [container({ runningAt: startedAt + wallAheadMs })] });
      const contenders = [policy({ sides: [side("cpu.requests", { consecutiveSamples: 1 })] })];
      const story = new Story({ pod: facts, contenders, load: { cpu: 90 }, surroundings: { ledSince: START } });
      story.setWall(wallAheadMs).poll(2);
      return story.reason();
    };
    assertEquals([reasonOf(START - SECOND), reasonOf(START + SECOND)], ["Warmup", "scaleUp"]);
  });
}
