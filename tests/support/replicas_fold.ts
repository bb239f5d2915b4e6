/**
 * Plain values for tests of the fold of ScaledObjects, and a timeline over it: `shop/web`, a Deployment of 1 to 10 replicas with one prometheus trigger
 * (threshold 10, active above 0). Writes are accepted at once unless a test says otherwise.
 */
import { decideReplicas } from "../../lib/horizontal/decide.ts";
import type {
  PodReading,
  ReplicasInput,
  ReplicasNotice,
  ReplicasObservation,
  ReplicasOutcome,
  Scale,
  ScaleAnswer,
  ScaleWrite,
  TriggerReading,
} from "../../lib/model/replicas_decision.ts";
import { NEW_REPLICAS_STATE, type ReplicasState } from "../../lib/model/replicas_state.ts";
import type {
  Annotations,
  ExternalTrigger,
  Fallback,
  Formula,
  ProgramResult,
  ResourceTrigger,
  ScaledObject,
  ScaledObjectFacts,
} from "../../lib/model/scaled_object.ts";
import { deepFreeze, SECOND, START } from "./builders.ts";
import { externalTrigger, NO_ANNOTATIONS, prometheusSource, scaledObjectWith } from "./triggers.ts";
import { cpuTrigger } from "./workload_pods.ts";

export const STATIC: Fallback = { failureThreshold: 3, replicas: 6, behavior: "static" };

export function external(overrides: Partial<ExternalTrigger> = {}): ExternalTrigger {
  const { index = 0 } = overrides;
  return { ...externalTrigger(prometheusSource(), { index, targetMilli: 10_000n }), ...overrides };
}

/** CPU at 50 % of the request. */
export function cpu(overrides: Partial<ResourceTrigger> = {}): ResourceTrigger {
  return cpuTrigger({ target: { kind: "Utilization", percent: 50 }, ...overrides });
}

/** `run` stands for the formula. */
export function formula(run: (values: Values) => ProgramResult, overrides: Partial<Formula> = {}): Formula {
  const target = overrides.target ?? 10;
  return {
    text: "f",
    program: { names: [], run },
    target,
    targetMilli: BigInt(Math.trunc(1000 * target)),
    activationTarget: 0,
    metricType: "AverageValue",
    ...overrides,
  };
}

export type Values = Readonly<Record<string, number | null>>;

export function number(value: number): ProgramResult {
  return { kind: "number", value };
}

export type Overrides = Partial<Omit<ScaledObject, "annotations">> & { readonly annotations?: Partial<Annotations> };

export function scaledObject({ annotations, ...overrides }: Overrides = {}): ScaledObject {
  return scaledObjectWith([external()], {
    uid: "so-1",
    minReplicas: 1,
    maxReplicas: 10,
    ...overrides,
    annotations: { ...NO_ANNOTATIONS, ...annotations },
  });
}

/** As the shell sees it, valid. */
export function factsOf(object: ScaledObject, overrides: Partial<ScaledObjectFacts> = {}): ScaledObjectFacts {
  const { uid, namespace, name, generation, createdAt } = object;
  return {
    uid,
    namespace,
    name,
    resourceVersion: "7",
    generation,
    createdAt,
    isDeleting: false,
    finalizers: [],
    scaledObject: object,
    restoring: null,
    problems: [],
    warnings: [],
    isPaused: object.annotations.isPaused,
    adoption: null,
    status: undefined,
    ...overrides,
  };
}

export function scaleOf(replicas: number, overrides: Partial<Scale> = {}): Scale {
  return { replicas, statusReplicas: replicas, resourceVersion: "100", uid: "web-1", ...overrides };
}

export function value(it: number, isCounted = true): TriggerReading {
  return { kind: "value", value: it, isCounted };
}

/** No series, as of a Prometheus that has just started. */
export function empty(): TriggerReading {
  return { kind: "value", value: 0, isCounted: true, isEmpty: true };
}

export function failed(message = "connection refused", isCounted = true): TriggerReading {
  return { kind: "failed", message, isCounted };
}

