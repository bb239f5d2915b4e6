/**
 * What `podfit simulate -o json` and `-o yaml` print. The unit of an amount is in its name. Seconds count from the start of the run.
 *
 * docs/reference/simulate.md describes it. A change that breaks a reader raises the version.
 */
import type { Figures } from "../../simulate/figures.ts";
import type { ContainerRun, Simulation } from "../../simulate/simulate.ts";
import type { Resource, Resources } from "../../units/resources.ts";
import { listUnknown, type UnknownResources } from "../loads/loads.ts";
import { computePodSeconds, computeShare } from "./figures.ts";
import type { Ranked } from "./sweep/sweep.ts";

const VERSION = 1;

const MIB = 2 ** 20;

/** One policy's run of one workload. */
export interface PolicyRun {
  /** The name of the policy: its file. */
  readonly policy: string;
  readonly simulation: Simulation;
}

/** A workload under each policy, and under none. */
export interface Comparison {
  readonly title: string;
  readonly unknown: UnknownResources;
  readonly runs: readonly PolicyRun[];
  readonly baseline: Simulation;
}

/** One object per workload and policy; the policy of a run without autoscalers is null. `ranked`: best first. */
export function toSimulationData(comparisons: readonly Comparison[], ranked: readonly Ranked[], seed: string): unknown {
  const runs = comparisons.flatMap(({ title, runs, baseline, unknown }) =>
    [...runs, { policy: null, simulation: baseline }].map(({ policy, simulation }) => ({
      workload: title,
      policy,
      seconds: simulation.seconds,
      decisions: simulation.decisions,
      replicas: simulation.replicas.map(([second, replicas]) => ({ second, replicas })),
      containers: simulation.containers.map((one) => toContainer(one, simulation, unknown)),
    }))
  );
  const sweep = ranked.map(({ name, slack, under, ...one }) => ({
    policy: name,
    slackMillicores: slack,
    underMillicores: under,
    ...one,
  }));
  return { version: VERSION, seed, runs, ...ranked.length === 0 ? {} : { sweep } };
}

/** What no load has is null. */
function toContainer(run: ContainerRun, simulation: Simulation, unknown: UnknownResources) {
  const { container, cpu, memory, resizes, resizesPerHour, oomKills, throttledCoreSeconds } = run;
  const missing = listUnknown(unknown, container);
  const orNull = <T>(resource: Resource, value: T) => missing.includes(resource) ? null : value;
  const share = computeShare(cpu.throttledSeconds, computePodSeconds(simulation));
  return {
    container,
    unknown: missing,
    cpu: orNull("cpu", {
      ...toAmounts(cpu, "Millicores", 1),
      throttledSeconds: cpu.throttledSeconds,
      throttledPercent: share,
      throttledCoreSeconds,
      cost: cpu.cost,
    }),
    memory: orNull("memory", { ...toAmounts(memory, "Bytes", MIB), oomKillSeconds: oomKills }),
    resizesPerHour,
    resizes: resizes.map(({ second, action, from, to, why }) => ({
      second,
      action,
      why,
      from: toSize(from),
      to: toSize(to),
    })),
  };
}

/** Means over the run. */
function toAmounts({ used, request, limit, slack, under, underSeconds }: Figures, unit: string, factor: number) {
  return {
    [`used${unit}`]: used * factor,
    [`request${unit}`]: request * factor,
    [`limit${unit}`]: limit === null ? null : limit * factor,
    [`slack${unit}`]: slack * factor,
    [`under${unit}`]: under * factor,
    underSeconds,
  };
}

function toSize(size: Resources) {
  return {
    cpuRequestMillicores: size["cpu.requests"],
    cpuLimitMillicores: size["cpu.limits"],
    memoryRequestBytes: size["memory.requests"],
    memoryLimitBytes: size["memory.limits"],
  };
}
