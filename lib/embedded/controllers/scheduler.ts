/**
 * Which node gets a pod? One where it fits, the one with the most free resources.
 * It binds each pod without a node to the node with the most free resources. A pod that fits nowhere gets an event and
 * is tried again when something changes.
 */
import { parseAmount } from "../../units/quantity.ts";
import { formatTime } from "../../units/time.ts";
import { type JsonObject, listAt, numberAt, objectAt, textAt, textsAt } from "../json.ts";
import { findErrorCode } from "../objects_client.ts";
import { parseAmounts, sumPod } from "../quantities.ts";
import { isDeleting, keyOf } from "./cache.ts";
import { type Context, type Control, findCondition, isOver, isReady, pathOf, toCondition } from "./context.ts";

/** The controller that binds pods to nodes. */
export function createScheduler(context: Context): Control {
  const { cache } = context;
  const reported = new Set<string>();
  /** Those that fitted nowhere. */
  const stuck = new Set<string>();
  return {
    keysOf(kind, object) {
      if (kind === "pods" && isWaiting(object)) return [keyOf(object)];
      // Room appears with a pod that goes, ends or shrinks.
      return kind === "nodes" || kind === "pods" ? [...stuck] : [];
    },
    async reconcile(key) {
      const pod = cache.get("pods", key);
      stuck.delete(key);
      if (pod === null || !isWaiting(pod)) return;
      const needs = computeNeeds(pod);
      const used = countUsed(context);
      const rated = cache.list("nodes").map((node) => {
        const has = used.get(textAt(node, "metadata", "name")) ?? NOTHING;
        return { node, faults: findFault(pod, node, { needs, used: has }), rest: scoreNode(node, has, needs) };
      });
      const [best] = rated.filter(({ faults }) => faults === null).toSorted((a, b) => b.rest - a.rest);
      if (best !== undefined) return await bind(context, pod, best.node);
      stuck.add(key);
      const message = toMessage(rated.flatMap(({ faults }) => faults ?? []), rated.length);
      await reportUnschedulable(context, pod, { message, reported });
    },
  };
}

/** The taints of a node. */
export function listTaints(node: JsonObject): readonly JsonObject[] {
  return listAt(node, "spec", "taints");
}

/** Does the pod tolerate this taint? */
export function isTolerated(pod: JsonObject, taint: JsonObject): boolean {
  return listAt(pod, "spec", "tolerations").some(({ key, operator = "Equal", value = "", effect }) => {
    if (effect !== undefined && effect !== "" && effect !== taint.effect) return false;
    if (operator === "Exists") return key === undefined || key === "" || key === taint.key;
    return key === taint.key && value === (taint.value ?? "");
  });
}

/** Labels are compared, and the one affinity that the pods of a DaemonSet are bound with. */
export function isSelected(pod: JsonObject, node: JsonObject): boolean {
  const labels = objectAt(node, "metadata", "labels");
  const wanted = Object.entries(objectAt(pod, "spec", "nodeSelector"));
  if (!wanted.every(([key, value]) => labels[key] === value)) return false;
  const required = objectAt(pod, "spec", "affinity", "nodeAffinity", REQUIRED);
  const terms = listAt(required, "nodeSelectorTerms");
  if (terms.length === 0) return true;
  return terms.some((term) =>
    listAt(term, "matchFields").every((field) => textsAt(field, "values").includes(textAt(node, "metadata", "name"))) &&
    listAt(term, "matchExpressions").every((one) => isMatched(one, labels))
  );
}

/** The key of an affinity that the scheduler has to keep and that running pods may break. */
export const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

const NOTHING: Amounts = { cpu: 0, memory: 0, pods: 0 };

function isWaiting(pod: JsonObject): boolean {
  return textAt(pod, "spec", "nodeName") === "" && !isDeleting(pod) && !isOver(pod) &&
    ["", "default-scheduler"].includes(textAt(pod, "spec", "schedulerName"));
}

