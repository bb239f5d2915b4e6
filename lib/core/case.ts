/** One container with the autoscaler that owns it, and all that a decision about it may look at. */
import type { Autoscaler } from "../autoscaler/autoscaler.ts";
import type { Input } from "./decision.ts";
import type { ContainerFacts } from "./pod/pod_facts.ts";
import type { ResizeStatus } from "./pod/resize_status.ts";
import type { ResizeRequest } from "./resize_request.ts";
import type { ContainerState, PodState, View } from "./state.ts";

/** A container that has an owner, at one evaluation. */
export interface Case {
  readonly input: Input;
  readonly state: PodState;
  /** Where the pod's resize stands. */
  readonly status: ResizeStatus;
  readonly autoscaler: Autoscaler;
  readonly view: View;
  readonly container: ContainerFacts;
  readonly containerState: ContainerState;
  /** The evaluation was due: pollInterval has passed. */
  readonly isDue: boolean;
  readonly isNewSample: boolean;
}

/** What the decision adds to a request; the case has the rest. */
export type Resize = Pick<
  ResizeRequest,
  "action" | "from" | "to" | "changes" | "stuck" | "givesUp" | "reason" | "why" | "reflex"
>;

/** The request for a resize of the case's container, guarded by the pod as it was seen. */
export function newRequest({ autoscaler, container, input: { pod } }: Case, resize: Resize): ResizeRequest {
  return {
    autoscaler: autoscaler.uid,
    autoscalerGeneration: autoscaler.generation,
    container: container.name,
    kind: container.kind,
    uid: pod.uid,
    resourceVersion: pod.resourceVersion,
    generation: pod.generation,
    ...resize,
  };
}
