/**
 * What does `kubectl get` show of each kind? Columns, cells, ages, and the short status of a pod.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
import { at, isObject, type Json, type JsonObject, listAt, numberAt, objectAt, textAt } from "../../json.ts";
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

/** The column that every kind has first. */
export const NAME: Column = { ...column("Name", (object) => textAt(object, "metadata", "name")), format: "name" };

/** The column that nearly every kind has. */
export const AGE = column("Age", ageOf);

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
  column("Ready", (pod) => computePodStatus(pod).ready),
  column("Status", (pod) => computePodStatus(pod).reason),
  column("Restarts", (pod, now) => computePodStatus(pod).restarts(now)),
  AGE,
  wide("IP", (pod) => textAt(pod, "status", "podIP") || NONE),
  wide("Node", (pod) => textAt(pod, "spec", "nodeName") || NONE),
  wide("Nominated Node", (pod) => textAt(pod, "status", "nominatedNodeName") || NONE),
  wide("Readiness Gates", () => NONE),
];

/** The columns of nodes. */
export const NODE_COLUMNS: readonly Column[] = [
  NAME,
  column("Status", toNodeStatusText),
  column("Roles", () => NONE),
  AGE,
  column("Version", (node) => textAt(node, "status", "nodeInfo", "kubeletVersion")),
  wide("Internal-IP", (node) => findAddress(node, "InternalIP")),
  wide("External-IP", (node) => findAddress(node, "ExternalIP")),
  wide("OS-Image", (node) => textAt(node, "status", "nodeInfo", "osImage") || "<unknown>"),
  wide("Kernel-Version", (node) => textAt(node, "status", "nodeInfo", "kernelVersion") || "<unknown>"),
  wide("Container-Runtime", (node) => textAt(node, "status", "nodeInfo", "containerRuntimeVersion") || "<unknown>"),
];

/** The columns of the containers of a workload's template. */
export const CONTAINERS = [
  wide("Containers", (object) => listContainers(object, "name")),
  wide("Images", (object) => listContainers(object, "image")),
];

/** The column of a workload's selector. */
export const SELECTOR = wide("Selector", (object) => formatLabels(objectAt(object, "spec", "selector", "matchLabels")));

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
        const value = getAtJsonPath(object, textAt(one, "jsonPath")) ?? null;
        if (one.type !== "date") return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
        return typeof value === "string" ? formatAge(value, now) : null;
      },
    })),
  ];
}

const NONE = "<none>";

/** A column of texts that is always shown. */
export function column(name: string, cell: Column["cell"]): Column {
  return { name, type: "string", format: "", priority: 0, cell };
}

/** The same of whole numbers. */
export function integer(name: string, cell: Column["cell"]): Column {
  return { ...column(name, cell), type: "integer" };
}

function wide(name: string, cell: Column["cell"]): Column {
  return { ...column(name, cell), priority: 1 };
}

function phaseOf(object: JsonObject): string {
  return textAt(object, "status", "phase");
}

/** A count of the status; 0 where there is none. */
export function statusCount(object: JsonObject, key: string): number {
  return numberAt(object, "status", key) ?? 0;
}

function timeOf(event: JsonObject): string {
  return textAt(event, "eventTime") || textAt(event, "metadata", "creationTimestamp");
}

function toNodeStatusText(node: JsonObject): string {
  const ready = listAt(node, "status", "conditions").find(({ type }) => type === "Ready");
  const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return objectAt(node, "spec").unschedulable === true ? `${state},SchedulingDisabled` : state;
}

function findAddress(node: JsonObject, type: string): string {
  const found = listAt(node, "status", "addresses").find((one) => one.type === type);
  return textAt(found, "address") || NONE;
}

