/**
 * What `kubectl get` shows of each kind: the columns of a Table and the cells of an object.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
import { ageOf, formatAge } from "./ages.ts";
import { at, isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from "../../json.ts";
import { readPodStatus } from "./pod_status.ts";
import { listContainers } from "./workloads.ts";

/** A column of a table and how its cell is read from an object. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  /** 0 is always shown, above that with `-o wide`. */
  readonly priority: number;
  readonly cell: (object: JsonObject, now: number) => Json;
}

const NAME: Column = { ...column("Name", (object) => textAt(object, "metadata", "name")), format: "name" };
const AGE = column("Age", ageOf);

/** The columns of kinds that have none of their own. */
export const PLAIN_COLUMNS: readonly Column[] = [NAME, AGE];
/** The columns of kinds that show when they were created. */
export const CREATED_COLUMNS: readonly Column[] = [
  NAME,
  { ...column("Created At", (object) => textAt(object, "metadata", "creationTimestamp")), type: "date" },
];
/** The columns of namespaces. */
export const NAMESPACE_COLUMNS: readonly Column[] = [NAME, column("Status", phaseOf), AGE];
/** The columns of leases. */
export const LEASE_COLUMNS: readonly Column[] = [
  NAME,
  column("Holder", (it) => textAt(it, "spec", "holderIdentity")),
  AGE,
];

/** The columns of pods. */
export const POD_COLUMNS: readonly Column[] = [
  NAME,
  column("Ready", (pod) => readPodStatus(pod).ready),
  column("Status", (pod) => readPodStatus(pod).reason),
  column("Restarts", (pod, now) => readPodStatus(pod).restarts(now)),
  AGE,
  wide("IP", (pod) => textAt(pod, "status", "podIP") || NONE),
  wide("Node", (pod) => textAt(pod, "spec", "nodeName") || NONE),
  wide("Nominated Node", (pod) => textAt(pod, "status", "nominatedNodeName") || NONE),
  wide("Readiness Gates", () => NONE),
];

/** The columns of nodes. */
export const NODE_COLUMNS: readonly Column[] = [
  NAME,
  column("Status", readNodeStatus),
  column("Roles", () => NONE),
  AGE,
  column("Version", (node) => textAt(node, "status", "nodeInfo", "kubeletVersion")),
  wide("Internal-IP", (node) => readAddress(node, "InternalIP")),
  wide("External-IP", (node) => readAddress(node, "ExternalIP")),
  wide("OS-Image", (node) => textAt(node, "status", "nodeInfo", "osImage") || "<unknown>"),
  wide("Kernel-Version", (node) => textAt(node, "status", "nodeInfo", "kernelVersion") || "<unknown>"),
  wide("Container-Runtime", (node) => textAt(node, "status", "nodeInfo", "containerRuntimeVersion") || "<unknown>"),
];

const CONTAINERS = [
  wide("Containers", (object) => listContainers(object, "name")),
  wide("Images", (object) => listContainers(object, "image")),
];
const SELECTOR = wide("Selector", (object) => formatLabels(objectAt(object, "spec", "selector", "matchLabels")));

/** The columns of Deployments. */
export const DEPLOYMENT_COLUMNS: readonly Column[] = [
  NAME,
  column("Ready", (it) => `${statusCount(it, "readyReplicas")}/${numberAt(it, "spec", "replicas") ?? 0}`),
  column("Up-to-date", (it) => statusCount(it, "updatedReplicas")),
  column("Available", (it) => statusCount(it, "availableReplicas")),
  AGE,
  ...CONTAINERS,
  SELECTOR,
];

/** The columns of StatefulSets. */
export const STATEFUL_SET_COLUMNS: readonly Column[] = [
  NAME,
  column("Ready", (it) => `${statusCount(it, "readyReplicas")}/${numberAt(it, "spec", "replicas") ?? 0}`),
  AGE,
  ...CONTAINERS,
];

/** The columns of ReplicaSets. */
export const REPLICA_SET_COLUMNS: readonly Column[] = [
  NAME,
  integer("Desired", (it) => numberAt(it, "spec", "replicas") ?? 0),
  integer("Current", (it) => statusCount(it, "replicas")),
  integer("Ready", (it) => statusCount(it, "readyReplicas")),
  AGE,
  ...CONTAINERS,
  SELECTOR,
];

