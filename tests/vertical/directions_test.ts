/**
 * Samples, cooldowns and targets of each direction.
 * Clauses: L3.
 */
import { assert, assertEquals } from "#assert";
import type { DirectionPolicy, ScaleDownPolicy } from "../../lib/model/autoscaler.ts";
import { MINUTE, policy, resizeEntry, SECOND, side, START } from "../support/builders.ts";
import { Story } from "../support/story.ts";

function story(up: Partial<DirectionPolicy>, down: Partial<ScaleDownPolicy>, hasOwnCooldowns = true): Story {
  const rule = side("cpu.requests", { consecutiveSamples: 1, cooldownMs: 0, hasOwnCooldowns, up, down });
  return new Story({ contenders: [policy({ sides: [rule], cooldownMs: 0 })] });
}

/** How long after the last request the next one comes, in ms. */
function wait(told: Story, cpu: number): number {
  const before = told.now;
  told.use({ cpu });
  told.pollToRequest(400);
  return told.now - before;
}

Deno.test("decideSize() asks for as many samples in a row as the direction says (L3)", () => {
  const told = story({ consecutiveSamples: 1 }, { consecutiveSamples: 4 });
  told.use({ cpu: 60 }).poll(3);
  assertEquals(wait(told, 90), 5 * SECOND);
  // 150m are requested now: the first sample of the new size, and three more.
  assertEquals(wait(told, 30), 4 * 5 * SECOND);
});

Deno.test("decideSize() aims at the target of the direction (L3)", () => {
  const told = story({ targetUtilizationPercent: 50 }, { targetUtilizationPercent: 75 });
  told.use({ cpu: 60 }).poll(3);
  wait(told, 90);
  wait(told, 30);
  assertEquals(told.requests.map(({ to }) => to["cpu.requests"]), [180, 40]);
});

Deno.test("decideSize() lets an up wait for the last up, and a down for the last resize of either kind (L3)", () => {
  const told = story({ cooldownMs: 30 * SECOND }, { cooldownMs: 5 * MINUTE });
  told.use({ cpu: 60 }).poll(3);
  wait(told, 90);
  // Down after an up: the cooldown of a scale-down.
  const down = wait(told, 30);
  assert(down >= 5 * MINUTE - 5 * SECOND && down <= 5 * MINUTE + 5 * SECOND, `${down}`);
  // Up after a down, the last up long ago: at once.
  assertEquals(wait(told, 90), 5 * SECOND);
  // Up after an up.
  const up = wait(told, 180);
  assert(up >= 25 * SECOND && up <= 35 * SECOND, `${up}`);
});

Deno.test("decideSize() lets a down wait for the last down, too (L3)", () => {
  const told = story({ cooldownMs: 0 }, { cooldownMs: 5 * MINUTE });
  told.use({ cpu: 60 }).poll(3);
  wait(told, 30);
  const down = wait(told, 15);
  assert(down >= 5 * MINUTE - 5 * SECOND, `${down}`);
});

Deno.test("decideSize() lets both directions wait for the last resize where no direction has a cooldown (L3)", () => {
  const told = story({ cooldownMs: MINUTE }, { cooldownMs: MINUTE }, false);
  told.use({ cpu: 60 }).poll(3);
  wait(told, 30);
  const up = wait(told, 200);
  assert(up >= 55 * SECOND, `${up}`);
});

Deno.test("decideSize() takes an entry of managedFields for a resize in either direction (L3)", () => {
  const told = story({ cooldownMs: 2 * MINUTE }, { cooldownMs: 2 * MINUTE });
  told.pod = { ...told.pod, resizes: [{ manager: "podfit.main", at: START, owned: [] }] };
  const up = wait(told, 200);
  assert(up >= 2 * MINUTE, `${up}`);
});

const SHOWN: readonly [string, boolean][] = [
  ["before its answer has come", true],
  ["after its answer was lost", false],
];
for (const [sentence, isInFlight] of SHOWN) {
  Deno.test(`decideSize() lets no up wait for its own down that the pod shows ${sentence} (L3)`, () => {
    const told = story({ cooldownMs: 10 * MINUTE }, { cooldownMs: MINUTE });
    told.answer = isInFlight ? "hold" : { kind: "unconfirmed", message: "timeout" };
    told.use({ cpu: 20 });
    const sent = told.pollToRequest();
    const [main] = told.pod.containers;
    assert(main !== undefined);
    told.inFlight = isInFlight;
    told.wait(SECOND).change({
      generation: 2,
      observedGeneration: 2,
      containers: [{ ...main, spec: sent.to, reported: sent.to }],
      resizes: [resizeEntry("podfit.main", told.now, { main: sent.changes })],
    });
    told.inFlight = false;
    if (isInFlight) told.reply(sent, { kind: "accepted", generation: 2 });
    assertEquals(told.scaled.map(({ action }) => action), ["scaleDown"]);
    told.answer = "enact";
    assert(wait(told, 60) < MINUTE);
  });
}

Deno.test("decideSize() lets an up wait for a resize by somebody else, which tells no direction (L3)", () => {
  const told = story({ cooldownMs: 2 * MINUTE }, { cooldownMs: 2 * MINUTE });
  told.use({ cpu: 60 }).poll(3);
  told.change({ generation: 2, observedGeneration: 2, resizes: [{ manager: "kubectl", at: told.now, owned: [] }] });
  const up = wait(told, 200);
  assert(up >= 2 * MINUTE - 5 * SECOND, `${up}`);
});

Deno.test("decideSize() lets an up wait for its own up whose answer was lost, though a webhook changed the size (L3)", () => {
  const told = story({ cooldownMs: 10 * MINUTE }, { cooldownMs: 10 * MINUTE });
  told.answer = { kind: "unconfirmed", message: "timeout" };
  told.use({ cpu: 90 });
  const { to, changes } = told.pollToRequest();
  const spec = { ...to, "cpu.requests": (to["cpu.requests"] ?? 0) - 10 };
  told.wait(SECOND).change({
    generation: 2,
    observedGeneration: 2,
    containers: told.pod.containers.map((one) => ({ ...one, spec, reported: spec })),
    resizes: [resizeEntry("podfit.main", told.now, { main: changes })],
  });
  told.use({ cpu: 139 });
  for (let polls = 0; polls < 40; polls++) told.poll();
  assertEquals([told.requests.length, told.reason()], [1, "Cooldown"]);
});
