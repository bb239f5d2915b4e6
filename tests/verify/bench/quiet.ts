/**
 * What a quiet evaluation costs beside one by `decideSize`, each as the daemon makes it: from the flat state to the flat
 * state, for pods in their band and at their bound. Both sides run in turns in one process; the ratio counts.
 */
import { type FlatState, flattenState, toPodState } from "../../../lib/model/flat_state.ts";
import type { PodUsage } from "../../../lib/api/usage.ts";
import type { SizeInput } from "../../../lib/model/decision.ts";
import { NEW_POD_STATE } from "../../../lib/model/state.ts";
import { decideSize } from "../../../lib/vertical/decide.ts";
import type { Step } from "../../../lib/vertical/quiet/step.ts";
import { findVerdict, type HeldVerdict } from "../../../lib/vertical/quiet/verdict.ts";
import { container, MI, pod, point, policy, resizeEntry, resources, side } from "../../support/builders.ts";

const PODS = 500;
const POLL_MS = 15_000;
const START = Date.UTC(2026, 10, 20, 12);
const CAPACITY = { cpuMillicores: 16_000, memoryBytes: 64 * 1024 * MI };

export interface QuietCost {
  /** Quiet evaluations of all on the quiet side. */
  readonly share: number;
  readonly quietMicroseconds: number;
  readonly decidedMicroseconds: number;
  readonly ratio: number;
}

interface BenchPod {
  readonly facts: SizeInput["pod"];
  readonly decided: FlatState;
  readonly quiet: FlatState;
  verdict: HeldVerdict | null;
  counterNs: number;
  readonly millicores: number;
}

export function measureQuiet(rounds: number): QuietCost {
  const keys = ["cpu.requests", "cpu.limits", "memory.requests", "memory.limits"] as const;
  const bounds = (key: string) => key === "cpu.requests" ? { min: 100 } : key === "cpu.limits" ? { min: 200 } : {};
  const sides = keys.map((key) =>
    side(key, { scaleDownThresholdPercent: 20, bounds: bounds(key), down: { windowMs: 15 * 60_000 } })
  );
  const contenders = [policy({ pollIntervalMs: POLL_MS, sides, throttling: "measure" })];
  const pods = Array.from({ length: PODS }, (_, index) => newPod(index));
  const steps: Step[] = [];
  let [quiet, all] = [0, 0];
  const times: { quietMs: number; decidedMs: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const now = START + round * POLL_MS;
    const usages = pods.map((one) => use(one, now));
    const toInput = ({ facts }: BenchPod, usage: PodUsage): SizeInput => ({
      now,
      pod: facts,
      contenders,
      observation: { kind: "usage", usage, clockOffsetMs: 0, capacity: CAPACITY },
      siblings: null,
      room: null,
      limits: null,
      lowersMemoryLimits: true,
      inFlight: false,
      dryRun: false,
    });
    const startedMs = performance.now();
    pods.forEach((one, index) => {
      const input = toInput(one, usages[index] ?? NO_USAGE);
      flattenState(decideSize(toPodState(one.decided), input).state, one.decided);
    });
    const decidedAt = performance.now();
    pods.forEach((one, index) => {
      const usage = usages[index] ?? NO_USAGE;
      all++;
      const isQuiet = one.verdict?.advance({
        now,
        wallAheadMs: 0,
        pod: one.facts,
        contenders,
        limits: null,
        findRoom: () => null,
        scaleInPending: undefined,
        scaledInAt: undefined,
        usage,
        clockOffsetMs: 0,
        capacity: CAPACITY,
        steps,
      });
      if (isQuiet === true) return void quiet++;
      const [before, input] = [toPodState(one.quiet), toInput(one, usage)];
      const outcome = decideSize(before, input);
      one.verdict = findVerdict({ before, input, outcome }, flattenState(outcome.state, one.quiet));
    });
    times.push({ quietMs: performance.now() - decidedAt, decidedMs: decidedAt - startedMs });
  }
  // The first half warms up the compiler. Each round has its own ratio, so that a busy moment spoils only its own.
  const warm = times.slice(rounds / 2);
  return {
    share: quiet / all,
    quietMicroseconds: median(warm.map(({ quietMs }) => quietMs)) * 1000 / PODS,
    decidedMicroseconds: median(warm.map(({ decidedMs }) => decidedMs)) * 1000 / PODS,
    ratio: median(warm.map(({ quietMs, decidedMs }) => quietMs / decidedMs)),
  };
}

const NO_USAGE: PodUsage = { usageBytes: null, points: [] };

/** Nine of ten are in their band, the others idle at their smallest size. */
function newPod(index: number): BenchPod {
  const spec = resources({
    "cpu.requests": 100,
    "cpu.limits": 200,
    "memory.requests": 128 * MI,
    "memory.limits": 256 * MI,
  });
  const state = NEW_POD_STATE;
  return {
    facts: pod({
      uid: `uid-${index}`,
      name: `pod-${index}`,
      containers: [container({ spec })],
      resizes: [resizeEntry("podfit.main", START - 86_400_000)],
    }),
    decided: flattenState(state),
    quiet: flattenState(state),
    verdict: null,
    counterNs: 1e9,
    millicores: index % 10 === 0 ? 10 : 60,
  };
}

/** Around the same usage, as a kubelet has it. */
function use(one: BenchPod, now: number): PodUsage {
  const varied = one.millicores * (0.95 + 0.1 * Math.random());
  one.counterNs += Math.round(varied * 1000 * POLL_MS);
  const pressure = {
    fullNs: 1e6,
    fullHint: { unit: "us", percent: 0 },
    throttledNs: null,
    largestCpuNs: null,
  } as const;
  const points = [
    point({
      at: now - 1000,
      counterNs: one.counterNs,
      workingSetBytes: Math.round((80 + Math.random()) * MI),
      pressure,
    }),
  ];
  const cpu = { at: now - 2000, resolutionMs: 1000, counterNs: one.counterNs, pressure };
  return { usageBytes: 120 * MI, points, cpu };
}

function median(figures: readonly number[]): number {
  return [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? NaN;
}
