/** A notice as a Kubernetes Event of core/v1 on its autoscaler, with the pod as the related object (C50). */
import { type Notice, NOTICES } from "../../core/reasons.ts";
import type { Event } from "../../api/kubernetes.ts";
import { formatTime } from "../../units/time.ts";

/** The objects that an Event is about: its autoscaler, and the related pod. */
export interface NoticeContext {
  readonly autoscaler: { readonly namespace: string; readonly name: string; readonly uid: string };
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

const REASON_PREFIX = "PodResourceAutoscaler";
/** core/v1 has no limit of its own, events.k8s.io has 1024. */
const LONGEST_MESSAGE = 1024;

/** The Event as it is created. */
export function toEvent(
  notice: Notice,
  { context: { autoscaler, pod }, at, name, count, instance }: EventFacts,
): Event {
  const time = formatTime(at);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: autoscaler.namespace },
    involvedObject: {
      apiVersion: "keda.kedify.io/v1alpha1",
      kind: "PodResourceAutoscaler",
      namespace: autoscaler.namespace,
      name: autoscaler.name,
      uid: autoscaler.uid,
    },
    ...(pod === undefined ? {} : {
      related: { apiVersion: "v1", kind: "Pod", namespace: pod.namespace, name: pod.name, uid: pod.uid },
    }),
    reason: `${REASON_PREFIX}${notice.name}`,
    message: toEventMessage(notice.message),
    type: NOTICES[notice.name],
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
