import { assertEquals } from "#assert";
import type { Reading } from "../../../lib/api/usage.ts";
import type { Observation } from "../../../lib/model/decision.ts";
import { ChangedPods, runNodeLoop } from "../../../lib/daemon/pods/poller.ts";
import type { TrackedPod } from "../../../lib/daemon/cluster/facts.ts";
import { pod, policy } from "../../support/builders.ts";
import { getComputeQueue } from "../../../lib/runtime/event_loop.ts";
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";

const CAPACITY = { cpuMillicores: 8000, memoryBytes: null };

/** A loop over two pods whose readings, changes and turns the test gives by hand. */
class Loop {
  readonly changes = new ChangedPods();
  readonly pods = new Map<string, TrackedPod>();
  /** `pod kind` of each evaluation. */
  readonly turns: string[] = [];
  readonly read: string[] = [];
  turned = 0;
  onEvaluating = () => {};
  isRound = true;
  readonly ending = new AbortController();
  readonly ended: Promise<void>;
  readonly compute = getComputeQueue(new VirtualClock());
  #give: (result: IteratorResult<Reading>) => void = () => {};

  constructor() {
    for (const uid of ["a", "b"]) this.pods.set(uid, { pod: pod({ uid }), autoscalers: [policy()] });
    this.ended = runNodeLoop({
      node: "node1",
      controller: { evaluate: (pods, observe) => this.#takeTurn(pods, observe) },
      tracked: () => this.pods,
      capacity: () => CAPACITY,
      readings: { next: () => new Promise((resolve) => this.#give = resolve) },
      changes: this.changes,
      signal: this.ending.signal,
      compute: this.compute,
      beginRound: () => this.isRound,
      onReading: ({ kind }) => this.read.push(kind),
      onEvaluated: () => this.turned++,
    });
  }

  give(...uids: string[]): ReadonlyMap<string, unknown> {
    const pods = new Map(uids.map((uid) => [uid, { usageBytes: null, points: [] }]));
    const common = { node: "node1", readAt: 0, clockOffsetMs: 0, skipped: 0, bytes: 0, durationMs: 0 };
    this.#give({ done: false, value: { kind: "usage", pods, ...common } });
    return pods;
  }

  fail(): void {
    this.#give({ done: false, value: { kind: "failed", node: "node1", readAt: 0, reason: "timeout", message: "" } });
  }

  async end(): Promise<void> {
    this.#give({ done: true, value: undefined });
    await this.ended;
  }

  #takeTurn(pods: Iterable<TrackedPod>, observe: (tracked: TrackedPod) => Observation): void {
    this.onEvaluating();
    for (const tracked of pods) this.turns.push(`${tracked.pod.uid} ${observe(tracked).kind}`);
  }
}

Deno.test("runNodeLoop() gives each pod its usage, or a tick where the reading has none of it", async () => {
  const loop = new Loop();
  loop.give("a");
  await settleEventLoop();
  loop.fail();
  await settleEventLoop();
  await loop.end();
  assertEquals(loop.turns, ["a usage", "b tick", "a tick", "b tick"]);
  assertEquals([loop.read, loop.turned], [["usage", "failed"], 2]);
});

Deno.test("runNodeLoop() empties a reading once its pods are evaluated", async () => {
  const loop = new Loop();
  const sizes: number[] = [];
  loop.onEvaluating = () => sizes.push(pods.size);
  const pods = loop.give("a", "b");
  await settleEventLoop();
  await loop.end();
  assertEquals([sizes, pods.size, loop.turns], [[2], 0, ["a usage", "b usage"]]);
});

Deno.test("runNodeLoop() lets others go first after each ten pods, and leaves out those that have gone meanwhile", async () => {
  const loop = new Loop();
  for (let index = 0; index < 25; index++) {
    const uid = `more-${index}`;
    loop.pods.set(uid, { pod: pod({ uid }), autoscalers: [policy()] });
  }
  const others: string[] = [];
  loop.onEvaluating = () => {
    loop.onEvaluating = () => {};
    void loop.compute(() => {
      others.push(`after ${loop.turns.length}`);
      loop.pods.delete("more-20");
    });
  };
  loop.give();
  await settleEventLoop();
  await loop.end();
  assertEquals([others, loop.turns.length, loop.turned], [["after 10"], 26, 1]);
  assertEquals(loop.turns.includes("more-20 tick"), false);
});

Deno.test("runNodeLoop() evaluates changed pods alone, between readings", async () => {
  const loop = new Loop();
  loop.changes.add("b");
  await settleEventLoop();
  loop.changes.add("gone");
  loop.changes.add("a");
  loop.changes.remove("a");
  await settleEventLoop();
  await loop.end();
  assertEquals(loop.turns, ["b changed"]);
});

Deno.test("runNodeLoop() evaluates a pod once for all that has changed since the last turn", async () => {
  const loop = new Loop();
  for (const uid of ["a", "b", "a"]) loop.changes.add(uid);
  await settleEventLoop();
  await loop.end();
  assertEquals(loop.turns, ["a changed", "b changed"]);
});

Deno.test("runNodeLoop() keeps a reading that comes together with a change", async () => {
  const loop = new Loop();
  loop.changes.add("a");
  loop.give("a", "b");
  await settleEventLoop();
  await loop.end();
  assertEquals(loop.turns.toSorted(), ["a changed", "a usage", "b usage"]);
});

Deno.test("runNodeLoop() evaluates nothing once it is to end", async () => {
  const loop = new Loop();
  loop.ending.abort();
  loop.changes.add("a");
  loop.give("a");
  await settleEventLoop();
  await loop.end();
  assertEquals([loop.turns, loop.read, loop.turned], [[], [], 0]);
});

Deno.test("runNodeLoop() leaves changes to the next loop once it is to end", async () => {
  const loop = new Loop();
  loop.ending.abort();
  loop.changes.add("a");
  await settleEventLoop();
  await loop.end();
  assertEquals([...loop.changes.take()], ["a"]);
});

Deno.test("runNodeLoop() takes no changes whose turn comes after its end", async () => {
  const loop = new Loop();
  const first = loop.compute(() => {});
  loop.changes.add("a");
  void loop.compute(() => loop.ending.abort());
  await settleEventLoop();
  await Promise.all([first, loop.end()]);
  assertEquals([[...loop.changes.take()], loop.turns, loop.turned], [["a"], [], 0]);
});

Deno.test("runNodeLoop() passes a reading on that is no round, and evaluates nobody with it", async () => {
  const loop = new Loop();
  loop.isRound = false;
  loop.give("a");
  await settleEventLoop();
  loop.isRound = true;
  loop.give("b");
  await settleEventLoop();
  await loop.end();
  assertEquals(loop.turns, ["a tick", "b usage"]);
  assertEquals([loop.read.length, loop.turned], [2, 2]);
});
