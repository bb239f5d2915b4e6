/** What the demo makes of what the daemon tells its log, and of looks at both clusters. */
import { assertEquals } from "@std/assert";
import { newStory, nextStory } from "../../../lib/cli/demo/story.ts";
import { tell, told, use } from "../../support/demo_story.ts";

Deno.test("noteTold() counts wanted resizes that were held back once per new sample, by reason (C53)", () => {
  const block = (reason: string, isNewSample: boolean) => told(1, "Blocked", { reason, isNewSample });
  const { blocked, events } = tell(
    ...[block("Cooldown", true), block("Cooldown", false), block("Cooldown", true), block("MemoryInUse", true)],
  );
  assertEquals([blocked, events], [{ Cooldown: 2, MemoryInUse: 1 }, []]);
});

Deno.test("noteTold() tells a resize with its reason, and remembers it for each resource it changed", () => {
  const change = "cpu.requests 50m -> 100m, cpu.limits 1 -> 2, memory.requests 64Mi -> 96Mi";
  const story = tell(
    told(1000, "Resizing", { why: "cpu.requests at 99 %" }),
    told(2000, "Resized pod", { action: "scaleUp", change }),
    told(3000, "Resized pod", { action: "scaleDown", change: "memory.requests 96Mi -> 80Mi" }),
  );
  assertEquals(story.resizes, { up: 1, down: 1 });
  assertEquals(story.events[0], {
    ...{ number: 1, at: 2000, tone: "up", subject: "web", text: change, why: "cpu.requests at 99 %" },
  });
  assertEquals(story.changes, {
    "web.cpu": { at: 2000, tone: "up", requests: "50m → 100m", limits: "1 → 2" },
    "web.memory": { at: 3000, tone: "down", requests: "96Mi → 80Mi", limits: null },
  });
});

Deno.test("noteTold() knows what each evaluation ended with, since when, and forgets it at a resize", () => {
  const held = (at: number, reason: string) => told(at, "Held", { reason });
  const blocked = told(4000, "Blocked", { reason: "Cooldown", isNewSample: false });
  assertEquals(tell(held(1000, "InBand"), held(2000, "InBand")).standing, {
    web: { kind: "hold", reason: "InBand", since: 1000 },
  });
  assertEquals(tell(held(1000, "InBand"), blocked).standing, {
    web: { kind: "blocked", reason: "Cooldown", since: 4000 },
  });
  assertEquals(tell(blocked, told(5000, "Decided", { action: "scaleUp" })).standing, {});
});

Deno.test("noteTold() tells an event of the autoscaler by its reason, but for resizes, which have a line", () => {
  const notice = (reason: string, note: string) => told(1, "Notice", { reason, note });
  const { events } = tell(
    notice("ScaleUp", 'Scaled up container "web"'),
    notice("ResizePending", 'Resize of pod "web-x" is stuck (ResizeDeferred): no room: cpu'),
    notice("MetricsRecovered", "Usage is read again"),
  );
  assertEquals(events.map(({ tone, text, why }) => [tone, text, why]), [
    ["blocked", "ResizeDeferred", "no room: cpu"],
    ["blocked", "Usage is read again", ""],
  ]);
});

Deno.test("noteTold() tells warnings and errors, and nothing else that the log has", () => {
  const line = (level: "info" | "warn" | "error") => ({ ...told(1, `a ${level}`), level });
  assertEquals(tell(line("info"), line("warn"), line("error")).events.map(({ text }) => text), ["a warn", "a error"]);
});

Deno.test("nextStory() tells a kill once, and in which of the two clusters", () => {
  let story = newStory(0, 60_000);
  const look = (at: number, podfit: number | null, shadow: number | null) => {
    story = nextStory(story, { at, podfit: [use({ killedAt: podfit })], shadow: [use({ killedAt: shadow })] });
  };
  look(1000, null, null);
  look(2000, null, 1500);
  look(3000, 2500, 1500);
  assertEquals(story.events.map(({ at, text }) => [at, text]), [
    [1500, "without podfit: OOMKilled"],
    [2500, "OOMKilled"],
  ]);
});

Deno.test("nextStory() and noteTold() keep a window of points and a number of events, however long it runs", () => {
  let story = tell(...Array.from({ length: 500 }, (_, index) => ({ ...told(index, "odd"), level: "warn" as const })));
  assertEquals([story.events.length, story.events.at(-1)?.number], [100, 500]);
  for (let at = 0; at < 3_600_000; at += 10_000) story = nextStory(story, { at, podfit: [use({})], shadow: [] });
  assertEquals(story.traces["web.cpu"]?.length, 120);
});
