/**
 * How does a pod fare under a load? This runs podfit's own decisions in virtual time on a small model of a node.
 *
 * It is pure: the same seed gives the same result.
 */
import type { Autoscaler } from "../model/autoscaler.ts";
import type { PodFacts } from "../model/pod.ts";
import type { ScaledObjectFacts } from "../model/scaled_object.ts";
import { type Accounts, newAccounts } from "./container.ts";
import { type Course, type Figures, toFigures } from "./figures.ts";
import type { Loads } from "./load.ts";
import type { Resized } from "./node_pod.ts";
import type { PodEvaluation } from "./pod.ts";
import { Workload } from "./workload.ts";

/** What is simulated. */
export interface SimulateOptions {
  /** That contend for the pod's containers: each with the name of one, none that is paused. */
  readonly autoscalers: readonly Autoscaler[];
  /** The pod of the manifest, as `readPod` gives it. */
  readonly pod: PodFacts;
  /** Pods at the start, one unless given: they share the CPU of the loads; of memory each has all of it. */
  readonly replicas?: number;
  /** Sets their number by its triggers, which are of CPU and memory alone. */
  readonly scaledObject?: ScaledObjectFacts | null;
  readonly loads: Loads;
  readonly seed: string;
  readonly seconds: number;
  /** The seconds of one figure of the series; without it there is no series. */
  readonly stepSeconds?: number;
  /** Is called for each call of the fold. */
  readonly onEvaluation?: (evaluation: PodEvaluation) => void;
}

/** A run that is over. */
export interface Simulation {
  readonly seconds: number;
  readonly stepSeconds: number | null;
  /** How often the fold was called. */
  readonly decisions: number;
  readonly containers: readonly ContainerRun[];
  /** Second, pods that run from then on. */
  readonly replicas: readonly (readonly [second: number, replicas: number])[];
}

/** How one container fared, in all pods together. Seconds are those since the start. */
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
interface SimulatedResize extends Omit<Resized, "at" | "pod" | "container"> {
  /** When it was in force, in seconds since the start. */
  readonly second: number;
}

/** A run begins on a Monday at midnight. So early that a time is a small integer, with which V8 is fast. */
const START_MS = 4 * 86_400_000;

const MIB = 2 ** 20;

/** Simulates to the end. Throws only where a load does. */
export function simulate(options: SimulateOptions): Simulation {
  const { autoscalers, pod: template, loads, seed, seconds, stepSeconds = null, onEvaluation } = options;
  const steps = stepSeconds === null ? null : { seconds, stepSeconds };
  const accounts = new Map(
    template.containers.filter(({ kind }) => kind !== "init").map(({ name }) => [name, newAccounts(steps)]),
  );
  const resizes: Resized[] = [];
  let decisions = 0;
  const workload = new Workload({
    template,
    autoscalers: autoscalers,
    loads,
    seed,
    startedAt: START_MS,
    steps,
    replicas: options.replicas ?? 1,
    scaledObject: options.scaledObject ?? null,
    findAccounts: (container) => accounts.get(container) ?? newAccounts(steps),
    onEvaluation(evaluation) {
      decisions++;
      onEvaluation?.(evaluation);
    },
    onResized: (resized) => resizes.push(resized),
  });
  for (let second = 0; second < seconds; second++) workload.passSecond(START_MS + second * 1000, second);
  const containers = [...accounts].map(([container, own]) =>
    toRun(container, own, { seconds, resizes: resizes.filter((one) => one.container === container) })
  );
  const replicas = workload.changes.map((one) => [toSecond(one.at), one.replicas] as const);
  return { seconds, stepSeconds, decisions, containers, replicas };
}

function toRun(
  container: string,
  { cpu, memory, oomKills }: Accounts,
  { seconds, resizes }: { readonly seconds: number; readonly resizes: readonly Resized[] },
): ContainerRun {
  const { course: cpuCourse } = cpu;
  const { course: memoryCourse } = memory;
  return {
    container,
    // Every pod has counted its own seconds.
    cpu: toFigures({ ...cpu.sums, seconds }, 1),
    memory: toFigures({ ...memory.sums, seconds }, MIB),
    throttledCoreSeconds: cpu.sums.throttled / 1000,
    resizes: resizes.map(({ at, action, from, to, why }) => ({ second: toSecond(at), action, from, to, why })),
    resizesPerHour: resizes.length / (seconds / 3600),
    oomKills: oomKills.map(toSecond),
    series: cpuCourse === null || memoryCourse === null ? null : { cpu: cpuCourse, memory: memoryCourse },
  };
}

function toSecond(at: number): number {
  return (at - START_MS) / 1000;
}
