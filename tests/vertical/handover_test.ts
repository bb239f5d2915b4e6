/**
 * A container changes its owner while a resize of the first is in flight. The second owner finds the cooldown and the
 * resize in flight unchanged, and no cause is answered twice.
 * Clauses: C12, C13, C40 to C42.
 */
import { assertEquals } from "#assert";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { MINUTE, policy, SECOND, side } from "../support/builders.ts";
import { Story, type StoryOptions } from "../support/story.ts";

/** Both want as much as they can get, in steps that show the owner: 10m the first, 7m the second. */
const first = (overrides: Partial<Autoscaler> = {}) => stepping("first", 10, { priority: 5, ...overrides });
const second = (overrides: Partial<Autoscaler> = {}) => stepping("second", 7, overrides);

function stepping(name: string, step: number, overrides: Partial<Autoscaler>): Autoscaler {
  return policy({ name, sides: [side("cpu.requests", { bounds: { step } })], ...overrides });
}

const HANDOVERS: Record<string, readonly Autoscaler[]> = {
  "was paused, deleted or made invalid": [second()],
  "lost its priority": [first({ generation: 2, priority: -1 }), second()],
  "was outranked": [first(), second({ generation: 2, priority: 9 })],
  "turned to another container": [second(), first({ generation: 2, containerName: "gone" })],
};

/** Where the first owner's PATCH stands when it loses the container. */
const MOMENTS: Record<string, { readonly answer: StoryOptions["answer"]; readonly arrives?: (story: Story) => void }> =
  {
    "was enacted": { answer: "enact" },
    "is in flight": { answer: "accept", arrives: (story) => void story.enact() },
    "was accepted and the pod has not arrived yet": {
      answer: { kind: "accepted", generation: 2 },
      arrives: (story) => showResized(story),
    },
    "was accepted and its answer lost": {
      answer: { kind: "unconfirmed", message: "" },
      arrives: (story) => showResized(story),
    },
  };

for (const [moment, { answer, arrives }] of Object.entries(MOMENTS)) {
  for (const [cause, contenders] of Object.entries(HANDOVERS)) {
    Deno.test(`decideSize() hands over without a second resize when the owner ${cause} and its PATCH ${moment} (C12)`, () => {
      const story = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer: answer ?? "enact" });
      assertEquals(story.pollToRequest().autoscaler, "uid-of-first");
      const resizedAt = story.now;
      story.answer = "enact";
      story.wait(SECOND).contend(contenders);
      story.wait(SECOND);
      arrives?.(story);
      story.poll(4);
      assertEquals([story.requests.length, story.reason("second")], [1, "Cooldown"]);
      const order = story.pollToRequest();
      assertEquals([order.autoscaler, order.from["cpu.requests"], order.to["cpu.requests"]], [
        "uid-of-second",
        110,
        117,
      ]);
      const waitedMs = story.now - resizedAt;
      assertEquals(waitedMs >= 2 * MINUTE && waitedMs <= 2 * MINUTE + 8 * SECOND, true, `${waitedMs}ms`);
    });
  }
}

/** The pod as the first order made it comes in, already enacted. */
function showResized(story: Story): void {
  const { answer, requests: [order] } = story;
  if (order === undefined) throw new Error("Nothing was ordered");
  const pod = new Story({ pod: story.pod, now: story.now });
  pod.reply(order, "enact");
  story.change({ ...pod.pod, resourceVersion: String(Number(story.pod.resourceVersion) + 1) });
  story.answer = answer;
}

Deno.test("decideSize() ends every contender's streaks of the container with an accepted PATCH (C12, C31)", () => {
  const answer = { kind: "accepted", generation: 2 } as const;
  const story = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer });
  story.pollToRequest();
  assertEquals(Object.values(story.state.views).map(({ streaks, wantedSince: wishSince }) => [streaks, wishSince]), [[
    {},
    null,
  ], [
    {},
    null,
  ]]);
});

