/**
 * Reads the triggers of one object for one half (R50): external ones are asked, cpu and memory ones look at the target's pods. The work on pods is one
 * object at a time, with a breath before each, so that a thousand that are due at once do not hold up everything else.
 */
import type { TriggerReading, TriggerReadings } from "../../core/replicas/input.ts";
import { needsTemplate } from "../../core/replicas/births.ts";
import { countReadyPods } from "../../core/replicas/ready_pods.ts";
import { readPods } from "../../core/replicas/read_pods.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Limit } from "../../runtime/limit.ts";
import { listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import type { TriggerReader } from "../../triggers/trigger_reader.ts";
import type { MeteredPods } from "./metered_pods.ts";
import type { DueHalf } from "./schedule.ts";
import type { Templates } from "./templates.ts";
import type { ReadWorkloadPod } from "./workload_pods.ts";

/** What one half is decided on, beside the scale. */
export type Gathered =
  | {
    readonly kind: "gathered";
    readonly triggers: TriggerReadings;
    /** `null` = the selector lists no pod. */
    readonly readyPods: number | null;
    /** Some trigger is coupled (R80); `null` where none was looked at. */
    readonly isCoupled: boolean | null;
  }
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
  readonly clock: Pick<Clock, "sleep">;
  readonly templates: Pick<Templates, "fetch">;
  readonly metered: Pick<MeteredPods, "read">;
  readonly readWorkloadPod: ReadWorkloadPod;
  /** One slot: who has it may compute. */
  readonly turn: Limit;
  readonly fetches: Limit;
}

/** Rejects with the signal's reason only. */
export type Gather = (request: GatherRequest) => Promise<Gathered>;

export function createGather(options: GatherOptions): Gather {
  return async (request) => {
    const { object, reader, due: { half, at }, signal, pods } = request;
    const external = await reader.read(object, half, { now: at, signal });
    if (external.kind === "obstructed") return external;
    const isByPods = half === "tick" && listResourceTriggers(object).length > 0;
    if (isByPods) await fetchTemplates(request, options);
    using _turn = await options.turn.acquire(signal);
    await options.clock.sleep(0, signal);
    const now = pods();
    const readyPods = countReadyPods(now);
    if (!isByPods) return { kind: "gathered", triggers: external.readings, readyPods, isCoupled: null };
    const own = readResources(request, { ...options, now });
    return {
      kind: "gathered",
      triggers: new Map([...external.readings, ...own.triggers]),
      readyPods,
      isCoupled: own.isCoupled,
    };
  };
}

/** Only of pods that were resized before podfit saw them (R82). */
async function fetchTemplates({ object, pods, signal }: GatherRequest, { templates, metered, fetches }: GatherOptions) {
  const unknown = pods().filter((pod) => needsTemplate(pod, metered.read(pod.uid).recorded));
  if (unknown.length === 0) return;
  using _slot = await fetches.acquire(signal);
  await templates.fetch(object, unknown, signal);
}

function readResources(
  { object, due: { at } }: GatherRequest,
  { readWorkloadPod, now }: GatherOptions & { readonly now: readonly PodFacts[] },
): { readonly triggers: ReadonlyMap<number, TriggerReading>; readonly isCoupled: boolean } {
  const workload = now.map((pod) => readWorkloadPod(object, pod));
  const triggers = new Map<number, TriggerReading>();
  let isCoupled = false;
  for (const trigger of listResourceTriggers(object)) {
    const read = readPods(trigger, workload, at);
    triggers.set(trigger.index, { kind: "pods", ...read });
    isCoupled ||= read.isCoupled;
  }
  return { triggers, isCoupled };
}
