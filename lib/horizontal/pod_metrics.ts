/**
 * How much CPU and memory do the pods of a workload use?
 *
 * A rate is computed from two samples of a container's counter, as metrics-server computes it. A pod's metric is what
 * the HPA controller would get from the metrics API. From the last usage podfit also sees whether the next scaling loop
 * should run early.
 */
import { type PodUsage, type Point, ROW, type RowsOfPod } from "../api/usage.ts";
import { SILENCE_MS } from "../model/autoscaler.ts";
import type { NodeCapacity } from "../model/decision.ts";
import type { ContainerFacts, PodFacts } from "../model/pod.ts";
import type { PodMetric, ReplicasReport } from "../model/replicas_decision.ts";
import type { ResourceTrigger } from "../model/scaled_object.ts";
import { getNumber } from "../units/usage_rows.ts";
import { toMilliAmount } from "./replica_calculator.ts";

/** The samples of one pod; plain JSON. */
export interface PodRates {
  readonly containers: Readonly<Record<string, ContainerRates>>;
}

/** The newest sample of one run of a container, and the rate up to it. */
export interface ContainerRates {
  readonly instance: string;
  /** When the newest sample was taken, by the clock of the node, epoch ms. */
  readonly at: number;
  /** When it was first seen, by podfit's clock, epoch ms. */
  readonly seenAt: number;
  /** `null` where the source gives rates. */
  readonly counterNs: number | null;
  readonly workingSetBytes: number;
  /** CPU since the sample before; `null` while there is none. */
  readonly rate: { readonly nanocores: number; readonly windowMs: number } | null;
}

/** When and where usage was read. */
interface RateContext {
  readonly pod: PodFacts;
  /** `readAt` of the reading: podfit's clock, epoch ms. */
  readonly readAt: number;
  /** The capacity of the node. */
  readonly capacity: NodeCapacity;
}

/** A rate over a shorter time is mostly noise. Samples of faster sources are joined, ms. */
const MIN_RATE_WINDOW_MS = 8_000;

/**
 * From this age on, ms, a container's first sample is a rate since its start. metrics-server does the same when it
 * reads every 15 s.
 */
const MIN_FRESH_AGE_MS = 10_000;

const MAX_FRESH_AGE_MS = 15_000;

/** More than any node has: 64 Ti of millicores or bytes. */
const MAX_AMOUNT = 2 ** 46;

/**
 * Returns the samples after one more reading of the pod; the same object if nothing is new. Never throws.
 * https://github.com/kubernetes-sigs/metrics-server/blob/v0.9.0/pkg/storage/pod.go
 * Clauses: C22, R20, R21.
 */
export function nextRates(before: PodRates | null, usage: PodUsage | RowsOfPod, context: RateContext): PodRates {
  const { containers: known } = before ?? NO_RATES;
  // podfit reads a kubelet more often than it measures. Most readings have nothing new, and cost nothing.
  let containers: Record<string, ContainerRates> | null = null;
  for (const container of context.pod.containers) {
    const { name, kind } = container;
    const last = Object.hasOwn(known, name) ? known[name] ?? null : null;
    const sample = kind === "init" ? null : findSample(usage, container);
    const next = sample === null || isInvalid(sample) ? last : nextContainerRates(last, sample, context);
    if (next === last) continue;
    containers ??= { ...known };
    if (next !== null) containers[name] = next;
    else delete containers[name];
  }
  return containers === null ? before ?? NO_RATES : { containers };
}

/** What a rate is computed from. `runningAt`: when the container started, epoch ms; `null` = it does not run. */
interface Sample extends Pick<Point, "instance" | "at" | "workingSetBytes" | "cpu"> {
  readonly runningAt: number | null;
}

/** Returns `null` without usage of the container. */
function findSample(
  usage: PodUsage | RowsOfPod,
  { name, runningAt }: Pick<ContainerFacts, "name" | "runningAt">,
): Sample | null {
  if (!("rows" in usage)) {
    const point = usage.points.find(({ container }) => container === name);
    return point === undefined ? null : { ...point, runningAt };
  }
  const { rows } = usage;
  const row = rows.findContainer(usage.row, name);
  if (row < 0) return null;
  const { numbers } = rows;
  return {
    runningAt,
    instance: rows.getInstance(row),
    at: getNumber(numbers, row + ROW.at),
    workingSetBytes: getNumber(numbers, row + ROW.workingSetBytes),
    cpu: { kind: "counter", counterNs: getNumber(numbers, row + ROW.counterNs) },
  };
}

