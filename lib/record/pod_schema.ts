/**
 * The schema of a pod's record: its state, the input of `decideSize`, and its outcome. The compiler checks each schema
 * against its type.
 */
import * as v from "valibot";
import type { SizeInput, SizeOutcome } from "../model/decision.ts";
import { HOLD_REASONS, LIMIT_REASONS, type NoticeName, NOTICES } from "../model/reasons.ts";
import { type PodState, type RecommendedState, STATE_VERSION } from "../model/state.ts";
import { RESOURCE_FIELDS } from "../units/resources.ts";
import {
  action,
  blockReason,
  byField,
  containerKind,
  dictionary,
  direction,
  flag,
  number,
  numberOrNull,
  pressure,
  readyCondition,
  reflex,
  refusalReason,
  request,
  requestAction,
  resizeReason,
  resource,
  resources,
  schemaOf,
  selector,
  side,
  stuckReason,
  text,
  unconfirmedRequest,
} from "./schemas.ts";

const since = v.strictObject({ at: number, since: number });

const conditionSince = v.strictObject({ reason: text, at: numberOrNull, since: number });

const wait = {
  message: text,
  until: number,
  waitMs: number,
  action: requestAction,
  podGeneration: numberOrNull,
  autoscaler: text,
  autoscalerGeneration: number,
};

const everything = v.exactOptional(v.strictObject({
  ...wait,
  kind: v.literal("everything"),
  reason: v.picklist(["RetryLater", "Rights", "Unsupported"]),
}));

const sideRefusals = v.strictObject({
  everything,
  busy: everything,
  size: v.exactOptional(v.strictObject({
    ...wait,
    kind: v.literal("size"),
    reason: v.picklist(["NodeCapacity", "Quota", "LimitRange", "Invalid"]),
    to: number,
  })),
  givenUp: v.exactOptional(v.strictObject({ ...wait, kind: v.literal("givenUp"), reason: stuckReason, to: number })),
});

const container = v.strictObject({
  instance: v.nullable(text),
  running: v.nullable(since),
  readySince: numberOrNull,
  podReady: v.nullable(since),
  actual: resources,
  countsFrom: number,
  resizedAt: numberOrNull,
  raisedAt: numberOrNull,
  entryAt: numberOrNull,
  revertedAt: numberOrNull,
  refusals: byField(sideRefusals),
  isInherited: flag,
  endings: v.array(v.strictObject({
    id: text,
    at: number,
    kind: v.picklist(["oom", "node", "crash", "exit"]),
    limitBytes: numberOrNull,
  })),
  reflex: v.nullable(reflex),
  killFloor: v.nullable(v.strictObject({ bytes: number, until: number })),
});

const sample = v.strictObject({
  at: number,
  from: number,
  seenAt: number,
  cpuMillicores: number,
  heldBack: numberOrNull,
  isSaturated: flag,
  demandMillicores: number,
  workingSetBytes: number,
  usageBytes: numberOrNull,
  podUsageBytes: numberOrNull,
  oomKills: v.exactOptional(number),
  isMemoryStalled: v.exactOptional(v.literal(true)),
});

const anchor = v.strictObject({
  instance: text,
  at: number,
  counterNs: number,
  pressure: v.nullable(pressure),
  oomKills: v.exactOptional(number),
});

const streak = v.strictObject({
  direction,
  count: number,
  peakUsage: number,
  olderPeakUsage: numberOrNull,
  isSaturated: flag,
  peakUsageBytes: numberOrNull,
  olderPeakUsageBytes: numberOrNull,
});

const sideEvidence = v.variant("kind", [
  v.strictObject({ kind: v.literal("peaks"), windowMs: number, pairs: v.array(number) }),
  v.strictObject({
    kind: v.literal("histogram"),
    at: number,
    halfLifeMs: number,
    top: number,
    weights: v.array(number),
  }),
]);

const view = v.strictObject({
  generation: number,
  container: text,
  dueAt: number,
  sampling: v.strictObject({
    anchor: v.nullable(anchor),
    witness: v.nullable(anchor),
    sample: v.nullable(sample),
    newAt: number,
    warming: flag,
  }),
  streaks: byField(streak),
  evidence: v.strictObject({
    since: numberOrNull,
    until: number,
    sides: byField(sideEvidence),
  }),
  wantedSince: numberOrNull,
  shortage: v.strictObject({
    atLimit: v.strictObject({ cpu: number, memory: number }),
    clipped: number,
    held: byField(number),
  }),
  limited: v.nullable(v.strictObject({ reason: v.picklist(LIMIT_REASONS), samples: number })),
  vetoedSince: numberOrNull,
  silentSince: numberOrNull,
  notified: v.strictObject(v.entriesFromList(
    [
      ...["metrics", "stuck", "block", "restart", "shrink", "kill"] as const,
      ...RESOURCE_FIELDS.flatMap((field) => [`baseline ${field}`, `held ${field}`] as const),
    ],
    v.exactOptional(text),
  )),
});

const command = v.strictObject({
  container: text,
  autoscaler: text,
  action,
  generation: number,
  at: number,
  to: resources,
});

const entries = {
  version: v.literal(STATE_VERSION),
  resourceVersion: v.nullable(text),
  at: number,
  containers: dictionary(container),
  views: dictionary(view),
  generation: number,
  pendingSince: v.nullable(conditionSince),
  inProgressSince: v.nullable(conditionSince),
  differingSince: numberOrNull,
  conflict: v.nullable(v.strictObject({ resourceVersion: text, at: number })),
  command: v.nullable(command),
  unconfirmed: v.array(unconfirmedRequest),
  scaledIn: v.nullable(since),
};

