/**
 * How does a Deployment roll out? One ReplicaSet per template, within maxSurge and maxUnavailable.
 *
 * A ReplicaSet keeps its number of pods; the pods to delete are chosen as Kubernetes 1.36 chooses them.
 */
import { at, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from "../json.ts";
import { getController, isDeleting, keyOf, uidOf } from "./cache.ts";
import {
  type Context,
  type Control,
  createObject,
  deleteObject,
  findCondition,
  hashTemplate,
  isReady,
  listActivePods,
  newPod,
  ownerKeys,
  pathOf,
  putStatus,
  toCondition,
  toReference,
} from "./context.ts";

/** The controller that rolls each Deployment out through its ReplicaSets. */
export function controlDeployments(context: Context): Control {
  const { cache } = context;
  return {
    keysOf(kind, object) {
      if (kind === "deployments") return [keyOf(object)];
      if (kind === "replicasets") return ownerKeys(object, "Deployment");
      const [setKey = ""] = kind === "pods" ? ownerKeys(object, "ReplicaSet") : [];
      const set = cache.get("replicasets", setKey);
      return set === null ? [] : ownerKeys(set, "Deployment");
    },
    async reconcile(key) {
      const deployment = cache.get("deployments", key);
      if (deployment === null || isDeleting(deployment)) return;
      if (at(deployment, "spec", "paused") !== true) {
        const newest = findNewest(context, deployment) ?? await createNewest(context, deployment);
        const old = listSets(context, deployment).filter((set) => uidOf(set) !== uidOf(newest));
        await rollOut(context, { deployment, newest, old });
        await forgetOld(context, deployment, old);
      }
      await writeStatus(context, deployment);
    },
  };
}

/** The controller that keeps as many pods of each ReplicaSet as it asks for. */
export function controlReplicaSets(context: Context): Control {
  return {
    keysOf: (kind, object) =>
      kind === "replicasets" ? [keyOf(object)] : kind === "pods" ? ownerKeys(object, "ReplicaSet") : [],
    async reconcile(key) {
      const set = context.cache.get("replicasets", key);
      if (set === null || isDeleting(set)) return;
      const pods = listActivePods(context, set);
      const wanted = numberAt(set, "spec", "replicas") ?? 1;
      const name = `${textAt(set, "metadata", "name")}-`;
      for (let count = pods.length; count < wanted; count++) await createObject(context, "pods", newPod(set, { name }));
      if (pods.length > wanted) {
        const now = context.clock.now();
        const victims = choosePodsToDelete(pods, {
          count: pods.length - wanted,
          related: listRelated(context, set),
          now,
        });
        for (const pod of victims) await deleteObject(context, "pods", pod);
      }
      await writeReplicaSetStatus(context, set);
    },
  };
}

/** The pods that go first. `related`: the active pods of all ReplicaSets of the same Deployment. */
export function choosePodsToDelete(
  pods: readonly JsonObject[],
  { count, related, now }: { readonly count: number; readonly related: readonly JsonObject[]; readonly now: number },
): readonly JsonObject[] {
  if (count >= pods.length) return pods;
  const onNode = Map.groupBy(related, nodeOf);
  const ranked = pods.map((pod): Ranked => ({ pod, neighbours: onNode.get(nodeOf(pod))?.length ?? 0 }));
  return ranked.sort((a, b) => compare(a, b, now)).slice(0, count).map(({ pod }) => pod);
}

const HASH = "pod-template-hash";

const REVISION = "deployment.kubernetes.io/revision";

function listSets({ cache }: Context, deployment: JsonObject): readonly JsonObject[] {
  return cache.listOwned("replicasets", uidOf(deployment)).filter((set) => !isDeleting(set))
    .toSorted((a, b) => getRevision(a) - getRevision(b));
}

function findNewest(context: Context, deployment: JsonObject): JsonObject | null {
  const hash = hashTemplate(deployment);
  return listSets(context, deployment).find((set) => textAt(set, "metadata", "labels", HASH) === hash) ?? null;
}

async function createNewest(context: Context, deployment: JsonObject): Promise<JsonObject> {
  const hash = hashTemplate(deployment);
  const template = objectAt(deployment, "spec", "template");
  const labels = { ...objectAt(template, "metadata", "labels"), [HASH]: hash };
  const selector = objectAt(deployment, "spec", "selector");
  const revision = Math.max(0, ...listSets(context, deployment).map(getRevision)) + 1;
  await createObject(context, "replicasets", {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${textAt(deployment, "metadata", "name")}-${hash}`,
      namespace: textAt(deployment, "metadata", "namespace"),
      labels,
      annotations: { [REVISION]: String(revision) },
      ownerReferences: [toReference(deployment)],
    },
    spec: {
      replicas: 0,
      selector: { ...selector, matchLabels: { ...objectAt(selector, "matchLabels"), [HASH]: hash } },
      template: { ...template, metadata: { ...objectAt(template, "metadata"), labels } },
    },
  });
  const created = findNewest(context, deployment);
  if (created === null) throw new Error(`Cannot find the new ReplicaSet of "${keyOf(deployment)}"`);
  return created;
}

interface Rollout {
  readonly deployment: JsonObject;
  readonly newest: JsonObject;
  readonly old: readonly JsonObject[];
}

async function rollOut(context: Context, { deployment, newest, old }: Rollout): Promise<void> {
  const wanted = numberAt(deployment, "spec", "replicas") ?? 1;
  const strategy = objectAt(deployment, "spec", "strategy");
  if (strategy.type === "Recreate") {
    for (const set of old) await scale(context, set, 0);
    const left = old.some((set) => context.cache.listOwned("pods", uidOf(set)).length > 0);
    return left ? undefined : await scale(context, newest, wanted);
  }
  const surge = parseShare(at(strategy, "rollingUpdate", "maxSurge"), wanted, Math.ceil);
  const unavailable = parseShare(at(strategy, "rollingUpdate", "maxUnavailable"), wanted, Math.floor);
  const oldTotal = old.reduce((sum, set) => sum + getReplicas(set), 0);
  const room = Math.max(0, wanted + surge - oldTotal - getReplicas(newest));
  const target = oldTotal === 0 ? wanted : Math.min(wanted, getReplicas(newest) + room);
  await scale(context, newest, target);
  const available = [newest, ...old].flatMap((set) => listActivePods(context, set)).filter(isReady).length;
  // Without a surge and without a pod to spare no rollout could begin.
  const spare = surge === 0 && unavailable === 0 ? 1 : unavailable;
  let surplus = available - (wanted - spare);
  for (const set of old) {
    const pods = listActivePods(context, set);
    const broken = pods.filter((pod) => !isReady(pod)).length;
    const less = Math.min(getReplicas(set), broken + Math.max(0, surplus));
    surplus -= Math.max(0, less - broken);
    if (less > 0) await scale(context, set, getReplicas(set) - less);
  }
}

async function scale(context: Context, set: JsonObject, replicas: number): Promise<void> {
  if (getReplicas(set) === replicas) return;
  const patched = await context.client.patch(pathOf("replicasets", set), "merge", { spec: { replicas } });
  context.cache.put("replicasets", patched);
}

async function forgetOld(context: Context, deployment: JsonObject, old: readonly JsonObject[]): Promise<void> {
  const limit = numberAt(deployment, "spec", "revisionHistoryLimit") ?? 10;
  const idle = old.filter((set) => getReplicas(set) === 0 && context.cache.listOwned("pods", uidOf(set)).length === 0);
  for (const set of idle.slice(0, Math.max(0, idle.length - limit))) await deleteObject(context, "replicasets", set);
}

async function writeStatus(context: Context, deployment: JsonObject): Promise<void> {
  const { clock } = context;
  const wanted = numberAt(deployment, "spec", "replicas") ?? 1;
  const newest = findNewest(context, deployment);
  const pods = listSets(context, deployment).flatMap((set) => listActivePods(context, set));
  const ready = pods.filter(isReady).length;
  const updated = newest === null ? 0 : listActivePods(context, newest).length;
  const maxUnavailable = at(deployment, "spec", "strategy", "rollingUpdate", "maxUnavailable");
  const isAvailable = ready >= wanted - parseShare(maxUnavailable, wanted, Math.floor);
  const isDone = updated === wanted && ready === wanted && pods.length === wanted;
  const name = newest === null ? "" : textAt(newest, "metadata", "name");
  const conditions = [
    toCondition(deployment, isAvailable ? AVAILABLE : UNAVAILABLE, clock.now()),
    toCondition(deployment, {
      type: "Progressing",
      status: "True",
      ...(isDone
        ? { reason: "NewReplicaSetAvailable", message: `ReplicaSet "${name}" has successfully progressed.` }
        : { reason: "ReplicaSetUpdated", message: `ReplicaSet "${name}" is progressing.` }),
    }, clock.now()),
  ];
  const status = {
    replicas: pods.length,
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: Math.max(0, wanted - ready),
    observedGeneration: numberAt(deployment, "metadata", "generation") ?? 1,
    conditions: conditions.map((one) => ({ ...one, lastUpdateTime: one.lastTransitionTime ?? null })),
  };
  await putStatus(context, { kind: "deployments", object: deployment, status });
}

const AVAILABLE = {
  type: "Available",
  status: "True",
  reason: "MinimumReplicasAvailable",
  message: "Deployment has minimum availability.",
};

const UNAVAILABLE = {
  type: "Available",
  status: "False",
  reason: "MinimumReplicasUnavailable",
  message: "Deployment does not have minimum availability.",
};

/** `25%` of the replicas, or a number. */
function parseShare(value: Json | undefined, replicas: number, round: (share: number) => number): number {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(typeof value === "string" ? value : "")?.[1];
  return percent === undefined ? 0 : round(Number(percent) * replicas / 100);
}

function getReplicas(set: JsonObject): number {
  return numberAt(set, "spec", "replicas") ?? 1;
}

function getRevision(set: JsonObject): number {
  return Number(textAt(set, "metadata", "annotations", REVISION)) || 0;
}

async function writeReplicaSetStatus(context: Context, set: JsonObject): Promise<void> {
  const pods = listActivePods(context, set);
  const ready = pods.filter(isReady).length;
  const status = {
    replicas: pods.length,
    fullyLabeledReplicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    observedGeneration: numberAt(set, "metadata", "generation") ?? 1,
  };
  await putStatus(context, { kind: "replicasets", object: set, status });
}

/** The active pods of its Deployment, or its own. */
function listRelated(context: Context, set: JsonObject): readonly JsonObject[] {
  const owner = getController(set);
  const sets = owner === null ? [set] : context.cache.listOwned("replicasets", owner.uid);
  return sets.flatMap((one) => listActivePods(context, one));
}

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";

const PHASES = ["Pending", "Unknown", "Running"];

interface Ranked {
  readonly pod: JsonObject;
  /** How many of the related pods are on its node. */
  readonly neighbours: number;
}

function compare(one: Ranked, other: Ranked, now: number): number {
  const [a, b] = [one.pod, other.pod];
  const bound = Number(nodeOf(a) !== "") - Number(nodeOf(b) !== "");
  if (bound !== 0) return bound;
  const phase = PHASES.indexOf(textAt(a, "status", "phase")) - PHASES.indexOf(textAt(b, "status", "phase"));
  if (phase !== 0) return phase;
  const ready = Number(isReady(a)) - Number(isReady(b));
  if (ready !== 0) return ready;
  const cost = getDeletionCost(a) - getDeletionCost(b);
  if (cost !== 0) return cost;
  if (one.neighbours !== other.neighbours) return other.neighbours - one.neighbours;
  const [readyA, readyB] = [findReadyTime(a), findReadyTime(b)];
  if (readyA !== readyB) return compareAges(one, other, [now - readyA, now - readyB]);
  for (const read of [countRestarts, countSidecarRestarts]) {
    const restarts = read(b) - read(a);
    if (restarts !== 0) return restarts;
  }
  const [createdA, createdB] = [a, b].map((pod) => Date.parse(textAt(pod, "metadata", "creationTimestamp")));
  return createdA === createdB ? 0 : compareAges(one, other, [now - (createdA ?? 0), now - (createdB ?? 0)]);
}

/** The younger goes first, but ages between the same powers of two, in nanoseconds, are alike. */
function compareAges(one: Ranked, other: Ranked, [a, b]: readonly [number, number]): number {
  const difference = toPower(a) - toPower(b);
  if (difference !== 0) return difference;
  return uidOf(one.pod) < uidOf(other.pod) ? -1 : 1;
}

function toPower(ageMs: number): number {
  return ageMs > 0 ? Math.trunc(Math.log2(ageMs * 1e6)) : -1;
}

function nodeOf(pod: JsonObject): string {
  return textAt(pod, "spec", "nodeName");
}

function getDeletionCost(pod: JsonObject): number {
  const text = textAt(pod, "metadata", "annotations", DELETION_COST);
  return /^(0|-?[1-9]\d*)$/.test(text) && Number(text) === (Number(text) | 0) ? Number(text) : 0;
}

/** 0 for a pod that is not ready. */
function findReadyTime(pod: JsonObject): number {
  return isReady(pod) ? Date.parse(textAt(findCondition(pod, "Ready") ?? {}, "lastTransitionTime")) : 0;
}

function countRestarts(pod: JsonObject): number {
  return findMaxRestarts(listAt(pod, "status", "containerStatuses"));
}

function countSidecarRestarts(pod: JsonObject): number {
  const sidecars = listAt(pod, "spec", "initContainers").filter(({ restartPolicy }) => restartPolicy === "Always");
  const names = new Set(sidecars.map((one) => textAt(one, "name")));
  return findMaxRestarts(
    listAt(pod, "status", "initContainerStatuses").filter((one) => names.has(textAt(one, "name"))),
  );
}

function findMaxRestarts(statuses: readonly JsonObject[]): number {
  return Math.max(0, ...statuses.map((status) => numberAt(status, "restartCount") ?? 0));
}
