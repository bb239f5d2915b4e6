/**
 * One node and its kubelet, step by step: pods come and go, containers use what they are given, and what changes is told.
 * Time passes in slices: to the next multiple of the step, or to the next moment when something is due.
 */
import type { BoundPod } from "./bound_pod.ts";
import { type KubeletEvent, tellPod, type Turn } from "./event.ts";
import { isFinished, newLife, nextLife, noteSpec, readLifeDue } from "./life.ts";
import { newMeter, POD_TAKEOVER_MS } from "./meter.ts";
import { findShortage, readNeeds } from "./requests.ts";
import { type ResizeTurn, retryDeferred } from "./resize.ts";
import type { NodeConfig, NodeState, PodState, PodStatus } from "./state.ts";
import { toStatus } from "./status.ts";
import { readPodUse, useSlice } from "./use.ts";

/** What a node hears of before a step. */
export interface NodeInput {
  readonly now: number;
  /** All that are bound to the node, as its kubelet learns of them at `now`; who is no longer among them is gone. */
  readonly pods: readonly BoundPod[];
}

/** A node after a step, and what it has to write. */
export interface NodeStep {
  readonly state: NodeState;
  /** The pods that changed, in order. A pod may be there more than once, each time as it was `at` that time. */
  readonly changed: readonly StatusChange[];
  readonly events: readonly KubeletEvent[];
  /** Deleted, and nothing of them is left: the kubelet removes them from the API. */
  readonly gone: readonly string[];
  /** Until then nothing but usage changes. */
  readonly nextAt: number;
}

/** The new status of a pod. */
export interface StatusChange {
  readonly at: number;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly status: PodStatus;
}

/** A node that has just started, without pods. */
export function newNode(config: NodeConfig, now: number): NodeState {
  const meter = newMeter(now, [config.seed, "node"], POD_TAKEOVER_MS);
  return { version: 1, config, startedAt: now, at: now, pods: [], meter, retryAt: null };
}

/** The node at a later time. Pods that it is told of and time that passes are all that changes it. */
export function nextNode(state: NodeState, { now, pods }: NodeInput): NodeStep {
  const step: Draft = { state, changed: [], events: [], gone: [] };
  for (let at = step.state.at; at < now; at = step.state.at) {
    const { stepMs } = state.config;
    const to = Math.min(now, (Math.floor(at / stepMs) + 1) * stepMs, Math.max(at + 1, readDue(step.state)));
    step.state = useSlice(step.state, to);
    live(step);
  }
  takeIn(step, pods);
  live(step);
  return { ...step, nextAt: readDue(step.state) };
}

interface Draft {
  state: NodeState;
  readonly changed: StatusChange[];
  readonly events: KubeletEvent[];
  readonly gone: string[];
}

/** Measured: 30 s after the first is deferred, then every 3 min. */
const FIRST_RETRY_MS = 30_000;
const RETRY_MS = 180_000;
/** The time from room that becomes free to the next try, in ms. */
const FREED_MS = 20;

function toTurn({ state, events }: Draft): Turn {
  return { now: state.at, config: state.config, tell: (event) => events.push(event) };
}

function takeIn(step: Draft, pods: readonly BoundPod[]): void {
  const turn = toTurn(step);
  const wanted = new Map(pods.map((pod) => [pod.uid, pod]));
  const kept = step.state.pods.filter(({ spec }) => wanted.has(spec.uid));
  if (kept.length < step.state.pods.length) hurry(step);
  step.state = { ...step.state, pods: kept.map((one) => noteChange(one, wanted.get(one.spec.uid) ?? one.spec, turn)) };
  const known = new Set(kept.map(({ spec }) => spec.uid));
  for (const pod of pods) {
    if (!known.has(pod.uid)) addPod(step, pod, turn);
  }
}

function noteChange(pod: PodState, spec: BoundPod, turn: Turn): PodState {
  if (spec === pod.spec) return pod;
  return { ...pod, spec, life: noteSpec(pod.life, spec, turn) };
}

