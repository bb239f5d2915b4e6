import { assert, assertEquals } from "#assert";
import type { ContainerRun, Simulation } from "../../../lib/simulate/simulate.ts";
import { container, MI, pod, resources } from "../../support/builders.ts";
import { cpu, factsOf, scaledObject } from "../../support/replicas_fold.ts";
import { autoscalerOf, HOUR, loadOf, run } from "../runs.ts";

Deno.test("simulate() gives the same run for the same seed, and another for another", () => {
  const load = loadOf((second) => ({ cpuMillicores: 150 + 100 * Math.sin(second / 300) }));
  const options = { stepSeconds: 60, seconds: 4 * HOUR };
  assertEquals(run(load, options), run(load, options));
  const others = run(load, { ...options, seed: "2" });
  assert(JSON.stringify(others.containers) !== JSON.stringify(run(load, options).containers));
});

Deno.test("simulate() resizes nothing where a steady load fits", () => {
  const { resizes, cpu, oomKills } = only(run(loadOf(() => ({ cpuMillicores: 150, workingSetBytes: 210 * MI }))));
  assertEquals([resizes, oomKills], [[], []]);
  assertEquals([cpu.used, cpu.slack, cpu.under, cpu.throttled], [150, 50, 0, 0]);
});

Deno.test("simulate() follows a step up within a minute, and down once its window has passed", () => {
  const load = loadOf((second) => ({ cpuMillicores: second >= 1800 && second < 3600 ? 1500 : 150 }));
  const { resizes } = only(run(load, { seconds: 2 * HOUR }));
  const up = resizes.find(({ second }) => second >= 1800);
  assertEquals(up?.action, "scaleUp");
  assert((up?.second ?? Infinity) < 1860, `up at ${up?.second}`);
  const raised = resizes.findLast(({ second }) => second < 3600);
  assert((raised?.to["cpu.requests"] ?? 0) >= 1500, JSON.stringify(raised));
  const last = resizes.at(-1);
  assertEquals(last?.action, "scaleDown");
  assert((last?.to["cpu.requests"] ?? Infinity) < 300, JSON.stringify(last));
});

Deno.test("simulate() holds CPU at the limit and counts what is lost to it", () => {
  const sides = { requests: { scaleUpThreshold: 90, scaleDownThreshold: 10, targetUtilization: 50 } };
  const policy = { pollInterval: "15s", consecutiveSamples: 3, cooldown: "5m", memory: sides };
  const { cpu, throttledCoreSeconds } = only(
    run(loadOf(() => ({ cpuMillicores: 500 })), { autoscalers: [autoscalerOf({ policy })] }),
  );
  assertEquals([cpu.used, cpu.throttled, cpu.throttledSeconds], [400, 100, HOUR]);
  assertEquals(throttledCoreSeconds, 360);
});

Deno.test("simulate() kills what passes its memory limit and counts it, until the limit is larger", () => {
  const load = loadOf((second) => ({ workingSetBytes: (second < 900 ? 100 : 600) * MI }));
  const { oomKills, resizes } = only(run(load));
  assert(oomKills.length > 0 && oomKills.every((second) => second > 900 && second < 960), `kills at ${oomKills}`);
  assert((resizes.at(-1)?.to["memory.limits"] ?? 0) > 600 * MI, JSON.stringify(resizes));
});

Deno.test("simulate() backs off between kills that nothing answers", () => {
  const policy = {
    pollInterval: "15s",
    consecutiveSamples: 3,
    cooldown: "5m",
    cpu: { requests: { scaleUpThreshold: 90, scaleDownThreshold: 10, targetUtilization: 50 } },
  };
  const load = loadOf(() => ({ workingSetBytes: 600 * MI }));
  const { oomKills, memory } = only(run(load, { autoscalers: [autoscalerOf({ policy })] }));
  const waits = oomKills.slice(1).map((second, index) => second - (oomKills[index] ?? 0));
  assert(waits.slice(1, 5).every((wait, index) => wait > (waits[index] ?? 0)), `waits ${waits}`);
  assert(waits.every((wait) => wait < 310) && oomKills.length >= 12, `waits ${waits}`);
  assert(memory.used < 30, `runs for some seconds only, but held ${memory.used} MiB`);
});

Deno.test("simulate() never lowers a memory limit below what is used with page cache", () => {
  const load = loadOf(() => ({ workingSetBytes: 50 * MI, pageCacheBytes: 400 * MI }));
  const { resizes, oomKills } = only(run(load, { seconds: 8 * HOUR }));
  assert(resizes.every(({ to }) => (to["memory.limits"] ?? 0) > 450 * MI), JSON.stringify(resizes));
  assertEquals(oomKills, []);
});

Deno.test("simulate() restarts one of four replicas at a time, as the daemon does (L70)", () => {
  const facts = container({ spec: resources({ "cpu.requests": 200 }), restartsOn: { cpu: true, memory: false } });
  const [sent, reasons] = [new Map<string, number | undefined>(), new Set<string>()];
  run(loadOf(() => ({ cpuMillicores: 2400 })), {
    pod: pod({ containers: [facts] }),
    replicas: 4,
    onEvaluation: ({ input: { pod, disruption }, outcome: { request, decisions } }) => {
      if (request !== null) sent.set(pod.name, disruption?.unavailable);
      for (const { decision } of decisions) if (decision.kind === "blocked") reasons.add(decision.reason);
    },
  });
  assertEquals([[...sent.values()], reasons.has("MaxUnavailable")], [[0, 0, 0, 0], true]);
});