/** Ready pods of old that ask for 1000m and use so much each. */
export function pods(count: number, usedMilli: bigint, requests = { born: 1000n, full: 1000n }): TriggerReading {
  const one = (index: number): PodReading => ({
    name: `web-${index}`,
    phase: "Running",
    isDeleting: false,
    startAt: START - 3_600_000,
    ready: { status: "True", at: START - 3_500_000 },
    metric: { milli: usedMilli, at: START, windowMs: 15_000 },
    requests,
    isClipped: false,
  });
  return { kind: "pods", pods: Array.from({ length: count }, (_, index) => one(index)), isCoupled: true };
}

export interface Fold {
  state: ReplicasState;
  now: number;
  object: ScaledObjectFacts;
  scale: Scale;
  dryRun: boolean;
  /** `--keda-deactivation`: KEDA's own way to zero, without R58. */
  kedaDeactivation: boolean;
  warnings: readonly string[];
  /** What pods lack for a trigger; `null` = nothing. */
  lack: string | null;
  /** What becomes of writes; `null` = they are left unanswered. */
  answer: ((write: ScaleWrite) => ScaleAnswer) | null;
  readonly notices: ReplicasNotice[];
  readonly writes: ScaleWrite[];
  /** Passes anything through the fold at `now`. */
  see(observation: ReplicasObservation): ReplicasOutcome;
  changed(object?: ScaledObject, overrides?: Partial<ScaledObjectFacts>): ReplicasOutcome;
  /** After so many seconds; a reading per trigger, in their order. */
  poll(readings: readonly TriggerReading[], options?: PassOptions): ReplicasOutcome;
  tick(readings: readonly TriggerReading[], options?: PassOptions): ReplicasOutcome;
  /** The names of the events since it was asked last. */
  takeEvents(): readonly string[];
}

export interface PassOptions {
  readonly after?: number;
  readonly readyPods?: number;
}

/** As `createFold`, with KEDA's own way to zero. */
export function createKedaFold(object?: ScaledObject, replicas?: number): Fold {
  const fold = createFold(object, replicas);
  fold.kedaDeactivation = true;
  return fold;
}

/** Begins at START; nothing was seen yet. */
export function createFold(object: ScaledObject = scaledObject(), replicas = 1): Fold {
  const pass = (fold: Fold, observation: ReplicasObservation): ReplicasOutcome => {
    const { state, now, dryRun, kedaDeactivation, warnings, lack } = fold;
    const base: ReplicasInput = { now, object: fold.object, observation, dryRun, kedaDeactivation, warnings };
    const input = lack === null ? base : { ...base, lack };
    const outcome = decideReplicas(deepFreeze(state), deepFreeze(input));
    fold.state = outcome.state;
    fold.notices.push(...outcome.notices);
    if (outcome.write !== null) settle(fold, outcome.write);
    return outcome;
  };
  const settle = (fold: Fold, write: ScaleWrite) => {
    fold.writes.push(write);
    const answer = fold.answer?.(write);
    if (answer === undefined) return;
    if (answer.kind === "accepted") fold.scale = scaleOf(answer.replicas);
    pass(fold, { kind: "answered", write, answer });
  };
  const half = (kind: "poll" | "tick", readings: readonly TriggerReading[], options: PassOptions) => {
    fold.now += (options.after ?? 0) * SECOND;
    const triggers = new Map(readings.map((reading, index) => [index, reading]));
    const { scale } = fold;
    return pass(fold, { kind, scale, triggers, readyPods: options.readyPods ?? scale.replicas });
  };
  const fold: Fold = {
    state: NEW_REPLICAS_STATE,
    now: START,
    object: factsOf(object),
    scale: scaleOf(replicas),
    dryRun: false,
    kedaDeactivation: false,
    warnings: [],
    lack: null,
    answer: ({ replicas }) => ({ kind: "accepted", replicas }),
    notices: [],
    writes: [],
    see: (observation) => pass(fold, observation),
    changed: (next, overrides) => {
      if (next !== undefined || overrides !== undefined) {
        fold.object = factsOf(next ?? object, overrides);
      }
      return pass(fold, { kind: "changed", scale: fold.scale });
    },
    poll: (readings, options = {}) => half("poll", readings, options),
    tick: (readings, options = {}) => half("tick", readings, options),
    takeEvents: () => fold.notices.splice(0).map(({ name }) => name),
  };
  return fold;
}
