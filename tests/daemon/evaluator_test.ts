import { assertEquals } from "#assert";
import { abortable } from "../../lib/runtime/tasks.ts";
import type { Observation, SizeOutcome } from "../../lib/model/decision.ts";
import type { Siblings } from "../../lib/model/pod.ts";
import type { Answer, ResizeRequest } from "../../lib/model/resize_request.ts";
import type { AcquirePermit, ResizePermit } from "../../lib/daemon/permits.ts";
import { PodController, PodStates } from "../../lib/daemon/pods/controller.ts";
import type { TrackedPod } from "../../lib/daemon/cluster/facts.ts";
import { container, pod, point, policy, SECOND, SIZE, START, usage } from "../support/builders.ts";
import { NO_SURROUNDINGS } from "../support/evaluations.ts";
import { settleEventLoop, VirtualClock } from "../support/virtual_clock.ts";

const BUSY: TrackedPod = { pod: pod({ uid: "busy" }), autoscalers: [policy()] };
const OTHER: TrackedPod = { pod: pod({ uid: "other", name: "web-2" }), autoscalers: [policy()] };
const ACCEPTED: Answer = { kind: "accepted", generation: 2 };
const CHANGED = { kind: "changed" } as const;

function newTurn(isLate = false): ResizePermit {
  return { isLate, report() {}, refund() {}, [Symbol.dispose]() {} };
}

class Desk {
  readonly clock = new VirtualClock();
  readonly requests: ResizeRequest[] = [];
  readonly outcomes: SizeOutcome[] = [];
  readonly observed: string[] = [];
  readonly errors: string[] = [];
  canDecide = true;
  siblings: Siblings | null = null;
  usedMillicores = 150;
  #counterNs = 1e9;
  #observedAt = START;
  turn: AcquirePermit = () => Promise.resolve(newTurn());
  answer: () => Promise<Answer> = () => Promise.resolve(ACCEPTED);
  readonly states = new PodStates();
  readonly evaluator = new PodController({
    clock: this.clock,
    states: this.states,
    acquirePermit: (signal, options) => this.turn(signal, options),
    actuate: (request) => {
      this.requests.push(request);
      return this.answer();
    },
    report: ({ input, outcome }) => {
      this.observed.push(input.observation.kind);
      this.outcomes.push(outcome);
    },
    findSiblings: () => this.siblings,
    getContext: () => ({}),
    dryRun: false,
    canDecide: () => this.canDecide,
    findCurrent: (tracked) => tracked,
    surroundings: NO_SURROUNDINGS,
    onError: ({ pod }, error) => this.errors.push(`${pod.uid}: ${(error as Error).message}`),
  });

  /** Polls of 150m usage with a request of 100m: the third poll sends a request. */
  async poll(times: number, ...pods: readonly TrackedPod[]): Promise<void> {
    for (let i = 0; i < times; i++) {
      this.evaluator.evaluate(pods, () => this.observe());
      await settleEventLoop();
      await this.clock.advance(5 * SECOND);
    }
  }