Deno.test("simulate() restarts a container whose resizePolicy asks for it, which is no kill", () => {
  const facts = container({ spec: resources({ "cpu.requests": 200 }), restartsOn: { cpu: true, memory: false } });
  const seen = new Set<string | null>();
  const simulation = run(loadOf(() => ({ cpuMillicores: 600 })), {
    pod: pod({ containers: [facts] }),
    onEvaluation: ({ input }) => void seen.add(input.pod.containers[0]?.instance ?? null),
  });
  const { resizes, oomKills } = only(simulation);
  assertEquals(oomKills, []);
  assertEquals(seen.size, resizes.length + 1);
});

Deno.test("simulate() gives a series whose means are those of the figures", () => {
  const { series, cpu } = only(run(loadOf((second) => ({ cpuMillicores: 100 + second / 10 })), { stepSeconds: 7 }));
  const steps = Math.ceil(HOUR / 7);
  assertEquals(series?.cpu.wanted.length, steps);
  // The last step has two seconds.
  const sum = (list: Float64Array = new Float64Array()) =>
    list.reduce((total, one, index) => total + one * (index === steps - 1 ? HOUR % 7 : 7), 0);
  assertEquals(Math.round(sum(series?.cpu.used)), Math.round(cpu.used * HOUR));
  assertEquals(Math.round(sum(series?.cpu.request)), Math.round(cpu.request * HOUR));
  assertEquals(series?.cpu.peak.at(-1), 100 + (HOUR - 1) / 10);
});

Deno.test("simulate() runs each container of a pod on its own load", () => {
  const size = resources({ "cpu.requests": 200, "cpu.limits": 400 });
  const containers = ["main", "proxy"].map((name) => container({ name, spec: size }));
  const autoscalers = containers.map(({ name }) => ({
    ...autoscalerOf({ profile: "balanced" }, name),
    uid: name,
    key: name,
  }));
  const loads = { main: loadOf(() => ({ cpuMillicores: 300 })), proxy: loadOf(() => ({ cpuMillicores: 20 })) };
  const { containers: runs } = run(loads.main, { pod: pod({ containers }), autoscalers, loads });
  const requests = runs.map(({ resizes }) => resizes.at(-1)?.to["cpu.requests"] ?? 0);
  assert((requests[0] ?? 0) >= 300 && (requests[1] ?? Infinity) < 60, `requests ${requests}`);
});

function only({ containers: [one] }: Simulation): ContainerRun {
  if (one === undefined) throw new Error("no container");
  return one;
}

const MEMORY_ALONE = {
  pollInterval: "15s",
  consecutiveSamples: 3,
  cooldown: "5m",
  memory: { requests: { scaleUpThreshold: 90, scaleDownThreshold: 10, targetUtilization: 50 } },
};

Deno.test("simulate() adds pods by a ScaledObject, which share the CPU, and takes them away again", () => {
  const load = loadOf((second) => ({ cpuMillicores: second >= 1800 && second < 5400 ? 1000 : 90 }));
  const options = {
    autoscalers: [autoscalerOf({ policy: MEMORY_ALONE })],
    scaledObject: factsOf(scaledObject({ triggers: [cpu()] })),
  };
  const simulation = run(load, { ...options, seconds: 4 * HOUR, stepSeconds: 60 });
  const { cpu: figures, series } = only(simulation);
  const { replicas } = simulation;
  const at = (second: number) => replicas.findLast(([from]) => from <= second)?.[1];
  // 1000m are 50 % of what ten pods of 200m ask for.
  assertEquals([at(1799), at(3600), at(4 * HOUR)], [1, 10, 1], JSON.stringify(replicas));
  const [up] = replicas.filter(([second]) => second > 1800);
  assert(up !== undefined && up[0] < 1900, JSON.stringify(replicas));
  assertEquals(Math.round(series?.cpu.request[60] ?? 0), 2000);
  assert(figures.throttledSeconds < 120, `throttled for ${figures.throttledSeconds} s`);
});

Deno.test("simulate() raises replicas as soon as usage asks for it, before the tick is due (R7)", () => {
  // Ticks are due at each 15 s: after the step, at 1815 s, and what that one adds runs 5 s later at the soonest.
  const load = loadOf((second) => ({ cpuMillicores: second > 1800 ? 400 : 90 }));
  const options = {
    autoscalers: [autoscalerOf({ policy: { ...MEMORY_ALONE, pollInterval: "5s" } })],
    scaledObject: factsOf(scaledObject({ triggers: [cpu()] })),
  };
  const firsts = Array.from({ length: 20 }, (_, seed) => {
    const { replicas } = run(load, { ...options, seed: String(seed), seconds: 2000 });
    return replicas.find(([, count]) => count > 1)?.[0] ?? Infinity;
  });
  assert(firsts.every((second) => second >= 1806 && second < 1860), `second pods at ${firsts}`);
  assert(firsts.some((second) => second < 1820), `second pods at ${firsts}`);
});

Deno.test("simulate() keeps the number of pods without a ScaledObject, and counts them all", () => {
  const { containers, replicas } = run(loadOf(() => ({ cpuMillicores: 300 })), { replicas: 2 });
  // One entry for the start, as their number never changes.
  assertEquals(replicas, [[0, 2]]);
  assertEquals([containers[0]?.cpu.used, containers[0]?.memory.used], [300, 200]);
});
