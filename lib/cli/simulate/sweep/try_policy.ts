/**
 * Runs one policy on the workloads of a sweep and returns its totals as plain data.
 *
 * Which autoscaler belongs to which workload is decided here as the daemon decides it.
 */
import { ContainerAutoscalers } from "../../../daemon/cluster/matching.ts";
import { parsePod } from "../../../daemon/cluster/parse_pod.ts";
import type { Autoscaler } from "../../../model/autoscaler.ts";
import type { PodFacts } from "../../../model/pod.ts";
import { listExternalTriggers, type ScaledObjectFacts } from "../../../model/scaled_object.ts";
import { parseAutoscaler } from "../../../resources/pod_resource_autoscaler/parse.ts";
import type { Load, Loads } from "../../../simulate/load.ts";
import { type ContainerRun, simulate } from "../../../simulate/simulate.ts";
import { matches } from "../../../units/selector.ts";
import { listUnknown, type UnknownResources, withoutUnknown } from "../../loads/loads.ts";
import type { Manifest } from "../../manifests/files.ts";
import { type ManifestObjects, withUid, type WorkloadObject } from "../../manifests/objects.ts";

/** The common input of all policies of a sweep. */
export interface Trial {
  readonly workloads: readonly WorkloadObject[];
  readonly scaledObjects: readonly ScaledObjectFacts[];
  /** By container name. */
  readonly loads: Readonly<Record<string, SharedLoad>>;
  readonly unknown: UnknownResources;
  readonly seed: string;
  readonly seconds: number;
}

/** A load second by second, in memory that workers share. */
interface SharedLoad {
  readonly cpu: Float64Array;
  readonly memory: Float64Array;
  readonly cache: Float64Array;
}

/** The totals of a policy, or why it is invalid. */
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

/** The usual ratio of nodes. */
const MIB_PER_MILLICORE = 4096 / 1000;

/** Returns the load at each second of a run. */
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
    if (parsed.ok) autoscalers.push(withUid(parsed.autoscaler));
    else return { ok: false, message: parsed.problems.map(({ path, message }) => `${path}: ${message}`).join("; ") };
  }
  const found = toSubjects({ workloads, autoscalers, scaledObjects });
  if (!found.ok) return found;
  const loads = openLoads(trial);
  const runs = found.subjects.flatMap(({ pod, autoscalers: contenders, replicas, scaledObject }) =>
    simulate({
      autoscalers: withoutUnknown(contenders, trial.unknown),
      pod,
      replicas,
      scaledObject,
      loads,
      seed,
      seconds,
    }).containers
  );
  return { ok: true, totals: addUp(runs, trial.unknown) };
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

function addUp(runs: readonly ContainerRun[], unknown: UnknownResources): Totals {
  const add = (read: (run: ContainerRun) => number) => runs.reduce((sum, run) => sum + read(run), 0);
  const addBoth = (figure: "slack" | "under") =>
    add((run) => {
      const missing = listUnknown(unknown, run.container);
      const [cpu, memory] = [run.cpu[figure], run.memory[figure] / MIB_PER_MILLICORE];
      return (missing.includes("cpu") ? 0 : cpu) + (missing.includes("memory") ? 0 : memory);
    });
  return {
    slack: addBoth("slack"),
    under: addBoth("under"),
    throttledSeconds: add(({ cpu }) => cpu.throttledSeconds),
    oomKills: add(({ oomKills }) => oomKills.length),
    resizesPerHour: add(({ resizesPerHour }) => resizesPerHour),
  };
}

// Which workloads are simulated, under which autoscalers? As the daemon matches them, of what the files hold.

/** One workload that some autoscaler matches. */
export interface Subject {
  /** `Deployment web`, with the namespace where it is not `default`. */
  readonly title: string;
  readonly pod: PodFacts;
  /** One for each container. */
  readonly autoscalers: readonly Autoscaler[];
  readonly scaledObject: ScaledObjectFacts | null;
  /** The first number of pods: one, or what the bounds of a ScaledObject allow. */
  readonly replicas: number;
}