const NO_RATES: PodRates = Object.freeze({ containers: Object.freeze({}) });

function nextContainerRates(last: ContainerRates | null, sample: Sample, context: RateContext): ContainerRates | null {
  const { instance, at, workingSetBytes, cpu, runningAt } = sample;
  // A container that has just ended, or that the source has not measured yet.
  if (workingSetBytes === 0 || (cpu.kind === "counter" && cpu.counterNs === 0)) return null;
  if (exceeds(workingSetBytes, context.capacity.memoryBytes)) return last;
  const before = last !== null && last.instance === instance && !isOld(last, context) ? last : null;
  if (before !== null && at - before.at < (cpu.kind === "rate" ? 1 : MIN_RATE_WINDOW_MS)) return before;
  const rate = cpu.kind === "rate"
    ? { nanocores: Math.round(cpu.millicores * 1e6), windowMs: cpu.windowMs }
    : computeRate(before, { at, runningAt, counterNs: cpu.counterNs });
  if (rate !== null && exceeds(rate.nanocores / 1e6, context.capacity.cpuMillicores)) return last;
  const counterNs = cpu.kind === "rate" ? null : cpu.counterNs;
  return { instance, at, seenAt: context.readAt, counterNs, workingSetBytes, rate };
}

/**
 * Returns the rate since the sample before, or since the start of a new container; `null` = nothing to compare
 * with, or the counter fell.
 */
function computeRate(
  before: ContainerRates | null,
  { at, runningAt, counterNs }: Pick<Sample, "at" | "runningAt"> & { readonly counterNs: number },
): ContainerRates["rate"] {
  const ageMs = at - (runningAt ?? -Infinity);
  if (ageMs >= MIN_FRESH_AGE_MS && ageMs < MAX_FRESH_AGE_MS) return toRate(counterNs, ageMs);
  if (before === null || before.counterNs === null || counterNs < before.counterNs) return null;
  return toRate(counterNs - before.counterNs, at - before.at);
}

/** Cut to a nanocore, as metrics-server does it. */
function toRate(usedNs: number, windowMs: number): ContainerRates["rate"] {
  return { nanocores: Math.trunc(usedNs / (windowMs / 1000)), windowMs };
}

/** After a silence a rate is not current. An older time comes from a clock that was set back. Clauses: C22. */
function isOld({ seenAt }: ContainerRates, { readAt }: RateContext): boolean {
  return Math.abs(readAt - seenAt) >= SILENCE_MS;
}

function exceeds(amount: number, capacity: number | null): boolean {
  return amount > (capacity ?? MAX_AMOUNT);
}

/** The sources filter such numbers; a new source may not. */
function isInvalid({ at, cpu, workingSetBytes }: Sample): boolean {
  const isReal = cpu.kind === "counter"
    ? isValidNumber(cpu.counterNs)
    : isValidNumber(cpu.millicores) && isValidNumber(cpu.windowMs);
  return !isReal || !isValidNumber(at) || !isValidNumber(workingSetBytes);
}

function isValidNumber(value: number): boolean {
  return value >= 0 && value < Infinity;
}

/** Which metric of which pod, and when. */
interface PodMetricQuery {
  readonly pod: PodFacts;
  readonly type: "cpu" | "memory";
  /** `null` = the sum of the pod. */
  readonly container: string | null;
  readonly now: number;
}

/**
 * Returns `null` if the pod has no metric: a running container has no recent sample, or its counter fell. Time and
 * window are the whole pod's, also for one container: those of the container whose sample ends first.
 * Clauses: R21, R22, R23, R24.
 */
export function findPodMetric(rates: PodRates | null, { pod, type, container, now }: PodMetricQuery): PodMetric | null {
  // Of one pod, so that a double has all of it.
  let amount = 0;
  let isFound = false;
  let [at, windowMs] = [Infinity, 0];
  for (const { name, kind, runningAt } of pod.containers) {
    if (kind === "init" || runningAt === null) continue;
    const own = rates !== null && Object.hasOwn(rates.containers, name) ? rates.containers[name] : undefined;
    if (own === undefined || own.rate === null || Math.abs(now - own.seenAt) >= SILENCE_MS) return null;
    if (own.at < at) [at, windowMs] = [own.at, own.rate.windowMs];
    if (container !== null && container !== name) continue;
    isFound = true;
    amount += type === "cpu" ? toMillicores(own.rate.nanocores) : Math.trunc(own.workingSetBytes);
  }
  return isFound ? { milli: toMilliAmount(amount, type), at, windowMs } : null;
}

