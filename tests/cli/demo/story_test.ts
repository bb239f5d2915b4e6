/** What the demo makes of the daemon's evaluations, and of looks at both clusters. */
import { assert, assertEquals } from "#assert";
import { withEvaluation, withTrouble } from "../../../lib/cli/demo/evaluations.ts";
import { newStory, nextStory } from "../../../lib/cli/demo/story.ts";
import { decideSize } from "../../../lib/vertical/decide.ts";
import type { ResizeRequest } from "../../../lib/model/resize_request.ts";
import { NEW_POD_STATE } from "../../../lib/model/state.ts";
import type { FailureReport } from "../../../lib/daemon/health.ts";
import { input, MI, pod, point, resources, usage } from "../../support/builders.ts";
import { blocked, evaluated, held, notice, requested, scaled, toStory, use, WEB } from "../../support/demo_story.ts";

Deno.test("withEvaluation() counts wanted resizes that were held back once per new sample, by reason (C53)", () => {
  const story = toStory(
    blocked(1, "Cooldown"),
    blocked(1, "Cooldown", false),
    blocked(1, "Cooldown"),
    blocked(1, "MemoryInUse"),
  );
  assertEquals([story.blocked, story.events], [{ Cooldown: 2, MemoryInUse: 1 }, []]);
});

Deno.test("withEvaluation() shows a resize with its reason, and remembers it for each resource it changed", () => {
  const story = toStory(
    requested(1000, "cpu.requests at 99 %"),
    scaled(2000, "scaleUp", [
      { key: "cpu.requests", from: 50, to: 100 },
      { key: "cpu.limits", from: 1000, to: 2000 },
      { key: "memory.requests", from: 64 * MI, to: 96 * MI },
    ]),
    scaled(3000, "scaleDown", [{ key: "memory.requests", from: 96 * MI, to: 80 * MI }]),
  );
  assertEquals(story.resizes, { up: 1, down: 1 });
  assertEquals(story.events[0], {
    number: 1,
    at: 2000,
    tone: "up",
    subject: "web",
    text: "cpu.requests 50m -> 100m, cpu.limits 1 -> 2, memory.requests 64Mi -> 96Mi",
    why: "cpu.requests at 99 %",
  });
  assertEquals(story.changes, {
    "web.cpu": { at: 2000, tone: "up", requests: "50m → 100m", limits: "1 → 2" },
    "web.memory": { at: 3000, tone: "down", requests: "96Mi → 80Mi", limits: null },
  });
});

Deno.test("withEvaluation() knows what each evaluation ended with, since when, and forgets it at a resize", () => {
  assertEquals(toStory(held(1000, "InBand"), held(2000, "InBand")).standing, {
    web: { kind: "hold", reason: "InBand", since: 1000 },
  });
  assertEquals(toStory(held(1000, "InBand"), blocked(4000, "Cooldown", false)).standing, {
    web: { kind: "blocked", reason: "Cooldown", since: 4000 },
  });
  assertEquals(toStory(blocked(4000, "Cooldown"), requested(5000, "")).standing, {});
});

Deno.test("withEvaluation() shows a notice by its reason, or its words, but for resizes, which have a line", () => {
  const pending = { reason: "Deferred", message: "no room: cpu", since: 1 };
  const decision = { kind: "blocked", action: "scaleUp", reason: "MemoryInUse", message: "in use: 90Mi" } as const;
  const one = blocked(1, "MemoryInUse").outcome.decisions.map((it) => ({ ...it, decision }));
  const { events } = toStory(
    evaluated(1, { notices: [notice("ScaleUp", 'Scaled up container "web"')] }),
    evaluated(1, { notices: [notice("Inherited", 'Gave the size of its siblings to container "web"')] }),
    evaluated(1, { notices: [notice("ResizePending", "stuck")] }, { pod: pod({ pending }) }),
    evaluated(1, { notices: [notice("ScaleFailed", "blocked")], decisions: one }),
    evaluated(1, { notices: [notice("MetricsRecovered", "Usage is read again")] }),
  );
  assertEquals(events.map(({ tone, subject, text, why }) => [tone, subject, text, why]), [
    ["blocked", "web", "ResizeDeferred", "no room: cpu"],
    ["blocked", "web", "MemoryInUse", "in use: 90Mi"],
    ["blocked", "web", "Usage is read again", ""],
  ]);
});

