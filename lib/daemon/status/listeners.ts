/**
 * What happens with each computed status: it is written, published as events, and shown as gauges. One set of listeners
 * serves the pod controllers or the status reporter.
 */
import type { ApiClient } from "../../kube/client.ts";
import type { NoticeName } from "../../model/reasons.ts";
import type { AutoscalerStatus } from "../../resources/pod_resource_autoscaler/status.ts";
import type { ClusterCache } from "../cluster/cache.ts";
import type { ScaledObjectCache } from "../cluster/scaled_objects.ts";
import type { EventRecorder } from "../events/recorder.ts";
import type { Metrics, Totals } from "../metrics/metrics.ts";
import { findSpecNotice } from "./facts.ts";
import { isMetricsKnown, OTHER_PODFIT_ADVICE } from "./rivals.ts";
import type { ComputedStatus, StatusListener } from "./sweep.ts";
import { createAutoscalerPatch, StatusWriter, type StatusWriterOptions } from "./writer.ts";

interface StatusOutputsOptions
  extends Omit<StatusWriterOptions<AutoscalerStatus>, "patch" | "kind" | "isKnown" | "rivals"> {
  readonly client: ApiClient;
  readonly metrics: Metrics;
  readonly cache: Pick<ClusterCache, "listAutoscalers">;
  readonly recorder: Pick<EventRecorder, "publish">;
}

interface StatusOutputs {
  readonly writer: StatusWriter<AutoscalerStatus>;
  readonly listeners: readonly StatusListener[];
}

/** Returns the writer and the listeners of one sweep. */
export function createStatusOutputs(options: StatusOutputsOptions): StatusOutputs {
  const patch = createAutoscalerPatch(options.client);
  return {
    writer: new StatusWriter({
      ...options,
      kind: "PodResourceAutoscaler",
      patch,
      isKnown: isMetricsKnown,
      rivals: OTHER_PODFIT_ADVICE,
    }),
    listeners: [new StatusEvents(options), new StatusGauges(options)],
  };
}

/** Publishes an event when a state begins: the spec does not work, or pods are held at a limit. */
class StatusEvents implements StatusListener {
  readonly #options: Pick<StatusOutputsOptions, "recorder" | "onTrouble">;
  /** By autoscaler uid, the state of the spec that was seen last. */
  readonly #seen = new Map<string, { readonly name: NoticeName | null; readonly generation: number }>();
  /** UIDs of the autoscalers that were limited when seen last. */
  readonly #limited = new Set<string>();

  constructor(options: Pick<StatusOutputsOptions, "recorder" | "onTrouble">) {
    this.#options = options;
  }

  onStatus(look: ComputedStatus): void {
    this.#publishSpecNotice(look);
    this.#publishLimited(look);
  }

  forget(uid: string): void {
    this.#seen.delete(uid);
    this.#limited.delete(uid);
  }

  /** Once for each state, and again when an invalid spec has been changed and is still invalid. */
  #publishSpecNotice({ autoscaler, facts }: ComputedStatus): void {
    const { recorder, onTrouble } = this.#options;
    const { uid } = autoscaler;
    const { generation } = facts;
    const [name, message] = findSpecNotice(facts);
    const before = this.#seen.get(uid) ?? { name: null, generation: 0 };
    if (before.name === name && (name !== "InvalidSpec" || before.generation === generation)) return;
    this.#seen.set(uid, { name, generation });
    if (name === null) return;
    const notice = { autoscaler: uid, name, message };
    recorder.publish(notice, { autoscaler });
    onTrouble({ kind: "status", autoscaler, notice });
  }

  #publishLimited({ autoscaler, status: { conditions = [] } }: ComputedStatus): void {
    const { uid } = autoscaler;
    const limited = conditions.find(({ type }) => type === "Limited");
    if (limited?.status !== "True") return void this.#limited.delete(uid);
    if (this.#limited.has(uid)) return;
    this.#limited.add(uid);
    this.#options.recorder.publish({ name: "Limited", message: limited.message }, { autoscaler });
  }
}

/** Sets the gauges of how many autoscalers exist, are active and are scaling. Never throws, as metrics do not. */
class StatusGauges implements StatusListener {
  readonly #options: Pick<StatusOutputsOptions, "metrics" | "cache">;
  /** UIDs of the autoscalers that are in the cooldown of their last resize. */
  readonly #scaling = new Set<string>();

  constructor(options: Pick<StatusOutputsOptions, "metrics" | "cache">) {
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

/**
 * Returns a listener that sets the gauge of pods held at a limit. Every podfit sets it for its own pods, whichever
 * writes the statuses. Never throws, as metrics do not.
 */
export function createLimitGauges(
  { metrics, cache, scaledObjects }: Pick<StatusOutputsOptions, "metrics" | "cache"> & {
    readonly scaledObjects: Pick<ScaledObjectCache, "listObjects" | "listAuthentications">;
  },
): StatusListener {
  const listNamespaces = () =>
    [...cache.listAutoscalers(), ...scaledObjects.listObjects(null), ...scaledObjects.listAuthentications(null, null)]
      .map(({ namespace }) => namespace ?? "");
  return {
    onStatus: ({ autoscaler, facts }) => metrics.setLimited(autoscaler, facts.limits.reasons),
    onSwept: () => metrics.keepErrors(new Set(listNamespaces())),
    // The caller forgets all series of an autoscaler at once.
    forget() {},
  };
}
