/**
 * How does a modelled node move from one state to the next? Time passes in slices.
 *
 * In each slice containers use what they are given, and those above their memory limit are killed.
 * A slice ends at the next multiple of the step, or at the next moment when something is due.
 */
import {
  computeHolding,
  type Got,
  type Meter,
  newMeter,
  nextMeter,
  POD_TAKEOVER_MS,
} from "../../simulate/model/meter.ts";
import { end } from "./container.ts";
import { type KubeletEvent, reportPodEvent, type StepContext } from "./event.ts";
import { findLifeDueAt, isFinished, newLife, nextLife, observeSpec } from "./life.ts";
import { computeCurve } from "./load.ts";
import { computeNeeds, findShortage, type PodUse, shareCpu, type Want } from "./requests.ts";
import { type ResizeContext, retryDeferred } from "./resize.ts";
import type { BoundContainer, BoundPod, ContainerState, NodeConfig, NodeState, PodState, PodStatus } from "./state.ts";
import { toStatus } from "./status.ts";

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

/** Returns the node at a later time. Only time and the pods of its input change it. */
export function nextNode(state: NodeState, { now, pods }: NodeInput): NodeStep {
  const step: Draft = { state, changed: [], events: [], gone: [] };
  for (let at = step.state.at; at < now; at = step.state.at) {
    const { stepMs } = state.config;
    const to = Math.min(now, (Math.floor(at / stepMs) + 1) * stepMs, Math.max(at + 1, findDueAt(step.state)));
    step.state = useSlice(step.state, to);
    runDueSteps(step);
  }
  takeIn(step, pods);
  runDueSteps(step);
  return { ...step, nextAt: findDueAt(step.state) };
}

/** The input of a node before a step. */
interface NodeInput {
  readonly now: number;
  /** All that are bound to the node, as its kubelet learns of them at `now`; who is no longer among them is gone. */
  readonly pods: readonly BoundPod[];
}

