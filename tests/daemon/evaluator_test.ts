import { assertEquals } from "@std/assert";
import { abortable } from "@std/async/abortable";
import type { Observation, Outcome } from "../../lib/core/decision.ts";
import type { Answer, ResizeRequest } from "../../lib/core/resize_request.ts";
import type { TakeTurn, Turn } from "../../lib/daemon/act/turns.ts";
import { Evaluator } from "../../lib/daemon/evaluator.ts";
import type { Surroundings } from "../../lib/daemon/observer.ts";
import type { Tracked } from "../../lib/daemon/inventory/tracked.ts";
import { pod, point, policy, SECOND, START, usage } from "../support/builders.ts";
import { settle, VirtualClock } from "../../lib/runtime/virtual_clock.ts";

const BUSY: Tracked = { pod: pod({ uid: "busy" }), contenders: [policy()] };
const OTHER: Tracked = { pod: pod({ uid: "other", name: "web-2" }), contenders: [policy()] };
const ACCEPTED: Answer = { kind: "accepted", generation: 2 };
const CHANGED = { kind: "changed" } as const;

const NO_SURROUNDINGS: Surroundings = {
  rooms: { read: () => null, command() {}, accept() {}, release() {} },
  readLimits: () => null,
  lowersMemoryLimits: () => true,
};

function newTurn(isLate = false): Turn {
  return { isLate, note() {}, giveBack() {}, [Symbol.dispose]() {} };
}

class Desk {
  readonly clock = new VirtualClock();
  readonly requests: ResizeRequest[] = [];
  readonly outcomes: Outcome[] = [];
  readonly observed: string[] = [];
  readonly errors: string[] = [];
  canDecide = true;
  usedMillicores = 150;
  #counterNs = 1e9;
  #observedAt = START;
  turn: TakeTurn = () => Promise.resolve(newTurn());
  answer: () => Promise<Answer> = () => Promise.resolve(ACCEPTED);
  readonly evaluator = new Evaluator({
    clock: this.clock,
    takeTurn: (signal, options) => this.turn(signal, options),
    actuate: (request) => {
      this.requests.push(request);
      return this.answer();
    },
    report: ({ input, outcome }) => {
      this.observed.push(input.observation.kind);
      this.outcomes.push(outcome);
    },
    readSiblings: () => null,
    readSigns: () => ({}),
    dryRun: false,
    canDecide: () => this.canDecide,
    surroundings: NO_SURROUNDINGS,
    onError: ({ pod }, error) => this.errors.push(`${pod.uid}: ${(error as Error).message}`),
  });

  /** Polls of 150m of 100m: the third one sends a request. */
  async poll(times: number, ...pods: readonly Tracked[]): Promise<void> {
    for (let i = 0; i < times; i++) {
      this.evaluator.evaluate(pods, () => this.observe());
      await settle();
      await this.clock.advance(5 * SECOND);
    }
  }

