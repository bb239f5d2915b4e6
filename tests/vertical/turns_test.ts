/**
 * When an autoscaler is due, and the effect of silence.
 * Clauses: C20, C22, C23.
 */
import { assertEquals } from "#assert";
import { decideSize } from "../../lib/vertical/decide.ts";
import type { PodFacts } from "../../lib/model/pod.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { NEW_POD_STATE, type PodState } from "../../lib/model/state.ts";
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
  START,
  usage,
} from "../support/builders.ts";
import { Story } from "../support/story.ts";

const POLL_10 = [policy({ pollIntervalMs: 10 * SECOND })];

/** At which seconds, polled at these, the pod was evaluated. */
function turnsOf(seconds: readonly number[]): number[] {
  let state: PodState = NEW_POD_STATE;
  return seconds.filter((second) => {
    const outcome = decideSize(
      state,
      input({ now: START + second * SECOND, contenders: POLL_10, observation: usage() }),
    );
    state = outcome.state;
    return outcome.decisions.length > 0;
  });
}

/** pollInterval is 10s, so the tolerance is 1s. */
const TURNS: readonly [string, number[], number[]][] = [
  ["evaluates at once, then each interval", [0, 10, 20], [0, 10, 20]],
  ["passes over polls in between", [0, 2, 4, 6, 8, 10, 12], [0, 10]],
  ["takes a poll a tenth of the interval early", [0, 9], [0, 9]],
  ["takes no poll earlier than that", [0, 8.9, 10], [0, 10]],
  ["keeps its phase after an early turn", [0, 9, 18, 19, 28, 29], [0, 9, 19, 29]],
  ["keeps its phase after a late turn", [0, 14, 20, 24, 30], [0, 14, 20, 30]],
  ["does not make up missed turns", [0, 45, 46, 47, 48, 50], [0, 45, 50]],
];
for (const [sentence, polled, turns] of TURNS) {
  Deno.test(`decideSize() ${sentence} (C20)`, () => assertEquals(turnsOf(polled), turns));
}

Deno.test("decideSize() takes a changed pod for no evaluation (C20)", () => {
  assertEquals(decideSize(NEW_POD_STATE, input({ observation: { kind: "changed" } })).decisions, []);
});

Deno.test("decideSize() evaluates each contender at its own interval (C20)", () => {
  const slow = policy({ name: "slow", containerName: "main", pollIntervalMs: 20 * SECOND });
  const story = new Story({ contenders: [policy(), slow], load: { cpu: 60 } });
  story.poll(4);
  assertEquals(story.last?.decisions.map((one) => one.autoscaler), ["uid-of-web"]);
  story.poll();
  assertEquals(story.last?.decisions.map((one) => one.autoscaler).toSorted(), ["uid-of-slow", "uid-of-web"]);
});

Deno.test("decideSize() warms up, counts, and proposes after consecutiveSamples (C21, C31)", () => {
  const story = new Story({ load: { cpu: 90 } });
  const reasons = [1, 2, 3].map(() => (story.poll(), story.reason()));
  assertEquals(reasons, ["Warmup", "StreakShort", "scaleUp"]);
});

Deno.test("decideSize() hears cpu before it lowers memory: both warm up with the first sample (C21, C32)", () => {
  const sides = [side("cpu.requests"), side("memory.requests")];
  const story = new Story({ contenders: [policy({ sides })], load: { cpu: 90, memory: 10 * MI } });
  assertEquals(story.pollToRequest().changes, ["cpu.requests"]);
});

Deno.test("decideSize() holds InBand between the thresholds", () => {
  const story = new Story({ load: { cpu: 60 } });
  story.poll(3);
  assertEquals(story.reason(), "InBand");
});

Deno.test("decideSize() advances no streak by repeats, but puts standing proposals to the gates again for 60s (C22)", () => {
  const story = new Story({ load: { cpu: 90 }, answer: "hold" });
  story.poll(2);
  const repeated = story.read();
  story.wait(5 * SECOND).observe(repeated);
  assertEquals([story.reason(), story.state.views["uid-of-web"]?.streaks["cpu.requests"]?.count], ["StreakShort", 1]);
  story.poll();
  assertEquals(story.reason(), "scaleUp");
  const standing = story.read();
  story.wait(55 * SECOND).observe(standing);
  assertEquals([story.reason(), story.last?.decisions[0]?.isNewSample], ["scaleUp", false]);
  story.wait(5 * SECOND).observe(standing);
  assertEquals(story.reason(), "MetricsUnavailable");
});

Deno.test("decideSize() acts on no sample first seen 60s ago, though silence is borne for three polls (C22)", () => {
  const everyMs = 30 * SECOND;
  const contenders = [policy({ pollIntervalMs: everyMs, delayMs: 24 * 60 * MINUTE })];
  const story = new Story({ contenders, everyMs, load: { cpu: 90 } });
  story.poll(3);
  const reasons = [1, 2].map(() => (story.wait(everyMs).observe({ kind: "tick" }), story.reason()));
  assertEquals([reasons, story.notified()], [["Delay", "MetricsUnavailable"], []]);
});