function countUsed({ cache }: Context): ReadonlyMap<string, Amounts> {
  const used = new Map<string, Amounts>();
  for (const pod of cache.list("pods")) {
    const node = textAt(pod, "spec", "nodeName");
    if (node === "" || isOver(pod)) continue;
    const [before, needs] = [used.get(node) ?? NOTHING, computeNeeds(pod)];
    used.set(node, { cpu: before.cpu + needs.cpu, memory: before.memory + needs.memory, pods: before.pods + 1 });
  }
  return used;
}

/** The share that is left of the scarcer resource. */
function scoreNode(node: JsonObject, used: Amounts, needs: Amounts): number {
  const has = getAllocatable(node);
  return Math.min(
    1 - (used.cpu + needs.cpu) / Math.max(1, has.cpu),
    1 - (used.memory + needs.memory) / Math.max(1, has.memory),
    1 - used.pods / Math.max(1, has.pods),
  );
}

async function bind(context: Context, pod: JsonObject, node: JsonObject): Promise<void> {
  const { client, cache } = context;
  const [namespace, name] = [textAt(pod, "metadata", "namespace"), textAt(pod, "metadata", "name")];
  const target = { apiVersion: "v1", kind: "Node", name: textAt(node, "metadata", "name") };
  try {
    await client.create(`${pathOf("pods", pod)}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name, namespace, uid: textAt(pod, "metadata", "uid") },
      target,
    });
  } catch (error) {
    // Gone, or bound by another client: the watch will report it.
    if ([404, 409].includes(findErrorCode(error) ?? 0)) return;
    throw error;
  }
  // So that the next pod does not count on the same resources.
  const bound = await client.get(pathOf("pods", pod));
  if (bound !== null) cache.put("pods", bound);
  const message = `Successfully assigned ${namespace}/${name} to ${target.name}`;
  await writeUnschedulable(context, pod, { type: "Normal", reason: "Scheduled", message, action: "Binding" });
}

function toMessage(faults: readonly string[], nodes: number): string {
  if (nodes === 0) return "no nodes available to schedule pods";
  const counts = new Map<string, number>();
  for (const fault of faults) counts.set(fault, (counts.get(fault) ?? 0) + 1);
  const reasons = [...counts].sort(([a], [b]) => a < b ? -1 : 1).map(([fault, count]) => `${count} ${fault}`);
  const rest = "no new claims to deallocate, preemption: " +
    `0/${nodes} nodes are available: ${nodes} Preemption is not helpful for scheduling.`;
  return `0/${nodes} nodes are available: ${reasons.join(", ")}. ${rest}`;
}

async function reportUnschedulable(
  context: Context,
  pod: JsonObject,
  { message, reported }: { readonly message: string; readonly reported: Set<string> },
): Promise<void> {
  const { client, cache, clock } = context;
  const old = findCondition(pod, "PodScheduled");
  if (old?.reason === "Unschedulable" && old.message === message) return;
  const condition = {
    ...toCondition(pod, { type: "PodScheduled", status: "False", reason: "Unschedulable", message }, clock.now()),
    observedGeneration: numberAt(pod, "metadata", "generation") ?? 1,
  };
  const patch = { metadata: { uid: objectAt(pod, "metadata").uid ?? "" }, status: { conditions: [condition] } };
  try {
    cache.put("pods", await client.patch(`${pathOf("pods", pod)}/status`, "strategic", patch));
  } catch (error) {
    if (findErrorCode(error) === 404) return;
    throw error;
  }
  const key = `${textAt(pod, "metadata", "uid")} ${message}`;
  if (reported.has(key)) return;
  if (reported.size > MAX_REPORTED) reported.clear();
  reported.add(key);
  await writeUnschedulable(context, pod, {
    type: "Warning",
    reason: "FailedScheduling",
    message,
    action: "Scheduling",
  });
}

const MAX_REPORTED = 1000;

interface ReportedPod {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly action: string;
}

/** A refused event does not start the scheduling again. */
async function writeUnschedulable(
  { client, clock, random }: Context,
  pod: JsonObject,
  event: ReportedPod,
): Promise<void> {
  const [namespace, name] = [textAt(pod, "metadata", "namespace"), textAt(pod, "metadata", "name")];
  const involvedObject = {
    apiVersion: "v1",
    kind: "Pod",
    name,
    namespace,
    uid: textAt(pod, "metadata", "uid"),
    resourceVersion: textAt(pod, "metadata", "resourceVersion"),
  };
  const suffix = Math.floor(random() * 2 ** 32).toString(16);
  await client.create(`/api/v1/namespaces/${namespace}/events`, {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${clock.now().toString(16)}${suffix}`, namespace },
    involvedObject,
    ...event,
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: `${formatTime(clock.now()).slice(0, -1)}.000000Z`,
    reportingComponent: "default-scheduler",
    reportingInstance: "default-scheduler-embedded",
  }).catch(() => {});
}

