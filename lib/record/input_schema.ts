/** The shape of the fold's input, as a schema: the compiler holds it against the type. */
import * as v from "valibot";
import type { PodUsage } from "../api/usage.ts";
import type { Autoscaler, SideRule } from "../autoscaler/autoscaler.ts";
import type { Input, Observation } from "../core/decision.ts";
import type { NamespaceLimits } from "../core/pod/namespace_limits.ts";
import type { PodFacts } from "../core/pod/pod_facts.ts";
import type { Answer } from "../core/resize_request.ts";
import {
  containerKind,
  dictionary,
  flag,
  number,
  numberOrNull,
  pressure,
  readyCondition,
  refusalReason,
  request,
  resource,
  resources,
  selector,
  side,
  text,
} from "./schemas.ts";

const direction = { consecutiveSamples: number, cooldownMs: number, targetUtilizationPercent: number };

const rule: v.GenericSchema<unknown, SideRule> = v.strictObject({
  key: side,
  resource,
  side: v.picklist(["requests", "limits"]),
  scaleUpThresholdPercent: number,
  scaleDownThresholdPercent: number,
  up: v.strictObject(direction),
  down: v.strictObject({
    ...direction,
    windowMs: number,
    percentile: v.nullable(v.strictObject({ percent: number, halfLifeMs: number })),
  }),
  hasOwnCooldowns: flag,
  isOptional: flag,
  bounds: v.strictObject({ min: numberOrNull, max: numberOrNull, step: numberOrNull, stepPercent: numberOrNull }),
});

const autoscaler: v.GenericSchema<unknown, Autoscaler> = v.strictObject({
  namespace: text,
  name: text,
  uid: text,
  generation: number,
  paused: flag,
  priority: number,
  target: v.nullable(
    v.strictObject({ kind: v.picklist(["deployment", "daemonset", "statefulset"]), name: text }),
  ),
  selector: v.nullable(selector),
  containerName: text,
  key: text,
  isWildcard: flag,
  excludeContainers: v.array(text),
  profile: v.nullable(v.picklist(["latency", "balanced", "thrifty"])),
  mode: v.picklist(["apply", "recommend"]),
  newPods: v.picklist(["template", "inherit"]),
  veto: v.picklist(["all", "resource"]),
  oom: v.picklist(["raise", "ignore"]),
  throttling: v.picklist(["measure", "ignore"]),
  restartToShrink: flag,
  pollIntervalMs: number,
  cooldownMs: number,
  after: v.picklist(["running", "containerReady", "podReady"]),
  delayMs: number,
  sides: v.array(rule),
});

const amounts = { cpuMillicores: number, memoryBytes: number };

const ofResources = v.strictObject({ cpu: numberOrNull, memory: numberOrNull });

const limits: v.GenericSchema<unknown, NamespaceLimits> = v.strictObject({
  ranges: v.array(v.strictObject({
    name: text,
    type: v.picklist(["Container", "Pod"]),
    min: ofResources,
    max: ofResources,
    maxLimitRequestRatio: ofResources,
    defaults: resources,
  })),
  quota: resources,
});

const condition = v.strictObject({ reason: text, message: text, since: numberOrNull });

const pod: v.GenericSchema<unknown, PodFacts> = v.strictObject({
  uid: text,
  namespace: text,
  name: text,
  nodeName: v.nullable(text),
  resourceVersion: text,
  generation: numberOrNull,
  observedGeneration: numberOrNull,
  revision: v.nullable(text),
  labels: dictionary(text),
  optedIn: flag,
  deleting: flag,
  finished: flag,
  mirror: flag,
  windows: flag,
  qosClass: v.nullable(v.picklist(["Guaranteed", "Burstable", "BestEffort"])),
  podResources: v.nullable(resources),
  requests: v.strictObject(amounts),
  overhead: v.nullable(v.strictObject(amounts)),
  pending: v.nullable(condition),
  inProgress: v.nullable(condition),
  phase: text,
  startAt: numberOrNull,
  ready: v.nullable(readyCondition),
  readyAt: numberOrNull,
  containersReadyAt: numberOrNull,
  containers: v.array(v.strictObject({
    name: text,
    kind: containerKind,
    spec: resources,
    reported: v.nullable(resources),
    allocated: v.nullable(resources),
    restartsOn: v.strictObject({ cpu: flag, memory: flag }),
    runningAt: numberOrNull,
    ready: flag,
    instance: v.nullable(text),
    terminations: v.array(v.strictObject({ id: text, reason: text, exitCode: number, finishedAt: number })),
  })),
  memoryLimitBytes: numberOrNull,
  resizes: v.array(v.strictObject({
    manager: text,
    at: number,
    owned: v.array(v.strictObject({ container: text, sides: v.array(side) })),
  })),
});

const usage: v.GenericSchema<unknown, PodUsage> = v.strictObject({
  usageBytes: numberOrNull,
  cpu: v.exactOptional(v.strictObject({
    at: number,
    resolutionMs: number,
    counterNs: number,
    pressure: v.nullable(pressure),
  })),
  points: v.array(v.strictObject({
    container: text,
    instance: text,
    at: number,
    resolutionMs: number,
    cpu: v.variant("kind", [
      v.strictObject({ kind: v.literal("counter"), counterNs: number }),
      v.strictObject({ kind: v.literal("rate"), millicores: number, windowMs: number }),
    ]),
    workingSetBytes: number,
    usageBytes: numberOrNull,
    pressure: v.nullable(pressure),
    oomKills: v.exactOptional(numberOrNull),
  })),
});

const answer: v.GenericSchema<unknown, Answer> = v.variant("kind", [
  v.strictObject({ kind: v.literal("accepted"), generation: numberOrNull }),
  v.strictObject({ kind: v.literal("gone") }),
  v.strictObject({ kind: v.literal("conflict") }),
  v.strictObject({ kind: v.literal("withdrawn") }),
  v.strictObject({ kind: v.literal("unconfirmed"), message: text }),
  v.strictObject({
    kind: v.literal("refused"),
    reason: refusalReason,
    message: text,
    resources: v.array(resource),
    waitMs: numberOrNull,
  }),
]);

const observation: v.GenericSchema<unknown, Observation> = v.variant("kind", [
  v.strictObject({
    kind: v.literal("usage"),
    usage,
    clockOffsetMs: number,
    capacity: v.strictObject({ cpuMillicores: numberOrNull, memoryBytes: numberOrNull }),
  }),
  v.strictObject({ kind: v.literal("changed") }),
  v.strictObject({ kind: v.literal("tick") }),
  v.strictObject({ kind: v.literal("answered"), request, answer }),
]);

/** Accepts what `decide` takes, and nothing else. */
export const inputSchema: v.GenericSchema<unknown, Input> = v.strictObject({
  now: number,
  pod,
  contenders: v.array(autoscaler),
  observation,
  siblings: v.nullable(dictionary(v.strictObject({ pods: number, median: resources, floorBytes: number }))),
  room: v.nullable(v.strictObject(amounts)),
  limits: v.nullable(limits),
  lowersMemoryLimits: flag,
  inFlight: flag,
  dryRun: flag,
  isSidecar: v.exactOptional(flag),
  memoryPressure: v.exactOptional(flag),
  killFloors: v.exactOptional(dictionary(number)),
  ledSince: v.exactOptional(number),
  scaleInPending: v.exactOptional(dictionary(v.array(side))),
  scaledInAt: v.exactOptional(number),
});
