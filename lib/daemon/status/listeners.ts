/**
 * What happens with each computed status: it is written, published as events, and shown as gauges. One set of
 * listeners serves the pod controllers or the status reporter.
 */
import type { ApiClient } from "../../kube/client.ts";
import type { NoticeName } from "../../model/reasons.ts";
import type { AutoscalerStatus } from "../../resources/pod_resource_autoscaler/status.ts";
import type { ClusterCache } from "../cluster/cache.ts";
import type { EventRecorder } from "../events/recorder.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics, Totals } from "../metrics/metrics.ts";
import { findSpecNotice } from "./facts.ts";
import { isMetricsKnown, OTHER_PODFIT_ADVICE } from "./rivals.ts";
import type { ComputedStatus, StatusListener } from "./sweep.ts";
import { createAutoscalerPatch, StatusWriter, type StatusWriterOptions } from "./writer.ts";

// What becomes of statuses where this podfit says them: they are written, published as events, and shown as gauges.

/** Where they go. */
interface StatusOutputsOptions extends Omit<StatusWriterOptions<AutoscalerStatus>, "patch" | "isKnown" | "rivals"> {
  readonly client: ApiClient;
  readonly metrics: Metrics;
  readonly cache: Pick<ClusterCache, "listAutoscalers">;
  readonly recorder: Pick<EventRecorder, "publish">;
}

/** As a sweep takes them. */
interface StatusOutputs {
  readonly writer: StatusWriter<AutoscalerStatus>;
  readonly listeners: readonly StatusListener[];
}

/** One for each sweep that is to be heard of. */
export function createStatusOutputs(options: StatusOutputsOptions): StatusOutputs {
  const patch = createAutoscalerPatch(options.client);
  return {
    writer: new StatusWriter({ ...options, patch, isKnown: isMetricsKnown, rivals: OTHER_PODFIT_ADVICE }),
    listeners: [new StatusEvents(options), new StatusGauges(options), new LimitEvents(options)],
  };
}

// Publishes an event when an autoscaler's spec begins not to work as it is written (C8, C10, C15): once for each such
// state, and again when an invalid spec has been changed and is still invalid.

/** Where the events go. */
interface StatusEventsOptions {
  readonly recorder: Pick<EventRecorder, "publish">;
  readonly onTrouble: OnFailure;
}

interface Published {
  readonly name: NoticeName | null;
  readonly generation: number;
}

/** Remembers the state that was last published for each autoscaler. */
class StatusEvents implements StatusListener {
  readonly #options: StatusEventsOptions;
  /** By autoscaler uid: the state that was last seen. */
  readonly #published = new Map<string, Published>();

  constructor(options: StatusEventsOptions) {
    this.#options = options;
  }

  onStatus({ autoscaler, facts }: ComputedStatus): void {
    const { recorder, onTrouble } = this.#options;
    const { uid } = autoscaler;
    const { generation } = facts;
    const [name, message] = findSpecNotice(facts);
    const before = this.#published.get(uid) ?? { name: null, generation: 0 };
    if (before.name === name && (name !== "InvalidSpec" || before.generation === generation)) return;
    this.#published.set(uid, { name, generation });
    if (name === null) return;
    const notice = { autoscaler: uid, name, message };
    recorder.publish(notice, { autoscaler });
    onTrouble({ kind: "status", autoscaler, notice });
  }

  forget(uid: string): void {
    this.#published.delete(uid);
  }
}

// Publishes an event when pods of an autoscaler begin to want more than they can be given (L53): on the edge, not at
// each look.

/** Where the events go. */
interface LimitEventsOptions {
  readonly recorder: Pick<EventRecorder, "publish">;
}

/** Remembers which autoscalers were limited when last seen. */
class LimitEvents implements StatusListener {
  readonly #options: LimitEventsOptions;
  /** By uid. */
  readonly #limited = new Set<string>();

  constructor(options: LimitEventsOptions) {
    this.#options = options;
  }

  onStatus({ autoscaler, status: { conditions = [] } }: ComputedStatus): void {
    const { uid } = autoscaler;
    const limited = conditions.find(({ type }) => type === "Limited");
    if (limited?.status !== "True") return void this.#limited.delete(uid);
    if (this.#limited.has(uid)) return;
    this.#limited.add(uid);
    this.#options.recorder.publish({ name: "Limited", message: limited.message }, { autoscaler });
  }

  forget(uid: string): void {
    this.#limited.delete(uid);
  }
}

// The gauges that follow from the conditions of all autoscalers (C52): how many there are, are active, are scaling.

/** Where the gauges are set, and which autoscalers there are. */
interface StatusGaugesOptions {
  readonly metrics: Pick<Metrics, "setTotals" | "setActive">;
  readonly cache: Pick<ClusterCache, "listAutoscalers">;
}

/** Sets the gauges; never throws, as metrics do not. */
class StatusGauges implements StatusListener {
  readonly #options: StatusGaugesOptions;
  /** uids of autoscalers inside the cooldown of their last resize. */
  readonly #scaling = new Set<string>();

  constructor(options: StatusGaugesOptions) {
    this.#options = options;
  }

  onStatus({ autoscaler, status }: ComputedStatus): void {
    this.#options.metrics.setActive(autoscaler, isConditionTrue(status, "Active"));
    if (status.scaling) this.#scaling.add(autoscaler.uid);
    else this.#scaling.delete(autoscaler.uid);
  }

  onUnknown(uid: string): void {
    this.#scaling.delete(uid);
  }

  onSwept(): void {
    const { metrics, cache } = this.#options;
    const totals = new Map<string, { total: number; scalingActive: number }>();
    for (const { uid, namespace } of cache.listAutoscalers()) {
      const count = totals.get(namespace) ?? { total: 0, scalingActive: 0 };
      totals.set(namespace, count);
      count.total++;
      if (this.#scaling.has(uid)) count.scalingActive++;
    }
    metrics.setTotals(totals satisfies ReadonlyMap<string, Totals>);
  }

  forget(uid: string): void {
    this.#scaling.delete(uid);
  }
}

function isConditionTrue({ conditions = [] }: AutoscalerStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}

// The gauge of pods that want more than they can be given (L53): each podfit sets it for the pods that it looks after.

/** Where the gauge is set, and which autoscalers there are. */
interface LimitGaugesOptions {
  readonly metrics: Pick<Metrics, "setLimited" | "keepErrors">;
  readonly cache: Pick<ClusterCache, "listAutoscalers">;
}

/** Sets the gauge; never throws, as metrics do not. */
export function createLimitGauges({ metrics, cache }: LimitGaugesOptions): StatusListener {
  return {
    onStatus: ({ autoscaler, facts }) => metrics.setLimited(autoscaler, facts.limits.reasons),
    onSwept: () => metrics.keepErrors(new Set(Array.from(cache.listAutoscalers(), ({ namespace }) => namespace))),
    // The figures of an autoscaler go all together.
    forget() {},
  };
}