/** The columns of DaemonSets. */
export const DAEMON_SET_COLUMNS: readonly Column[] = [
  NAME,
  integer("Desired", (it) => statusCount(it, "desiredNumberScheduled")),
  integer("Current", (it) => statusCount(it, "currentNumberScheduled")),
  integer("Ready", (it) => statusCount(it, "numberReady")),
  integer("Up-to-date", (it) => statusCount(it, "updatedNumberScheduled")),
  integer("Available", (it) => statusCount(it, "numberAvailable")),
  column("Node Selector", (it) => formatLabels(objectAt(it, "spec", "template", "spec", "nodeSelector"))),
  AGE,
  ...CONTAINERS,
  SELECTOR,
];

/** The columns of ResourceQuotas. */
export const QUOTA_COLUMNS: readonly Column[] = [
  NAME,
  column("Request", (quota) => formatQuota(quota, (key) => !key.startsWith("limits."))),
  column("Limit", (quota) => formatQuota(quota, (key) => key.startsWith("limits."))),
  AGE,
];

/** The columns of events. */
export const EVENT_COLUMNS: readonly Column[] = [
  column("Last Seen", (event, now) => formatAge(textAt(event, "lastTimestamp") || timeOf(event), now)),
  column("Type", (event) => textAt(event, "type")),
  column("Reason", (event) => textAt(event, "reason")),
  column("Object", (event) => {
    const { kind, name } = objectAt(event, "involvedObject");
    return `${String(kind ?? "").toLowerCase()}/${name ?? ""}`;
  }),
  wide("Subobject", (event) => textAt(event, "involvedObject", "fieldPath")),
  wide(
    "Source",
    (event) => ["component", "host"].map((key) => textAt(event, "source", key)).filter(Boolean).join(", "),
  ),
  column("Message", (event) => textAt(event, "message").trim()),
  wide("First Seen", (event, now) => formatAge(textAt(event, "firstTimestamp") || timeOf(event), now)),
  wide("Count", (event) => numberAt(event, "count") ?? 1),
  { ...wide("Name", (event) => textAt(event, "metadata", "name")), format: "name" },
];

/** The columns of `additionalPrinterColumns`, or the age where there are none. */
export function toCustomColumns(printed: readonly JsonObject[]): readonly Column[] {
  if (printed.length === 0) return PLAIN_COLUMNS;
  return [
    NAME,
    ...printed.map((one) => ({
      name: textAt(one, "name"),
      type: textAt(one, "type"),
      format: textAt(one, "format"),
      priority: numberAt(one, "priority") ?? 0,
      cell: (object: JsonObject, now: number) => {
        const value = readJsonPath(object, textAt(one, "jsonPath")) ?? null;
        if (one.type !== "date") return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
        return typeof value === "string" ? formatAge(value, now) : null;
      },
    })),
  ];
}

const NONE = "<none>";

function column(name: string, cell: Column["cell"]): Column {
  return { name, type: "string", format: "", priority: 0, cell };
}

function integer(name: string, cell: Column["cell"]): Column {
  return { ...column(name, cell), type: "integer" };
}

function wide(name: string, cell: Column["cell"]): Column {
  return { ...column(name, cell), priority: 1 };
}

function phaseOf(object: JsonObject): string {
  return textAt(object, "status", "phase");
}

function statusCount(object: JsonObject, key: string): number {
  return numberAt(object, "status", key) ?? 0;
}

function timeOf(event: JsonObject): string {
  return textAt(event, "eventTime") || textAt(event, "metadata", "creationTimestamp");
}

function readNodeStatus(node: JsonObject): string {
  const ready = listAt(node, "status", "conditions").find(({ type }) => type === "Ready");
  const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return objectAt(node, "spec").unschedulable === true ? `${state},SchedulingDisabled` : state;
}

function readAddress(node: JsonObject, type: string): string {
  const found = listAt(node, "status", "addresses").find((one) => one.type === type);
  return textAt(found, "address") || NONE;
}

function formatLabels(labels: JsonObject): string {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`).sort().join(",") || NONE;
}

function formatQuota(quota: JsonObject, isShown: (key: string) => boolean): string {
  const [hard, used] = [objectAt(quota, "status", "hard"), objectAt(quota, "status", "used")];
  return Object.keys(hard).filter(isShown).sort().map((key) => `${key}: ${used[key]}/${hard[key]}`).join(", ");
}

/** `.a.b` and `.a[?(@.type=='X')].b`, which is what columns are made of. */
function readJsonPath(object: JsonObject, path: string): Json | undefined {
  let here: Json | undefined = object;
  for (const [, key, filter, wanted] of path.matchAll(/\.(\w+)|\[\?\(@\.(\w+)==['"]([^'"]*)['"]\)\]/g)) {
    if (key !== undefined) here = at(here, key);
    else if (filter !== undefined && Array.isArray(here)) {
      here = here.find((item) => isObject(item) && item[filter] === wanted);
    } else return undefined;
  }
  return here;
}
