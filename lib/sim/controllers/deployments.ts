/**
 * Deployments: one ReplicaSet per template, the newest with all the pods. Recreate waits until the old ones are gone;
 * RollingUpdate adds and takes away within maxSurge and maxUnavailable.
 */
import { at, type Json, type JsonObject, numberAt, objectAt, textAt } from "../json.ts";
import { isDeleting, keyOf, uidOf } from "./cache.ts";
import {
  type Context,
  type Control,
  createObject,
  deleteObject,
  hashTemplate,
  isReady,
  listActivePods,
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

const HASH = "pod-template-hash";
const REVISION = "deployment.kubernetes.io/revision";

function listSets({ cache }: Context, deployment: JsonObject): readonly JsonObject[] {
  return cache.listOwned("replicasets", uidOf(deployment)).filter((set) => !isDeleting(set))
    .toSorted((a, b) => readRevision(a) - readRevision(b));
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
  const revision = Math.max(0, ...listSets(context, deployment).map(readRevision)) + 1;
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
  const surge = readShare(at(strategy, "rollingUpdate", "maxSurge"), wanted, Math.ceil);
  const unavailable = readShare(at(strategy, "rollingUpdate", "maxUnavailable"), wanted, Math.floor);
  const oldTotal = old.reduce((sum, set) => sum + readReplicas(set), 0);
  const room = Math.max(0, wanted + surge - oldTotal - readReplicas(newest));
  const target = oldTotal === 0 ? wanted : Math.min(wanted, readReplicas(newest) + room);
  await scale(context, newest, target);
  const available = [newest, ...old].flatMap((set) => listActivePods(context, set)).filter(isReady).length;
  // Without a surge and without a pod to spare no rollout could begin.
  const spare = surge === 0 && unavailable === 0 ? 1 : unavailable;
  let surplus = available - (wanted - spare);
  for (const set of old) {
    const pods = listActivePods(context, set);
    const broken = pods.filter((pod) => !isReady(pod)).length;
    const less = Math.min(readReplicas(set), broken + Math.max(0, surplus));
    surplus -= Math.max(0, less - broken);
    if (less > 0) await scale(context, set, readReplicas(set) - less);
  }
}

async function scale(context: Context, set: JsonObject, replicas: number): Promise<void> {
  if (readReplicas(set) === replicas) return;
  const patched = await context.client.patch(pathOf("replicasets", set), "merge", { spec: { replicas } });
  context.cache.put("replicasets", patched);
}

async function forgetOld(context: Context, deployment: JsonObject, old: readonly JsonObject[]): Promise<void> {
  const limit = numberAt(deployment, "spec", "revisionHistoryLimit") ?? 10;
  const idle = old.filter((set) => readReplicas(set) === 0 && context.cache.listOwned("pods", uidOf(set)).length === 0);
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
  const isAvailable = ready >= wanted - readShare(maxUnavailable, wanted, Math.floor);
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
function readShare(value: Json | undefined, replicas: number, round: (share: number) => number): number {
  if (typeof value === "number") return value;
  const percent = /^(\d+)%$/.exec(typeof value === "string" ? value : "")?.[1];
  return percent === undefined ? 0 : round(Number(percent) * replicas / 100);
}

function readReplicas(set: JsonObject): number {
  return numberAt(set, "spec", "replicas") ?? 1;
}

function readRevision(set: JsonObject): number {
  return Number(textAt(set, "metadata", "annotations", REVISION)) || 0;
}
