/** Which workloads are simulated, under which autoscalers? As the daemon matches them, of what the files hold. */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import { Contenders } from "../../daemon/inventory/contenders.ts";
import { readPod } from "../../daemon/inventory/read_pod.ts";
import { listExternalTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { matches } from "../../units/selector.ts";
import type { ManifestObjects, WorkloadObject } from "./objects.ts";

/** One workload that some autoscaler matches. */
export interface Subject {
  /** `Deployment web`, with the namespace where it is not `default`. */
  readonly title: string;
  readonly pod: PodFacts;
  /** One for each container that they stand for. */
  readonly autoscalers: readonly Autoscaler[];
  readonly scaledObject: ScaledObjectFacts | null;
  /** How many pods it begins with: one, unless a ScaledObject says how many there may be. */
  readonly replicas: number;
}

/** The workloads that are simulated, or why there is none. */
export type Subjects =
  | { readonly ok: true; readonly subjects: readonly Subject[] }
  | { readonly ok: false; readonly message: string };

/** What the files hold, as far as it is matched. */
export type Matched = Pick<ManifestObjects, "workloads" | "autoscalers" | "scaledObjects">;

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
    const pod = readPod(workload.pod);
    const own = active.filter((autoscaler) => isFor(autoscaler, workload, pod));
    const contenders = own.flatMap((one) => new Contenders().list({ ...one, mode: "apply" }, pod));
    if (contenders.length === 0) return [];
    const scaledObject = scaledObjects.find((one) => isScaledBy(one, workload)) ?? null;
    const least = scaledObject?.scaledObject?.minReplicas ?? 1;
    const replicas = scaledObject === null ? 1 : Math.max(1, least, workload.replicas);
    return [{ title: toTitle(workload), pod, autoscalers: contenders, scaledObject, replicas }];
  });
  const outside = subjects.map(findOutside).find((one) => one !== null) ?? null;
  if (outside !== null) return refuse(outside);
  if (subjects.length > 0) return { ok: true, subjects };
  const [names, titles] = [active.map(({ name }) => name), workloads.map(toTitle)].map((list) => list.join(", "));
  return refuse(
    `no container of ${titles} is one that ${names} stands for: look at target, selector and containerName`,
  );
}

/** What nothing in the files tells the value of. */
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
