/**
 * How do the ready pods of a workload share its load? As a Service shares requests.
 * The ready pods of a selector share a total, as a Service shares out requests.
 */
import { isDeleting, uidOf } from "./controllers/cache.ts";
import { isReady } from "./controllers/context.ts";
import { at, type JsonObject, objectAt, textAt } from "./json.ts";
import type { Share } from "./kubelet/machine.ts";
import type { Curve } from "./model/load.ts";
import type { Store } from "./server/store.ts";

/** The pods that share a load: those of a namespace with all of these labels. */
export interface WorkloadRef {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The container that works for it; "main" by default. */
  readonly container?: string;
}

/** A load of a whole workload. A number stands for a constant; times of a curve begin when it is set. */
export interface WorkloadLoad {
  readonly cpuMillicores?: number | Curve;
  readonly workingSetBytes?: number | Curve;
  /** The part of it, 0 to 1, that the oldest ready pod takes before the others share the rest; 0 by default. */
  readonly leaderPart?: number;
  /** Each pod's share moves up and down by this part of it, drawn again in each `stepMs`. */
  readonly noise?: { readonly part: number; readonly stepMs: number };
}

/** What the loads are shared out with. */
interface WorkloadLoadsOptions {
  readonly store: Store;
  readonly now: () => number;
  /** Gives a pod its parts. */
  readonly share: (pod: JsonObject, shares: readonly Share[]) => void;
}

/** The loads of workloads. Disposing of it ends the sharing. */
interface WorkloadLoads extends Disposable {
  /** Sets the load of a workload, in place of the one that it had; `null` takes it away. */
  readonly set: (workload: WorkloadRef, load: WorkloadLoad | null) => void;
}

/** No loads yet. */
export function createWorkloadLoads({ store, now, share }: WorkloadLoadsOptions): WorkloadLoads {
  const shared = new Map<string, SharedLoad>();
  const pods = store.collection("/pods");
  const stop = pods.listen(({ kind, entry: { object } }) => {
    for (const one of shared.values()) {
      if (!isOf(object, one.workload)) continue;
      const isMember = kind !== "DELETED" && isServing(object);
      if (isMember === one.members.has(uidOf(object))) continue;
      if (isMember) one.members.set(uidOf(object), object);
      else one.members.delete(uidOf(object));
      shareOut(one, isMember ? [] : [object]);
    }
  }, null);

  /** `left`: pods that take no part any more. */
  function shareOut({ workload, load, since, members }: SharedLoad, left: readonly JsonObject[]): void {
    const container = workload.container ?? "main";
    for (const pod of left) share(pod, []);
    const byAge = [...members.values()].toSorted((a, b) => toAge(a) < toAge(b) ? -1 : 1);
    for (const [index, pod] of byAge.entries()) {
      const part = computePart(load.leaderPart ?? 0, index, byAge.length);
      const toShare = (of: number | Curve, noise: WorkloadLoad["noise"]): Curve => ({
        kind: "share",
        of: typeof of === "number" ? { kind: "constant", value: of } : of,
        part,
        since,
        noisePart: noise?.part ?? 0,
        stepMs: noise?.stepMs ?? 1000,
        seed: uidOf(pod),
      });
      const cpuMillicores = toShare(load.cpuMillicores ?? 0, load.noise);
      share(pod, [{ container, cpuMillicores, workingSetBytes: toShare(load.workingSetBytes ?? 0, undefined) }]);
    }
  }

  return {
    set(workload, load) {
      const key = JSON.stringify([workload.namespace, Object.entries(workload.labels).sort(), workload.container]);
      const left = [...shared.get(key)?.members.values() ?? []];
      shared.delete(key);
      if (load === null) return left.forEach((pod) => share(pod, []));
      const serving = pods.list({ namespace: workload.namespace }).map(({ object }) => object)
        .filter((pod) => isOf(pod, workload) && isServing(pod));
      const one = { workload, load, since: now(), members: new Map(serving.map((pod) => [uidOf(pod), pod])) };
      shared.set(key, one);
      shareOut(one, []);
    },
    [Symbol.dispose]: stop,
  };
}

interface SharedLoad {
  readonly workload: WorkloadRef;
  readonly load: WorkloadLoad;
  readonly since: number;
  /** The pods that share it, by UID. */
  readonly members: Map<string, JsonObject>;
}

function isOf(pod: JsonObject, { namespace, labels }: WorkloadRef): boolean {
  if (textAt(pod, "metadata", "namespace") !== namespace) return false;
  const own = objectAt(pod, "metadata", "labels");
  return Object.entries(labels).every(([key, value]) => at(own, key) === value);
}

function isServing(pod: JsonObject): boolean {
  return isReady(pod) && !isDeleting(pod);
}

function toAge(pod: JsonObject): string {
  return `${textAt(pod, "metadata", "creationTimestamp")} ${textAt(pod, "metadata", "name")}`;
}

function computePart(leaderPart: number, index: number, count: number): number {
  if (count === 1) return 1;
  if (leaderPart === 0) return 1 / count;
  return index === 0 ? leaderPart : (1 - leaderPart) / (count - 1);
}
