/** Which Events does a kubelet report, and how does it write quantities? */
import type { ResourceRequirements } from "../../api/kubernetes.ts";
import { formatAmount } from "../../units/quantity.ts";
import {
  type RequestOrLimit,
  requestOrLimitOf,
  RESOURCE_FIELDS,
  resourceOf,
  type Resources,
} from "../../units/resources.ts";
import type { BoundContainer, BoundPod, NodeConfig } from "./state.ts";

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
export interface StepContext {
  readonly now: number;
  readonly config: NodeConfig;
  readonly report: (event: KubeletEvent) => void;
}

/** Records an event about a pod. */
export function reportPodEvent(
  context: StepContext,
  pod: BoundPod,
  event: Pick<KubeletEvent, "type" | "reason" | "message">,
): void {
  context.report({ at: context.now, ...event, pod: toRef(pod), fieldPath: null });
}

/** Records an event about a container of a pod. */
export function reportContainerEvent(
  context: StepContext,
  pod: BoundPod,
  { container, ...event }: ContainerEvent,
): void {
  const list = container.kind === "container" ? "containers" : "initContainers";
  context.report({ at: context.now, ...event, pod: toRef(pod), fieldPath: `spec.${list}{${container.name}}` });
}

/** Records an event about a resize, with the sizes in its message as JSON. */
export function reportResizeEvent(
  context: StepContext,
  pod: BoundPod,
  { reason, ...options }: ResizeEventOptions & { readonly reason: keyof typeof RESIZE_EVENTS },
): void {
  const [type, text] = RESIZE_EVENTS[reason];
  reportPodEvent(context, pod, { type, reason, message: `${text}: ${toJson(pod, options)}` });
}

/** `resource`: of which there is too little, as in `OutOfcpu`. */
export function reportDeferredEvent(
  context: StepContext,
  pod: BoundPod,
  { resource, ...options }: ResizeEventOptions & { readonly resource: string },
): void {
  const message = `Pod resize OutOf${resource}: ${toJson(pod, options)}`;
  reportPodEvent(context, pod, { type: "Warning", reason: "ResizeDeferred", message });
}

/** Sizes as the requests and limits of a container. */
export function toRequirements(size: Resources): ResourceRequirements {
  const [limits, requests] = [toList(size, "limits"), toList(size, "requests")];
  return { ...(limits === null ? {} : { limits }), ...(requests === null ? {} : { requests }) };
}

/** `null` when the list is empty. */
export function toList(size: Resources, side: RequestOrLimit): Record<string, string> | null {
  const list: Record<string, string> = {};
  for (const key of RESOURCE_FIELDS) {
    const amount = size[key];
    if (requestOrLimitOf(key) === side && amount !== null) {
      list[resourceOf(key)] = formatAmount(amount, resourceOf(key));
    }
  }
  return Object.keys(list).length > 0 ? list : null;
}

/** An event about one container. */
interface ContainerEvent extends Pick<KubeletEvent, "type" | "reason" | "message"> {
  readonly container: BoundContainer;
}

/** What an event about a resize says. */
interface ResizeEventOptions {
  readonly generation: number;
  readonly sizes: Readonly<Record<string, Resources>>;
  readonly error?: string;
}

const RESIZE_EVENTS = {
  ResizeStarted: ["Normal", "Pod resize started"],
  ResizeCompleted: ["Normal", "Pod resize completed"],
  ResizeError: ["Warning", "Pod resize error"],
} as const;

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