/** [sentence, pollInterval, silence that is still borne] */
const SILENCES: readonly [string, number, number][] = [
  ["60s where polls are frequent", 5 * SECOND, 55 * SECOND],
  ["three polls where they are rare", 30 * SECOND, 60 * SECOND],
];
for (const [sentence, everyMs, borneMs] of SILENCES) {
  Deno.test(`decideSize() bears silence for ${sentence}, then ends the streaks (C22)`, () => {
    const story = new Story({ contenders: [policy({ pollIntervalMs: everyMs })], everyMs, load: { cpu: 90 } });
    story.poll(2);
    for (let silentMs = everyMs; silentMs <= borneMs; silentMs += everyMs) {
      story.wait(everyMs).observe({ kind: "tick" });
    }
    assertEquals(story.notified(), []);
    assertEquals(story.state.views["uid-of-web"]?.streaks["cpu.requests"]?.count, 1);
    story.wait(everyMs).observe({ kind: "tick" });
    assertEquals(story.notified(), ["MetricsUnavailable"]);
    assertEquals(story.state.views["uid-of-web"]?.streaks, {});
    assertEquals(story.reason(), "MetricsUnavailable");
  });
}

Deno.test("decideSize() makes no rate across a silence, and takes the value from before it for a repeat (C22)", () => {
  const story = new Story({ load: { cpu: 60 } });
  story.poll(3);
  const stale = story.read();
  for (let turn = 0; turn < 13; turn++) story.wait(5 * SECOND).observe(stale);
  story.use({ cpu: 90 });
  story.wait(5 * SECOND).observe(story.read());
  assertEquals(story.state.views["uid-of-web"]?.sampling.sample, null);
  assertEquals(story.notified(), ["MetricsUnavailable"]);
  story.poll();
  assertEquals(Math.round(story.state.views["uid-of-web"]?.sampling.sample?.cpuMillicores ?? 0), 90);
  assertEquals(story.notified(), ["MetricsUnavailable", "MetricsRecovered"]);
});

Deno.test("decideSize() misses no usage of a container that is not running, nor in its first minute (C22)", () => {
  const story = new Story();
  story.changeContainer({ runningAt: null });
  for (let turn = 0; turn < 20; turn++) story.wait(5 * SECOND).observe({ kind: "tick" });
  assertEquals([story.notified(), story.reason()], [[], "NotRunning"]);
  story.changeContainer({ runningAt: story.now });
  for (let turn = 0; turn < 11; turn++) story.wait(5 * SECOND).observe({ kind: "tick" });
  assertEquals(story.notified(), []);
});

Deno.test("decideSize() misses usage again soon after the clock stepped back an hour (C22)", () => {
  const story = new Story({ load: { cpu: 60 } });
  story.poll(3);
  story.setWall(-60 * MINUTE);
  for (let turn = 0; turn < 13; turn++) story.wait(5 * SECOND).observe({ kind: "tick" });
  assertEquals(story.notified(), ["MetricsUnavailable"]);
});

Deno.test("decideSize() counts implausible points and goes on with the next (C22)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.poll(2);
  const [of] = story.read().usage.points;
  if (of === undefined) throw new Error("Cannot read a point");
  story.wait(5 * SECOND);
  const outcome = story.observe(usage([{ ...of, at: story.now, workingSetBytes: NaN }]));
  assertEquals([outcome.implausible, story.reason()], [1, "StreakShort"]);
  story.poll();
  assertEquals(story.reason(), "scaleUp");
});

const GATES: readonly [string, string, Partial<Autoscaler>, Partial<PodFacts>][] = [
  ["a delay runs", "Delay", { delayMs: 2 * 60 * MINUTE }, {}],
  ["the container is not ready", "NotReady", { after: "containerReady" }, {
    containers: [container({ ready: false })],
  }],
  ["the pod is not ready", "NotReady", { after: "podReady" }, { readyAt: null }],
  ["a resize is in flight", "ResizeInProgress", {}, { inProgress: { reason: "", message: "", since: null } }],
  ["a resize is deferred", "ResizeDeferred", {}, { pending: { reason: "Deferred", message: "", since: null } }],
  ["its cooldown runs", "Cooldown", {}, { resizes: [resizeEntry("podfit.main", START)] }],
];
for (const [sentence, reason, rules, facts] of GATES) {
  Deno.test(`decideSize() samples on while ${sentence} (C23)`, () => {
    const story = new Story({ contenders: [policy(rules)], pod: pod(facts), load: { cpu: 90 } });
    story.poll(6);
    assertEquals([story.reason(), story.state.views["uid-of-web"]?.streaks["cpu.requests"]?.count], [reason, 5]);
  });
}

Deno.test("decideSize() misses the usage of a running container that reads zero for ever (C22, C51)", () => {
  const story = new Story({ load: { cpu: 60 } });
  story.poll(2);
  const zeros = usage([point({ counterNs: 0, workingSetBytes: 0, usageBytes: null })]);
  for (let turn = 0; turn < 14; turn++) story.wait(5 * SECOND).observe(zeros);
  assertEquals([story.notified(), story.reason()], [["MetricsUnavailable"], "MetricsUnavailable"]);
});

Deno.test("decideSize() makes no rate of one step over a minute: the node's clock was set forward (C22)", () => {
  const eager = policy({ sides: [side("cpu.requests", { consecutiveSamples: 1 })] });
  const story = new Story({ contenders: [eager], load: { cpu: 60 } });
  story.poll(3);
  const later = (observation: ReturnType<Story["read"]>) => {
    const points = observation.usage.points.map((one) => ({ ...one, at: one.at + 60 * MINUTE }));
    return { ...observation, usage: { ...observation.usage, points } };
  };
  story.wait(5 * SECOND).observe(later(story.read()));
  assertEquals([story.reason(), story.requests], ["Warmup", []]);
  story.wait(5 * SECOND).observe(later(story.read()));
  assertEquals(story.reason(), "InBand");
  assertEquals(Math.round(story.state.views["uid-of-web"]?.sampling.sample?.cpuMillicores ?? 0), 60);
});
