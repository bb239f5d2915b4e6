/**
 * What goes wrong beside the decisions, as data: an autoscaler that cannot work as it is written, and failures of
 * podfit's own parts, which are tried again. The log takes all of it, and so may a caller of the daemon.
 */
import type { Notice } from "../../core/reasons.ts";
import type { LogFields } from "../../runtime/log.ts";
import type { AutoscalerName } from "../metrics/metrics.ts";

/** A state of an autoscaler, a failure of a part of podfit, or the end of one. */
export type Trouble =
  /** Published as an event when it begins: InvalidSpec, TargetNotFound or ContainerNotFound. */
  | { readonly kind: "status"; readonly autoscaler: AutoscalerName; readonly notice: Notice }
  | Failure
  | Recovery;

/** Something that did not work, and is tried again. */
export interface Failure {
  readonly kind: "failure";
  /** error = a person must look; warn = degraded. */
  readonly level: "warn" | "error";
  readonly message: string;
  /** The autoscaler that it concerns; `null` for a node, a list or podfit itself. */
  readonly autoscaler: AutoscalerName | null;
  readonly fields: LogFields;
  /** What it is one case of: cases alike are logged together. Without it each is logged. */
  readonly topic?: Topic;
}

/** What failed for the subject is well again. */
export interface Recovery extends Pick<Topic, "what" | "subject"> {
  readonly kind: "recovered";
  /** Logged of subjects that were told one by one. */
  readonly message?: string;
}

/** Failures of one `what` and `reason` are one trouble, however many subjects have it. */
export interface Topic {
  /** A constant sentence, e.g. "Cannot write status". */
  readonly what: string;
  /** A word of a closed list, or a status code: there are few. */
  readonly reason: string;
  /** Whom it concerns: a node, or an autoscaler as `namespace/name`. */
  readonly subject: string;
}

/** Must not throw. */
export type OnTrouble = (trouble: Trouble) => void;
