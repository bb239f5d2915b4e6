/**
 * What holds for whatever runs on a node and whatever is done to it: the checks that recorded streams pass find
 * nothing, counters only grow, no container passes a limit, and the same seed is the same run.
 */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { type Curve, type Load, parseLoad } from "../../../lib/embedded/model/load.ts";
import type { NodeState } from "../../../lib/embedded/model/state.ts";
import { computeSummary } from "../../../lib/embedded/model/summary.ts";
import type { Meter } from "../../../lib/simulate/model/meter.ts";
import { checkPodWatch } from "../../support/embedded/check_pod_watch.ts";
import { checkSummaries, type SeenSummary } from "../../support/embedded/check_summaries.ts";
import { type ContainerOptions, MI, ModelRun, type PodOptions, SECOND } from "../../support/model_run.ts";

/** Fixed seeds: a failure is the same failure everywhere. */
const RUNS = { seed: 20261120, numRuns: 60 };

function curves(max: number): fc.Arbitrary<Curve> {
  const amount = fc.integer({ min: 0, max });
  const ms = fc.integer({ min: 1, max: 120_000 });
  const plain: fc.Arbitrary<Curve> = fc.oneof(
    fc.record({ kind: fc.constant("constant" as const), value: amount }),
    fc.record({ kind: fc.constant("step" as const), before: amount, after: amount, atMs: ms }),
    fc.record({ kind: fc.constant("ramp" as const), from: amount, to: amount, startMs: ms, durationMs: ms }),
    fc.record({ kind: fc.constant("sine" as const), mean: amount, amplitude: amount, periodMs: ms, peakMs: ms }),
    fc.record({ kind: fc.constant("spikes" as const), height: amount, everyMs: ms, lengthMs: ms, firstMs: ms }),
    fc.record({ kind: fc.constant("noise" as const), amplitude: amount, stepMs: ms, seed: fc.string() }),
    fc.record({ kind: fc.constant("jvmStart" as const), peak: amount, idle: amount, startMs: ms, halfLifeMs: ms }),
    fc.record({ kind: fc.constant("leak" as const), base: amount, perHour: fc.nat(60 * max), max: fc.constant(null) }),
  );
  const sums = fc.array(plain, { minLength: 1, maxLength: 3 }).map((curves): Curve => ({ kind: "sum", curves }));
  return fc.oneof(plain, sums);
}

const loads: fc.Arbitrary<Partial<Load>> = fc.record({
  cpuMillicores: curves(1500),
  workingSetBytes: curves(80 * MI),
  pageCacheBytes: curves(30 * MI),
  readyAfterMs: fc.constantFrom(0, 0, 3000),
  exits: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.record({ afterMs: fc.integer({ min: 1, max: 60_000 }), code: fc.nat(2) }) },
  ),
  stops: fc.record({ afterMs: fc.constantFrom(10, 900, 9000), code: fc.nat(2) }),
}).map((load) => ({ ...load, threads: 1 + load.stops.code }));

const mebibytes = fc.integer({ min: 16, max: 160 });
const sizes: fc.Arbitrary<Pick<ContainerOptions, "requests" | "limits">> = fc.record({
  request: fc.integer({ min: 1, max: 700 }),
  more: fc.nat(800),
  memory: mebibytes,
}).map(({ request, more, memory }) => ({
  requests: { cpu: `${request}m`, memory: "16Mi" },
  limits: { cpu: `${request + more}m`, memory: `${memory}Mi` },
}));

const containers: fc.Arbitrary<ContainerOptions> = fc.tuple(
  sizes,
  loads,
  fc.constantFrom<ContainerOptions["restartsOn"]>([], [], ["memory"], ["cpu"]),
).map(([size, load, restartsOn]) => ({ ...size, load, ...(restartsOn === undefined ? {} : { restartsOn }) }));

