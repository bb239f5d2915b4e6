import { assertEquals } from "@std/assert";
import type { Observation, Outcome } from "../../lib/core/decision.ts";
import type { Answer, ResizeRequest } from "../../lib/core/resize_request.ts";
import { Evaluator } from "../../lib/daemon/evaluator.ts";
import type { Surroundings } from "../../lib/daemon/observer.ts";
import type { Tracked } from "../../lib/daemon/inventory/tracked.ts";
import { pod, point, policy, SECOND, START, usage } from "../support/builders.ts";
import { settle, VirtualClock } from "../../lib/runtime/virtual_clock.ts";

const BUSY: Tracked = { pod: pod({ uid: "busy" }), contenders: [policy()] };
const OTHER: Tracked = { pod: pod({ uid: "other", name: "web-2" }), contenders: [policy()] };

const NO_SURROUNDINGS: Surroundings = {
  rooms: { read: () => null, command() {}, accept() {}, release() {} },
  readLimits: () => null,
  lowersMemoryLimits: () => true,
};

class Desk {
  readonly clock = new VirtualClock();
  readonly requests: ResizeRequest[] = [];
  readonly outcomes: Outcome[] = [];
  readonly errors: string[] = [];
  canDecide = true;
  answer: () => Promise<Answer> = () => Promise.resolve({ kind: "accepted", generation: 2 });
  readonly evaluator = new Evaluator({
    clock: this.clock,
    actuate: (request) => {
      this.requests.push(request);
      return this.answer();
    },
    report: ({ outcome }) => void this.outcomes.push(outcome),
    dryRun: false,
    canDecide: () => this.canDecide,
    surroundings: NO_SURROUNDINGS,
    onError: ({ pod }, error) => this.errors.push(`${pod.uid}: ${(error as Error).message}`),
  });

  /** Three polls of 150m of 100m: the third one sends a request. */
  async pollToRequest(...pods: readonly Tracked[]): Promise<void> {
    for (let i = 0; i < 3; i++) {
      await this.evaluator.evaluate(pods, () => this.observe());
      this.clock.setNow(this.clock.now() + 5 * SECOND);
    }
  }

  observe(): Observation {
    const at = this.clock.now();
    return usage([point({ at, counterNs: 1e9 + 150 * 1000 * (at - START) })]);
  }
}

Deno.test("evaluate() sends a request and folds its answer in before it returns", async () => {
  const desk = new Desk();
  await desk.pollToRequest(BUSY);
  assertEquals(desk.requests.map(({ to }) => to["cpu.requests"]), [200], "capped at the limit");
  assertEquals(desk.evaluator.readState("busy")?.generation, 2);
  assertEquals(desk.outcomes.filter(({ scaled }) => scaled !== null).length, 1);
});

Deno.test("evaluate() begins anew for a pod that was dropped and came back (C11)", async () => {
  const desk = new Desk();
  await desk.pollToRequest(OTHER);
  desk.evaluator.drop("other");
  assertEquals(desk.evaluator.readState("other"), null);
  await desk.pollToRequest(OTHER);
  assertEquals(
    desk.requests.length,
    2,
    "after as many samples as at first, and no cooldown that managedFields don't show",
  );
});

Deno.test("evaluate() brings no state back for a pod dropped during its PATCH, and reports the action (C11)", async () => {
  const desk = new Desk();
  desk.answer = async () => {
    await settle(1);
    desk.evaluator.drop("busy");
    return { kind: "accepted", generation: 2 };
  };
  await desk.pollToRequest(BUSY);
  assertEquals(desk.evaluator.readState("busy"), null);
  assertEquals(desk.outcomes.filter(({ scaled }) => scaled !== null).length, 1);
});

Deno.test("evaluate() sends the requests of one round together", async () => {
  const desk = new Desk();
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  desk.answer = async () => {
    await held;
    return { kind: "accepted", generation: 2 };
  };
  const polling = desk.pollToRequest(BUSY, OTHER);
  await settle();
  assertEquals(desk.requests.map(({ uid }) => uid), ["busy", "other"]);
  release();
  await polling;
  assertEquals(desk.evaluator.readState("other")?.generation, 2);
});

Deno.test("evaluate() reports a pod that cannot be decided, and goes on with the others", async () => {
  const desk = new Desk();
  const broken = { pod: pod({ uid: "broken" }), contenders: null } as unknown as Tracked;
  await desk.pollToRequest(broken, BUSY);
  assertEquals(desk.requests.map(({ uid }) => uid), ["busy"]);
  assertEquals(desk.errors.map((one) => one.split(":")[0]), ["broken", "broken", "broken"]);
});

Deno.test("evaluate() waits for every answer, also when another one fails", async () => {
  const desk = new Desk();
  let count = 0;
  desk.answer = async () => {
    if (count++ === 0) throw new Error("broken");
    await settle();
    return { kind: "accepted", generation: 2 };
  };
  await desk.pollToRequest(BUSY, OTHER);
  assertEquals(desk.errors, ["busy: broken"]);
  assertEquals(desk.evaluator.readState("other")?.generation, 2);
});

Deno.test("evaluate() passes a pod by whose contenders are not all known, and keeps what it knew of it (C12)", async () => {
  const desk = new Desk();
  await desk.pollToRequest(BUSY);
  const before = desk.evaluator.readState("busy");
  desk.canDecide = false;
  await desk.pollToRequest(BUSY, OTHER);
  assertEquals([desk.requests.length, desk.evaluator.readState("busy") === before], [1, true]);
  assertEquals(desk.evaluator.readState("other"), null);
});