Deno.test("withEvaluation() shows what the API server said to a refused request, and what was wanted", () => {
  const { request } = requested(1, "").outcome;
  assert(request !== null);
  const wanted: ResizeRequest = {
    ...request,
    from: resources({ "cpu.requests": 100 }),
    to: resources({ "cpu.requests": 250 }),
    changes: ["cpu.requests"],
  };
  const run = decideSize(NEW_POD_STATE, input({ contenders: [WEB], observation: usage([point()]) }));
  const answer = { kind: "refused", reason: "Quota", message: "exceeded", resources: [], waitMs: null } as const;
  const given = input({ contenders: [WEB], observation: { kind: "answered", request: wanted, answer } });
  const { events } = toStory(evaluated(2, decideSize(run.state, given), given));
  assertEquals(events.map(({ text, why }) => [text, why]), [["Quota", "exceeded; wanted cpu.requests 100m -> 250m"]]);
});

Deno.test("withTrouble() shows what fails, and an autoscaler that cannot work as it is written", () => {
  const autoscaler = { namespace: "default", name: "web" };
  const troubles: readonly FailureReport[] = [
    { kind: "failure", level: "warn", message: "Cannot watch, retrying", autoscaler: null, fields: {} },
    { kind: "failure", level: "error", message: "Cannot write status", autoscaler, fields: {} },
    { kind: "status", autoscaler, notice: notice("TargetNotFound", 'deployment "web" does not exist') },
  ];
  const story = troubles.reduce((so, trouble) => withTrouble(so, { at: 7, trouble }), toStory());
  assertEquals(story.events.map(({ at, tone, subject, text }) => [at, tone, subject, text]), [
    [7, "trouble", "", "Cannot watch, retrying"],
    [7, "trouble", "web", "Cannot write status"],
    [7, "blocked", "web", 'deployment "web" does not exist'],
  ]);
});

Deno.test("nextStory() tells a kill once, and in which of the two clusters", () => {
  let story = newStory(0, 60_000);
  const look = (at: number, podfit: number | null, comparison: number | null) => {
    story = nextStory(story, { at, podfit: [use({ killedAt: podfit })], comparison: [use({ killedAt: comparison })] });
  };
  look(1000, null, null);
  look(2000, null, 1500);
  look(3000, 2500, 1500);
  assertEquals(story.events.map(({ at, text }) => [at, text]), [
    [1500, "without podfit: OOMKilled"],
    [2500, "OOMKilled"],
  ]);
});

Deno.test("nextStory() and withTrouble() keep a window of points and a number of events, however long it runs", () => {
  const odd: FailureReport = { kind: "failure", level: "warn", message: "odd", autoscaler: null, fields: {} };
  let story = toStory();
  for (let at = 0; at < 500; at++) story = withTrouble(story, { at, trouble: odd });
  assertEquals([story.events.length, story.events.at(-1)?.number], [100, 500]);
  for (let at = 0; at < 3_600_000; at += 10_000) story = nextStory(story, { at, podfit: [use({})], comparison: [] });
  assertEquals(story.traces["web.cpu"]?.length, 120);
});

Deno.test("nextStory() traces the mean of a workload's pods, and how many there are in both clusters", () => {
  const pods = [use({ pod: "a", used: [100, 64], requests: [200, 128] }), use({ pod: "b", isDown: true })];
  const { traces } = nextStory(newStory(0, 60_000), { at: 1, podfit: pods, comparison: [use({})] });
  assertEquals(traces["web.cpu"], [{ at: 1, used: 100, requests: 200, limits: 400 }]);
  assertEquals(traces["web.pods"], [{ at: 1, used: 2, requests: null, limits: 1 }]);
});

Deno.test("withEvaluation() names the pod of a resize where there are several", () => {
  const one = scaled(2000, "scaleUp", [{ key: "cpu.requests", from: 50, to: 100 }]);
  const named = { ...one, input: { ...one.input, pod: { ...one.input.pod, name: "web-7fb94f694f-5cjhl" } } };
  const [both, sizes] = (["both", "sizes"] as const).map((scene) => withEvaluation(newStory(0, 60_000, scene), named));
  assertEquals([both?.events[0]?.subject, sizes?.events[0]?.subject], ["5cjhl", "web"]);
  assertEquals(Object.keys(both?.changes ?? {}), ["web.cpu"]);
});
