/**
 * The cluster that the scale bench measures in, made of two numbers, so that the process of its API server and that of
 * its kubelets know the same pods without a word. Each pod is a recorded one (managedFields and all) under a name of its
 * own; the pods of an autoscaler are spread over the nodes, and its namespace has nine others.
 */
import type { Pod } from "../../../lib/api/kubernetes.ts";
import { LOAD_IMAGE } from "../../../lib/embedded/kubelet/loads.ts";
import { Machine } from "../../../lib/embedded/kubelet/machine.ts";
import { formatTime } from "../../../lib/units/time.ts";
import type { NodeConfig } from "../../../lib/embedded/model/state.ts";
import type { JsonObject } from "../../../lib/embedded/json.ts";
import { toUid } from "./cluster.ts";

export interface World {
  readonly nodes: number;
  readonly podsPerNode: number;
  /** Epoch ms; all pods were bound then. */
  readonly startedAt: number;
  /** So many Deployments with a ScaledObject share the pods; none unless given. */
  readonly scaledObjects?: number;
}

/** How many readings of nodes a bench has seen, and how many came more than a second after their time. */
export interface Punctuality {
  readonly readings: number;
  readonly late: number;
}

/** By then all pods run and are ready. */
export const SETTLED_MS = 60_000;

/** A cluster of this size that has settled. */
export function newWorld(size: Omit<World, "startedAt">): World {
  // Whole seconds, as times in the API are.
  return { ...size, startedAt: Math.floor(Date.now() / 1000) * 1000 - SETTLED_MS - 1000 };
}

export const POLL_MS = 15_000;

const PODS_PER_AUTOSCALER = 100;
const AUTOSCALERS_PER_NAMESPACE = 10;
const TEMPLATE = new URL("../../testdata/pods/fresh.json", import.meta.url);

export async function readTemplate(): Promise<Pod> {
  return JSON.parse(await Deno.readTextFile(TEMPLATE));
}

export function nodeConfig(node: number): NodeConfig {
  const name = `node-${node}`;
  return {
    name,
    hostIP: "127.0.0.1",
    seed: name,
    hasCadvisor: true,
    hasPsi: true,
    cpuMillicores: 8000,
    memoryBytes: 32 * 2 ** 30,
    pods: 110,
    system: { cpuMillicores: 60, memoryBytes: 500 * 2 ** 20 },
    // Loads stand still between two polls; a slice costs what a poll does.
    stepMs: POLL_MS,
  };
}

/** Up to `now`, and from then on with it: nothing runs between two looks at it. */
export function startMachine(
  world: World,
  { node, template, now }: { readonly node: number; readonly template: Pod; readonly now: () => number },
): Machine {
  let readNow = () => world.startedAt;
  const machine = new Machine({ config: nodeConfig(node), now: () => readNow(), onStep() {} });
  for (let index = 0; index < world.podsPerNode; index++) machine.put(toPod(world, { node, index, template }));
  machine.advance();
  readNow = now;
  machine.advance();
  return machine;
}

export function listNamespaces(world: World): readonly string[] {
  const count = Math.ceil(countAutoscalers(world) / AUTOSCALERS_PER_NAMESPACE);
  return Array.from({ length: count }, (_, index) => `team-${index}`);
}

export function listAutoscalers(world: World): readonly JsonObject[] {
  return Array.from({ length: countAutoscalers(world) }, (_, index) => {
    const { app, namespace } = toApp(index);
    return {
      apiVersion: "keda.kedify.io/v1alpha1",
      kind: "PodResourceAutoscaler",
      metadata: { name: app, namespace },
      spec: {
        selector: { matchLabels: { app } },
        containerName: "main",
        policy: { pollInterval: "15s", consecutiveSamples: 3, cooldown: "30m", cpu: SIDES, memory: SIDES },
        // A pod that wants more cpu has as much as it may. No limit gets below a load: the kubelets hold back no pod.
        bounds: { cpu: { requests: { max: "100m" }, limits: { min: "150m", max: "200m" } } },
      },
    };
  });
}

const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 60 };
const SIDES = { requests: SIDE, limits: SIDE };

function countAutoscalers({ nodes, podsPerNode, scaledObjects = 0 }: World): number {
  return scaledObjects > 0 ? scaledObjects : Math.ceil((nodes * podsPerNode) / PODS_PER_AUTOSCALER);
}

/** The targets of ScaledObjects, as their controllers would have left them. */
export function listDeployments(world: World): readonly JsonObject[] {
  return listApps(world, ({ app, namespace, replicas }) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app, namespace, uid: `deployment-${app}`, generation: 1 },
    spec: {
      replicas,
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: { containers: [{ name: "main", image: LOAD_IMAGE }] } },
    },
    status: { observedGeneration: 1, replicas, readyReplicas: replicas, availableReplicas: replicas },
  }));
}