/** A node after a step, and what it has to write. */
interface NodeStep {
  readonly state: NodeState;
  /** The pods that changed, in order. A pod may be there more than once, each time as it was `at` that time. */
  readonly changed: readonly StatusChange[];
  readonly events: readonly KubeletEvent[];
  /** Deleted, and nothing of them is left: the kubelet removes them from the API. */
  readonly gone: readonly string[];
  /** Until then nothing but usage changes. */
  readonly nextAt: number;
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

/** The time from freed resources to the next try, in ms. */
const FREED_MS = 20;

function toContext({ state, events }: Draft): StepContext {
  return { now: state.at, config: state.config, report: (event) => events.push(event) };
}

function takeIn(step: Draft, pods: readonly BoundPod[]): void {
  const context = toContext(step);
  const wanted = new Map(pods.map((pod) => [pod.uid, pod]));
  const kept = step.state.pods.filter(({ spec }) => wanted.has(spec.uid));
  if (kept.length < step.state.pods.length) retrySoon(step);
  step.state = {
    ...step.state,
    pods: kept.map((one) => observeChange(one, wanted.get(one.spec.uid) ?? one.spec, context)),
  };
  const known = new Set(kept.map(({ spec }) => spec.uid));
  for (const pod of pods) {
    if (!known.has(pod.uid)) addPod(step, pod, context);
  }
}

function observeChange(pod: PodState, spec: BoundPod, context: StepContext): PodState {
  if (spec === pod.spec) return pod;
  return { ...pod, spec, life: observeSpec(pod.life, spec, context) };
}

function addPod(step: Draft, pod: BoundPod, context: StepContext): void {
  const { config, pods, at } = step.state;
  const needs = computeNeeds(pod, {});
  const shortage = findShortage(config, needs, computeUsed(pods, pod.uid));
  const rejected = shortage === null
    ? null
    : { reason: `OutOf${shortage.resource}`, message: `Pod was rejected: ${shortage.message}` };
  if (shortage !== null) {
    reportPodEvent(context, pod, { type: "Warning", reason: `OutOf${shortage.resource}`, message: shortage.message });
  }
  const life = newLife(pod, rejected, context);
  const meter = newMeter(at, [config.seed, pod.uid], POD_TAKEOVER_MS);
  step.state = { ...step.state, pods: [...pods, { spec: pod, life, meter, meters: {}, status: null }] };
}

/** The node with all done that is due at this moment, pod by pod. */
function runDueSteps(step: Draft): void {
  const { at } = step.state;
  for (const index of step.state.pods.keys()) {
    const pod = step.state.pods[index];
    if (pod !== undefined && (pod.status === null || findLifeDueAt(pod.life, pod.spec, at - 1) <= at)) {
      settlePod(step, index, (life, context) => nextLife(life, context));
    }
  }
  const { retryAt } = step.state;
  const waiting = listDeferred(step.state.pods);
  if (waiting.length === 0) {
    if (retryAt !== null) step.state = { ...step.state, retryAt: null };
  } else if (retryAt === null) step.state = { ...step.state, retryAt: at + FIRST_RETRY_MS };
  else if (retryAt <= at) {
    step.state = { ...step.state, retryAt: at + RETRY_MS };
    for (const index of waiting) settlePod(step, index, retryDeferred);
  }
}

function settlePod(
  step: Draft,
  index: number,
  next: (life: PodState["life"], context: ResizeContext) => PodState["life"],
): void {
  const { config, at, pods } = step.state;
  const pod = pods[index];
  if (pod === undefined) return;
  const context: ResizeContext = {
    ...toContext(step),
    pod: pod.spec,
    findShortage: (sizes) => findShortage(config, computeNeeds(pod.spec, sizes), computeUsed(pods, pod.spec.uid)),
    use: getPodUse(pod),
  };
  const life = next(pod.life, context);
  const status = toStatus(pod.spec, life, { now: at, config, before: pod.status });
  const { uid, namespace, name } = pod.spec;
  if (isFinished(life) && life.stopping?.goneAt === at) step.gone.push(uid);
  if (hasFreedRoom(pod, life)) retrySoon(step);
  const isTold = JSON.stringify(status) !== JSON.stringify(pod.status);
  if (isTold) step.changed.push({ at, uid, namespace, name, status });
  step.state = { ...step.state, pods: pods.with(index, { ...pod, life, status: isTold ? status : pod.status }) };
}

function hasFreedRoom({ spec, life }: PodState, next: PodState["life"]): boolean {
  if (!isFinished(life) && isFinished(next)) return true;
  if (life.allocated === next.allocated) return false;
  const [before, after] = [computeNeeds(spec, life.allocated), computeNeeds(spec, next.allocated)];
  return after.cpu < before.cpu || after.memory < before.memory;
}

function retrySoon(step: Draft): void {
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

function computeUsed(pods: readonly PodState[], uid: string): { cpu: number; memory: number; pods: number } {
  const used = { cpu: 0, memory: 0, pods: 0 };
  for (const { spec, life } of pods) {
    if (spec.uid === uid || isFinished(life)) continue;
    const needs = computeNeeds(spec, life.allocated);
    used.cpu += needs.cpu;
    used.memory += needs.memory;
    used.pods++;
  }
  return used;
}

function findDueAt({ pods, retryAt, at }: NodeState): number {
  return Math.min(retryAt ?? Infinity, ...pods.map(({ life, spec }) => findLifeDueAt(life, spec, at)));
}

/** The state at `to`. */
function useSlice(state: NodeState, to: number): NodeState {
  const { config, at } = state;
  const runs = state.pods.map((pod) => listRuns(pod, to));
  const wants = runs.flat().map(({ want }) => want);
  const shares = shareCpu(wants, Math.max(0, config.cpuMillicores - config.system.cpuMillicores));
  let next = 0;
  const used = { ...NOTHING, millicores: config.system.cpuMillicores };
  const pods = state.pods.map((pod, index) => {
    const gots = (runs[index] ?? []).map((run) => ({ run, got: toGot(run, shares[next++] ?? 0, config) }));
    if (gots.length === 0 && Object.keys(pod.meters).length === 0 && pod.life.sandbox.kind !== "ready") return pod;
    const whole = addUp(gots.map(({ got }) => got));
    used.millicores += whole.millicores;
    used.workingSetBytes += whole.workingSetBytes;
    used.cacheBytes += whole.cacheBytes;
    return usePod(pod, { gots, whole, config, from: at, to });
  });
  const got = { ...used, workingSetBytes: used.workingSetBytes + config.system.memoryBytes };
  const meter = nextMeter(state.meter, got, { from: at, to, key: [config.seed, "node"] });
  return { ...state, at: to, pods, meter };
}

/** The memory that a pod and its containers use, in bytes. */
function getPodUse({ meters, meter }: PodState): PodUse {
  return {
    usageBytes: Object.fromEntries(
      Object.entries(meters).map(([name, one]) => [name, one.workingSetBytes + one.cacheBytes]),
    ),
    podUsageBytes: meter.sample?.usageBytes ?? 0,
  };
}

/** The bytes that a pod's sandbox holds in addition to its containers (0.9 to 1.3 MB were recorded). */
const SANDBOX_BYTES = 1_000_000;

/** The least bytes of a process (88 KiB were recorded in a first second): only one that has exited shows zeros. */
const PROCESS_BYTES = 90_112;

interface ProcessRun {
  readonly container: ContainerState;
  readonly bound: BoundContainer;
  readonly startedAt: number;
  readonly want: Want;
  readonly workingSetBytes: number;
  readonly cacheBytes: number;
}

function listRuns({ spec, life }: PodState, to: number): readonly ProcessRun[] {
  return life.containers.flatMap((container, index) => {
    const bound = spec.containers[index];
    if (bound === undefined || container.run.kind !== "running") return [];
    const { startedAt } = container.run;
    const clocks = { ageMs: to - startedAt, podMs: to - life.seenAt, wallMs: to };
    const { cpuMillicores, workingSetBytes, pageCacheBytes } = bound.load;
    const want: Want = {
      millicores: Math.max(0, computeCurve(cpuMillicores, clocks)),
      limitMillicores: container.actual["cpu.limits"],
      requestMillicores: container.actual["cpu.requests"] ?? 0,
    };
    const bytes = Math.max(PROCESS_BYTES, Math.round(computeCurve(workingSetBytes, clocks)));
    const cache = Math.max(0, Math.round(computeCurve(pageCacheBytes, clocks)));
    // The kernel drops the cache before it kills.
    const room = Math.max(0, (container.actual["memory.limits"] ?? Infinity) - bytes);
    return [{ container, bound, startedAt, want, workingSetBytes: bytes, cacheBytes: Math.min(cache, room) }];
  });
}

function toGot(
  { want, bound, workingSetBytes, cacheBytes }: ProcessRun,
  millicores: number,
  { cpuMillicores }: NodeState["config"],
): Got {
  const held = computeHolding({
    wanted: want.millicores,
    got: millicores,
    limit: want.limitMillicores,
    threads: bound.load.threads,
    nodeMillicores: cpuMillicores,
  });
  return { millicores, ...held, workingSetBytes, cacheBytes };
}

/** What a cgroup without processes got. */
const NOTHING: Got = {
  millicores: 0,
  unmetMillicores: 0,
  stalled: 0,
  throttled: 0,
  cpus: 1,
  workingSetBytes: 0,
  cacheBytes: 0,
};

function addUp(gots: readonly Got[]): Got {
  if (gots.length === 0) return NOTHING;
  const add = (read: (got: Got) => number) => gots.reduce((sum, got) => sum + read(got), 0);
  return {
    millicores: add(({ millicores }) => millicores),
    unmetMillicores: add(({ unmetMillicores }) => unmetMillicores),
    // A pod is stalled while all of its containers are: the quota of its cgroup is never the first limit.
    stalled: Math.min(...gots.map(({ stalled }) => stalled)),
    throttled: 0,
    cpus: Math.max(...gots.map(({ cpus }) => cpus)),
    workingSetBytes: add(({ workingSetBytes }) => workingSetBytes),
    cacheBytes: add(({ cacheBytes }) => cacheBytes),
  };
}

interface PodSlice {
  readonly gots: readonly { readonly run: ProcessRun; readonly got: Got }[];
  readonly whole: Got;
  readonly config: NodeState["config"];
  readonly from: number;
  readonly to: number;
}

function usePod(pod: PodState, { gots, whole, config, from, to }: PodSlice): PodState {
  const meters: Record<string, Meter> = {};
  for (const { run: { container, startedAt }, got } of gots) {
    const key = [config.seed, pod.spec.uid, container.name, container.instances];
    const known = pod.meters[container.name];
    const meter = known?.startedAt === startedAt ? known : newMeter(startedAt, key);
    meters[container.name] = nextMeter(meter, got, { from: Math.max(from, startedAt), to, key });
  }
  const held = { ...whole, workingSetBytes: whole.workingSetBytes + SANDBOX_BYTES };
  const meter = nextMeter(pod.meter, held, { from, to, key: [config.seed, pod.spec.uid] });
  return killOverLimit({ ...pod, meters, meter }, { gots, whole, config, from, to });
}

/** Over the container's own limit, or the largest of a pod that is over its cgroup's. */
function killOverLimit(pod: PodState, { gots, whole, config, to }: PodSlice): PodState {
  const isOver = ({ container, workingSetBytes }: ProcessRun) =>
    workingSetBytes > (container.actual["memory.limits"] ?? Infinity);
  const killed = new Set(gots.filter(({ run }) => isOver(run)).map(({ run }) => run.container.name));
  if (killed.size === 0 && whole.workingSetBytes > (pod.life.cgroup.memoryLimit ?? Infinity)) {
    const [largest] = gots.toSorted((a, b) => b.run.workingSetBytes - a.run.workingSetBytes);
    if (largest !== undefined) killed.add(largest.run.container.name);
  }
  if (killed.size === 0) return pod;
  const containers = pod.life.containers.map((one, index) => {
    const bound = pod.spec.containers[index];
    if (bound === undefined || !killed.has(one.name)) return one;
    const context = { now: to, config, report: () => {}, pod: pod.spec, bound, ends: false };
    return end(one, { code: 137, reason: "OOMKilled" }, context);
  });
  return { ...pod, life: { ...pod.life, containers } };
}
