/**
 * Why a wanted resize must wait (C24, C35, C41 to C44, C46): small named checks, asked in order; the first objection
 * counts. The list is the specification. Gates hold back the patch only, never the sampling (C23).
 */
import { formatDuration } from "../../units/duration.ts";
import { computeQosClass } from "../../units/qos.ts";
import { formatAmount } from "../../units/quantity.ts";
import { resourceOf, type Resources, type SideKey } from "../../units/resources.ts";
import type { Direction } from "../decision.ts";
import { type ContainerFacts, type PodFacts, readActual } from "../pod/pod_facts.ts";
import type { Action, Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { BlockReason } from "../reasons.ts";
import type { ResizeStatus } from "../pod/resize_status.ts";
import type { ContainerState, PodState, Refusal } from "../state.ts";

export interface Candidate {
  readonly now: number;
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly policy: Autoscaler;
  readonly state: PodState;
  readonly containerState: ContainerState;
  readonly status: ResizeStatus;
  readonly action: Action;
  readonly to: Resources;
  readonly changes: readonly SideKey[];
  readonly dryRun: boolean;
}

export interface Objection {
  readonly reason: BlockReason;
  readonly message: string;
  readonly until?: number;
}

export type Gate = (candidate: Candidate) => Objection | null;

export const APPLY_GATES: readonly Gate[] = [
  running,
  started,
  delayed,
  resizeIdle,
  conflictSettled,
  qosUnchanged,
  notDryRun,
];

/** An error that lasts this long may be overwritten by the next wanted size (C47). */
export const ERROR_PATIENCE_MS = 30_000;

export function firstObjection(candidate: Candidate): Objection | null {
  for (const gate of APPLY_GATES) {
    const objection = gate(candidate);
    if (objection !== null) return objection;
  }
  return null;
}

/** When the gate `after` opened, before `delay`; `null` while it is shut (C24). */
export function readGateStart(
  policy: Autoscaler,
  { running, readySince, podReady }: ContainerState,
): number | null {
  switch (policy.after) {
    case "running":
      return running?.since ?? null;
    case "containerReady":
      return readySince;
    case "podReady":
      // A restart within a pod that stays Ready begins a new delay too (C43).
      return podReady === null ? null : Math.max(podReady.since, running?.since ?? 0);
  }
}

/** When a side's cooldown ends; the past when it never began (C36, C42). */
export function readCooldownEnd(containerState: ContainerState, cooldownMs: number): number {
  return containerState.resizedAt === null ? -Infinity : containerState.resizedAt + cooldownMs;
}

/** The QoS class the pod would have with that container at that size (C35). */
export function computeQosWith(pod: PodFacts, container: ContainerFacts, to: Resources): PodFacts["qosClass"] {
  const sizes = pod.containers.map((one) => one === container ? to : one.spec);
  return computeQosClass({ podResources: pod.podResources, containers: sizes });
}

/** The sides of the container that podfit was the last to write and that are not enacted (C47). */
export function listStuck(pod: PodFacts, container: ContainerFacts): readonly SideKey[] {
  const actual = readActual(container);
  return pod.resizes.filter(({ manager }) => manager === `podfit.${container.name}`)
    .flatMap(({ owned }) => owned.get(container.name) ?? [])
    .filter((key) => container.spec[key] !== actual[key]);
}

/**
 * A refused size, or one that goes as far or further, waits; a smaller change, or a changed pod or autoscaler, may go
 * at once (C44). Asked per side before sizing is final, so that other resources still move.
 */
export function findRefusal(
  key: SideKey,
  to: number,
  { direction, now, pod, policy, containerState }: Pick<Candidate, "now" | "pod" | "policy" | "containerState"> & {
    direction: Direction;
  },
): Refusal | null {
  const refusal = containerState.refusals[resourceOf(key)];
  // Before it was given: the wall clock has stepped back.
  if (refusal === undefined || now >= refusal.until || now < refusal.until - refusal.waitMs) return null;
  if (refusal.reason === "RetryLater") return refusal;
  if (refusal.podGeneration !== pod.generation) return null;
  if (refusal.autoscaler !== policy.uid || refusal.autoscalerGeneration !== policy.generation) return null;
  if (refusal.reason === "Unsupported" || refusal.reason === "Rights") return refusal;
  const refused = refusal.to[key];
  if (refused === null || refusal.action !== (direction === "up" ? "scaleUp" : "scaleDown")) return null;
  return (direction === "up" ? to >= refused : to <= refused) ? refusal : null;
}

/** With no container running, the pod's cgroup would keep its old limit for ever (C46; kubernetes issue 138760). */
function running({ container }: Candidate): Objection | null {
  if (container.runningAt !== null) return null;
  return { reason: "NotRunning", message: `container "${container.name}" is not running` };
}

function started(candidate: Candidate): Objection | null {
  if (readGateStart(candidate.policy, candidate.containerState) !== null) return null;
  const what = candidate.policy.after === "podReady" ? "the pod" : `container "${candidate.container.name}"`;
  return { reason: "NotReady", message: `${what} is not ready (after: ${candidate.policy.after})` };
}

function delayed(candidate: Candidate): Objection | null {
  const start = readGateStart(candidate.policy, candidate.containerState) ?? candidate.now;
  const until = Math.min(start, candidate.now) + candidate.policy.delayMs;
  if (candidate.now >= until) return null;
  return { reason: "Delay", message: `${formatWait(until - candidate.now)} of the delay are left`, until };
}

export function resizeIdle({ status, action, now, pod, container }: Candidate): Objection | null {
  switch (status.kind) {
    case "idle":
      return null;
    case "inProgress":
      return { reason: "ResizeInProgress", message: `a resize of the pod is in progress: ${status.message}` };
    case "error":
      if (now - status.since >= ERROR_PATIENCE_MS && listStuck(pod, container).length > 0) return null;
      return { reason: "ResizeError", message: `the kubelet cannot apply the pod's resize: ${status.message}` };
    case "deferred":
      // A scale-down only frees resources: it may replace what is waiting for room.
      if (action === "scaleDown") return null;
      return { reason: "ResizeDeferred", message: `a resize of the pod is deferred: ${status.message}` };
    case "infeasible":
      if (action === "scaleDown") return null;
      return { reason: "ResizeInfeasible", message: `a resize of the pod is infeasible: ${status.message}` };
  }
}

function conflictSettled({ state }: Candidate): Objection | null {
  if (state.conflict === null) return null;
  return { reason: "RetryLater", message: "the pod has changed since; waiting for the newer one to arrive" };
}

function qosUnchanged({ pod, container, to }: Candidate): Objection | null {
  const qosClass = computeQosWith(pod, container, to);
  if (pod.qosClass === null || qosClass === pod.qosClass) return null;
  return {
    reason: "QoSInvariantBlocked",
    message: `the pod would turn from ${pod.qosClass} into ${qosClass}, which a resize may not do; ` +
      adviseQos(pod.qosClass),
  };
}

function adviseQos(qosClass: string): string {
  return qosClass === "Guaranteed"
    ? "manage requests and limits with the same thresholds, or give the pod a request below its limit"
    : "keep requests below limits by bounds";
}

function notDryRun({ dryRun, container, to, changes }: Candidate): Objection | null {
  if (!dryRun) return null;
  return { reason: "DryRun", message: `would resize: ${describeChange(readActual(container), to, changes)}` };
}

/** `cpu.requests 50m -> 100m, memory.limits 64Mi -> 96Mi` */
export function describeChange(from: Resources, to: Resources, keys: readonly SideKey[]): string {
  return keys.map((key) => `${key} ${formatSide(key, from[key])} -> ${formatSide(key, to[key])}`).join(", ");
}

function formatSide(key: SideKey, amount: number | null): string {
  return amount === null ? "none" : formatAmount(amount, resourceOf(key));
}

/** Whole seconds, rounded up: a wait is never told too short. */
export function formatWait(ms: number): string {
  return formatDuration(Math.ceil(ms / 1000) * 1000);
}
