/** Which nodes will do for a pod, and why will the others not? The words are those of the real scheduler. */
import { parseAmount } from "../../units/quantity.ts";
import { type JsonObject, listAt, objectAt, textAt, textsAt } from "../json.ts";
import { readAmounts, sumPod } from "../pod_amounts.ts";
import { isReady } from "./context.ts";

/** Millicores, bytes and a count of pods. */
export interface Amounts {
  readonly cpu: number;
  readonly memory: number;
  readonly pods: number;
}

/** The larger of what a pod takes and what it would take if its resize did not wait for room. */
export function readNeeds(pod: JsonObject): Amounts {
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
  const allocated = readAmounts({ requests: objectAt(pod, "status", "allocatedResources") });
  const larger = (key: "cpu.requests" | "memory.requests") => Math.max(wanted[key] ?? 0, allocated[key] ?? 0);
  return { cpu: larger("cpu.requests"), memory: larger("memory.requests"), pods: 1 };
}

/** What a node has for pods. */
export function readAllocatable(node: JsonObject): Amounts {
  const allocatable = objectAt(node, "status", "allocatable");
  const read = (resource: "cpu" | "memory") => {
    const parsed = parseAmount(allocatable[resource], resource);
    return parsed.ok ? parsed.amount : 0;
  };
  return { cpu: read("cpu"), memory: read("memory"), pods: Number(allocatable.pods ?? 0) };
}

/** `null` = it will do. */
export function findFault(
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
  const has = readAllocatable(node);
  const faults = [
    ...(used.pods + needs.pods > has.pods ? ["Too many pods"] : []),
    ...(needs.cpu > 0 && used.cpu + needs.cpu > has.cpu ? ["Insufficient cpu"] : []),
    ...(needs.memory > 0 && used.memory + needs.memory > has.memory ? ["Insufficient memory"] : []),
  ];
  return faults.length === 0 ? null : faults;
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
