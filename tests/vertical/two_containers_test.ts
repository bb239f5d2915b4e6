/**
 * Two autoscalers for two containers of one pod: both act, one resize in flight at a time.
 * Clauses: C12, C41.
 */
import { assertEquals } from "#assert";
import { container, pod, policy, SECOND, side } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const TWO = pod({ containers: [container(), container({ name: "proxy", instance: "containerd://2" })] });
const main = policy({ name: "main" });
const proxy = policy({ name: "proxy", containerName: "proxy" });

function twoWishes(options: Partial<ConstructorParameters<typeof Story>[0]> = {}): Story {
  return new Story({ pod: TWO, contenders: [main, proxy], ...options }).use({ cpu: 60 }).use({ cpu: 90 }, "proxy");
}

Deno.test("decideSize() puts the proposal that has stood longer first, the other waits with a reason (C12, C41)", () => {
  const delayed = [{ ...main, delayMs: 0 }, { ...proxy, delayMs: 0 }];
  const story = twoWishes({ contenders: delayed, answer: "accept" });
  story.change({ pending: { reason: "Deferred", message: "", since: null } });
  story.poll(3);
  story.use({ cpu: 90 }).poll(3);
  assertEquals([story.reason("main"), story.reason("proxy")], ["ResizeDeferred", "ResizeDeferred"]);
  const outcome = story.change({ pending: null });
  assertEquals(outcome.request?.container, "proxy");
  assertEquals(outcome.decisions.map(({ container, decision }) => [container, decision.kind]), [
    ["main", "blocked"],
    ["proxy", "resize"],
  ]);
  const [waiting] = outcome.decisions;
  assertEquals(waiting?.decision.kind === "blocked" && waiting.decision.reason, "ResizeInProgress");
});

Deno.test("decideSize() takes the first of two proposals of the same age", () => {
  const story = twoWishes().use({ cpu: 90 });
  assertEquals(story.pollToRequest().container, "main");
});

Deno.test("decideSize() resizes the second as soon as the first is enacted, its own cooldown untouched (C12, C42)", () => {
  const story = twoWishes({ answer: "accept" }).use({ cpu: 90 });
  story.pollToRequest();
  story.poll(2);
  assertEquals(story.reason("proxy"), "ResizeInProgress");
  assertEquals(story.requests.length, 1);
  assertEquals(story.enact().request?.container, "proxy");
});

Deno.test("decideSize() holds every autoscaler of the pod while one resize is in flight (C41)", () => {
  const story = twoWishes().use({ cpu: 20 });
  story.change({ inProgress: { reason: "", message: "", since: null } });
  story.poll(4);
  assertEquals([story.reason("main"), story.reason("proxy")], ["ResizeInProgress", "ResizeInProgress"]);
});

Deno.test("decideSize() keeps the waits of the other container over a resize of its own (C44)", () => {
  const refused = { kind: "refused", reason: "Quota", message: "", resources: ["cpu"], waitMs: null } as const;
  const story = twoWishes({ answer: refused });
  assertEquals(story.pollToRequest().container, "proxy");
  story.answer = "enact";
  story.use({ cpu: 90 });
  assertEquals(story.pollToRequest(4).container, "main");
  story.poll(2);
  assertEquals([story.reason("proxy"), story.requests.length], ["Quota", 2]);
});

Deno.test("decideSize() keeps the streaks of the other container over an accepted PATCH (C31)", () => {
  const slow = { ...proxy, sides: [side("cpu.requests", { consecutiveSamples: 9 })] };
  const story = twoWishes({ contenders: [main, slow] }).use({ cpu: 90 });
  story.pollToRequest();
  assertEquals(story.state.views["uid-of-main"]?.streaks, {});
  assertEquals(story.state.views["uid-of-proxy"]?.streaks["cpu.requests"]?.count, 2);
});

Deno.test("decideSize() keeps one container going while the other restarts (C43)", () => {
  const story = twoWishes({ dryRun: true });
  story.poll(4);
  story.restartContainer("main");
  story.wait(5 * SECOND).observe(story.read());
  assertEquals([story.reason("main"), story.reason("proxy")], ["Warmup", "DryRun"]);
});

Deno.test("decideSize() resizes a container that is named like a property of every object (C15)", () => {
  const name = "constructor";
  const story = new Story({
    pod: pod({ containers: [container({ name })] }),
    contenders: [policy({ containerName: name })],
  });
  story.use({ cpu: 90 }, name);
  assertEquals([story.pollToRequest().container, story.poll().request], [name, null]);
  assertEquals(Object.keys(story.state.containers), [name]);
});

Deno.test("decideSize() resizes each container for the one autoscaler of every container (L50)", () => {
  const every = (containerName: string) =>
    policy({ name: "all", containerName, key: `uid-of-all/${containerName}`, isWildcard: true });
  const story = twoWishes({ contenders: [every("main"), every("proxy")] }).use({ cpu: 90 });
  story.poll(20);
  assertEquals(story.requests.map(({ autoscaler, container }) => [autoscaler, container]), [
    ["uid-of-all", "main"],
    ["uid-of-all", "proxy"],
  ]);
  assertEquals(story.notified(), ["ResizeInProgress", "ScaleUp", "ScaleUp"]);
  assertEquals(Object.keys(story.state.views).sort(), ["uid-of-all/main", "uid-of-all/proxy"]);
});
