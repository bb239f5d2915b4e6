/** What do the events of both kinds of objects mean, and what should people do? See reasons.ts. */
import type { NoticeName } from "../reasons.ts";
import type { ReplicasNoticeName } from "../replicas_decision.ts";
import type { Entry } from "./reasons.ts";

const NOTHING = "Nothing.";

const MESSAGE = "Do what the message says.";

export const EVENT_MEANINGS: Readonly<Record<NoticeName, Entry>> = {
  ScaleUp: {
    means: "a container was made larger",
    act: "Nothing. The message has the change and its cause.",
    alert: "no",
  },
  ScaleDown: {
    means: "a container was made smaller",
    act: "Nothing. The message has the change and its cause.",
    alert: "no",
  },
  MetricsUnavailable: {
    means: "there is no usage of a container for a minute or longer",
    act: "See the condition `Metrics`. The container keeps its size.",
    alert: "lasting",
  },
  MetricsRecovered: { means: "usage is read again", act: NOTHING, alert: "no" },
  BaselineUnavailable: {
    means: "a managed field has no request or limit to compare usage with",
    act: "Set it in the pod template, or remove the field from `policy`.",
    alert: "no",
  },
  BaselineAvailable: { means: "the request or limit is set again", act: NOTHING, alert: "no" },
  ResizeInProgress: { means: "a resize waits until the kubelet has applied the last one", act: NOTHING, alert: "no" },
  ResizePending: {
    means: "the kubelet cannot apply a resize, or podfit has taken one back",
    act: "The reason is in brackets: see ResizeDeferred, ResizeInfeasible and ResizeError.",
    alert: "lasting",
  },
  QoSInvariantBlocked: {
    means: "a resize would change the QoS class of the pod",
    act: "Manage requests and limits together. The message names the fields.",
    alert: "no",
  },
  ScaleFailed: {
    means: "a resize is refused or blocked",
    act: "The reason is in brackets, with the message of the API server. See the table of size reasons.",
    alert: "lasting",
  },
  ResizeMayRestart: {
    means: "a resize restarts the container, or does not happen because it would",
    act: "Change `resizePolicy` of the container if you do not want restarts.",
    alert: "no",
  },
  RestartWaiting: {
    means: "a restart waits until other pods of the workload are available",
    act: "Nothing at first. If it lasts, find out why the other pods are not ready.",
    alert: "no",
  },
  Inherited: { means: "a new pod was given the median size of its siblings", act: NOTHING, alert: "no" },
  Limited: {
    means: "a pod needs more, and cannot be given more until something changes",
    act: "The reason is in the message. See the table of size reasons.",
    alert: "lasting",
  },
  OOMKilled: {
    means: "a container was killed for memory, and podfit does not raise its limit",
    act: "The message says why, and what to change.",
    alert: "yes",
  },
  InvalidSpec: {
    means: "a field of the spec is invalid",
    act: "Correct the fields that the message names.",
    alert: "lasting",
  },
  NamespaceExcluded: { means: "podfit leaves this namespace alone", act: "Use another namespace.", alert: "no" },
  TooLarge: { means: "the object has more bytes than podfit takes", act: "Make the object smaller.", alert: "lasting" },
  TooMany: {
    means: "the namespace has too many of these objects",
    act: "Delete some, or raise the flag in the message.",
    alert: "lasting",
  },
  OverBudget: {
    means: "the objects of the namespace have too many bytes",
    act: "Make them smaller, or raise the flag in the message.",
    alert: "lasting",
  },
  TargetNotFound: {
    means: "the target does not exist",
    act: "Create the workload, or correct `target`.",
    alert: "lasting",
  },
  ContainerNotFound: { means: "no matching pod has the container", act: "Correct `containerName`.", alert: "lasting" },
};

export const REPLICAS_EVENT_MEANINGS: Readonly<Record<ReplicasNoticeName, Entry>> = {
  ScaledObjectReady: { means: "the object is used", act: NOTHING, alert: "no" },
  ScaledObjectPaused: {
    means: "an annotation pauses the object",
    act: "Remove the annotation to scale again.",
    alert: "no",
  },
  ScaledObjectUnpaused: { means: "the pause annotation was removed", act: NOTHING, alert: "no" },
  ScaledObjectFallbackActivated: {
    means: "a trigger fails, and its fallback counts",
    act: "See the event KEDAScalerFailed.",
    alert: "lasting",
  },
  ScaledObjectFallbackDeactivated: { means: "no fallback counts any more", act: NOTHING, alert: "no" },
  KEDAScalersStarted: { means: "podfit has begun to read the triggers", act: NOTHING, alert: "no" },
  KEDAScalersStopped: { means: "podfit has stopped reading the triggers", act: NOTHING, alert: "no" },
  KEDAScaleTargetActivated: { means: "the target was started, because a trigger is active", act: NOTHING, alert: "no" },
  KEDAScaleTargetDeactivated: {
    means: "the target went to its minimum, because no trigger is active",
    act: NOTHING,
    alert: "no",
  },
  KEDAScalerInfo: {
    means: "podfit took over from an HPA, or explains how it scales",
    act: "Read the message.",
    alert: "no",
  },
  SuccessfulRescale: {
    means: "the number of replicas was changed",
    act: "Nothing. The message has the new size and its cause.",
    alert: "no",
  },
  ScaledObjectCheckFailed: {
    means: "the object is invalid, or something prevents scaling",
    act: MESSAGE,
    alert: "lasting",
  },
  ScaledObjectDeleted: { means: "the object was deleted", act: "If that was not wanted, apply it again.", alert: "no" },
  KEDAScalerFailed: {
    means: "a trigger cannot be read",
    act: "Check address, credentials and query. The message has the error.",
    alert: "lasting",
  },
  KEDAMetricSourceFailed: {
    means: "a trigger of a formula, or the formula, cannot be computed",
    act: "Check the trigger that the message names, and `scalingModifiers.formula`.",
    alert: "lasting",
  },
  DeactivationHeld: {
    means: "the workload waits for its turn to go to zero",
    act: "Check whether a shared source has lost its data.",
    alert: "lasting",
  },
  KEDAScaleTargetActivationFailed: {
    means: "the target could not be started",
    act: "Read the message of the API server.",
    alert: "yes",
  },
  KEDAScaleTargetDeactivationFailed: {
    means: "the target could not be scaled to its minimum",
    act: "Read the message of the API server.",
    alert: "lasting",
  },
  FailedRescale: {
    means: "a change of replicas was refused, or had no answer",
    act: "Read the message of the API server.",
    alert: "lasting",
  },
  FailedGetScale: {
    means: "the scale of the target cannot be read",
    act: "Check the rights and the target.",
    alert: "lasting",
  },
  FailedComputeMetricsReplicas: {
    means: "no number of replicas can be computed",
    act: "Read the condition `HPAActive`. Replicas do not fall meanwhile.",
    alert: "lasting",
  },
};
