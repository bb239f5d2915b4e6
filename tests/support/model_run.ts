/**
 * A node of the model under a test's hand: pods are given as the API has them, time passes by `run`, and all that the
 * kubelet told stays for a look back.
 */
import type { Pod } from "../../lib/api/kubernetes.ts";
import { type BoundPod, type NodeConfig, type NodeState, toBoundPod } from "../../lib/embedded/model/state.ts";
import type { PodEvent } from "./embedded/check_pod_watch.ts";
import type { KubeletEvent } from "../../lib/embedded/model/event.ts";
import { IDLE, type Load } from "../../lib/embedded/model/load.ts";
import { newNode, nextNode, type StatusChange } from "../../lib/embedded/model/node.ts";

export const START = Date.parse("2026-11-20T11:00:00Z");
export const SECOND = 1000;
export const MI = 1024 * 1024;

export const NODE: NodeConfig = {
  name: "node1",
  hostIP: "198.51.100.10",
  cpuMillicores: 2000,
  memoryBytes: 24_000 * MI,
  pods: 110,
  system: { cpuMillicores: 0, memoryBytes: 0 },
  seed: "test",
  stepMs: 250,
  hasCadvisor: true,
  hasPsi: true,
};

export interface ContainerOptions {
  readonly name?: string;
  readonly kind?: BoundPod["containers"][number]["kind"];
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  /** Resources whose resizePolicy is RestartContainer. */
  readonly restartsOn?: readonly ("cpu" | "memory")[];
  readonly load?: Partial<Load>;
}

export interface PodOptions {
  readonly name?: string;
  readonly containers?: readonly ContainerOptions[];
  readonly restartPolicy?: BoundPod["restartPolicy"];
  readonly priority?: number;
}

type Spec = NonNullable<Pod["spec"]>;

/** `constant(80 * MI)` */
export function constant(value: number): Load["cpuMillicores"] {
  return { kind: "constant", value };
}

export class ModelRun {
  state: NodeState;
  readonly changed: StatusChange[] = [];
  readonly events: KubeletEvent[] = [];
  readonly gone: string[] = [];
  /** As a watch of an API server would have shown it. */
  readonly watch: PodEvent[] = [];
  readonly #pods = new Map<string, { api: Pod; loads: Record<string, Load>; bound: BoundPod }>();

  constructor(config: Partial<NodeConfig> = {}) {
    this.state = newNode({ ...NODE, ...config }, START);
  }

  add({ name = "a", containers = [{}], restartPolicy = "Always", priority = 0 }: PodOptions = {}): void {
    const list = (isInit: boolean) =>
      containers.filter(({ kind = "container" }) => (kind !== "container") === isInit).map(toApiContainer);
    const spec: Spec = { restartPolicy, priority, terminationGracePeriodSeconds: 5, containers: list(false) };
    const api: Pod = {
      metadata: { name, namespace: "rec", uid: `uid-${name}`, generation: 1 },
      spec: { ...spec, initContainers: list(true) },
      status: { phase: "Pending" },
    };
    const loads = Object.fromEntries(containers.map(({ name = "main", load }) => [name, { ...IDLE, ...load }]));
    this.#pods.set(name, { api, loads, bound: toBoundPod(api, loads) });
    this.watch.push({ at: this.state.at, type: "ADDED", object: api });
    this.run(0);
  }

  /** As the API server does: the next generation, and what is given in place of what was there. */
  resize(name: string, sizes: Pick<ContainerOptions, "requests" | "limits">, container = "main"): void {
    this.#change(name, (api) => {
      for (const one of [...api.spec?.containers ?? [], ...api.spec?.initContainers ?? []]) {
        if (one.name !== container) continue;
        one.resources = {
          ...one.resources,
          requests: { ...one.resources?.requests, ...sizes.requests },
          limits: { ...one.resources?.limits, ...sizes.limits },
        };
      }
    });
  }

  delete(name: string, graceSeconds = 5): void {
    this.#change(name, (api) => {
      api.metadata = {
        ...api.metadata,
        deletionTimestamp: new Date(this.state.at).toISOString(),
        deletionGracePeriodSeconds: graceSeconds,
      };
    });
  }

  remove(name: string): void {
    this.#pods.delete(name);
    this.run(0);
  }

  run(ms: number): void {
    const now = this.state.at + ms;
    const step = nextNode(this.state, { now, pods: [...this.#pods.values()].map(({ bound }) => bound) });
    this.state = step.state;
    this.changed.push(...step.changed);
    this.events.push(...step.events);
    this.gone.push(...step.gone);
    for (const { at, name, status } of step.changed) {
      const found = this.#pods.get(name);
      if (found === undefined) continue;
      const api = { ...found.api, status };
      this.#pods.set(name, { ...found, api });
      this.watch.push({ at, type: "MODIFIED", object: api });
    }
  }

  /** What was told of a pod, oldest first. */
  statuses(name: string): readonly StatusChange[] {
    return this.changed.filter((one) => one.name === name);
  }

  status(name: string): StatusChange["status"] {
    const last = this.statuses(name).at(-1);
    if (last === undefined) throw new Error(`Cannot find a status of pod "${name}"`);
    return last.status;
  }

  pod(name: string): NodeState["pods"][number] {
    const found = this.state.pods.find(({ spec }) => spec.name === name);
    if (found === undefined) throw new Error(`Cannot find pod "${name}" on the node`);
    return found;
  }

  #change(name: string, change: (api: Pod) => void): void {
    const found = this.#pods.get(name);
    if (found === undefined) throw new Error(`Cannot find pod "${name}"`);
    const api = structuredClone(found.api);
    change(api);
    api.metadata = { ...api.metadata, generation: (api.metadata?.generation ?? 0) + 1 };
    this.#pods.set(name, { ...found, api, bound: toBoundPod(api, found.loads) });
    this.watch.push({ at: this.state.at, type: "MODIFIED", object: api });
    this.run(0);
  }
}

function toApiContainer(
  { name = "main", kind = "container", requests, limits, restartsOn = [] }: ContainerOptions,
): Spec["containers"][number] {
  return {
    name,
    image: "localhost/load:1",
    ...(kind === "sidecar" ? { restartPolicy: "Always" } : {}),
    resources: { ...(requests === undefined ? {} : { requests }), ...(limits === undefined ? {} : { limits }) },
    resizePolicy: restartsOn.map((resourceName) => ({ resourceName, restartPolicy: "RestartContainer" })),
  };
}
