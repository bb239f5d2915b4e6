/**
 * When an OOM kill without an answer is reported.
 * Clauses: L13.
 */
import { assertEquals } from "#assert";
import { decideSize } from "../../lib/vertical/decide.ts";
import { container, MI, MINUTE, pod, policy, SECOND, side, SIZE } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const UNMANAGED = policy({ oom: "raise" });

function kill(story: Story): void {
  story.wait(SECOND).endContainer();
  story.wait(SECOND).restartContainer();
}

function told(story: Story): string[] {
  return story.notices.filter(({ name }) => name === "OOMKilled").map(({ message }) => message.split(":")[0] ?? "");
}

const ONE = 'container "main" of pod "web-1" was OOM-killed at a memory limit of 256Mi';

Deno.test("decideSize() tells of kills once in ten minutes, with their count (L13)", () => {
  const story = new Story({ contenders: [UNMANAGED], load: { cpu: 60 } });
  story.poll();
  kill(story);
  assertEquals(told(story), [ONE], "at once");
  for (let i = 0; i < 3; i++) kill(story);
  story.poll(20);
  assertEquals(told(story), [ONE], "not again within ten minutes");
  story.wait(8 * MINUTE + 30 * SECOND).poll();
  const three = ONE.replace("killed", "killed 3 times");
  assertEquals(told(story), [ONE, three], "those since then");
  story.wait(30 * MINUTE).poll(6);
  assertEquals(told(story), [ONE, three], "and no kill twice");
});

Deno.test("decideSize() tells of a kill at a limit that was raised to max (L13)", () => {
  const sides = [side("memory.limits", { bounds: { max: 300 * MI } })];
  const story = new Story({ contenders: [policy({ oom: "raise", sides })], load: { memory: 150 * MI } });
  story.poll();
  kill(story);
  assertEquals(story.notified(), ["ScaleUp"]);
  kill(story);
  assertEquals(told(story), [ONE.replace("256", "300")]);
  assertEquals(story.requests.length, 1);
});

/** [sentence, MemoryPressure, Mi in use, requests, reported] */
const NODE: readonly [string, boolean, number, number, number][] = [
  ["by a node without memory", true, 150, 0, 1],
  ["at its own limit on a node without memory", true, 250, 1, 0],
  ["after little usage on a node that has memory: it may have grown since", false, 150, 1, 0],
];
for (const [sentence, memoryPressure, memory, requests, events] of NODE) {
  Deno.test(`decideSize() tells apart a kill ${sentence} (L13)`, () => {
    const sides = [side("memory.limits", { scaleUpThresholdPercent: 100 })];
    const story = new Story({ contenders: [policy({ oom: "raise", sides })], load: { memory: memory * MI } });
    story.decide = (before, given) => decideSize(before, { ...given, memoryPressure });
    story.poll(3);
    kill(story);
    assertEquals([story.requests.length, told(story).length], [requests, events]);
    assertEquals(story.state.containers["main"]?.endings.map(({ kind }) => kind), [events === 1 ? "node" : "oom"]);
  });
}

Deno.test("decideSize() tells of a kill without a limit that the node, or the whole pod, had no more (L13)", () => {
  const spec = { ...SIZE, "memory.limits": null };
  const story = new Story({ pod: pod({ containers: [container({ spec })] }), contenders: [UNMANAGED] });
  story.change();
  kill(story);
  assertEquals(told(story), ['container "main" of pod "web-1" was OOM-killed']);
});

Deno.test("decideSize() tells of a kill again though the clock has stepped back in between (L13)", () => {
  const story = new Story({ contenders: [UNMANAGED], load: { cpu: 60 } });
  story.wait(60 * MINUTE).poll();
  kill(story);
  story.setWall(-45 * MINUTE).wait(15 * MINUTE);
  kill(story);
  assertEquals(told(story), [ONE, ONE]);
});
