/**
 * What a kubelet tells of its pods as Events, as data before they are published: reasons and messages as a real one
 * writes them.
 */
import type { Resources } from "../../units/resources.ts";
import type { BoundContainer, BoundPod } from "./bound_pod.ts";
import { toRequirements } from "./quantities.ts";
import type { NodeConfig } from "./state.ts";

/** An event that a kubelet records about a pod or one of its containers. */
export interface KubeletEvent {
  readonly at: number;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** `spec.containers{main}`; `null` = of the pod. */
  readonly fieldPath: string | null;
}

/** One moment of one node: what the step functions are given besides what they change. */
export interface Turn {
  readonly now: number;
  readonly config: NodeConfig;
  readonly tell: (event: KubeletEvent) => void;
}

/** Records an event about a pod. */
export function tellPod(turn: Turn, pod: BoundPod, event: Pick<KubeletEvent, "type" | "reason" | "message">): void {
  turn.tell({ at: turn.now, ...event, pod: toRef(pod), fieldPath: null });
}

/** An event about one container. */
export interface ContainerEvent extends Pick<KubeletEvent, "type" | "reason" | "message"> {
  readonly container: BoundContainer;
}

/** Records an event about a container of a pod. */
export function tellContainer(turn: Turn, pod: BoundPod, { container, ...event }: ContainerEvent): void {
  const list = container.kind === "container" ? "containers" : "initContainers";
  turn.tell({ at: turn.now, ...event, pod: toRef(pod), fieldPath: `spec.${list}{${container.name}}` });
}

/** What an event about a resize says. */
export interface ResizeEventOptions {
  readonly generation: number;
  readonly sizes: Readonly<Record<string, Resources>>;
  readonly error?: string;
}

const RESIZE_EVENTS = {
  ResizeStarted: ["Normal", "Pod resize started"],
  ResizeCompleted: ["Normal", "Pod resize completed"],
  ResizeError: ["Warning", "Pod resize error"],
} as const;

/** Records an event about a resize, with the sizes in its message as JSON. */
export function tellResize(
  turn: Turn,
  pod: BoundPod,
  { reason, ...options }: ResizeEventOptions & { readonly reason: keyof typeof RESIZE_EVENTS },
): void {
  const [type, text] = RESIZE_EVENTS[reason];
  tellPod(turn, pod, { type, reason, message: `${text}: ${toJson(pod, options)}` });
}

/** `resource`: of which there is too little, as in `OutOfcpu`. */
export function tellDeferred(
  turn: Turn,
  pod: BoundPod,
  { resource, ...options }: ResizeEventOptions & { readonly resource: string },
): void {
  const message = `Pod resize OutOf${resource}: ${toJson(pod, options)}`;
  tellPod(turn, pod, { type: "Warning", reason: "ResizeDeferred", message });
}

function toRef({ namespace, name, uid }: BoundPod): KubeletEvent["pod"] {
  return { namespace, name, uid };
}

function toJson(pod: BoundPod, { generation, sizes, error }: ResizeEventOptions): string {
  const list = (isWanted: (container: BoundContainer) => boolean) =>
    pod.containers.filter(isWanted).map(({ name, size }) => ({ name, resources: toRequirements(sizes[name] ?? size) }));
  const inits = list(({ kind }) => kind !== "container");
  return JSON.stringify({
    containers: list(({ kind }) => kind === "container"),
    ...(inits.length > 0 ? { initContainers: inits } : {}),
    generation,
    ...(error === undefined ? {} : { error }),
  });
}
