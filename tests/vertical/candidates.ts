/**
 * A candidate for the gates: scales "main" up from 100m to 150m of cpu, and nothing blocks it by default.
 */
import {
  type AutoscalerView,
  type ContainerState,
  NEW_POD_STATE,
  NO_EVIDENCE,
  NO_SHORTAGE,
  type PodState,
  type Sample,
} from "../../lib/model/state.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { listChangedFields } from "../../lib/model/resize_request.ts";
import { type Gate, GATES, type Objection } from "../../lib/vertical/gates/gates.ts";
import type { ResizeCandidate } from "../../lib/vertical/sizing/candidate.ts";
import { NO_ENDINGS } from "../../lib/model/container_history.ts";
import { newSampling } from "../../lib/vertical/samples.ts";
import type { Headroom, NamespaceLimits } from "../../lib/model/pod_amounts.ts";
import type { ContainerFacts, PodFacts } from "../../lib/model/pod.ts";
import { computeResizeStatus } from "../../lib/model/resize_status.ts";
import { container, MI, pod, policy, SECOND, START } from "../support/builders.ts";

export interface Differs {
  readonly pod?: Partial<PodFacts>;
  readonly container?: Partial<ContainerFacts>;
  readonly policy?: Partial<Autoscaler>;
  readonly containerState?: Partial<ContainerState>;
  readonly state?: Partial<PodState>;
  readonly candidate?: Partial<ResizeCandidate>;
  readonly inFlight?: boolean;
  readonly dryRun?: boolean;
  readonly ledSince?: number;
  readonly room?: Headroom;
  readonly limits?: NamespaceLimits;
  readonly lowersMemoryLimits?: boolean;
}

export const SAMPLE: Sample = {
  at: START,
  from: START - 10 * SECOND,
  seenAt: START,
  cpuMillicores: 90,
  heldBack: null,
  isSaturated: false,
  demandMillicores: 90,
  workingSetBytes: 64 * MI,
  usageBytes: 64 * MI,
  podUsageBytes: null,
};

export const VIEW: AutoscalerView = {
  generation: 1,
  container: "main",
  dueAt: START,
  sampling: newSampling(START),
  streaks: {},
  evidence: NO_EVIDENCE,
  wantedSince: START,
  shortage: NO_SHORTAGE,
  limited: null,
  vetoedSince: null,
  silentSince: null,
  notified: {},
};

/** What the first gate of the list that objects says; `null` when the candidate may go. */
export function findFirstObjection(asked: ResizeCandidate): Objection | null {
  for (const gate of Object.values<Gate>(GATES)) {
    const objection = gate(asked);
    if (objection !== null) return objection;
  }
  return null;
}

export function candidate(differs: Differs): ResizeCandidate {
  const one = container(differs.container);
  const facts = pod({ containers: [one], ...differs.pod });
  const state = { ...NEW_POD_STATE, ...differs.state };
  const containerState: ContainerState = {
    instance: one.instance,
    running: one.runningAt === null ? null : { at: one.runningAt, since: one.runningAt },
    podReady: facts.readyAt === null ? null : { at: facts.readyAt, since: facts.readyAt },
    readySince: START - 60 * SECOND,
    actual: one.spec,
    countsFrom: 0,
    resizedAt: null,
    raisedAt: null,
    entryAt: null,
    revertedAt: null,
    refusals: {},
    isInherited: false,
    endings: NO_ENDINGS,
    reflex: null,
    killFloor: null,
    ...differs.containerState,
  };
  const autoscaler = policy(differs.policy);
  const to = { ...one.spec, "cpu.requests": 150 };
  return {
    input: {
      now: START,
      pod: facts,
      contenders: [autoscaler],
      observation: { kind: "tick" },
      siblings: null,
      room: differs.room ?? null,
      limits: differs.limits ?? null,
      lowersMemoryLimits: differs.lowersMemoryLimits ?? true,
      inFlight: differs.inFlight ?? false,
      dryRun: differs.dryRun ?? false,
      ...(differs.ledSince !== undefined && { ledSince: differs.ledSince }),
    },
    container: facts.containers[0] ?? one,
    autoscaler,
    state,
    containerState,
    view: { ...VIEW, sampling: { ...newSampling(START), sample: SAMPLE } },
    status: computeResizeStatus(facts, state, START),
    isDue: true,
    isNewSample: true,
    direction: "up",
    action: "scaleUp",
    proposals: [{ side: "cpu.requests", direction: "up", amount: 150, why: "", cause: "usage" }],
    sized: [{ kind: "moves", key: "cpu.requests", to: 150, cappedBy: null }],
    moving: ["cpu.requests"],
    base: one.spec,
    to,
    changes: listChangedFields(one.spec, differs.candidate?.to ?? to),
    ahead: null,
    ...differs.candidate,
  };
}
