/** Tries one policy on the workloads of a sweep: what it comes to, as plain data that workers pass on. */
import type { Autoscaler } from "../../../autoscaler/autoscaler.ts";
import { parseAutoscaler } from "../../../autoscaler/parse_autoscaler.ts";
import type { ContainerRun } from "../../../simulate/engine/simulate.ts";
import { simulate } from "../../../simulate/engine/simulate.ts";
import type { Load, Loads } from "../../../simulate/engine/load.ts";
import type { ScaledObjectFacts } from "../../../scaled_object/scaled_object.ts";
import { toContender, type WorkloadObject } from "../objects.ts";
import { toSubjects } from "../subjects.ts";
import type { Manifest } from "./grid.ts";

/** What all policies of a sweep are tried on. */
export interface Trial {
  readonly workloads: readonly WorkloadObject[];
  readonly scaledObjects: readonly ScaledObjectFacts[];
  /** By container name. */
  readonly loads: Readonly<Record<string, SharedLoad>>;
  readonly seed: string;
  readonly seconds: number;
}

/** A load second by second, in memory that workers share. */
export interface SharedLoad {
  readonly cpu: Float64Array;
  readonly memory: Float64Array;
  readonly cache: Float64Array;
}

/** What a policy came to, or why it is none. */
export type Tried =
  | { readonly ok: true; readonly totals: Totals }
  | { readonly ok: false; readonly message: string };

/** Sums over all containers. */
export interface Totals {
  /** Requested and not used, in millicores: memory counts, too, a core as much as 4 GiB. */
  readonly slack: number;
  /** Wanted beyond the request, in millicores likewise. */
  readonly under: number;
  readonly throttledSeconds: number;
  readonly oomKills: number;
  readonly resizesPerHour: number;
}

/** As nodes have it, mostly. */
const MIB_PER_MILLICORE = 4096 / 1000;

/** The load at each second of a run. */
export function shareLoad(load: Load, seconds: number): SharedLoad {
  const list = () => new Float64Array(new SharedArrayBuffer(8 * seconds));
  const shared = { cpu: list(), memory: list(), cache: list() };
  for (let second = 0; second < seconds; second++) {
    const { cpuMillicores, workingSetBytes, pageCacheBytes = 0 } = load.at(second);
    shared.cpu[second] = cpuMillicores;
    shared.memory[second] = workingSetBytes;
    shared.cache[second] = pageCacheBytes;
  }
  return shared;
}

/** Never throws for a policy that is invalid. */
export function tryPolicy(trial: Trial, manifests: readonly Manifest[]): Tried {
  const { workloads, scaledObjects, seed, seconds } = trial;
  const autoscalers: Autoscaler[] = [];
  for (const manifest of manifests) {
    const parsed = parseAutoscaler(manifest);
    if (parsed.ok) autoscalers.push(toContender(parsed.autoscaler));
    else return { ok: false, message: parsed.problems.map(({ path, message }) => `${path}: ${message}`).join("; ") };
  }
  const found = toSubjects({ workloads, autoscalers, scaledObjects });
  if (!found.ok) return found;
  const loads = openLoads(trial);
  const runs = found.subjects.flatMap(({ pod, autoscalers: contenders, replicas, scaledObject }) =>
    simulate({ autoscalers: contenders, pod, replicas, scaledObject, loads, seed, seconds }).containers
  );
  return { ok: true, totals: addUp(runs) };
}

function openLoads({ loads, seconds }: Trial): Loads {
  const open = ({ cpu, memory, cache }: SharedLoad): Load => ({
    seconds,
    at: (second) => ({
      cpuMillicores: cpu[second] ?? 0,
      workingSetBytes: memory[second] ?? 0,
      pageCacheBytes: cache[second] ?? 0,
    }),
  });
  return Object.fromEntries(Object.entries(loads).map(([name, load]) => [name, open(load)]));
}

function addUp(runs: readonly ContainerRun[]): Totals {
  const add = (read: (run: ContainerRun) => number) => runs.reduce((sum, run) => sum + read(run), 0);
  return {
    slack: add(({ cpu, memory }) => cpu.slack + memory.slack / MIB_PER_MILLICORE),
    under: add(({ cpu, memory }) => cpu.under + memory.under / MIB_PER_MILLICORE),
    throttledSeconds: add(({ cpu }) => cpu.throttledSeconds),
    oomKills: add(({ oomKills }) => oomKills.length),
    resizesPerHour: add(({ resizesPerHour }) => resizesPerHour),
  };
}