  observe(): Observation {
    const at = this.clock.now();
    this.#counterNs += this.usedMillicores * 1000 * (at - this.#observedAt);
    this.#observedAt = at;
    return usage([point({ at, counterNs: this.#counterNs })]);
  }

  /** No request is answered before what this returns is called. */
  hold(): (answer?: Answer) => Promise<void> {
    let release: (answer: Answer) => void = () => {};
    const held = new Promise<Answer>((resolve) => release = resolve);
    this.answer = () => held;
    return async (answer = ACCEPTED) => {
      release(answer);
      await this.evaluator.answered();
    };
  }

  /** When the newest sample of the pod was seen. */
  sampledAt(uid: string): number | undefined {
    return this.evaluator.readState(uid)?.views["uid-of-web"]?.sampling.sample?.seenAt;
  }
}

Deno.test("evaluate() sends a request and folds its answer in", async () => {
  const desk = new Desk();
  await desk.poll(3, BUSY);
  assertEquals(desk.requests.map(({ to }) => to["cpu.requests"]), [200], "capped at the limit");
  assertEquals(desk.evaluator.readState("busy")?.generation, 2);
  assertEquals(desk.outcomes.filter(({ scaled }) => scaled !== null).length, 1);
});

Deno.test("evaluate() begins anew for a pod that was dropped and came back (C11)", async () => {
  const desk = new Desk();
  await desk.poll(3, OTHER);
  desk.evaluator.drop("other");
  assertEquals(desk.evaluator.readState("other"), null);
  await desk.poll(3, OTHER);
  assertEquals(
    desk.requests.length,
    2,
    "after as many samples as at first, and no cooldown that managedFields don't show",
  );
});

Deno.test("evaluate() brings no state back for a pod dropped during its PATCH, and reports the action (C11)", async () => {
  const desk = new Desk();
  const release = desk.hold();
  await desk.poll(3, BUSY);
  desk.evaluator.evaluate([BUSY], () => CHANGED);
  desk.evaluator.drop("busy");
  await release();
  assertEquals(desk.evaluator.readState("busy"), null);
  assertEquals(desk.outcomes.filter(({ scaled }) => scaled !== null).length, 1);
});

Deno.test("evaluate() sends the requests of one round together", async () => {
  const desk = new Desk();
  const release = desk.hold();
  await desk.poll(3, BUSY, OTHER);
  assertEquals(desk.requests.map(({ uid }) => uid), ["busy", "other"]);
  await release();
  assertEquals(desk.evaluator.readState("other")?.generation, 2);
});

Deno.test("evaluate() goes on sampling while a request is not answered, and sends no second one (C23, C41)", async () => {
  const desk = new Desk();
  const release = desk.hold();
  await desk.poll(3, BUSY);
  await desk.poll(5, BUSY);
  assertEquals([desk.requests.length, desk.sampledAt("busy")], [1, START + 35 * SECOND]);
  const [decision] = desk.outcomes.at(-1)?.decisions ?? [];
  assertEquals(decision?.decision.kind === "blocked" && decision.decision.reason, "ResizeInProgress");
  assertEquals(desk.outcomes.flatMap(({ notices }) => notices), [], "of which nobody need be notified");
  await release({ kind: "refused", reason: "RetryLater", message: "", resources: [], waitMs: null });
  await desk.poll(2, BUSY);
  assertEquals(desk.requests.length, 2);
});

Deno.test("evaluate() decides about a pod that changed during its PATCH when the answer has come (C23, C40)", async () => {
  const desk = new Desk();
  const release = desk.hold();
  await desk.poll(3, BUSY);
  const newer: Tracked = { ...BUSY, pod: pod({ uid: "busy", resourceVersion: "101" }) };
  desk.evaluator.evaluate([newer], () => CHANGED);
  assertEquals(desk.observed.at(-1), "usage");
  desk.answer = () => Promise.resolve(ACCEPTED);
  await release({ kind: "conflict" });
  assertEquals(desk.observed.slice(-3), ["answered", "changed", "answered"]);
  assertEquals(desk.requests.map(({ resourceVersion }) => resourceVersion), ["100", "101"]);
});

Deno.test("evaluate() reports a pod that cannot be decided, and goes on with the others", async () => {
  const desk = new Desk();
  const broken = { pod: pod({ uid: "broken" }), contenders: null } as unknown as Tracked;
  await desk.poll(3, broken, BUSY);
  assertEquals(desk.requests.map(({ uid }) => uid), ["busy"]);
  assertEquals(desk.errors.map((one) => one.split(":")[0]), ["broken", "broken", "broken"]);
});

Deno.test("evaluate() folds every answer in, also when another one fails, and sends again for that pod", async () => {
  const desk = new Desk();
  let count = 0;
  desk.answer = () => count++ === 0 ? Promise.reject(new Error("broken")) : Promise.resolve(ACCEPTED);
  await desk.poll(3, BUSY, OTHER);
  assertEquals(desk.errors, ["busy: broken"]);
  assertEquals(desk.evaluator.readState("other")?.generation, 2);
  await desk.poll(1, BUSY);
  assertEquals(desk.requests.map(({ uid }) => uid), ["busy", "other", "busy"]);
});

Deno.test("evaluate() passes a pod by whose contenders are not all known, and keeps what it knew of it (C12)", async () => {
  const desk = new Desk();
  await desk.poll(3, BUSY);
  const before = desk.evaluator.readStanding("busy");
  desk.canDecide = false;
  await desk.poll(3, BUSY, OTHER);
  assertEquals([desk.requests.length, desk.evaluator.readStanding("busy") === before], [1, true]);
  assertEquals(desk.evaluator.readState("other"), null);
});

Deno.test("an Evaluator that is disposed of waits for its answers, and evaluates nothing after that", async () => {
  const desk = new Desk();
  const release = desk.hold();
  await desk.poll(3, BUSY);
  desk.evaluator.evaluate([BUSY], () => CHANGED);
  let isOver = false;
  const over = desk.evaluator[Symbol.asyncDispose]().then(() => isOver = true);
  await settle();
  assertEquals(isOver, false);
  await release();
  await over;
  assertEquals([desk.evaluator.readState("busy")?.generation, desk.observed.at(-1)], [2, "answered"]);
  await desk.poll(1, BUSY);
  assertEquals(desk.observed.at(-1), "answered");
});

/** A turn comes when what this returns is called. */
function holdTurn(desk: Desk): (turn: Turn) => Promise<void> {
  let give: (turn: Turn) => void = () => {};
  const held = new Promise<Turn>((resolve) => give = resolve);
  desk.turn = (signal) => abortable(held, signal).catch(() => null);
  return async (turn) => {
    give(turn);
    await desk.evaluator.answered();
  };
}

Deno.test("evaluate() decides anew where a turn comes late, and sends what is wanted by then (C23, C40)", async () => {
  const desk = new Desk();
  const give = holdTurn(desk);
  await desk.poll(3, BUSY);
  const newer: Tracked = { ...BUSY, pod: pod({ uid: "busy", resourceVersion: "101" }) };
  desk.evaluator.evaluate([newer], () => CHANGED);
  assertEquals(desk.requests, []);
  await give(newTurn(true));
  assertEquals(desk.requests.map(({ resourceVersion }) => resourceVersion), ["101"]);
  assertEquals(desk.observed.slice(-2), ["changed", "answered"]);
  assertEquals(desk.evaluator.readState("busy")?.generation, 2);
});

Deno.test("evaluate() sends nothing late that is wanted no more, and counts it as no failure (C23)", async () => {
  const desk = new Desk();
  const give = holdTurn(desk);
  await desk.poll(3, BUSY);
  desk.usedMillicores = 60;
  await desk.poll(2, BUSY);
  await give(newTurn(true));
  assertEquals([desk.requests, desk.errors], [[], []]);
  const refused = desk.outcomes.filter(({ notices }) => notices.length > 0);
  assertEquals([refused, desk.observed.at(-1)], [[], "answered"]);
  desk.turn = () => Promise.resolve(newTurn());
  desk.usedMillicores = 150;
  await desk.poll(3, BUSY);
  assertEquals(desk.requests.length, 1, "nothing waits for it");
});

Deno.test("an Evaluator that is disposed of sends nothing that still waits for its turn", async () => {
  const desk = new Desk();
  holdTurn(desk);
  await desk.poll(3, BUSY);
  await desk.evaluator[Symbol.asyncDispose]();
  assertEquals([desk.requests, desk.observed.at(-1)], [[], "answered"]);
});
