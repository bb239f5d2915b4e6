/**
 * How does a DaemonSet keep one pod on each node?
 */
import { isDeleting, keyOf, uidOf } from "../../../lib/embedded/controllers/cache.ts";
import {
  type Context,
  type Control,
  createObject,
  deleteObject,
  hashTemplate,
  isOver,
  isReady,
  newPod,
  ownerKeys,
  putStatus,
} from "../../../lib/embedded/controllers/context.ts";
import { isSelected, isTolerated, listTaints, REQUIRED } from "../../../lib/embedded/controllers/scheduler.ts";
import { at, type JsonObject, numberAt, objectAt, textAt, textsAt } from "../../../lib/embedded/json.ts";

/** The controller that keeps one pod of each DaemonSet on every node that will do. */
export function controlDaemonSets(context: Context): Control {
  const { cache } = context;
  return {
    keysOf(kind, object) {
      if (kind === "daemonsets") return [keyOf(object)];
      if (kind === "nodes") return cache.list("daemonsets").map(keyOf);
      return kind === "pods" ? ownerKeys(object, "DaemonSet") : [];
    },
    async reconcile(key) {
      const set = cache.get("daemonsets", key);
      if (set === null || isDeleting(set)) return;
      const nodes = cache.list("nodes").filter((node) => isWanted(set, node));
      const names = new Set(nodes.map(({ metadata = null }) => textAt(metadata, "name")));
      const pods = cache.listOwned("pods", uidOf(set));
      for (const pod of pods) {
        const isFirst = pods.find((one) => findNodeName(one) === findNodeName(pod)) === pod;
        if (!isDeleting(pod) && (!names.has(findNodeName(pod)) || isOver(pod) || !isFirst)) {
          await deleteObject(context, "pods", pod);
        }
      }
      for (const name of names) {
        if (!pods.some((pod) => findNodeName(pod) === name)) await createObject(context, "pods", toPod(set, name));
      }
      await replaceOld(context, set);
      await writeStatus(context, set, names.size);
    },
  };
}

const HASH = "controller-revision-hash";

function isWanted(set: JsonObject, node: JsonObject): boolean {
  const pod = toPod(set, textAt(node, "metadata", "name"));
  return isSelected(pod, node) &&
    listTaints(node).every((taint) => taint.effect === "PreferNoSchedule" || isTolerated(pod, taint));
}

/** The scheduler binds it, to that node alone. */
function toPod(set: JsonObject, node: string): JsonObject {
  const spec = objectAt(set, "spec", "template", "spec");
  const term = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
  const tolerations = Array.isArray(spec.tolerations) ? spec.tolerations : [];
  return newPod(set, {
    name: `${textAt(set, "metadata", "name")}-`,
    labels: { [HASH]: hashTemplate(set), "pod-template-generation": "1" },
    spec: {
      affinity: { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: [term] } } },
      tolerations: [
        ...tolerations,
        ...TOLERATED.map(([key, effect]) => ({ key: `node.kubernetes.io/${key}`, operator: "Exists", effect })),
      ],
    },
  });
}

const TOLERATED = [
  ["not-ready", "NoExecute"],
  ["unreachable", "NoExecute"],
  ["disk-pressure", "NoSchedule"],
  ["memory-pressure", "NoSchedule"],
  ["pid-pressure", "NoSchedule"],
  ["unschedulable", "NoSchedule"],
] as const;

/** Bound already or not yet. */
function findNodeName(pod: JsonObject): string {
  const [term] = listTerms(pod);
  return textAt(pod, "spec", "nodeName") || (textsAt(term, "values")[0] ?? "");
}

function listTerms(pod: JsonObject): readonly JsonObject[] {
  const terms = at(pod, "spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms");
  const fields = at(Array.isArray(terms) ? terms[0] : undefined, "matchFields");
  return Array.isArray(fields) ? fields.map((one) => objectAt(one)) : [];
}

async function replaceOld(context: Context, set: JsonObject): Promise<void> {
  if (at(set, "spec", "updateStrategy", "type") === "OnDelete") return;
  const pods = context.cache.listOwned("pods", uidOf(set));
  const hash = hashTemplate(set);
  const old = pods.filter((pod) => !isDeleting(pod) && textAt(pod, "metadata", "labels", HASH) !== hash);
  const broken = old.find((pod) => !isReady(pod));
  const isCalm = pods.every((pod) => isReady(pod) && !isDeleting(pod));
  const next = broken ?? (isCalm ? old[0] : undefined);
  if (next !== undefined) await deleteObject(context, "pods", next);
}

async function writeStatus(context: Context, set: JsonObject, desired: number): Promise<void> {
  const pods = context.cache.listOwned("pods", uidOf(set)).filter((pod) => !isDeleting(pod));
  const ready = pods.filter(isReady).length;
  const hash = hashTemplate(set);
  const status = {
    desiredNumberScheduled: desired,
    currentNumberScheduled: pods.length,
    numberMisscheduled: 0,
    numberReady: ready,
    numberAvailable: ready,
    numberUnavailable: Math.max(0, desired - ready),
    updatedNumberScheduled: pods.filter((pod) => textAt(pod, "metadata", "labels", HASH) === hash).length,
    observedGeneration: numberAt(set, "metadata", "generation") ?? 1,
  };
  await putStatus(context, { kind: "daemonsets", object: set, status });
}
