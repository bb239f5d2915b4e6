/** A wall clock that was set, and the fold that is told of it: it decides as if nobody had. */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { decideSize } from "../../lib/vertical/decide.ts";
import type { SizeInput, SizeOutcome } from "../../lib/model/decision.ts";
import { stepClock } from "../../lib/vertical/clock_steps.ts";
import { NEW_POD_STATE, NO_SHORTAGE, type PodState } from "../../lib/model/state.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { MINUTE, pod, policy, SECOND, side, START } from "../support/builders.ts";
import { lawPolicies, usageCurves } from "../support/law_arbitraries.ts";
import { Story } from "../support/story.ts";

/** podfit's clock is set at some moment; the pod, its node and the API server keep theirs. */
class SteppedStory extends Story {
  #offsetMs = 0;

  step(byMs: number): void {
    this.#offsetMs += byMs;
    this.state = stepClock(this.state, byMs);
  }

  override decide(before: PodState, input: SizeInput): SizeOutcome {
    const { observation } = input;
    return decideSize(before, {
      ...input,
      now: input.now + this.#offsetMs,
      observation: observation.kind === "usage" ? { ...observation, clockOffsetMs: -this.#offsetMs } : observation,
    });
  }
}

interface Curve {
  readonly contender: Autoscaler;
  readonly curve: readonly { readonly cpu: number; readonly memory: number }[];
  /** Which poll comes after the step, and how far it goes. */
  readonly stepAt: number;
  readonly byMs: number;
}

/** What was decided at each poll, and all that was sent. */
function play({ contender, curve, stepAt, byMs }: Curve) {
  const story = new SteppedStory({ pod: pod(), contenders: [contender], everyMs: 15 * SECOND });
  const reasons = curve.map((load, index) => {
    if (index === stepAt) story.step(byMs);
    story.use(load).poll();
    return story.reason();
  });
  return { reasons, requests: story.requests, notices: story.notices };
}

Deno.test("decideSize() goes on after stepClock() as if the clock had not been set, whatever its policy and load (C22, C31, C42, L2)", () => {
  let requests = 0;
  fc.assert(
    fc.property(
      lawPolicies,
      usageCurves,
      fc.integer({ min: 0, max: 60 }),
      // Whole buckets of every window.
      fc.integer({ min: -240, max: 240 }).map((steps) => steps * 30 * SECOND),
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

Deno.test("stepClock() moves each time of ours, and no time of another clock (C22)", () => {
  const OURS = 1_000_000;
  const THEIRS = 5_000;
  const state = stateOf(OURS, THEIRS);
  assertEquals(stepClock(state, 7), stateOf(OURS + 7, THEIRS));
  const shadow = (of: PodState): PodState => ({ ...NEW_POD_STATE, shadow: { sizes: {}, generation: 1, state: of } });
  assertEquals(stepClock(shadow(state), 7), { ...shadow(stateOf(OURS + 7, THEIRS)), at: 7 });
});

Deno.test("stepClock() moves peaks by whole thirtieths of their window, and leaves the usage (L2)", () => {
  const contender = policy({ sides: [side("cpu.requests", { down: { windowMs: 30 * MINUTE } })] });
  const story = new Story({ contenders: [contender], load: { cpu: 60 } });
  story.poll(3);
  const [before, after] = [story.state, stepClock(story.state, 2 * MINUTE)].map((state) =>
    state.views["uid-of-web"]?.evidence.sides["cpu.requests"]
  );
  if (before?.kind !== "peaks" || after?.kind !== "peaks") throw new Error("there are no peaks");
  assertEquals(after.pairs, before.pairs.map((one, index) => index % 2 === 0 ? one + 2 : one));
  assert((before.pairs[0] ?? 0) >= START / MINUTE);
});

/** Everything that can be dated is. */
function stateOf(ours: number, theirs: number): PodState {
  const wait = {
    message: "",
    until: ours,
    waitMs: 1,
    action: "scaleUp",
    podGeneration: 1,
    autoscaler: "",
    autoscalerGeneration: 1,
  } as const;
  const sample = {
    at: theirs,
    from: theirs,
    seenAt: ours,
    cpuMillicores: 1,
    heldBack: null,
    isSaturated: false,
    demandMillicores: 1,
    workingSetBytes: 1,
    usageBytes: null,
    podUsageBytes: null,
  };
  const anchor = { instance: "", at: theirs, counterNs: 1, pressure: null };
  const size = { "cpu.requests": 1, "cpu.limits": 1, "memory.requests": 1, "memory.limits": null };
  return {
    ...NEW_POD_STATE,
    at: ours,
    containers: {
      main: {
        instance: "",
        running: { at: theirs, since: ours },
        podReady: { at: theirs, since: ours },
        readySince: ours,
        actual: size,
        countsFrom: ours,
        resizedAt: ours,
        raisedAt: ours,
        entryAt: theirs,
        revertedAt: ours,
        refusals: {
          "cpu.requests": {
            everything: { ...wait, kind: "everything", reason: "RetryLater" },
            size: { ...wait, kind: "size", reason: "Quota", to: 1 },
            givenUp: { ...wait, kind: "givenUp", reason: "ResizeInfeasible", to: 1 },
          },
        },
        isInherited: false,
        endings: [{ id: "", at: ours, kind: "oom", limitBytes: 1 }],
        reflex: null,
        killFloor: { bytes: 1, until: ours },
      },
    },
    views: {
      web: {
        generation: 1,
        container: "main",
        dueAt: ours,
        sampling: { anchor, witness: anchor, sample, newAt: ours, warming: false },
        streaks: {},
        evidence: {
          since: ours,
          until: ours,
          sides: { "cpu.requests": { kind: "histogram", at: ours, halfLifeMs: 1, top: 1, weights: [1] } },
        },
        wantedSince: ours,
        shortage: NO_SHORTAGE,
        limited: null,
        vetoedSince: ours,
        silentSince: ours,
        notified: {},
      },
    },
    pendingSince: { reason: "", at: theirs, since: ours },
    inProgressSince: { reason: "", at: null, since: ours },
    differingSince: ours,
    conflict: { resourceVersion: "1", at: ours },
    command: { container: "main", autoscaler: "", action: "scaleUp", generation: 1, at: ours, to: size },
    unconfirmed: [],
  };
}