/**
 * Each computes its metrics at every tick. It may have more replicas, and its usage is 0.4 to 0.9 of its target, so it stays at
 * its minimum.
 */
export function listScaledObjects(world: World): readonly JsonObject[] {
  const trigger = (type: string) => ({ type, metricType: "Utilization", metadata: { value: "90" } });
  return listApps(world, ({ app, namespace, replicas }) => ({
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name: app, namespace },
    spec: {
      scaleTargetRef: { name: app },
      minReplicaCount: replicas,
      maxReplicaCount: replicas + 10,
      triggers: [trigger("cpu"), trigger("memory")],
    },
  }));
}

interface App {
  readonly app: string;
  readonly namespace: string;
  readonly replicas: number;
}

function listApps<T>(world: World, toObject: (app: App) => T): readonly T[] {
  const { nodes, podsPerNode, scaledObjects = 0 } = world;
  return Array.from({ length: scaledObjects }, (_, index) => {
    const replicas = Math.floor((nodes * podsPerNode - 1 - index) / scaledObjects) + 1;
    return toObject({ ...toApp(index), replicas });
  });
}

function toApp(index: number): { readonly app: string; readonly namespace: string } {
  return { app: `app-${index}`, namespace: `team-${Math.floor(index / AUTOSCALERS_PER_NAMESPACE)}` };
}

export function listPods(world: World, template: Pod): readonly Pod[] {
  const perNode = (node: number) =>
    Array.from({ length: world.podsPerNode }, (_, index) => toPod(world, { node, index, template }));
  return Array.from({ length: world.nodes }, (_, node) => perNode(node)).flat();
}

function toPod(
  world: World,
  { node, index, template }: { readonly node: number; readonly index: number; readonly template: Pod },
): Pod {
  const id = node * world.podsPerNode + index;
  const { app, namespace } = toApp(id % countAutoscalers(world));
  const { status: _status, spec, metadata, ...head } = structuredClone(template);
  return {
    ...head,
    metadata: {
      ...metadata,
      name: `${app}-${id}`,
      namespace,
      uid: toUid(id),
      generation: 1,
      labels: { app },
      annotations: { ...metadata?.annotations, "sim.podfit.dev/load": JSON.stringify({ main: toLoad(id) }) },
      creationTimestamp: formatTime(world.startedAt),
    },
    spec: {
      ...spec,
      nodeName: nodeConfig(node).name,
      containers: (spec?.containers ?? []).map((container) => ({ ...container, image: LOAD_IMAGE })),
    },
  };
}

/** What a pod has to do with its autoscaler. A third is within its thresholds, a third is held back, a third moves. */
export const ROLES = ["inBand", "inBand", "atBound", "inCooldown", "wishing", "resized"] as const;

export function toRole(id: number): typeof ROLES[number] {
  return ROLES[id % ROLES.length] ?? "inBand";
}

/** In the form of the annotation. A request of 100m is too small above 80m, and too large below 20m. */
function toLoad(id: number) {
  const part = ((id * 7919) % 1000) / 1000;
  const noise = (amplitude: number, seed: string) => ({
    kind: "noise",
    amplitude,
    stepMs: POLL_MS,
    seed: `${seed}${id}`,
  });
  const cpu = (curve: unknown) => ({ kind: "sum", curves: [curve, noise(3, "cpu")] });
  const step = (before: number, after: number, atMs: number) => ({
    kind: "step",
    before,
    after,
    atMs: Math.round(atMs),
  });
  const curves = {
    inBand: { kind: "constant", value: 45 + (id % 25) },
    // It wants more than its bound.
    atBound: { kind: "constant", value: 95 },
    // It is made smaller during the warm-up, and wants to be larger from then on.
    inCooldown: step(10, 60, (5 + 2 * part) * MINUTE_MS),
    // It is above its threshold for two samples at most, and three are needed.
    wishing: {
      kind: "sum",
      curves: [
        { kind: "constant", value: 55 },
        { kind: "spikes", height: 60, everyMs: 90_000, lengthMs: POLL_MS, firstMs: Math.round(part * 90_000) },
      ],
    },
    // One after the other is made smaller.
    resized: step(60, 10, (1 + 20 * part) * MINUTE_MS),
  };
  return {
    cpuMillicores: cpu(curves[toRole(id)]),
    workingSetBytes: { kind: "sum", curves: [{ kind: "constant", value: 38 * 2 ** 20 }, noise(2 ** 20, "memory")] },
  };
}

const MINUTE_MS = 60_000;
