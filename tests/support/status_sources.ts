/** What an autoscaler's status is made of where a test says nothing else. */
import { UNLIMITED } from "../../lib/autoscaler/limited.ts";
import type { AutoscalerFacts } from "../../lib/daemon/inventory/facts.ts";
import type { Resolution } from "../../lib/daemon/inventory/tracked.ts";
import type { StatusSources } from "../../lib/daemon/report/status_facts.ts";
import { policy, START } from "./builders.ts";

/** No selector, and no pod. */
export const UNRESOLVED: Resolution = {
  selector: null,
  matched: 0,
  tracked: new Map(),
  crowdedOut: 0,
  isTargetMissing: false,
  targetProblems: [],
};

export function autoscalerFacts(overrides: Partial<AutoscalerFacts> = {}): AutoscalerFacts {
  const { uid, namespace, name, generation } = policy();
  const facts = { uid, namespace, name, generation, resourceVersion: "1", problems: [], warnings: [], status: {} };
  return { ...facts, autoscaler: policy(), ...overrides };
}

export function statusSources(overrides: Partial<StatusSources> = {}): StatusSources {
  return {
    resolution: UNRESOLVED,
    unread: { count: 0, why: "" },
    limits: UNLIMITED,
    recommended: null,
    isNodeLocal: false,
    lastScale: null,
    now: START,
    ...overrides,
  };
}
