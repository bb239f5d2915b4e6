/**
 * The scheduler: binds each pod without a node to one that has room, the one with the most of it left. Who fits nowhere
 * is told why, and looked at again when something changes.
 */
import { formatTime } from "../../units/time.ts";
import { type JsonObject, numberAt, objectAt, textAt } from "../json.ts";
import { readCode } from "../objects_client.ts";
import { isDeleting, keyOf } from "./cache.ts";
import { type Context, type Control, findCondition, isOver, pathOf, toCondition } from "./context.ts";
import { type Amounts, findFault, readAllocatable, readNeeds } from "./placement.ts";

/** The controller that binds pods to nodes. */
export function scheduler(context: Context): Control {
  const { cache } = context;
  const told = new Set<string>();
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
      const needs = readNeeds(pod);
      const used = countUsed(context);
      const rated = cache.list("nodes").map((node) => {
        const has = used.get(textAt(node, "metadata", "name")) ?? NOTHING;
        return { node, faults: findFault(pod, node, { needs, used: has }), rest: rate(node, has, needs) };
      });
      const [best] = rated.filter(({ faults }) => faults === null).toSorted((a, b) => b.rest - a.rest);
      if (best !== undefined) return await bind(context, pod, best.node);
      stuck.add(key);
      const message = toMessage(rated.flatMap(({ faults }) => faults ?? []), rated.length);
      await tellUnschedulable(context, pod, { message, told });
    },
  };
}

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
    const [before, needs] = [used.get(node) ?? NOTHING, readNeeds(pod)];
    used.set(node, { cpu: before.cpu + needs.cpu, memory: before.memory + needs.memory, pods: before.pods + 1 });
  }
  return used;
}

/** The share that is left of the scarcer resource. */
function rate(node: JsonObject, used: Amounts, needs: Amounts): number {
  const has = readAllocatable(node);
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
    // Gone, or bound by somebody else: the watch will tell.
    if ([404, 409].includes(readCode(error) ?? 0)) return;
    throw error;
  }
  // So that the next pod does not count on the same room.
  const bound = await client.get(pathOf("pods", pod));
  if (bound !== null) cache.put("pods", bound);
  const message = `Successfully assigned ${namespace}/${name} to ${target.name}`;
  await tell(context, pod, { type: "Normal", reason: "Scheduled", message, action: "Binding" });
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

async function tellUnschedulable(
  context: Context,
  pod: JsonObject,
  { message, told }: { readonly message: string; readonly told: Set<string> },
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
    if (readCode(error) === 404) return;
    throw error;
  }
  const key = `${textAt(pod, "metadata", "uid")} ${message}`;
  if (told.has(key)) return;
  if (told.size > MAX_TOLD) told.clear();
  told.add(key);
  await tell(context, pod, { type: "Warning", reason: "FailedScheduling", message, action: "Scheduling" });
}

const MAX_TOLD = 1000;

interface Told {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly action: string;
}

/** An event that is refused is no reason to schedule anew. */
async function tell({ client, clock, random }: Context, pod: JsonObject, event: Told): Promise<void> {
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
