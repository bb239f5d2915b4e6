/** How does a kubelet drive the model of its node? Pods go in, time moves, and changes come out. */
import type { Pod } from "../../api/kubernetes.ts";
import type { Summary } from "../../api/summary.ts";
import type { KubeletEvent } from "../model/event.ts";
import { type Curve, IDLE, type Load } from "../model/load.ts";
import { newNode, nextNode, type StatusChange } from "../model/node.ts";
import {
  type BoundPod,
  type ContainerState,
  type NodeConfig,
  type NodeState,
  type PodStatus,
  toBoundPod,
} from "../model/state.ts";
import { computeSummary } from "../model/summary.ts";
import { listContainers, type LoadRequest, type LoadSetting, parseLoads, parseProgram } from "./loads.ts";

/** What a machine is made of. */
interface MachineOptions {
  readonly config: NodeConfig;
  /** The time of the node's clock. */
  readonly now: () => number;
  readonly onStep: (step: Step) => void;
}

/** What a step changed: statuses and events to be written. */
interface Step {
  readonly changed: readonly StatusChange[];
  readonly events: readonly KubeletEvent[];
  /** UIDs of pods of which nothing is left. */
  readonly gone: readonly string[];
}

/** A container of the load image. Its port distinguishes it from the others of its pod. */
export interface LoadRef {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** A container of the load image and its program. */
interface LoadContainer {
  readonly pod: Pod;
  readonly name: string;
  readonly state: ContainerState;
  readonly setting: LoadSetting;
}

interface Held {
  readonly pod: Pod;
  readonly bound: BoundPod;
}

/** What a container uses in addition to its own load: its part of a load that pods share. */
export interface Share {
  readonly container: string;
  readonly cpuMillicores: Curve;
  readonly workingSetBytes: Curve;
}

/** Settings by container name, each with the instance that was asked to use it. */
type Orders = ReadonlyMap<string, LoadRequest & { readonly instance: string }>;

/** The model of a node with the pods that its kubelet was sent. */
export class Machine {
  readonly #options: MachineOptions;
  #state: NodeState;
  readonly #held = new Map<string, Held>();
  readonly #orders = new Map<string, Orders>();
  readonly #shares = new Map<string, readonly Share[]>();
  #bound: readonly BoundPod[] = [];

  constructor(options: MachineOptions) {
    this.#options = options;
    this.#state = newNode(options.config, options.now());
  }