function addPod(step: Draft, pod: BoundPod, turn: Turn): void {
  const { config, pods, at } = step.state;
  const needs = readNeeds(pod, {});
  const shortage = findShortage(config, needs, readUsed(pods, pod.uid));
  const rejected = shortage === null
    ? null
    : { reason: `OutOf${shortage.resource}`, message: `Pod was rejected: ${shortage.message}` };
  if (shortage !== null) {
    tellPod(turn, pod, { type: "Warning", reason: `OutOf${shortage.resource}`, message: shortage.message });
  }
  const life = newLife(pod, rejected, turn);
  const meter = newMeter(at, [config.seed, pod.uid], POD_TAKEOVER_MS);
  step.state = { ...step.state, pods: [...pods, { spec: pod, life, meter, meters: {}, status: null }] };
}

/** The node with all done that is due at this moment, pod by pod. */
function live(step: Draft): void {
  const { at } = step.state;
  for (const index of step.state.pods.keys()) {
    const pod = step.state.pods[index];
    if (pod !== undefined && (pod.status === null || readLifeDue(pod.life, pod.spec, at - 1) <= at)) {
      settle(step, index, (life, turn) => nextLife(life, turn));
    }
  }
  const { retryAt } = step.state;
  const waiting = listDeferred(step.state.pods);
  if (waiting.length === 0) {
    if (retryAt !== null) step.state = { ...step.state, retryAt: null };
  } else if (retryAt === null) step.state = { ...step.state, retryAt: at + FIRST_RETRY_MS };
  else if (retryAt <= at) {
    step.state = { ...step.state, retryAt: at + RETRY_MS };
    for (const index of waiting) settle(step, index, retryDeferred);
  }
}

function settle(
  step: Draft,
  index: number,
  next: (life: PodState["life"], turn: ResizeTurn) => PodState["life"],
): void {
  const { config, at, pods } = step.state;
  const pod = pods[index];
  if (pod === undefined) return;
  const turn: ResizeTurn = {
    ...toTurn(step),
    pod: pod.spec,
    findShortage: (sizes) => findShortage(config, readNeeds(pod.spec, sizes), readUsed(pods, pod.spec.uid)),
    use: readPodUse(pod),
  };
  const life = next(pod.life, turn);
  const status = toStatus(pod.spec, life, { now: at, config, before: pod.status });
  const { uid, namespace, name } = pod.spec;
  if (isFinished(life) && life.stopping?.goneAt === at) step.gone.push(uid);
  if (hasFreedRoom(pod, life)) hurry(step);
  const isTold = JSON.stringify(status) !== JSON.stringify(pod.status);
  if (isTold) step.changed.push({ at, uid, namespace, name, status });
  step.state = { ...step.state, pods: pods.with(index, { ...pod, life, status: isTold ? status : pod.status }) };
}

function hasFreedRoom({ spec, life }: PodState, next: PodState["life"]): boolean {
  if (!isFinished(life) && isFinished(next)) return true;
  if (life.allocated === next.allocated) return false;
  const [before, after] = [readNeeds(spec, life.allocated), readNeeds(spec, next.allocated)];
  return after.cpu < before.cpu || after.memory < before.memory;
}

function hurry(step: Draft): void {
  const { retryAt, at } = step.state;
  if (retryAt !== null) step.state = { ...step.state, retryAt: Math.min(retryAt, at + FREED_MS) };
}

/** Pods of higher priority go first, then Guaranteed before Burstable, then those that have waited longest. */
function listDeferred(pods: readonly PodState[]): readonly number[] {
  const rank = ({ spec, life }: PodState) => [
    -spec.priority,
    spec.qosClass === "Guaranteed" ? 0 : 1,
    life.pending?.since ?? 0,
  ];
  return [...pods.keys()].filter((index) => pods[index]?.life.pending !== null).toSorted((a, b) => {
    const [one, other] = [pods[a], pods[b]];
    if (one === undefined || other === undefined) return 0;
    const [left, right] = [rank(one), rank(other)];
    return left.map((value, at) => value - (right[at] ?? 0)).find((difference) => difference !== 0) ?? 0;
  });
}

function readUsed(pods: readonly PodState[], uid: string): { cpu: number; memory: number; pods: number } {
  const used = { cpu: 0, memory: 0, pods: 0 };
  for (const { spec, life } of pods) {
    if (spec.uid === uid || isFinished(life)) continue;
    const needs = readNeeds(spec, life.allocated);
    used.cpu += needs.cpu;
    used.memory += needs.memory;
    used.pods++;
  }
  return used;
}

function readDue({ pods, retryAt, at }: NodeState): number {
  return Math.min(retryAt ?? Infinity, ...pods.map(({ life, spec }) => readLifeDue(life, spec, at)));
}
