/** Log, metrics, status and records say of quiet evaluations what they say of others, and a change ends the quiet. */
import { assert, assertEquals } from "#assert";
import type { TrackedPod } from "../../lib/daemon/cluster/facts.ts";
import { createMetrics } from "../../lib/daemon/metrics/metrics.ts";
import {
  combineSinks,
  type EvaluationSink,
  PodController,
  PodStates,
  withQuiet,
} from "../../lib/daemon/pods/controller.ts";
import { createLogSink, createMetricsSink } from "../../lib/daemon/pods/reports.ts";
import { createFlightRecorder } from "../../lib/daemon/recorder.ts";
import { WaitingContainers } from "../../lib/daemon/status/sizes.ts";
import type { Observation } from "../../lib/model/decision.ts";
import { createLog, type LogLevel } from "../../lib/runtime/log.ts";
import { MI, pod, point, policy, resizeEntry, SECOND, side, START, usage } from "../support/builders.ts";
import { NO_SURROUNDINGS } from "../support/evaluations.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const WEB: TrackedPod = {
  pod: pod({ resizes: [resizeEntry("podfit.main", START - 100 * SECOND)] }),
  autoscalers: [policy({
    sides: [
      side("cpu.requests", { bounds: { max: 100 }, cooldownMs: 0 }),
      side("memory.requests", { down: { windowMs: 60 * SECOND } }),
    ],
  })],
};

interface Context {
  readonly scaleInPending?: Readonly<Record<string, readonly "cpu.requests"[]>>;
  readonly scaledInAt?: number;
}

/** A pod controller with what listens to it. `isPlain`: each sink gets every evaluation as `decideSize` decides it. */
class Desk {
  readonly clock = new VirtualClock();
  readonly states = new PodStates();
  readonly logged: string[] = [];
  readonly followed: string[] = [];
  readonly errors: unknown[] = [];
  readonly metrics = createMetrics({ version: "1" });
  readonly recorder = createFlightRecorder(this.clock);
  readonly waiting = new WaitingContainers({ findState: (uid) => this.states.peek(uid) });
  tracked: TrackedPod = WEB;
  context: Context = {};
  #counterNs = 1e9;
  #observedAt = START;
  readonly #controller: PodController;