/** `a=b,c=d`; `<none>` without labels. */
export function formatLabels(labels: JsonObject): string {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`).sort().join(",") || NONE;
}

/** `.a.b` and `.a[?(@.type=='X')].b`, which is what columns are made of. */
function getAtJsonPath(object: JsonObject, path: string): Json | undefined {
  let here: Json | undefined = object;
  for (const [, key, filter, wanted] of path.matchAll(/\.(\w+)|\[\?\(@\.(\w+)==['"]([^'"]*)['"]\)\]/g)) {
    if (key !== undefined) here = at(here, key);
    else if (filter !== undefined && Array.isArray(here)) {
      here = here.find((item) => isObject(item) && item[filter] === wanted);
    } else return undefined;
  }
  return here;
}

/** `5s`, `3m12s`, `2d`; `<unknown>` for no time. */
function formatAge(time: string, now: number): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? "<unknown>" : formatSeconds(Math.max(0, Math.floor((now - at) / 1000)));
}

/** The age of an object as kubectl shows it. */
function ageOf(object: JsonObject, now: number): string {
  return formatAge(textAt(object, "metadata", "creationTimestamp"), now);
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

/** The text of Kubernetes' duration.HumanDuration, with two units while the smaller one matters. */
function formatSeconds(seconds: number): string {
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return join(seconds, [MINUTE, "m"], [1, "s"]);
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return join(seconds, [HOUR, "h"], [MINUTE, "m"]);
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return join(seconds, [DAY, "d"], [HOUR, "h"]);
  return `${Math.floor(seconds / DAY)}d`;
}

type Unit = readonly [seconds: number, letter: string];

function join(seconds: number, [large, first]: Unit, [small, second]: Unit): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)}${first}${rest === 0 ? "" : `${rest}${second}`}`;
}

/**
 * What kubectl shows of the state of a pod.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/printers/internalversion/printers.go
 */
interface PodStatus {
  /** `1/2` */
  readonly ready: string;
  readonly reason: string;
  /** `3 (2m ago)` */
  readonly restarts: (now: number) => string;
}

/** What kubectl shows of the state of a pod. */
function computePodStatus(pod: JsonObject): PodStatus {
  const sidecars = listAt(pod, "spec", "initContainers").filter(({ restartPolicy }) => restartPolicy === "Always")
    .map((container) => textAt(container, "name"));
  const starting = listAt(pod, "status", "initContainerStatuses");
  const running = [
    ...starting.filter((status) => sidecars.includes(textAt(status, "name"))),
    ...listAt(pod, "status", "containerStatuses"),
  ];
  const ready = running.filter((status) => status.ready === true).length;
  const total = sidecars.length + listAt(pod, "spec", "containers").length;
  return {
    ready: `${ready}/${total}`,
    reason: findReason(pod, { starting, sidecars }),
    restarts: (now) => {
      const count = running.reduce((sum, status) => sum + (numberAt(status, "restartCount") ?? 0), 0);
      const times = running.map((status) => textAt(status, "lastState", "terminated", "finishedAt")).sort();
      const last = times.at(-1) ?? "";
      return count === 0 || last === "" ? String(count) : `${count} (${formatAge(last, now)} ago)`;
    },
  };
}

function findReason(
  pod: JsonObject,
  { starting, sidecars }: { readonly starting: readonly JsonObject[]; readonly sidecars: readonly string[] },
): string {
  if (textAt(pod, "metadata", "deletionTimestamp") !== "") return "Terminating";
  const plain = listAt(pod, "spec", "initContainers").length;
  const stuck = starting.findIndex((status) => {
    if (sidecars.includes(textAt(status, "name"))) return status.started !== true;
    return numberAt(status, "state", "terminated", "exitCode") !== 0;
  });
  if (stuck >= 0) {
    const status = starting[stuck];
    const why = textAt(status, "state", "terminated", "reason") || textAt(status, "state", "waiting", "reason");
    return why === "" || why === "PodInitializing" ? `Init:${stuck}/${plain}` : `Init:${why}`;
  }
  for (const { state } of listAt(pod, "status", "containerStatuses").toReversed()) {
    const waiting = textAt(state, "waiting", "reason");
    const ended = objectAt(state, "terminated");
    if (waiting !== "") return waiting;
    if (ended.reason || ended.exitCode !== undefined) return textAt(ended, "reason") || `ExitCode:${ended.exitCode}`;
  }
  return textAt(pod, "status", "reason") || textAt(pod, "status", "phase") || "Unknown";
}