  /** When something is due. Usage that limits bound is checked more often. */
  get nextAt(): number {
    const lookMs = Math.max(this.#bound.some(hasMemoryLimit) ? LOOK_MS : IDLE_LOOK_MS, this.#state.config.stepMs);
    return Math.min(this.#nextAt, this.#state.at + lookMs);
  }
  #nextAt = Infinity;

  get pods(): readonly Pod[] {
    return [...this.#held.values()].map(({ pod }) => pod);
  }

  findPod(uid: string): Pod | null {
    return this.#held.get(uid)?.pod ?? null;
  }

  getStatus(uid: string): PodStatus | null {
    return this.#state.pods.find(({ spec }) => spec.uid === uid)?.status ?? null;
  }

  /** Takes a pod as the API has it now. */
  put(pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    const known = this.#held.get(uid);
    const isSame = known !== undefined && !hasNewOrders(pod, known.pod);
    this.#held.set(uid, { pod, bound: isSame ? known.bound : this.#toBound(pod) });
    if (isSame) return;
    this.#rebind();
    if (known === undefined || findLoadText(known.pod) !== findLoadText(pod)) this.#reportProblems(pod);
  }

  remove(uid: string): void {
    if (!this.#held.delete(uid)) return;
    this.#orders.delete(uid);
    this.#shares.delete(uid);
    this.#rebind();
  }

  /** Gives a pod these parts of shared loads from now on, in place of those that it had. */
  share(uid: string, shares: readonly Share[]): void {
    const held = this.#held.get(uid);
    if (held === undefined) return;
    this.#shares.set(uid, shares);
    this.#held.set(uid, { ...held, bound: this.#toBound(held.pod) });
    this.#rebind();
  }

  /** Up to now, and tells what came of it. */
  advance(): void {
    const now = Math.max(this.#state.at, this.#options.now());
    do {
      // A new instance does not have the load that its predecessor was sent.
      const to = this.#orders.size === 0 ? now : Math.min(now, this.#state.at + ORDERS_MS);
      this.#step(to);
      this.#forgetOrders();
    } while (this.#state.at < now);
  }

  getState(): NodeState {
    this.advance();
    return this.#state;
  }

  computeSummary(): Summary {
    this.advance();
    return computeSummary(this.#state, Math.max(this.#state.at, this.#options.now()));
  }

  /** One that runs and listens at that port; `null` when there is none. */
  findLoad({ namespace, name, port }: LoadRef): LoadContainer | null {
    for (const { pod } of this.#held.values()) {
      if (pod.metadata?.namespace !== namespace || pod.metadata.name !== name) continue;
      for (const container of listContainers(pod)) {
        const program = parseProgram(container);
        if (program?.kind !== "runs" || program.port !== port) continue;
        const state = this.#findState(pod.metadata.uid ?? "", container.name);
        if (state?.run.kind !== "running") continue;
        const order = this.#orders.get(pod.metadata.uid ?? "")?.get(container.name);
        return { pod, name: container.name, state, setting: order?.setting ?? program.setting };
      }
    }
    return null;
  }

  /** Sets what a container uses from now on, for as long as this instance lives. */
  order({ pod, name, state }: LoadContainer, setting: LoadSetting): void {
    if (state.run.kind !== "running") return;
    const uid = pod.metadata?.uid ?? "";
    const { id, startedAt } = state.run;
    const order = { setting, instance: id, ageMs: this.#state.at - startedAt };
    this.#orders.set(uid, new Map([...this.#orders.get(uid) ?? [], [name, order]]));
    this.#held.set(uid, { pod, bound: this.#toBound(pod) });
    this.#rebind();
  }

  #step(now: number): void {
    const { state, changed, events, gone, nextAt } = nextNode(this.#state, { now, pods: this.#bound });
    this.#state = state;
    this.#nextAt = nextAt;
    if (changed.length + events.length + gone.length > 0) this.#options.onStep({ changed, events, gone });
  }

  #forgetOrders(): void {
    for (const [uid, orders] of this.#orders) {
      const kept = [...orders].filter(([name, { instance }]) => {
        const run = this.#findState(uid, name)?.run;
        return run?.kind === "running" && run.id === instance;
      });
      if (kept.length === orders.size) continue;
      if (kept.length === 0) this.#orders.delete(uid);
      else this.#orders.set(uid, new Map(kept));
      const held = this.#held.get(uid);
      if (held !== undefined) this.#held.set(uid, { ...held, bound: this.#toBound(held.pod) });
      this.#rebind();
    }
  }

  /** Taken in by the next step; the one before has to have ended at the present. */
  #rebind(): void {
    this.#bound = [...this.#held.values()].map(({ bound }) => bound);
    this.#nextAt = this.#state.at;
  }

  #toBound(pod: Pod): BoundPod {
    const orders = this.#orders.get(pod.metadata?.uid ?? "");
    const { loads } = parseLoads(pod, (container) => orders?.get(container) ?? null);
    return toBoundPod(pod, (this.#shares.get(pod.metadata?.uid ?? "") ?? []).reduce(addShare, loads));
  }

  #reportProblems(pod: Pod): void {
    const { problems } = parseLoads(pod, () => null);
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    const events = problems.map((message): KubeletEvent => ({
      at: this.#state.at,
      type: "Warning",
      reason: "InvalidLoad",
      message,
      fieldPath: null,
      pod: { namespace, name, uid },
    }));
    if (events.length > 0) this.#options.onStep({ changed: [], events, gone: [] });
  }

  #findState(uid: string, container: string): ContainerState | null {
    const pod = this.#state.pods.find(({ spec }) => spec.uid === uid);
    return pod?.life.containers.find(({ name }) => name === container) ?? null;
  }
}

function addShare(loads: Readonly<Record<string, Load>>, share: Share): Readonly<Record<string, Load>> {
  const load = loads[share.container] ?? IDLE;
  const add = (key: "cpuMillicores" | "workingSetBytes") => ({ kind: "sum", curves: [load[key], share[key]] }) as const;
  const sums = { cpuMillicores: add("cpuMillicores"), workingSetBytes: add("workingSetBytes") };
  return { ...loads, [share.container]: { ...load, ...sums } };
}

/** The interval, in ms, of the check for containers above their limit: a kubelet lists its containers that often. */
const LOOK_MS = 1000;

const IDLE_LOOK_MS = 10_000;

const ORDERS_MS = 250;

function hasMemoryLimit({ containers }: BoundPod): boolean {
  return containers.some(({ size }) => size["memory.limits"] !== null);
}

/** Anything but what the kubelet itself wrote. */
function hasNewOrders(pod: Pod, before: Pod): boolean {
  const [now, old] = [pod.metadata, before.metadata];
  return now?.generation !== old?.generation || now?.deletionTimestamp !== old?.deletionTimestamp ||
    now?.deletionGracePeriodSeconds !== old?.deletionGracePeriodSeconds || findLoadText(pod) !== findLoadText(before);
}

function findLoadText(pod: Pod): string | undefined {
  return pod.metadata?.annotations?.["sim.podfit.dev/load"];
}