/** The simulated workloads, or why there are none. */
type Subjects =
  | { readonly ok: true; readonly subjects: readonly Subject[] }
  | { readonly ok: false; readonly message: string };

/** The objects of the files that take part in matching. */
type Matched = Pick<ManifestObjects, "workloads" | "autoscalers" | "scaledObjects">;

/** Autoscalers in mode `recommend` count as if they were applied, paused ones do not count. */
export function toSubjects({ workloads, autoscalers, scaledObjects }: Matched): Subjects {
  if (workloads.length === 0) {
    return refuse("no Deployment, StatefulSet, DaemonSet, ReplicaSet or Pod in the files: add it with a further -f");
  }
  const active = autoscalers.filter(({ paused }) => !paused);
  if (active.length === 0) {
    return refuse("no PodResourceAutoscaler in the files that is not paused: add one with a further -f");
  }
  const subjects = workloads.flatMap((workload): readonly Subject[] => {
    const pod = parsePod(workload.pod);
    const own = active.filter((autoscaler) => isFor(autoscaler, workload, pod));
    const contenders = own.flatMap((one) => new ContainerAutoscalers().list({ ...one, mode: "apply" }, pod));
    if (contenders.length === 0) return [];
    const scaledObject = scaledObjects.find((one) => isScaledBy(one, workload)) ?? null;
    const { minReplicas = 1, maxReplicas = 1 } = scaledObject?.scaledObject ?? {};
    const replicas = Math.max(1, Math.min(maxReplicas, Math.max(minReplicas, workload.replicas)));
    return [{ title: toTitle(workload), pod, autoscalers: contenders, scaledObject, replicas }];
  });
  const outside = subjects.map(findOutside).find((one) => one !== null) ?? null;
  if (outside !== null) return refuse(outside);
  if (subjects.length > 0) return { ok: true, subjects };
  const [names, titles] = [active.map(({ name }) => name), workloads.map(toTitle)].map((list) => list.join(", "));
  const spaces = [...new Set(active.map(({ namespace }) => namespace))];
  if (!workloads.some(({ namespace }) => spaces.includes(namespace))) {
    return refuse(
      `${names} cannot size ${titles} from namespace ${spaces.join(", ")}: set metadata.namespace of both to the same`,
    );
  }
  return refuse(
    `no container of ${titles} is one that ${names} stands for: look at target, selector and containerName`,
  );
}

/** External triggers, whose values are in no file. */
function findOutside({ scaledObject }: Subject): string | null {
  const object = scaledObject?.scaledObject ?? null;
  const outside = object === null ? [] : listExternalTriggers(object);
  if (object === null || outside.length === 0) return null;
  const kinds = [...new Set(outside.map(({ type }) => type))].join(", ");
  return `ScaledObject ${object.name} has a trigger that is not of cpu or memory (${kinds}), whose value no load tells: ` +
    "leave the trigger out of the file";
}

function refuse(cause: string): Subjects {
  return { ok: false, message: `Cannot simulate: ${cause}` };
}

function isFor({ namespace, target, selector }: Autoscaler, workload: WorkloadObject, pod: PodFacts): boolean {
  if (namespace !== workload.namespace) return false;
  if (target !== null) return target.kind === workload.kind.toLowerCase() && target.name === workload.name;
  return selector !== null && matches(selector, pod.labels);
}

function isScaledBy({ namespace, scaledObject }: ScaledObjectFacts, workload: WorkloadObject): boolean {
  const target = scaledObject?.target;
  return (namespace || "default") === workload.namespace && target?.kind === workload.kind &&
    target.name === workload.name;
}

function toTitle({ kind, namespace, name }: WorkloadObject): string {
  return `${kind} ${namespace === "default" ? "" : `${namespace}/`}${name}`;
}
