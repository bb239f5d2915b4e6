/**
 * What a pod's containers use, as metrics-server remembers it: the rate between the last two samples of each (R20, R21). Written
 * after its storage, with podfit's own rules for what is old (C22):
 * https://github.com/kubernetes-sigs/metrics-server/blob/v0.9.0/pkg/storage/pod.go
 */
import type { PodUsage, Point } from "../../api/usage.ts";
import type { Capacity } from "../decision.ts";
import { SILENCE_MS } from "../observe/silence.ts";
import { findContainer, type PodFacts } from "../pod/pod_facts.ts";

/** One pod's memory of its samples; plain JSON. */
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
export interface RateContext {
  readonly pod: PodFacts;
  /** `readAt` of the reading: podfit's clock, epoch ms. */
  readonly readAt: number;
  /** What the node has. */
  readonly capacity: Capacity;
}

/** A rate over less is mostly noise: the samples of a source that has them more often are joined, ms. */
const SHORTEST_MS = 8_000;
/** At this age, ms, a container's first sample is a rate since its start: what metrics-server does when it asks every 15 s. */
const FRESH_FROM_MS = 10_000;
const FRESH_UNTIL_MS = 15_000;
/** More than any node has: 64 Ti of millicores or bytes. */
const MOST = 2 ** 46;

/** The memory after one more reading of the pod; the same object where it brings nothing new. Never throws. */
export function nextRates(before: PodRates | null, usage: PodUsage, context: RateContext): PodRates {
  const { containers: known } = before ?? NO_RATES;
  // A kubelet is asked more often than it looks: most readings bring nothing new, and cost nothing.
  let containers: Record<string, ContainerRates> | null = null;
  for (const { name, kind } of context.pod.containers) {
    const last = Object.hasOwn(known, name) ? known[name] ?? null : null;
    const point = kind === "init" ? undefined : usage.points.find((one) => one.container === name);
    const next = point === undefined || isUnreal(point) ? last : nextContainerRates(last, point, context);
    if (next === last) continue;
    containers ??= { ...known };
    if (next !== null) containers[name] = next;
    else delete containers[name];
  }
  return containers === null ? before ?? NO_RATES : { containers };
}

const NO_RATES: PodRates = Object.freeze({ containers: Object.freeze({}) });

function nextContainerRates(last: ContainerRates | null, point: Point, context: RateContext): ContainerRates | null {
  const { instance, at, workingSetBytes, cpu } = point;
  // A container that has just ended, or of which the source knows nothing yet.
  if (workingSetBytes === 0 || (cpu.kind === "counter" && cpu.counterNs === 0)) return null;
  if (exceeds(workingSetBytes, context.capacity.memoryBytes)) return last;
  const before = last !== null && last.instance === instance && !isOld(last, context) ? last : null;
  if (before !== null && at - before.at < (cpu.kind === "rate" ? 1 : SHORTEST_MS)) return before;
  const rate = cpu.kind === "rate"
    ? { nanocores: Math.round(cpu.millicores * 1e6), windowMs: cpu.windowMs }
    : readRate(before, { ...point, counterNs: cpu.counterNs }, context);
  if (rate !== null && exceeds(rate.nanocores / 1e6, context.capacity.cpuMillicores)) return last;
  const counterNs = cpu.kind === "rate" ? null : cpu.counterNs;
  return { instance, at, seenAt: context.readAt, counterNs, workingSetBytes, rate };
}

/** Since the sample before, or of a new container since its start; `null` = there is nothing to compare with, or the counter fell. */
function readRate(
  before: ContainerRates | null,
  { container, at, counterNs }: Point & { readonly counterNs: number },
  { pod }: RateContext,
): ContainerRates["rate"] {
  const ageMs = at - (findContainer(pod, container)?.runningAt ?? -Infinity);
  if (ageMs >= FRESH_FROM_MS && ageMs < FRESH_UNTIL_MS) return toRate(counterNs, ageMs);
  if (before === null || before.counterNs === null || counterNs < before.counterNs) return null;
  return toRate(counterNs - before.counterNs, at - before.at);
}

/** Cut to a nanocore, as metrics-server does it. */
function toRate(usedNs: number, windowMs: number): ContainerRates["rate"] {
  return { nanocores: Math.trunc(usedNs / (windowMs / 1000)), windowMs };
}

/** After a silence a rate says nothing about now, and an older time is that of a clock that has stepped back (C22). */
function isOld({ seenAt }: ContainerRates, { readAt }: RateContext): boolean {
  return Math.abs(readAt - seenAt) >= SILENCE_MS;
}

function exceeds(amount: number, capacity: number | null): boolean {
  return amount > (capacity ?? MOST);
}

/** Adapters keep such numbers out; a new source may not. */
function isUnreal({ at, cpu, workingSetBytes }: Point): boolean {
  const isReal = cpu.kind === "counter"
    ? isPossible(cpu.counterNs)
    : isPossible(cpu.millicores) && isPossible(cpu.windowMs);
  return !isReal || !isPossible(at) || !isPossible(workingSetBytes);
}

function isPossible(value: number): boolean {
  return value >= 0 && value < Infinity;
}
