/**
 * Runs a pod under a load in virtual time, with the daemon's own fold on a small model of its node: pure, and the same
 * for the same seed.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { SimContainer, Tracked } from "./container.ts";
import { type Figures, toFigures } from "./figures.ts";
import type { Loads } from "./load.ts";
import type { Resized } from "./node_pod.ts";
import { type PodEvaluation, SimPod } from "./pod.ts";
import type { Course } from "./series.ts";

/** What is simulated. */
export interface SimulateOptions {
  /** That contend for the pod's containers: each with the name of one, none that is paused. */
  readonly autoscalers: readonly Autoscaler[];
  /** The pod of the manifest, as `readPod` gives it. */
  readonly pod: PodFacts;
  readonly loads: Loads;
  readonly seed: string;
  readonly seconds: number;
  /** How many seconds a figure of the series stands for; without it there is no series. */
  readonly stepSeconds?: number;
  /** Hears of each call of the fold. */
  readonly onEvaluation?: (evaluation: PodEvaluation) => void;
}

/** A run that is over. */
export interface Simulation {
  readonly seconds: number;
  readonly stepSeconds: number | null;
  /** How often the fold was called. */
  readonly decisions: number;
  readonly containers: readonly ContainerRun[];
}

/** How one container fared. Seconds are those since the start. */
export interface ContainerRun {
  readonly container: string;
  /** In millicores. */
  readonly cpu: Figures;
  /** In MiB. */
  readonly memory: Figures;
  /** CPU wanted beyond the limit, in core-seconds. */
  readonly throttledCoreSeconds: number;
  readonly resizes: readonly SimulatedResize[];
  readonly resizesPerHour: number;
  /** When it was killed for memory. */
  readonly oomKills: readonly number[];
  /** One figure a step, in millicores and bytes; `null` unless asked for. */
  readonly series: { readonly cpu: Course; readonly memory: Course } | null;
}

/** A resize of a container. */
export interface SimulatedResize extends Omit<Resized, "at" | "pod" | "container"> {
  /** When it was in force, in seconds since the start. */
  readonly second: number;
}

/** A run begins on a Monday at midnight. So early that a time is a small integer, with which V8 is fast. */
export const START_MS = 4 * 86_400_000;
const MIB = 2 ** 20;

/** Simulates to the end. Throws only where a load does. */
export function simulate(options: SimulateOptions): Simulation {
  const { autoscalers, pod: template, loads, seed, seconds, stepSeconds = null, onEvaluation } = options;
  let decisions = 0;
  const resizes: Resized[] = [];
  const pod = new SimPod({
    template,
    name: template.name,
    contenders: autoscalers,
    loads,
    seed,
    startedAt: START_MS,
    steps: stepSeconds === null ? null : { seconds, stepSeconds },
    onEvaluation(evaluation) {
      decisions++;
      onEvaluation?.(evaluation);
    },
    onResized: (resized) => resizes.push(resized),
  });
  for (let second = 0; second < seconds; second++) pod.passSecond(START_MS + second * 1000, second, 1);
  const containers = pod.containers.map((one) =>
    toRun(one, { seconds, resizes: resizes.filter(({ container }) => container === one.name) })
  );
  return { seconds, stepSeconds, decisions, containers };
}

function toRun(
  { name, cpu, memory, oomKills }: SimContainer,
  { seconds, resizes }: { readonly seconds: number; readonly resizes: readonly Resized[] },
): ContainerRun {
  return {
    container: name,
    cpu: toFigures(cpu.sums, 1),
    memory: toFigures(memory.sums, MIB),
    throttledCoreSeconds: cpu.sums.throttled / 1000,
    resizes: resizes.map(({ at, action, from, to, why }) => ({ second: toSecond(at), action, from, to, why })),
    resizesPerHour: resizes.length / (seconds / 3600),
    oomKills: oomKills.map(toSecond),
    series: toSeries(cpu, memory),
  };
}

function toSeries(cpu: Tracked, memory: Tracked): ContainerRun["series"] {
  return cpu.course === null || memory.course === null ? null : { cpu: cpu.course, memory: memory.course };
}

function toSecond(at: number): number {
  return (at - START_MS) / 1000;
}
