/**
 * How many workloads go to zero within a minute, and who waits.
 * Clauses: R59.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import fc from "fast-check";
import { DeactivationLimit, getDefaultDeactivations } from "../../../lib/daemon/replicas/deactivations.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import type { AskTrigger } from "../../../lib/triggers/value.ts";
import { ReplicasRun, scaledObject } from "../../support/replicas_run.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const MINUTE = 60_000;

function open(max: number) {
  const clock = new VirtualClock();
  const limit = { max };
  const held: number[] = [];
  const deactivations = new DeactivationLimit({ clock, getMax: () => limit.max, onHeld: (count) => held.push(count) });
  /** `a1` is an object of namespace `a`. Returns whether it may. */
  const take = (uid: string) => deactivations.take({ namespace: uid.slice(0, 1), uid }) === null;
  return { clock, limit, held, deactivations, take };
}

function many(namespace: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${namespace}${index}`);
}

Deno.test("at most so many targets have a turn within any minute, and the others wait (R59)", async () => {
  const { clock, take, held } = open(3);
  assertEquals(many("a", 5).map(take), [true, true, true, false, false]);
  await clock.advance(MINUTE - 1);
  assertEquals(take("a3"), false);
  await clock.advance(1);
  assertEquals(["a3", "a4", "a5", "a6"].map(take), [true, true, true, false]);
  assertEquals(held, [1, 2, 1, 0, 1], "the number that waits");
});

Deno.test("a namespace that wants many turns leaves the others theirs (R59)", async () => {
  const { clock, take } = open(10);
  assertEquals(many("a", 100).filter(take).length, 10, "alone it has all of them");
  assertEquals(take("b0"), false);
  await clock.advance(MINUTE);
  assertEquals(many("a", 100).slice(10).filter(take).length, 9, "one is kept for b");
  assertEquals(take("b0"), true);
});

Deno.test("an object that no longer wants to go to zero keeps no turn from others (R59)", async () => {
  const { clock, take, deactivations, held } = open(2);
  assertEquals(["a0", "a1", "a2", "b0"].map(take), [true, true, false, false]);
  deactivations.leave({ namespace: "b", uid: "b0" });
  deactivations.leave({ namespace: "b", uid: "b0" });
  await clock.advance(MINUTE);
  assertEquals(["a2", "a3", "a4"].map(take), [true, true, false]);
  assertEquals(held, [1, 2, 1, 0, 1]);
});

Deno.test("a write that did not happen gives its turn back (R59)", () => {
  const { take, deactivations } = open(1);
  assertEquals([take("a0"), take("a1")], [true, false]);
  deactivations.refund({ namespace: "a", uid: "a0" });
  assertEquals(take("a1"), true);
});

Deno.test("in any course no minute has more turns than the limit, whoever asks (R59)", async () => {
  const asks = fc.array(fc.record({ waitMs: fc.nat(20_000), uid: fc.nat(30) }), { maxLength: 80 });
  await fc.assert(
    fc.asyncProperty(asks, fc.integer({ min: 2, max: 6 }), async (course, max) => {
      const { clock, take } = open(max);
      const turns: { readonly atMs: number; readonly namespace: string }[] = [];
      const ask = (uid: string) => {
        if (take(uid)) turns.push({ atMs: clock.monotonic(), namespace: uid.slice(0, 1) });
      };
      for (const { waitMs, uid } of course) {
        await clock.advance(waitMs);
        ask(`${uid % 2 === 0 ? "a" : "b"}${uid}`);
      }
      for (const { atMs } of turns) {
        const within = turns.filter((one) => one.atMs > atMs - MINUTE && one.atMs <= atMs);
        assert(within.length <= max, `${within.length} turns within a minute, and not ${max}`);
      }
    }),
    { numRuns: 100 },
  );
});

Deno.test("a namespace that asks every second for 200 objects leaves its share to one that asks at each poll (R59)", async () => {
  const { clock, take } = open(10);
  const waiting = new Map([["h", many("h", 200)], ["i", many("i", 40)]]);
  const taken = new Map([["h", 0], ["i", 0]]);
  const ask = (namespace: string) => {
    const before = waiting.get(namespace) ?? [];
    const left = before.filter((uid) => !take(uid));
    taken.set(namespace, (taken.get(namespace) ?? 0) + before.length - left.length);
    waiting.set(namespace, left);
  };
  for (let second = 0; second < 300; second++) {
    ask("h");
    if (second % 30 === 1) ask("i");
    await clock.advance(1000);
  }
  assertEquals([...taken.values()], [30, 20], "10 of the first minute, and half of the other four");
});

Deno.test("a large cluster may have 5 % of its objects go to zero within a minute, a small one 10 of them (R59)", () => {
  assertEquals([0, 200, 201, 2000].map(getDefaultDeactivations), [10, 10, 11, 100]);
});

const SIZE = { containers: [{ requests: { cpu: "100m" } }] };
const PROMETHEUS = {
  type: "prometheus",
  metadata: { serverAddress: "http://prometheus", query: "up", threshold: "1" },
};

Deno.test("a target that waits for its turn says so by condition, event and metric, and goes to zero later (R59, R92, R93)", async () => {
  let value = 5;
  const ask: AskTrigger = () => Promise.resolve({ kind: "value", value, isEmpty: false });
  const names = ["a", "b", "c"];
  const spec = { minReplicaCount: 0, maxReplicaCount: 5, cooldownPeriod: 0, pollingInterval: 10 };
  const objects = names.flatMap((name) => [
    deployment(name, { ...SIZE, replicas: 2 }),
    scaledObject(name, [PROMETHEUS], { target: name, spec }),
  ]);
  await using run = await ReplicasRun.start(objects, { ask, settings: { maxDeactivationsPerMinute: 1 } });
  const list = async () => await Promise.all(names.map((name) => run.replicas(name)));
  await run.advance(60);
  assertEquals(await run.podfit.series("podfit_deactivations_held"), ["podfit_deactivations_held 0"]);
  value = 0;
  await run.advance(40);
  assertEquals((await list()).filter((replicas) => replicas === 0), [0]);
  assertEquals(await run.podfit.series("podfit_deactivations_held"), ["podfit_deactivations_held 2"]);
  const waiting: string[] = [];
  for (const name of names) if (await run.replicas(name) > 0) waiting.push(name);
  assertEquals(waiting.length, 2);
  for (const name of waiting) {
    assertEquals(await run.condition(name, "Active"), "False DeactivationHeld");
    assertStringIncludes(await run.message(name, "Active"), "--max-deactivations-per-minute");
    assertEquals((await run.cluster.events(name)).filter((reason) => reason === "DeactivationHeld").length, 1);
    const holds = await run.podfit.series(`podfit_replica_holds_total{namespace="default",name="${name}"`);
    assert(holds.some((line) => line.includes('reason="DeactivationHeld"')), holds.join("\n"));
  }
  const [paused = ""] = waiting;
  const pause = (value: string | null) =>
    run.cluster.patch(`scaledobjects/${paused}`, {
      metadata: { annotations: { "autoscaling.keda.sh/paused": value } },
    });
  await pause("true");
  await run.advance(2);
  assertEquals(await run.podfit.series("podfit_deactivations_held"), ["podfit_deactivations_held 1"]);
  await pause(null);
  await run.advance(190);
  assertEquals(await list(), [0, 0, 0]);
  assertEquals(await run.podfit.series("podfit_deactivations_held"), ["podfit_deactivations_held 0"]);
  for (const name of names) assertEquals(await run.condition(name, "Active"), "False ScalerNotActive");
});
