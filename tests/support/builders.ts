/**
 * Plain values for tests of the core: a pod with one container "main" (100m of 200m cpu, 128Mi of 256Mi memory), its
 * autoscaler, usage; each with partial overrides. For timelines over `decideSize` there is `story.ts`.
 */
import type { Point } from "../../lib/api/usage.ts";
import type { Observation, SizeInput } from "../../lib/model/decision.ts";
import { type ContainerFacts, NO_TERMINATIONS, type PodFacts } from "../../lib/model/pod.ts";
import type { ResizeRequest } from "../../lib/model/resize_request.ts";
import type { Sample } from "../../lib/model/state.ts";
import type { Autoscaler, Bounds, DirectionPolicy, FieldPolicy, ScaleDownPolicy } from "../../lib/model/autoscaler.ts";
import {
  NO_RESOURCES,
  requestOrLimitOf,
  type Resource,
  type ResourceField,
  resourceOf,
  type Resources,
} from "../../lib/units/resources.ts";

/** 2026-11-20T11:00:00Z */
export const START = Date.UTC(2026, 10, 20, 11);
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const MI = 1024 * 1024;

export const SIZE: Resources = {
  "cpu.requests": 100,
  "cpu.limits": 200,
  "memory.requests": 128 * MI,
  "memory.limits": 256 * MI,
};

/** Amounts not given are absent. */
export function resources(amounts: Partial<Resources> = {}): Resources {
  return { ...NO_RESOURCES, ...amounts };
}

export type SideOverrides =
  & Partial<Omit<FieldPolicy, "bounds" | "up" | "down">>
  & Partial<DirectionPolicy>
  & {
    readonly bounds?: Partial<Bounds>;
    readonly up?: Partial<DirectionPolicy>;
    readonly down?: Partial<ScaleDownPolicy>;
  };

/** Up from 80 %, down to 40 %, target 60 %, after 2 samples, cooldown 2m, as the document has it: no window. */
export function side(key: ResourceField, { bounds, up, down, ...overrides }: SideOverrides = {}): FieldPolicy {
  const { targetUtilizationPercent = 60, consecutiveSamples = 2, cooldownMs = 2 * MINUTE, ...more } = overrides;
  const either: DirectionPolicy = { targetUtilizationPercent, consecutiveSamples, cooldownMs };
  return {
    key,
    resource: resourceOf(key),
    side: requestOrLimitOf(key),
    scaleUpThresholdPercent: 80,
    scaleDownThresholdPercent: 40,
    up: { ...either, ...up },
    down: { ...either, windowMs: 0, percentile: null, ...down },
    hasOwnCooldowns: false,
    isOptional: false,
    bounds: { min: null, max: null, step: null, stepPercent: null, ...bounds },
    ...more,
  };
}

/** Manages the cpu request of "main", every 5s; the gate is `running` without delay. */
export function policy(overrides: Partial<Autoscaler> = {}): Autoscaler {
  const name = overrides.name ?? "web";
  return {
    namespace: "shop",
    name,
    uid: `uid-of-${name}`,
    generation: 1,
    paused: false,
    priority: 0,
    target: { kind: "deployment", name: "web" },
    selector: null,
    containerName: "main",
    key: overrides.uid ?? `uid-of-${name}`,
    isWildcard: false,
    excludeContainers: [],
    profile: null,
    mode: "apply",
    newPods: "template",
    veto: "all",
    oom: "ignore",
    throttling: "ignore",
    restartToShrink: true,
    pollIntervalMs: 5 * SECOND,
    cooldownMs: 2 * MINUTE,
    after: "running",
    delayMs: 0,
    sides: [side("cpu.requests")],
    ...overrides,
  };
}

/** Runs and is ready since an hour; what the kubelet reports is the spec unless said otherwise. */
export function container(overrides: Partial<ContainerFacts> = {}): ContainerFacts {
  const spec = overrides.spec ?? SIZE;
  return {
    name: "main",
    kind: "container",
    spec,
    reported: spec,
    allocated: resources({ "cpu.requests": spec["cpu.requests"], "memory.requests": spec["memory.requests"] }),
    restartsOn: { cpu: false, memory: false },
    runningAt: START - 60 * MINUTE,
    ready: true,
    instance: "containerd://1",
    terminations: NO_TERMINATIONS,
    ...overrides,
  };
}