/** A recommended state has no recommended state inside. */
const shadow: v.GenericSchema<unknown, RecommendedState> = v.strictObject({
  sizes: dictionary(resources),
  generation: number,
  state: v.strictObject({ ...entries, shadow: v.null() }),
});

/** Accepts a state of the present version, and nothing else. */
export const stateSchema = schemaOf<PodState>()(v.strictObject({
  ...entries,
  shadow: v.nullable(shadow),
}));

const directionPolicy = { consecutiveSamples: number, cooldownMs: number, targetUtilizationPercent: number };

const rule = v.strictObject({
  key: side,
  resource,
  side: v.picklist(["requests", "limits"]),
  scaleUpThresholdPercent: number,
  scaleDownThresholdPercent: number,
  up: v.strictObject(directionPolicy),
  down: v.strictObject({
    ...directionPolicy,
    windowMs: number,
    percentile: v.nullable(v.strictObject({ percent: number, halfLifeMs: number })),
  }),
  hasOwnCooldowns: flag,
  isOptional: flag,
  bounds: v.strictObject({ min: numberOrNull, max: numberOrNull, step: numberOrNull, stepPercent: numberOrNull }),
});

const autoscaler = v.strictObject({
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
  maxUnavailable: v.exactOptional(v.variant("kind", [
    v.strictObject({ kind: v.literal("pods"), pods: number }),
    v.strictObject({ kind: v.literal("percent"), percent: number }),
  ])),
  pollIntervalMs: number,
  cooldownMs: number,
  after: v.picklist(["running", "containerReady", "podReady"]),
  delayMs: number,
  sides: v.array(rule),
});

const amounts = { cpuMillicores: number, memoryBytes: number };

const ofResources = v.strictObject({ cpu: numberOrNull, memory: numberOrNull });

const limits = v.strictObject({
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

const resizes = v.array(v.strictObject({
  manager: text,
  at: number,
  owned: v.array(v.strictObject({ container: text, sides: v.array(side) })),
}));

const pod = v.strictObject({
  uid: text,
  namespace: text,
  name: text,
  nodeName: v.nullable(text),
  resourceVersion: text,
  generation: numberOrNull,
  observedGeneration: numberOrNull,
  revision: v.nullable(text),
  workload: v.exactOptional(text),
  hasEphemeralContainers: v.exactOptional(v.literal(true)),
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
    real: v.exactOptional(resources),
    restartsOn: v.strictObject({ cpu: flag, memory: flag }),
    runningAt: numberOrNull,
    ready: flag,
    instance: v.nullable(text),
    terminations: v.array(v.strictObject({ id: text, reason: text, exitCode: number, finishedAt: number })),
  })),
  memoryLimitBytes: numberOrNull,
  resizes,
  realResizes: v.exactOptional(resizes),
});

const usage = v.strictObject({
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
    memoryStallPercent: v.exactOptional(number),
  })),
});

const answer = v.variant("kind", [
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

const observation = v.variant("kind", [
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

/** Accepts what `decideSize` takes, and nothing else. */
export const inputSchema = schemaOf<SizeInput>()(v.strictObject({
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
  wallAheadMs: v.exactOptional(number),
  isSidecar: v.exactOptional(flag),
  memoryPressure: v.exactOptional(flag),
  killFloors: v.exactOptional(dictionary(number)),
  ledSince: v.exactOptional(number),
  scaleInPending: v.exactOptional(dictionary(v.array(side))),
  scaledInAt: v.exactOptional(number),
  disruption: v.exactOptional(v.strictObject({
    pods: numberOrNull,
    unavailable: number,
    example: v.nullable(text),
    budgets: v.nullable(v.array(v.strictObject({ name: text, allowed: number }))),
  })),
}));

const decision = v.variant("kind", [
  v.strictObject({ kind: v.literal("hold"), reason: v.picklist(HOLD_REASONS), message: text }),
  v.strictObject({
    kind: v.literal("blocked"),
    action,
    reason: blockReason,
    message: text,
    until: v.exactOptional(number),
  }),
  v.strictObject({
    kind: v.literal("resize"),
    action,
    reason: v.exactOptional(resizeReason),
    from: resources,
    to: resources,
  }),
  v.strictObject({ kind: v.literal("revert"), reason: blockReason, from: resources, to: resources }),
]);

const notice = v.strictObject({
  autoscaler: text,
  name: v.picklist(Object.keys(NOTICES) as NoticeName[]),
  message: text,
});

/** Accepts what `decideSize` returns, and nothing else. */
export const outcomeSchema = schemaOf<SizeOutcome>()(v.strictObject({
  state: stateSchema,
  decisions: v.array(v.strictObject({
    autoscaler: text,
    container: text,
    decision,
    candidates: v.array(side),
    isNewSample: flag,
    wanted: v.exactOptional(byField(number)),
  })),
  notices: v.array(notice),
  request: v.nullable(request),
  scaled: v.nullable(v.strictObject({
    autoscaler: text,
    container: text,
    action,
    at: number,
    change: text,
    deltas: v.array(v.strictObject({ key: side, from: number, to: number })),
  })),
  enacted: v.nullable(v.strictObject({ autoscaler: text, action, tookMs: number })),
  implausible: number,
}));
