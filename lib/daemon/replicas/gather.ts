/** Reads the triggers of one object for one half (R50): external ones are asked, cpu and memory ones look at the target's pods. */
import type { TriggerReadings } from "../../core/replicas/input.ts";
import { needsTemplate } from "../../core/replicas/births.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Limit } from "../../runtime/limit.ts";
import { listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import type { TriggerReader } from "../../triggers/trigger_reader.ts";
import type { MeteredPods } from "./metered_pods.ts";
import type { ReadUsage, WorkloadUsage } from "./read_usage.ts";
import type { DueHalf } from "./schedule.ts";
import type { Templates } from "./templates.ts";

/** What one half is decided on, beside the scale: `triggers` has those of the half. */
export type Gathered =
  | WorkloadUsage & { readonly kind: "gathered"; readonly triggers: TriggerReadings }
  /** An authentication or a secret is missing (R16). */
  | { readonly kind: "obstructed"; readonly message: string };

/** One half of one object. */
export interface GatherRequest {
  readonly object: ScaledObject;
  readonly reader: TriggerReader;
  readonly pods: () => readonly PodFacts[];
  readonly due: DueHalf;
  readonly signal: AbortSignal;
}

export interface GatherOptions {
  readonly templates: Pick<Templates, "fetch">;
  readonly metered: Pick<MeteredPods, "read">;
  readonly readUsage: ReadUsage;
  readonly fetches: Limit;
}

/** Rejects with the signal's reason only. */
export type Gather = (request: GatherRequest) => Promise<Gathered>;

export function createGather(options: GatherOptions): Gather {
  return async (request) => {
    const { object, reader, due: { half, at }, signal, pods } = request;
    const external = await reader.read(object, half, { now: at, signal });
    if (external.kind === "obstructed") return external;
    const resources = half === "tick" ? listResourceTriggers(object) : [];
    if (resources.length > 0) await fetchTemplates(request, options);
    const usage = await options.readUsage({ object, resources, pods, at, signal });
    return { ...usage, kind: "gathered", triggers: new Map([...external.readings, ...usage.triggers]) };
  };
}

/** Only of pods that were resized before podfit saw them (R82). */
async function fetchTemplates({ object, pods, signal }: GatherRequest, { templates, metered, fetches }: GatherOptions) {
  const unknown = pods().filter((pod) => needsTemplate(pod, metered.read(pod.uid).recorded));
  if (unknown.length === 0) return;
  using _slot = await fetches.acquire(signal);
  await templates.fetch(object, unknown, signal);
}