Deno.test("decideSize() has the new owner wait for what the old one's conflict waits for (C12, C40)", () => {
  const story = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer: { kind: "conflict" } });
  story.pollToRequest();
  story.answer = "enact";
  story.contend([second()]);
  assertEquals([story.reason("second"), story.requests.length], ["RetryLater", 1]);
  assertEquals(story.change().request?.autoscaler, "uid-of-second");
});

Deno.test("decideSize() has the new owner send at once what the old one's withdrawn order left undone (C12)", () => {
  const story = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer: { kind: "withdrawn" } });
  story.pollToRequest();
  assertEquals([story.notified(), story.state.containers["main"]?.refusals], [[], {}]);
  story.answer = "enact";
  const { request: order } = story.contend([second()]);
  assertEquals([order?.autoscaler, order?.to["cpu.requests"]], ["uid-of-second", 107]);
  story.poll(4);
  assertEquals([story.requests.length, story.reason("second")], [2, "Cooldown"]);
});

Deno.test("decideSize() does not hold the new owner to a size that the old one was refused (C12, C44)", () => {
  const refusal = { kind: "refused", reason: "Quota", message: "", resources: [], waitMs: null } as const;
  const story = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer: refusal });
  story.pollToRequest();
  story.answer = "enact";
  assertEquals(story.contend([second()]).request?.autoscaler, "uid-of-second");
});

Deno.test("decideSize() has the new owner wait as long as the server asked of the old one (C12, C44)", () => {
  const busy = { kind: "refused", reason: "RetryLater", message: "", resources: [], waitMs: 20 * SECOND } as const;
  const story = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer: busy });
  story.pollToRequest();
  const toldAt = story.now;
  story.answer = "enact";
  story.contend([second()]);
  assertEquals(story.reason("second"), "RetryLater");
  story.pollToRequest();
  assertEquals(story.now - toldAt, 20 * SECOND);
});

Deno.test("decideSize() hands back and forth one resize per cooldown, whoever owns (C12, C13)", () => {
  const story = new Story({ contenders: [first(), second()], load: { cpu: 170 } });
  const times: number[] = [];
  for (const contenders of [[first(), second()], [second()], [first(), second()], [second()]]) {
    story.contend(contenders);
    story.pollToRequest(60);
    times.push(story.now);
  }
  assertEquals(story.requests.map(({ autoscaler, to }) => [autoscaler, to["cpu.requests"]]), [
    ["uid-of-first", 110],
    ["uid-of-second", 117],
    ["uid-of-first", 127],
    ["uid-of-second", 134],
  ]);
  for (const [index, at] of times.entries()) {
    assertEquals(index === 0 || at - (times[index - 1] ?? 0) >= 2 * MINUTE, true, times.join());
  }
});

Deno.test("decideSize() yields no time to apply to an autoscaler that went while its resize was in flight (C45)", () => {
  const story = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer: "accept" });
  story.pollToRequest();
  story.contend([second()]);
  story.enact();
  assertEquals([story.enacted, story.state.command], [[], null]);
});

Deno.test("decideSize() reverts a stuck resize of the owner before, as podfit's it is (C12, C47)", () => {
  const story = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer: "accept" });
  story.pollToRequest();
  story.change({ observedGeneration: 2, pending: { reason: "Infeasible", message: "no", since: story.now } });
  const returned = story.requests.at(-1);
  assertEquals([returned?.action, returned?.autoscaler], ["revert", "uid-of-first"]);
  const other = new Story({ contenders: [first(), second()], load: { cpu: 170 }, answer: "accept" });
  other.pollToRequest();
  other.contend([second()]);
  other.change({ observedGeneration: 2, pending: { reason: "Infeasible", message: "no", since: other.now } });
  other.poll();
  assertEquals([other.requests.at(-1)?.action, other.requests.at(-1)?.autoscaler], ["revert", "uid-of-second"]);
});