const pods: fc.Arbitrary<PodOptions> = fc.record({
  containers: fc.array(containers, { minLength: 1, maxLength: 2 }).map((list) =>
    list.map((one, index) => ({ ...one, name: `c${index}` }))
  ),
  front: fc.constantFrom("none", "sidecar", "init"),
  frontLoad: loads,
  restartPolicy: fc.constantFrom("Always" as const, "Always" as const, "OnFailure" as const, "Never" as const),
  priority: fc.nat(1),
}).map(({ front, frontLoad, containers, ...pod }) => {
  const exits = { afterMs: 400, code: 0 };
  const before: readonly ContainerOptions[] = front === "none" ? [] : [
    front === "init"
      ? { name: "front", kind: "init", load: { exits } }
      : { name: "front", kind: "sidecar", load: frontLoad },
  ];
  return { ...pod, containers: [...before, ...containers] };
});

type Act =
  | { readonly kind: "wait"; readonly ms: number }
  | {
    readonly kind: "resize";
    readonly pod: number;
    readonly container: number;
    readonly size: Pick<ContainerOptions, "requests" | "limits">;
  }
  | { readonly kind: "delete"; readonly pod: number; readonly graceSeconds: number };

const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("resize" as const), pod: fc.nat(3), container: fc.nat(1), size: sizes }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("delete" as const), pod: fc.nat(3), graceSeconds: fc.nat(4) }),
    },
  ),
  { minLength: 3, maxLength: 14 },
);

interface Story {
  readonly pods: readonly PodOptions[];
  readonly acts: readonly Act[];
  readonly hasCadvisor: boolean;
}

const stories: fc.Arbitrary<Story> = fc.record({
  pods: fc.array(pods, { minLength: 1, maxLength: 4 }),
  acts,
  hasCadvisor: fc.constantFrom(true, true, false),
});

/** Polls once a second, and calls `look` after each. */
function play(
  story: Story,
  seed: string,
  look: (run: ModelRun) => void = () => {},
): { run: ModelRun; polls: SeenSummary[] } {
  const run = new ModelRun({ seed, hasCadvisor: story.hasCadvisor });
  const polls: SeenSummary[] = [];
  const names = story.pods.map((_, index) => `p${index}`);
  const wait = (ms: number) => {
    for (let left = ms; left > 0; left -= SECOND) {
      run.run(Math.min(left, SECOND));
      polls.push({ at: run.state.at, summary: computeSummary(run.state, run.state.at) });
      look(run);
    }
  };
  for (const [index, pod] of story.pods.entries()) run.add({ ...pod, name: names[index] ?? "" });
  wait(5 * SECOND);
  const deleted = new Set<string>();
  for (const act of story.acts) {
    if (act.kind === "wait") wait(act.ms);
    else {
      const name = names[act.pod % names.length] ?? "";
      if (deleted.has(name)) continue;
      if (act.kind === "delete") {
        run.delete(name, act.graceSeconds);
        deleted.add(name);
      } else run.resize(name, act.size, `c${act.container}`);
      // The watch shows each generation separately.
      wait(700);
    }
    for (const uid of run.gone.splice(0)) run.remove(uid.slice("uid-".length));
  }
  wait(5 * SECOND);
  return { run, polls };
}

interface Metered {
  readonly key: string;
  readonly meter: Meter;
  readonly limit: number | null;
}

function listMeters({ pods }: NodeState): readonly Metered[] {
  return pods.flatMap(({ spec, life, meters }) =>
    life.containers.flatMap(({ name, instances, actual }) => {
      const meter = meters[name];
      const key = `${spec.uid}/${name}/${instances}`;
      return meter === undefined ? [] : [{ key, meter, limit: actual["cpu.limits"] }];
    })
  );
}

Deno.test("nextNode() tells nothing that a real kubelet was not seen to tell (C41, C46)", () => {
  let [resizes, restarts, deferred, errors] = [0, 0, 0, 0];
  fc.assert(
    fc.property(stories, fc.string(), (story, seed) => {
      const { run } = play(story, seed);
      assertEquals(checkPodWatch(run.watch), []);
      const reasons = run.events.map(({ reason }) => reason);
      resizes += reasons.filter((reason) => reason === "ResizeCompleted").length;
      deferred += reasons.filter((reason) => reason === "ResizeDeferred").length;
      errors += reasons.filter((reason) => reason === "ResizeError").length;
      restarts += run.changed.filter(({ status }) =>
        status.containerStatuses?.some((one) => one.restartCount > 0)
      ).length;
    }),
    RUNS,
  );
  assert(resizes > 50 && restarts > 50 && deferred > 5 && errors > 5, `${[resizes, restarts, deferred, errors]}`);
});

