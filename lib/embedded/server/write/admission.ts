/** Is a valid pod admitted to the store? The embedded cluster asks for the capacity of its node when it is resized. */
import { type JsonObject, objectAt, textAt } from "../../json.ts";
import { parseAmounts, sumPod } from "../../quantities.ts";
import { forbidden } from "../refusal.ts";
import type { Store } from "../store.ts";

/** What a server gives to pods, refuses of them and counts. */
export interface Admission {
  /** Fills in what a new pod leaves out. */
  readonly giveDefaults: (store: Store, pod: JsonObject) => void;
  /** Throws a Refusal. `before`: the pod as it was when it is resized, `null` for a new pod. */
  readonly admit: (store: Store, pod: JsonObject, before: JsonObject | null) => void;
  /** Runs after an object was stored or removed. */
  readonly follow: (store: Store, change: StoredChange) => void;
}

/** An object that was stored or removed; `null` = it was not there before, or is not there any more. */
export interface StoredChange {
  /** `group/plural` of its kind. */
  readonly id: string;
  readonly namespace: string;
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
}

/** Refuses a resize beyond the node, and nothing else. */
export const CAPACITY_ADMISSION: Admission = {
  giveDefaults() {},
  admit(store, pod, before) {
    if (before !== null) checkCapacity(store, pod);
  },
  follow() {},
};

const PODS = { group: "", plural: "pods", kind: "Pod" };

/** Throws a Refusal for a pod that is larger than its node. A pod without a node is left to the scheduler. */
export function checkCapacity(store: Store, pod: JsonObject): void {
  const node = store.collection("/nodes").get(null, textAt(pod, "spec", "nodeName"));
  if (node === null) return;
  const allocatable = parseAmounts({ requests: objectAt(node.object, "status", "allocatable") });
  const wanted = sumPod(pod);
  const faults = (["cpu", "memory"] as const).flatMap((resource) => {
    const [has, asked] = [allocatable[`${resource}.requests`], wanted[`${resource}.requests`]];
    return has === null || asked === null || asked <= has
      ? []
      : [`${resource}, requested: ${asked}, allocatable: ${has}`];
  });
  if (faults.length === 0) return;
  const why = `node didn't have enough allocatable resources: ${faults.join("; ")}`;
  throw forbidden(PODS, textAt(pod, "metadata", "name"), why, [{ reason: "NodeCapacity" }]);
}