  observe(): Observation {
    const at = this.clock.now();
    this.#counterNs += this.usedMillicores * 1000 * (at - this.#observedAt);
    this.#observedAt = at;
    return usage([point({ at, counterNs: this.#counterNs })]);
  }

  /** No request is answered before the returned function is called. */
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
    return this.states.find(uid)?.views["uid-of-web"]?.sampling.sample?.seenAt;
  }
}

Deno.test("evaluate() sends a request and folds its answer in", async () => {
  const desk = new Desk();
  await desk.poll(3, BUSY);
  assertEquals(desk.requests.map(({ to }) => to["cpu.requests"]), [200], "capped at the limit");
  assertEquals(desk.states.find("busy")?.generation, 2);
  assertEquals(desk.outcomes.filter(({ scaled }) => scaled !== null).length, 1);
});

Deno.test("evaluate() begins anew for a pod that was dropped and came back (C11)", async () => {
  const desk = new Desk();
  await desk.poll(3, OTHER);
  desk.evaluator.drop("other");
  assertEquals(desk.states.find("other"), null);
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
  assertEquals(desk.states.find("busy"), null);
  assertEquals(desk.outcomes.filter(({ scaled }) => scaled !== null).length, 1);
});

Deno.test("evaluate() sends the requests of one round together", async () => {
  const desk = new Desk();
  const release = desk.hold();
  await desk.poll(3, BUSY, OTHER);
  assertEquals(desk.requests.map(({ uid }) => uid), ["busy", "other"]);
  await release();
  assertEquals(desk.states.find("other")?.generation, 2);
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
  const newer: TrackedPod = { ...BUSY, pod: pod({ uid: "busy", resourceVersion: "101" }) };
  desk.evaluator.evaluate([newer], () => CHANGED);
  assertEquals(desk.observed.at(-1), "usage");
  desk.answer = () => Promise.resolve(ACCEPTED);
  await release({ kind: "conflict" });
  assertEquals(desk.observed.slice(-3), ["answered", "changed", "answered"]);
  assertEquals(desk.requests.map(({ resourceVersion }) => resourceVersion), ["100", "101"]);
});

Deno.test("evaluate() reports a pod that cannot be decided, and goes on with the others", async () => {
  const desk = new Desk();
  const broken = { pod: pod({ uid: "broken" }), contenders: null } as unknown as TrackedPod;
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
  assertEquals(desk.states.find("other")?.generation, 2);
  await desk.poll(1, BUSY);
  assertEquals(desk.requests.map(({ uid }) => uid), ["busy", "other", "busy"]);
});

Deno.test("evaluate() passes a pod by whose contenders are not all known, and keeps what it knew of it (C12)", async () => {
  const desk = new Desk();
  await desk.poll(3, BUSY);
  const before = desk.states.peek("busy");
  desk.canDecide = false;
  await desk.poll(3, BUSY, OTHER);
  assertEquals([desk.requests.length, desk.states.peek("busy") === before], [1, true]);
  assertEquals(desk.states.find("other"), null);
});

Deno.test("evaluate() sends an inherited size for the pod as it is when a turn comes late (C23, L40)", async () => {
  const desk = new Desk();
  const give = holdTurn(desk);
  desk.siblings = { main: { pods: 3, median: { ...SIZE, "cpu.requests": 180 }, floorBytes: 0 } };
  const containers = [container({ runningAt: START })];
  const born = { uid: "born", containers, readyAt: START, containersReadyAt: START };
  const young: TrackedPod = { pod: pod(born), autoscalers: [policy({ newPods: "inherit" })] };
  await desk.poll(3, young);
  const newer: TrackedPod = { ...young, pod: pod({ ...born, resourceVersion: "101" }) };
  desk.evaluator.evaluate([newer], () => CHANGED);
  await give(newTurn(true));
  assertEquals(desk.requests.map(({ resourceVersion, reason }) => [resourceVersion, reason]), [["101", "Inherited"]]);
});

Deno.test("an Evaluator that is disposed of waits for its answers, and evaluates nothing after that", async () => {
  const desk = new Desk();
  const release = desk.hold();
  await desk.poll(3, BUSY);
  desk.evaluator.evaluate([BUSY], () => CHANGED);
  let isOver = false;
  const over = desk.evaluator[Symbol.asyncDispose]().then(() => isOver = true);
  await settleEventLoop();
  assertEquals(isOver, false);
  await release();
  await over;
  assertEquals([desk.states.find("busy")?.generation, desk.observed.at(-1)], [2, "answered"]);
  await desk.poll(1, BUSY);
  assertEquals(desk.observed.at(-1), "answered");
});

/** The permit comes when the returned function is called. */
function holdTurn(desk: Desk): (turn: ResizePermit) => Promise<void> {
  let give: (turn: ResizePermit) => void = () => {};
  const held = new Promise<ResizePermit>((resolve) => give = resolve);
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
  const newer: TrackedPod = { ...BUSY, pod: pod({ uid: "busy", resourceVersion: "101" }) };
  desk.evaluator.evaluate([newer], () => CHANGED);
  assertEquals(desk.requests, []);
  await give(newTurn(true));
  assertEquals(desk.requests.map(({ resourceVersion }) => resourceVersion), ["101"]);
  assertEquals(desk.observed.slice(-2), ["changed", "answered"]);
  assertEquals(desk.states.find("busy")?.generation, 2);
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
