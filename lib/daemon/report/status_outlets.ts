/** What becomes of statuses where this podfit says them: they are written, published as events, and shown as gauges. */
import type { Inventory } from "../inventory/inventory.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { LimitEvents } from "./limit_events.ts";
import type { Recorder } from "./recorder.ts";
import { StatusEvents } from "./status_events.ts";
import { StatusGauges } from "./status_gauges.ts";
import type { StatusListener } from "./status_look.ts";
import type { AutoscalerStatus } from "../../autoscaler/conditions.ts";
import type { ApiClient } from "../../kube/client.ts";
import { createAutoscalerPatch } from "./patch_status.ts";
import { isMetricsKnown, OTHER_PODFIT } from "./rivalry.ts";
import { StatusWriter, type StatusWriterOptions } from "./status_writer.ts";

/** Where they go. */
export interface StatusOutletsOptions
  extends Omit<StatusWriterOptions<AutoscalerStatus>, "patch" | "isKnown" | "rivals"> {
  readonly client: ApiClient;
  readonly metrics: Metrics;
  readonly inventory: Pick<Inventory, "autoscalers">;
  readonly recorder: Pick<Recorder, "publish">;
}

/** As a sweep takes them. */
export interface StatusOutlets {
  readonly writer: StatusWriter<AutoscalerStatus>;
  readonly listeners: readonly StatusListener[];
}

/** One for each sweep that is to be heard of. */
export function createStatusOutlets(options: StatusOutletsOptions): StatusOutlets {
  const patch = createAutoscalerPatch(options.client);
  return {
    writer: new StatusWriter({ ...options, patch, isKnown: isMetricsKnown, rivals: OTHER_PODFIT }),
    listeners: [new StatusEvents(options), new StatusGauges(options), new LimitEvents(options)],
  };
}
