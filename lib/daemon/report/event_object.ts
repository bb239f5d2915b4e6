/** A notice as a Kubernetes Event of core/v1 on its autoscaler, with the pod as the related object (C50, R92). */
import { REPLICAS_NOTICES, type ReplicasNoticeName } from "../../core/replicas/notices.ts";
import { type NoticeName, NOTICES } from "../../core/reasons.ts";
import type { Event } from "../../api/kubernetes.ts";
import { formatTime } from "../../units/time.ts";

/** What is published: a notice about a PodResourceAutoscaler or a ScaledObject. */
export interface Publication {
  readonly name: NoticeName | ReplicasNoticeName;
  readonly message: string;
}

/** The objects that an Event is about: its autoscaler, and the related pod. */
export interface NoticeContext {
  readonly autoscaler: {
    /** A PodResourceAutoscaler unless it says otherwise. */
    readonly kind?: "ScaledObject";
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly pod?: { readonly namespace: string; readonly name: string; readonly uid: string };
}

/** What the Event says beside the notice. */
export interface EventFacts {
  readonly context: NoticeContext;
  /** Epoch ms. */
  readonly at: number;
  readonly name: string;
  readonly count: number;
  /** reportingInstance: which podfit wrote it. */
  readonly instance: string;
}

/** KEDA's names of events are whole. */
const KINDS = {
  PodResourceAutoscaler: { apiVersion: "keda.kedify.io/v1alpha1", prefix: "PodResourceAutoscaler" },
  ScaledObject: { apiVersion: "keda.sh/v1alpha1", prefix: "" },
} as const;

const TYPES = { ...NOTICES, ...REPLICAS_NOTICES };

/** Normal or Warning. */
export function readType({ name }: Publication): "Normal" | "Warning" {
  return TYPES[name];
}

/** core/v1 has no limit of its own, events.k8s.io has 1024. */
const LONGEST_MESSAGE = 1024;

/** The Event as it is created. */
export function toEvent(
  notice: Publication,
  { context: { autoscaler, pod }, at, name, count, instance }: EventFacts,
): Event {
  const time = formatTime(at);
  const { kind = "PodResourceAutoscaler" } = autoscaler;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: autoscaler.namespace },
    involvedObject: {
      apiVersion: KINDS[kind].apiVersion,
      kind,
      namespace: autoscaler.namespace,
      name: autoscaler.name,
      uid: autoscaler.uid,
    },
    ...(pod === undefined ? {} : {
      related: { apiVersion: "v1", kind: "Pod", namespace: pod.namespace, name: pod.name, uid: pod.uid },
    }),
    reason: `${KINDS[kind].prefix}${notice.name}`,
    message: toEventMessage(notice.message),
    type: readType(notice),
    source: { component: "podfit" },
    reportingComponent: "podfit",
    reportingInstance: instance,
    firstTimestamp: time,
    lastTimestamp: time,
    count,
  };
}

/** Not longer than an Event may have it. */
export function toEventMessage(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE - 1).toWellFormed()}…`;
}