  constructor(isPlain: boolean, level: LogLevel = "info", hasRecords = true) {
    const log = createLog({ level, format: "json", write: (line) => void this.logged.push(line), clock: this.clock });
    const sinks: readonly EvaluationSink[] = [
      createLogSink(log),
      createMetricsSink({ metrics: this.metrics, isKnown: () => true }),
      this.waiting.sink,
      ...hasRecords ? [this.recorder.sink] : [],
    ];
    const plain = sinks.map(withQuiet);
    this.#controller = new PodController({
      clock: this.clock,
      states: this.states,
      acquirePermit: () => Promise.resolve(null),
      actuate: () => Promise.resolve({ kind: "withdrawn" }),
      report: combineSinks(isPlain ? plain : sinks, (_, error) => this.errors.push(error)),
      findSiblings: () => null,
      getContext: () => this.context,
      dryRun: false,
      canDecide: () => true,
      findCurrent: () => this.tracked,
      surroundings: NO_SURROUNDINGS,
      onError: (_, error) => this.errors.push(error),
    });
  }

  /** Polls so many times with this usage. */
  async poll(times: number, cpu: number, memory = 80): Promise<this> {
    for (let time = 0; time < times; time++) {
      await this.clock.advance(5 * SECOND);
      const at = this.clock.now();
      this.#counterNs += (cpu + time) * 1000 * (at - this.#observedAt);
      this.#observedAt = at;
      this.evaluate(usage([point({ at, counterNs: this.#counterNs, workingSetBytes: memory * MI })]));
    }
    return this;
  }

  evaluate(observation: Observation): void {
    this.#controller.evaluate([this.tracked], () => observation);
  }

  follow(): void {
    const { namespace, name } = WEB.pod;
    this.recorder.watch({ kind: "pod", namespace, name }, (line) => void this.followed.push(line ?? ""));
  }

  /** All that can be read of it. */
  read(): unknown {
    const { namespace, name, uid } = WEB.pod;
    const [web = policy()] = this.tracked.autoscalers;
    return {
      state: this.states.find(uid),
      metrics: [...this.metrics.render()].join("").split("\n").filter((line) => line.startsWith("kedify_")),
      waiting: this.waiting.find(web, this.tracked.pod, "main"),
      records: [...this.recorder.get({ kind: "pod", namespace, name }) ?? []].join("").split("\n").filter((line) =>
        line !== ""
      ).map((line) => JSON.parse(line)),
      latest: [...this.recorder.listLatest(null)].map((line) => JSON.parse(line)),
      followed: this.followed.map((line) => JSON.parse(line)),
      errors: this.errors,
    };
  }
}

Deno.test("metrics, status and records of quiet evaluations are those of evaluations by decideSize() (C51, C52, C53)", async () => {
  const [quiet, plain] = [new Desk(false), new Desk(true)];
  const both = async (times: number, cpu: number, memory?: number) => {
    const before = quiet.states.findVerdict(WEB.pod.uid);
    for (const desk of [quiet, plain]) await desk.poll(times, cpu, memory);
    assertEquals(quiet.read(), plain.read());
    return before !== null && before === quiet.states.findVerdict(WEB.pod.uid);
  };
  await both(5, 50);
  assert(await both(5, 52), "in its band");
  await both(6, 85);
  assert(await both(4, 88), "at its bound");
  assertEquals(quiet.waiting.find(policy(), WEB.pod, "main")?.wanted, { "cpu.requests": 91 * 100 / 60 });
  for (const desk of [quiet, plain]) desk.follow();
  assert(await both(3, 90), "at its bound, while somebody watches");
  assertEquals(quiet.followed.length, 3);
  await both(6, 50, 30);
  assert(await both(3, 50, 30), "a scale-down waits for its window");
  await both(20, 50, 80);
  assertEquals(quiet.errors, []);
});

Deno.test("where nothing is recorded, short streaks are quiet too, and metrics and status are those of decideSize() (C36, C51, C52)", async () => {
  const [quiet, plain, recorded] = [new Desk(false, "info", false), new Desk(true, "info", false), new Desk(false)];
  const pollAll = async (times: number, cpu: number) => {
    for (const desk of [quiet, plain, recorded]) await desk.poll(times, cpu);
    assertEquals(quiet.read(), plain.read());
    return [quiet, recorded].map((desk) => desk.states.findVerdict(WEB.pod.uid));
  };
  const before = await pollAll(6, 50);
  assert(before.every((verdict) => verdict !== null));
  await pollAll(1, 85);
  const [view] = Object.values(quiet.states.find(WEB.pod.uid)?.views ?? {});
  assertEquals(view?.streaks["cpu.requests"]?.count, 1);
  const after = await pollAll(3, 50);
  assertEquals(after.map((verdict, index) => verdict === before[index]), [true, false]);
  await pollAll(8, 85);
  assert(quiet.states.findVerdict(WEB.pod.uid) !== before[0], "a full streak");
  assertEquals(quiet.errors, []);
});

Deno.test("the log of level debug has each quiet evaluation", async () => {
  const [quiet, plain] = [await new Desk(false, "debug").poll(12, 50), await new Desk(true, "debug").poll(12, 50)];
  assertEquals(quiet.logged, plain.logged);
  assertEquals(quiet.logged.filter((line) => line.includes("inside the thresholds")).length, 11);
});

Deno.test("a change of the pod, its autoscalers or its replicas ends the quiet", async () => {
  const changes: Readonly<Record<string, (desk: Desk) => unknown>> = {
    "a newer pod": (desk) => desk.tracked = { ...WEB, pod: { ...WEB.pod, resourceVersion: "101" } },
    "another autoscaler": (desk) => desk.tracked = { ...WEB, autoscalers: [{ ...policy(), generation: 2 }] },
    "replicas that are about to be removed": (desk) => desk.context = { scaleInPending: { main: ["cpu.requests"] } },
    "replicas that were removed": (desk) => desk.context = { scaledInAt: START },
    "a wall clock that was set": (desk) => desk.clock.setNow(desk.clock.now() + 60 * SECOND),
    "a failed reading": (desk) => desk.evaluate({ kind: "tick" }),
    "a change that came while it was quiet": (desk) => desk.evaluate({ kind: "changed" }),
  };
  for (const [what, change] of Object.entries(changes)) {
    const desk = await new Desk(false).poll(6, 50);
    const before = desk.states.findVerdict(WEB.pod.uid);
    assert(before !== null, what);
    assertEquals((await desk.poll(2, 50)).states.findVerdict(WEB.pod.uid), before, what);
    change(desk);
    await desk.poll(1, 50);
    assert(desk.states.findVerdict(WEB.pod.uid) !== before, what);
    assertEquals(desk.errors, [], what);
  }
});
