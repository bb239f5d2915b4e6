/** The shape of a pod's state, as a schema: the compiler holds it against the type. */
import * as v from "valibot";
import { LIMIT_REASONS } from "../core/reasons.ts";
import { type PodState, type Shadow, STATE_VERSION } from "../core/state.ts";
import {
  action,
  dictionary,
  direction,
  flag,
  number,
  numberOrNull,
  pressure,
  reflex,
  requestAction,
  resources,
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

const sideRefusals = v.strictObject({
  everything: v.exactOptional(v.strictObject({
    ...wait,
    kind: v.literal("everything"),
    reason: v.picklist(["RetryLater", "Rights", "Unsupported"]),
  })),
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
  refusals: v.strictObject({
    "cpu.requests": v.exactOptional(sideRefusals),
    "cpu.limits": v.exactOptional(sideRefusals),
    "memory.requests": v.exactOptional(sideRefusals),
    "memory.limits": v.exactOptional(sideRefusals),
  }),
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
  streaks: v.strictObject({
    "cpu.requests": v.exactOptional(streak),
    "cpu.limits": v.exactOptional(streak),
    "memory.requests": v.exactOptional(streak),
    "memory.limits": v.exactOptional(streak),
  }),
  evidence: v.strictObject({
    since: numberOrNull,
    until: number,
    sides: v.strictObject({
      "cpu.requests": v.exactOptional(sideEvidence),
      "cpu.limits": v.exactOptional(sideEvidence),
      "memory.requests": v.exactOptional(sideEvidence),
      "memory.limits": v.exactOptional(sideEvidence),
    }),
  }),
  wantedSince: numberOrNull,
  shortage: v.strictObject({
    atLimit: v.strictObject({ cpu: number, memory: number }),
    clipped: number,
    held: v.strictObject({
      "cpu.requests": v.exactOptional(number),
      "cpu.limits": v.exactOptional(number),
      "memory.requests": v.exactOptional(number),
      "memory.limits": v.exactOptional(number),
    }),
  }),
  limited: v.nullable(v.strictObject({ reason: v.picklist(LIMIT_REASONS), samples: number })),
  vetoedSince: numberOrNull,
  silentSince: numberOrNull,
  notified: v.strictObject({
    metrics: v.exactOptional(text),
    stuck: v.exactOptional(text),
    block: v.exactOptional(text),
    restart: v.exactOptional(text),
    "held cpu.requests": v.exactOptional(text),
    "held cpu.limits": v.exactOptional(text),
    "held memory.requests": v.exactOptional(text),
    "held memory.limits": v.exactOptional(text),
    shrink: v.exactOptional(text),
    kill: v.exactOptional(text),
    "baseline cpu.requests": v.exactOptional(text),
    "baseline cpu.limits": v.exactOptional(text),
    "baseline memory.requests": v.exactOptional(text),
    "baseline memory.limits": v.exactOptional(text),
  }),
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

/** A shadow has none of its own. */
const shadow: v.GenericSchema<unknown, Shadow> = v.strictObject({
  sizes: dictionary(resources),
  generation: number,
  state: v.strictObject({ ...entries, shadow: v.null() }),
});

/** Accepts a state of the present version, and nothing else. */
export const stateSchema: v.GenericSchema<unknown, PodState> = v.strictObject({
  ...entries,
  shadow: v.nullable(shadow),
});
