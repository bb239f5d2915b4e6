/** What an autoscaler's status is made of where a test says nothing else. */
import { UNLIMITED } from "../../lib/resources/pod_resource_autoscaler/status.ts";
import type { AutoscalerFacts, Resolution } from "../../lib/daemon/cluster/facts.ts";
import type { StatusSources } from "../../lib/daemon/status/facts.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { policy, START } from "./builders.ts";

/** No selector, and no pod. */
export const UNRESOLVED: Resolution = {
  selector: null,
  matched: 0,
  oversized: 0,
  tracked: new Map(),
  countCrowdedOut: () => 0,
  isTargetMissing: false,
  targetProblems: [],
};

export function autoscalerFacts(overrides: Partial<AutoscalerFacts> = {}): AutoscalerFacts {
  return { ...toAutoscalerFacts(policy()), ...overrides };
}

export function toAutoscalerFacts(autoscaler: Autoscaler): AutoscalerFacts {
  const { uid, namespace, name, generation } = autoscaler;
  return {
    uid,
    namespace,
    name,
    generation,
    resourceVersion: "1",
    autoscaler,
    problems: [],
    warnings: [],
    status: {},
  };
}

export function statusSources(overrides: Partial<StatusSources> = {}): StatusSources {
  return {
    resolution: UNRESOLVED,
    unread: { count: 0, why: "" },
    limits: UNLIMITED,
    recommended: null,
    sizes: null,
    isNodeLocal: false,
    lastScale: null,
    now: START,
    ...overrides,
  };
}