/** Rounds up, as Quantity.MilliValue does, each container separately. Exact: a remainder of doubles is. */
function toMillicores(nanocores: number): number {
  const rest = nanocores % NANOCORES_PER_MILLICORE;
  return (nanocores - rest) / NANOCORES_PER_MILLICORE + (rest > 0 ? 1 : 0);
}

const NANOCORES_PER_MILLICORE = 1_000_000;

/** The period of the scaling loop: the sync period of the HPA controller. */
export const SCALING_LOOP_MS = 15_000;

/** The shortest time between two scaling loops, ms. */
export const MIN_SCALING_INTERVAL_MS = 5_000;

/**
 * Usage of one cpu or memory trigger, nanocores or bytes. Doubles: precise enough to compare, not for the HPA's
 * arithmetic.
 */
interface TriggerUsage {
  readonly trigger: Pick<ResourceTrigger, "type" | "container">;
  /** That of the last scaling loop, with what readings have added since. */
  now: number;
  /**
   * Where the ratio is at least half of the tolerance above 1. Below it no scaling loop raises replicas: that needs a
   * ratio above the tolerance. 0 = not known.
   */
  readonly raise: number;
  /** Half of the way from the usage of the last scaling loop to `raise`. Less may be noise. */
  readonly growth: number;
}

/** The last scaling loop: its triggers, the rates of its pods, and what it found. */
interface LastScalingLoop {
  readonly resources: readonly ResourceTrigger[];
  /** `null` = not known. */
  readonly rates: readonly (PodRates | null)[];
  readonly report: ReplicasReport;
  /** For more replicas, such as 0.1. */
  readonly tolerance: number;
}

/**
 * What the pods of a target use since the last scaling loop. A pod that has left stays in the sum until the next one: who
 * acts on a comparison counts the pods again. Clauses: R7, R20.
 */
export class TargetUsage {
  readonly #triggers: readonly TriggerUsage[];

  constructor({ resources, rates, report, tolerance }: LastScalingLoop) {
    this.#triggers = resources.map((trigger) => {
      const ratio = report.triggers.find((one) => one.index === trigger.index)?.proposal?.ratio ?? null;
      let now = 0;
      for (const one of rates) now += sumUsage(trigger, one);
      const most = ratio === null ? 0 : toLargestRatio(ratio, trigger);
      const raise = most === 0 ? 0 : now / most * (1 + tolerance / 2);
      return { trigger, now, raise, growth: (now + raise) / 2 };
    });
  }

  /** A pod has new rates. */
  replace(before: PodRates | null, after: PodRates): void {
    for (const one of this.#triggers) one.now += sumUsage(one.trigger, after) - sumUsage(one.trigger, before);
  }

  /** Returns "raises" if the usage of a trigger may raise replicas, and "grows" if it may soon do so. */
  compare(): "raises" | "grows" | null {
    let result: "grows" | null = null;
    for (const { now, raise, growth } of this.#triggers) {
      if (now > raise) return "raises";
      if (now > growth) result = "grows";
    }
    return result;
  }
}

/** The ratio of a utilization was cut to a whole percent. At low usage that is much: of 1.9 % half is lost. */
function toLargestRatio(ratio: number, { target }: ResourceTrigger): number {
  return target.kind === "Utilization" ? ratio + 1 / target.percent : ratio;
}

/** Returns nanocores or bytes of one pod: of the container that the trigger names or of all. */
function sumUsage({ type, container }: Pick<ResourceTrigger, "type" | "container">, rates: PodRates | null): number {
  let sum = 0;
  for (const name in rates?.containers) {
    const own = rates.containers[name];
    if (own === undefined || (container !== null && container !== name)) continue;
    sum += type === "cpu" ? own.rate?.nanocores ?? 0 : own.workingSetBytes;
  }
  return sum;
}
