/**
 * The pod's own CPU counter as a second witness (L60): the kubelet refreshes it apart from its containers', so in a pod
 * with one running container it often knows first what that one uses. A series of its own: no rate mixes the two.
 */
import type { PodCpu } from "../../api/usage.ts";
import type { ContainerFacts, PodFacts } from "../pod/pod_facts.ts";
import type { Anchor, Sample, Sampling } from "../state.ts";
import { hold, MIN_RESOLUTIONS, type PointContext } from "./sampling.ts";

/** When the pod's point came, and what it is held against. */
export interface WitnessContext extends PointContext {
  readonly silenceMs: number;
  /** Since when the container runs, epoch ms by its node: before, the counter was another's. */
  readonly runningAt: number;
}

/** Sampling after the pod's point, and a sample of CPU alone where there is one that says something new. */
export interface Witnessed {
  readonly sampling: Sampling;
  readonly sample: Sample | null;
}

/** Whether nothing else runs in the pod. */
export function isAlone({ containers }: PodFacts, { name }: ContainerFacts): boolean {
  return containers.every((one) => one.name === name || one.runningAt === null);
}

/** `sampling` has the container's own point of this reading in it already. */
export function nextWitness(sampling: Sampling, cpu: PodCpu, context: WitnessContext): Witnessed {
  const { anchor, witness, sample: last } = sampling;
  if (anchor === null || sampling.warming || cpu.at < context.runningAt) return { sampling, sample: null };
  const isOwn = witness !== null && witness.instance === anchor.instance;
  const elapsedMs = isOwn ? cpu.at - witness.at : -Infinity;
  // A repeat, or too close: the older one stays.
  if (elapsedMs >= 0 && elapsedMs < MIN_RESOLUTIONS * cpu.resolutionMs) return { sampling, sample: null };
  const here: Anchor = { ...anchor, at: cpu.at, counterNs: cpu.counterNs, pressure: cpu.pressure };
  const moved = { ...sampling, witness: here };
  if (!isOwn || elapsedMs < 0 || elapsedMs >= context.silenceMs) return { sampling: moved, sample: null };
  if (cpu.counterNs < witness.counterNs || last === null) return { sampling: moved, sample: null };
  const cpuMillicores = (cpu.counterNs - witness.counterNs) / elapsedMs / 1000;
  const isImplausible = cpuMillicores * elapsedMs / (elapsedMs + cpu.resolutionMs) >
    (context.capacity.cpuMillicores ?? Infinity);
  if (isImplausible || !isNews(last, { from: witness.at, at: cpu.at })) return { sampling: moved, sample: null };
  const held = hold(cpu, { elapsedMs, cpuMillicores, before: witness.pressure }, context);
  // The container's own series measures what holds it back, and this one does not: it would ask for less.
  if (held.isSaturated && held.heldBack === null && anchor.pressure !== null) return { sampling: moved, sample: null };
  // Memory is not in it: that of the newest sample stands.
  const sample: Sample = { ...last, at: cpu.at, from: witness.at, seenAt: context.now, cpuMillicores, ...held };
  return { sampling: { ...moved, sample, newAt: context.now }, sample };
}

/** It overlaps the newest sample by less than half of itself. */
function isNews(last: Sample, { from, at }: Pick<Sample, "from" | "at">): boolean {
  return Math.min(last.at, at) - Math.max(last.from, from) < (at - from) / 2;
}
