/** Pods of a ScaledObject's target for tests: container "main" uses so much, was born so large, and is resized in place. */
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import type { InitialResources, ResourcesByContainer } from "../../lib/horizontal/initial_requests.ts";
import type { PodRates } from "../../lib/horizontal/pod_metrics.ts";
import type { WorkloadPod } from "../../lib/horizontal/joint/pod_readings.ts";
import { type AutoscalerView, NEW_POD_STATE, NO_SHORTAGE, type Shortage, type Streak } from "../../lib/model/state.ts";
import type { ReplicasReport } from "../../lib/model/replicas_decision.ts";
import type { ResourceTrigger } from "../../lib/model/scaled_object.ts";
import type { Resource } from "../../lib/units/resources.ts";
import { container, MI, pod, resizeEntry, resources, SECOND, START } from "./builders.ts";

/** 60 % of CPU, of the whole pod, unless said otherwise. */
export function cpuTrigger(overrides: Partial<ResourceTrigger> = {}): ResourceTrigger {
  return {
    kind: "resource",
    index: 0,
    name: null,
    type: "cpu",
    container: null,
    target: { kind: "Utilization", percent: 60 },
    baseline: null,
    ...overrides,
  };
}

export const NO_BIRTHS: InitialResources = { recorded: null, revision: null, template: null };

/** A size of "main" with these requests alone, millicores and bytes. */
export function sizeOf(cpu: number | null, memory: number | null = 128 * MI): ResourcesByContainer {
  return { main: resources({ "cpu.requests": cpu, "memory.requests": memory }) };
}

export interface WorkloadPodOptions {
  readonly name?: string;
  /** Millicores used within the 15 s before START; `null` = missing. */
  readonly cpu?: number | null;
  /** Request in force, and at birth where that was another. Millicores. */
  readonly request?: number | null;
  readonly born?: number;
  readonly limit?: number | null;
  readonly matching?: readonly Autoscaler[];
  readonly shortage?: Partial<Shortage>;
  /** Which requests have wanted up for long. */
  readonly wantsUp?: readonly Resource[];
  readonly births?: Partial<InitialResources>;
  readonly facts?: Partial<WorkloadPod["pod"]>;
}

/** Runs, ready since an hour, without limits. */
export function workloadPod(options: WorkloadPodOptions = {}): WorkloadPod {
  const { name = "web-1", cpu = 100, request = 500, born, limit = null, matching = [], births, facts } = options;
  const amounts = { "memory.requests": 128 * MI, "memory.limits": null, "cpu.limits": limit };
  const spec = resources({ ...amounts, "cpu.requests": request });
  const resizes = born === undefined ? [] : [resizeEntry("podfit.main", START, { main: ["cpu.requests"] })];
  const recorded = born === undefined ? null : sizeOf(born);
  return {
    pod: pod({ uid: `uid-of-${name}`, name, containers: [container({ spec })], resizes, ...facts }),
    rates: cpu === null ? null : ratesOf(cpu),
    initialResources: { ...NO_BIRTHS, recorded, ...births },
    vertical: matching.length === 0 ? null : {
      matching,
      state: {
        ...NEW_POD_STATE,
        views: Object.fromEntries(matching.map((one) => [one.key, viewOf(one, options)])),
      },
    },
  };
}

/** 64Mi, and so many millicores. */
export function ratesOf(cpu: number, seenAt: number = START): PodRates {
  const rate = { nanocores: cpu * 1e6, windowMs: 15 * SECOND };
  const main = { instance: "run-1", at: START, seenAt, counterNs: 1e9, workingSetBytes: 64 * MI, rate };
  return { containers: { main } };
}

/** Of a scaling loop with this trigger alone, which kept two replicas; `ratio`: `null` = the trigger had no proposal. */
export function scalingReport(ratio: number | null, { index, type }: ResourceTrigger = cpuTrigger()): ReplicasReport {
  const proposal = ratio === null ? null : { replicas: 2, lo: 2, hi: 2, ratio, ready: 2, unready: 0, missing: 0 };
  const trigger = { index, type, metricName: type, value: 1, error: null, isActive: null, proposal };
  const [replicas, desired, need, stabilized] = [2, 2, 2, 2];
  return { half: "tick", replicas, desired, reason: null, message: "", triggers: [trigger], need, stabilized };
}

function viewOf(autoscaler: Autoscaler, { shortage, wantsUp = [] }: WorkloadPodOptions): AutoscalerView {
  const streak: Streak = {
    direction: "up",
    count: 9,
    isSaturated: false,
    peakUsage: 0,
    olderPeakUsage: null,
    peakUsageBytes: null,
    olderPeakUsageBytes: null,
  };
  return {
    generation: autoscaler.generation,
    container: autoscaler.containerName,
    dueAt: START,
    sampling: { anchor: null, witness: null, sample: null, newAt: START, warming: false },
    streaks: Object.fromEntries(wantsUp.map((resource) => [`${resource}.requests`, streak])),
    evidence: { since: null, until: 0, sides: {} },
    wantedSince: wantsUp.length === 0 ? null : START,
    shortage: { ...NO_SHORTAGE, ...shortage },
    limited: null,
    vetoedSince: null,
    silentSince: null,
    notified: {},
  };
}