/** Burstable, settled: generation 1 observed, no condition, never resized. */
export function pod(overrides: Partial<PodFacts> = {}): PodFacts {
  return {
    uid: "pod-1",
    namespace: "shop",
    name: "web-1",
    nodeName: "node1",
    resourceVersion: "100",
    generation: 1,
    observedGeneration: 1,
    revision: null,
    labels: {},
    optedIn: false,
    deleting: false,
    finished: false,
    mirror: false,
    windows: false,
    qosClass: "Burstable",
    podResources: null,
    requests: { cpuMillicores: 100, memoryBytes: 128 * MI },
    pending: null,
    inProgress: null,
    overhead: null,
    phase: "Running",
    startAt: START - 61 * MINUTE,
    ready: { status: "True", at: START - 60 * MINUTE },
    readyAt: START - 60 * MINUTE,
    containersReadyAt: START - 60 * MINUTE,
    containers: [container()],
    memoryLimitBytes: null,
    resizes: [],
    ...overrides,
  };
}

export type PointOverrides = Partial<Omit<Point, "cpu">> & {
  readonly counterNs?: number;
  readonly rate?: { readonly millicores: number; readonly windowMs: number };
};

export function point({ counterNs = 1e9, rate, ...overrides }: PointOverrides = {}): Point {
  return {
    container: "main",
    instance: "run-1",
    at: START,
    resolutionMs: SECOND,
    cpu: rate === undefined ? { kind: "counter", counterNs } : { kind: "rate", ...rate },
    workingSetBytes: 100 * MI,
    usageBytes: 110 * MI,
    pressure: null,
    ...overrides,
  };
}

/** On a node of 8 cores and 32 Gi whose clock agrees with ours. */
export function usage(
  points: readonly Point[] = [],
  usageBytes: number | null = null,
): Extract<Observation, { kind: "usage" }> {
  return {
    kind: "usage",
    usage: { points, usageBytes },
    clockOffsetMs: 0,
    capacity: { cpuMillicores: 8000, memoryBytes: 32768 * MI },
  };
}

export function input(overrides: Partial<SizeInput> = {}): SizeInput {
  return {
    now: START,
    pod: pod(),
    contenders: [policy()],
    observation: { kind: "tick" },
    siblings: null,
    room: null,
    limits: null,
    lowersMemoryLimits: true,
    inFlight: false,
    dryRun: false,
    ...overrides,
  };
}

/** 90m of cpu over the 5 s before START, and 64Mi of memory with 6Mi of page cache. */
export function sample(overrides: Partial<Sample> = {}): Sample {
  return {
    at: START,
    from: START - 5 * SECOND,
    seenAt: START,
    cpuMillicores: 90,
    heldBack: null,
    isSaturated: false,
    demandMillicores: overrides.cpuMillicores ?? 90,
    workingSetBytes: 64 * MI,
    usageBytes: 70 * MI,
    podUsageBytes: null,
    ...overrides,
  };
}

/** Scales "main" up from 100m to 150m of cpu for `policy()`. */
export function request(overrides: Partial<ResizeRequest> = {}): ResizeRequest {
  return {
    autoscaler: "uid-of-web",
    autoscalerGeneration: 1,
    container: "main",
    kind: "container",
    action: "scaleUp",
    uid: "pod-1",
    resourceVersion: "100",
    generation: 1,
    from: SIZE,
    to: { ...SIZE, "cpu.requests": 150 },
    changes: ["cpu.requests"],
    stuck: null,
    reason: null,
    givesUp: null,
    why: "cpu.requests at 90 %",
    reflex: null,
    ...overrides,
  };
}

/** A resize entry of managedFields: who, when, and which sides of which container. */
export function resizeEntry(
  manager: string,
  at: number,
  owned: Readonly<Record<string, readonly ResourceField[]>> = {},
): PodFacts["resizes"][number] {
  return { manager, at, owned: Object.entries(owned).map(([container, sides]) => ({ container, sides })) };
}

export function restartsOn(...named: readonly Resource[]): Readonly<Record<Resource, boolean>> {
  return { cpu: named.includes("cpu"), memory: named.includes("memory") };
}

/** Freezes all the way down, so that whoever changes its input throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const one of Object.values(value)) deepFreeze(one);
  return value;
}
