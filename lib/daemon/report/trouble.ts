/**
 * What goes wrong beside the decisions, as data: an autoscaler that cannot work as it is written, and failures of
 * podfit's own parts, which are tried again. The log takes all of it, and so may a caller of the daemon.
 */
import type { Notice } from "../../core/reasons.ts";
import type { Log, LogFields } from "../../runtime/log.ts";
import { formatName } from "../inventory/facts.ts";
import type { AutoscalerName } from "../metrics/metrics.ts";

/** A state of an autoscaler, or a failure of a part of podfit. */
export type Trouble =
  /** Published as an event when it begins: InvalidSpec, TargetNotFound or ContainerNotFound. */
  | { readonly kind: "status"; readonly autoscaler: AutoscalerName; readonly notice: Notice }
  | {
    readonly kind: "failure";
    /** error = a person must look; warn = degraded. */
    readonly level: "warn" | "error";
    readonly message: string;
    /** The autoscaler that it concerns; `null` for a node, a list or podfit itself. */
    readonly autoscaler: AutoscalerName | null;
    readonly fields: LogFields;
  };

/** Must not throw. */
export type OnTrouble = (trouble: Trouble) => void;

/** Logs failures. The recorder logs notices, so those of a status are passed by. */
export function createTroubleLog(log: Log): OnTrouble {
  return (trouble) => {
    if (trouble.kind === "status") return;
    const { level, message, autoscaler, fields } = trouble;
    log[level](message, autoscaler === null ? fields : { autoscaler: formatName(autoscaler), ...fields });
  };
}
