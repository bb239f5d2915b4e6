/**
 * What the containers of a node use in one slice of time: the processor shared out and held at the limits, memory as the
 * loads have it, and who passes a limit of memory, its own or its pod's, is killed.
 */
import type { BoundContainer } from "./bound_pod.ts";
import { end } from "./container.ts";
import { readCurve } from "./curve.ts";
import { type Got, newMeter, nextMeter } from "./meter.ts";
import { readHeld } from "./pressure.ts";
import { shareCpu, type Want } from "./share.ts";
import type { ContainerState, Meter, NodeState, PodState } from "./state.ts";
import type { PodUse } from "./too_small.ts";

/** The state at `to`. */
export function useSlice(state: NodeState, to: number): NodeState {
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
export function readPodUse({ meters, meter }: PodState): PodUse {
  return {
    usageBytes: Object.fromEntries(
      Object.entries(meters).map(([name, one]) => [name, one.workingSetBytes + one.cacheBytes]),
    ),
    podUsageBytes: meter.sample?.usageBytes ?? 0,
  };
}

/** The bytes that a pod's sandbox holds beside its containers (0.9 to 1.3 MB were recorded). */
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
      millicores: Math.max(0, readCurve(cpuMillicores, clocks)),
      limitMillicores: container.actual["cpu.limits"],
      requestMillicores: container.actual["cpu.requests"] ?? 0,
    };
    const bytes = Math.max(PROCESS_BYTES, Math.round(readCurve(workingSetBytes, clocks)));
    const cache = Math.max(0, Math.round(readCurve(pageCacheBytes, clocks)));
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
  const held = readHeld({
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
    // A pod is stalled while all of its containers are; its own cgroup has no quota of its own that binds first.
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
    const turn = { now: to, config, tell: () => {}, pod: pod.spec, bound, ends: false };
    return end(one, { code: 137, reason: "OOMKilled" }, turn);
  });
  return { ...pod, life: { ...pod.life, containers } };
}