/** Millicores, bytes and a count of pods. */
interface Amounts {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
}

/** The larger of what a pod takes and what it would take after its deferred resize. */
function computeNeeds(pod: JsonObject): Amounts {
  const known = NEEDS.get(pod);
  if (known !== undefined) return known;
  const needs = toNeeds(pod);
  NEEDS.set(pod, needs);
  return needs;
}

/** Amounts are kept by object, as objects never change and the scheduler adds them all up for each pod. */
const NEEDS = new WeakMap<JsonObject, Amounts>();

function toNeeds(pod: JsonObject): Amounts {
  const wanted = sumPod(pod);
  const allocated = parseAmounts({ requests: objectAt(pod, "status", "allocatedResources") });
  const larger = (key: "cpu.requests" | "memory.requests") => Math.max(wanted[key] ?? 0, allocated[key] ?? 0);
  return { cpu: larger("cpu.requests"), memory: larger("memory.requests"), pods: 1 };
}

/** What a node has for pods. */
function getAllocatable(node: JsonObject): Amounts {
  const allocatable = objectAt(node, "status", "allocatable");
  const read = (resource: "cpu" | "memory") => {
    const parsed = parseAmount(allocatable[resource], resource);
    return parsed.ok ? parsed.amount : 0;
  };
  return { cpu: read("cpu"), memory: read("memory"), pods: Number(allocatable.pods ?? 0) };
}

/** `null` = it will do. */
function findFault(
  pod: JsonObject,
  node: JsonObject,
  { needs, used }: { readonly needs: Amounts; readonly used: Amounts },
): readonly string[] | null {
  if (node.spec !== undefined && objectAt(node, "spec").unschedulable === true && !toleratesUnschedulable(pod)) {
    return ["node(s) were unschedulable"];
  }
  const taint = listTaints(node).find((one) => one.effect !== "PreferNoSchedule" && !isTolerated(pod, one));
  if (taint !== undefined) {
    return [`node(s) had untolerated taint(s)`];
  }
  if (!isReady(node)) return ["node(s) were not ready"];
  if (!isSelected(pod, node)) return ["node(s) didn't match Pod's node affinity/selector"];
  const has = getAllocatable(node);
  const faults = [
    ...(used.pods + needs.pods > has.pods ? ["Too many pods"] : []),
    ...(needs.cpu > 0 && used.cpu + needs.cpu > has.cpu ? ["Insufficient cpu"] : []),
    ...(needs.memory > 0 && used.memory + needs.memory > has.memory ? ["Insufficient memory"] : []),
  ];
  return faults.length === 0 ? null : faults;
}

function isMatched(expression: JsonObject, labels: JsonObject): boolean {
  const value = labels[textAt(expression, "key")];
  const isListed = textsAt(expression, "values").some((one) => one === value);
  switch (expression.operator) {
    case "In":
      return isListed;
    case "NotIn":
      return !isListed;
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

function toleratesUnschedulable(pod: JsonObject): boolean {
  return isTolerated(pod, { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" });
}