Deno.test("computeSummary() answers nothing that a real kubelet was not seen to answer (C21, C22)", () => {
  let [zeros, taken] = [0, 0];
  fc.assert(
    fc.property(stories, fc.string(), (story, seed) => {
      const { polls } = play(story, seed);
      assertEquals(checkSummaries(polls, { hasCadvisor: story.hasCadvisor }), []);
      for (const { at, summary } of polls) {
        for (const container of summary.pods?.flatMap(({ containers = [] }) => containers) ?? []) {
          if (container.cpu?.usageCoreNanoSeconds === 0 && container.memory?.usageBytes === 0) zeros++;
          if (at - Date.parse(container.cpu?.time ?? "") > 5 * SECOND) taken++;
        }
      }
    }),
    RUNS,
  );
  assert(zeros > 5 && taken > 100, `${[zeros, taken]}`);
});

Deno.test("nextNode() counts each instance up in whole nanoseconds, and nobody passes a limit or the node", () => {
  let throttled = 0;
  fc.assert(
    fc.property(stories, fc.string(), (story, seed) => {
      const known = new Map<string, { meter: Meter; limit: number | null; at: number }>();
      play(story, seed, ({ state: { at }, state }) => {
        let total = 0;
        for (const { key, meter, limit } of listMeters(state)) {
          const before = known.get(key);
          for (
            const amount of [meter.cpuNs, meter.unmetNs, meter.throttledNs, meter.workingSetBytes, meter.cacheBytes]
          ) {
            assert(Number.isSafeInteger(amount) && amount >= 0, `${key}: ${amount}`);
          }
          if (before !== undefined) {
            // It may have been resized since, once.
            const most = Math.max(limit ?? 2000, before.limit ?? 2000);
            assert(meter.millicores <= most, `${key}: ${meter.millicores}m of ${most}m`);
            const grown = meter.cpuNs - before.meter.cpuNs;
            assert(
              grown >= 0 && grown <= most * 1000 * (at - before.at),
              `${key}: ${grown} ns in ${at - before.at} ms`,
            );
            assert(meter.throttledNs >= before.meter.throttledNs && meter.unmetNs >= before.meter.unmetNs, key);
          }
          total += meter.millicores;
          throttled += meter.throttledNs;
          known.set(key, { meter, limit, at });
        }
        assert(total <= 2000 + 1e-6, `${total}m of 2000m`);
      });
    }),
    RUNS,
  );
  assert(throttled > 0);
});

Deno.test("nextNode() gives the same run for the same seed, another for another, and takes its state back from JSON", () => {
  let different = 0;
  fc.assert(
    fc.property(stories, (story) => {
      const [one, other] = [
        play(story, "a"),
        play(story, "a", (run) => run.state = JSON.parse(JSON.stringify(run.state))),
      ];
      assertEquals(other.run.changed, one.run.changed);
      assertEquals(other.run.events, one.run.events);
      assertEquals(other.polls, one.polls);
      if (JSON.stringify(play(story, "b").polls) !== JSON.stringify(one.polls)) different++;
    }),
    { ...RUNS, numRuns: 15 },
  );
  assertEquals(different, 15);
});

Deno.test("nextNode() tells the same whether it is stepped each 250 ms or each 5 s", () => {
  fc.assert(
    fc.property(pods, (pod) => {
      const steps = [250, 5000].map((ms) => {
        const run = new ModelRun();
        run.add(pod);
        for (let passed = 0; passed < 60_000; passed += ms) run.run(ms);
        return { changed: run.changed, summary: computeSummary(run.state, run.state.at) };
      });
      assertEquals(steps[1], steps[0]);
    }),
    { ...RUNS, numRuns: 30 },
  );
});

Deno.test("parseLoad() takes back every load that it is given as JSON", () => {
  fc.assert(fc.property(loads, (load) => {
    const parsed = parseLoad(JSON.parse(JSON.stringify(load)));
    assert(parsed.ok, JSON.stringify(parsed));
    assertEquals(parsed.load as unknown, JSON.parse(JSON.stringify(load)));
  }));
});
