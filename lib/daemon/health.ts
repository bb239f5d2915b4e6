/**
 * What works and what does not: the results of health checks, failures as data, and their log. The log groups failures
 * with the same cause, so that one cause does not fill it: the first three subjects are logged one by one. The others
 * are counted, and logged in a summary after one minute, after five minutes, and then every hour.
 */
import { ApiError } from "../kube/errors.ts";
import type { Notice } from "../model/reasons.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log, LogFields } from "../runtime/log.ts";
import { formatName } from "./cluster/facts.ts";
import type { LimitedKind } from "./cluster/object_limits.ts";
import type { AutoscalerName } from "./metrics/metrics.ts";

/** The result of a liveness or readiness check. */
export interface CheckResult {
  readonly ok: boolean;
  /** The reasons with names of objects, one per line. Only readers with a right and the log get them. */
  readonly message: string;
  /** A few words for any client, without names. */
  readonly reason?: string;
}

/** A part of the daemon that runs once, from its start until its signal. */
export interface Runnable {
  /** Not ok when the loops of all nodes, or the status loop, are stuck. */
  readonly isAlive: () => CheckResult;
  /** Resolves when the signal has aborted and the part has ended. Rejects where a part is broken. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** A state of an autoscaler, a failure of a part of podfit, or the end of a failure. */
export type FailureReport =
  /** Published as an event when it begins: InvalidSpec, NamespaceExcluded, TargetNotFound or ContainerNotFound. */
  | { readonly kind: "status"; readonly autoscaler: AutoscalerName; readonly notice: Notice }
  | Failure
  | Recovery;

/** Something failed, and podfit tries it again. */
interface Failure {
  readonly kind: "failure";
  /** "error" = a person must act. "warn" = podfit works, but with less. */
  readonly level: "warn" | "error";
  readonly message: string;
  /** The object that has the failure; `null` for a node, a list or podfit itself. */
  readonly autoscaler: ReportedObject | null;
  readonly fields: LogFields;
  /** Failures of one topic are logged together. A failure without a topic is logged each time. */
  readonly topic?: FailureTopic;
}

/** An object that tenants write. */
export interface ReportedObject extends AutoscalerName {
  /** PodResourceAutoscaler by default. */
  readonly kind?: LimitedKind;
}

/** What failed for the subject works again. */
interface Recovery extends Pick<FailureTopic, "what" | "subject"> {
  readonly kind: "recovered";
  /** Logged at info if the failure of this subject was logged. */
  readonly message?: string;
}

/** Failures with the same `what` and `reason` are one group, for any number of subjects. */
interface FailureTopic {
  /** A constant sentence, e.g. "Cannot write status". */
  readonly what: string;
  /** A status code, or a word of a short closed list. */
  readonly reason: string;
  /** A node, or an object as `formatSubject` returns it. */
  readonly subject: string;
}

/** Must not throw. */
export type OnFailure = (trouble: FailureReport) => void;

interface FailureLogOptions {
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonic">;
}

/** How many subjects of a group are logged at their level. The others are logged at debug. */
const MAX_LOGGED_SUBJECTS = 3;

const SUMMARIES_MS = [60_000, 300_000, 3_600_000] as const;

/** No part of podfit waits longer than half of this before it tries again. Older failures no longer exist. */
const FORGET_MS = 30 * 60_000;

/** More than the nodes and autoscalers of a cluster. Above it, the oldest subjects of a group are removed. */
const MAX_SUBJECTS = 10_000;

interface FailedSubject {
  lastMs: number;
  readonly isLogged: boolean;
}

interface FailureGroup {
  readonly what: string;
  readonly reason: string;
  readonly level: Failure["level"];
  readonly sinceMs: number;
  /** The subject that failed last is at the end. */
  readonly subjects: Map<string, FailedSubject>;
  /** How many subjects were logged at the level of the group. */
  logged: number;
  times: number;
  timesSummedUp: number;
  summaries: number;
  nextSummaryMs: number;
}

/**
 * Returns `namespace/name` of an autoscaler, and for another kind also the kind: objects of two kinds may have one name,
 * and the recovery of one must not end the failure of the other.
 */
export function formatSubject({ kind = "PodResourceAutoscaler", ...object }: ReportedObject): string {
  return kind === "PodResourceAutoscaler" ? formatName(object) : `${kind} ${formatName(object)}`;
}

/** Returns the reason of a request's failure: its status code, or that there was no answer. */
export function toFailureReason(error: unknown): string {
  return error instanceof ApiError ? String(error.code) : "NoAnswer";
}

const NAME_FIELDS: Readonly<Record<LimitedKind, string>> = {
  PodResourceAutoscaler: "autoscaler",
  ScaledObject: "scaledObject",
  TriggerAuthentication: "triggerAuthentication",
};

/** Returns the field of a log line that names the object. */
export function toNameField({ kind = "PodResourceAutoscaler", ...object }: ReportedObject): LogFields {
  return { [NAME_FIELDS[kind]]: formatName(object) };
}

/** Logs failures, and keeps the ones that have not ended. */
export class FailureLog {
  readonly #options: FailureLogOptions;
  readonly #groups = new Map<string, FailureGroup>();

  constructor(options: FailureLogOptions) {
    this.#options = options;
  }

  /** How many groups of failures have not ended. */
  get size(): number {
    return this.#groups.size;
  }

  /** Ignores the notices of a status: the event recorder logs them. */
  readonly report: OnFailure = (trouble) => {
    if (trouble.kind === "failure") this.#fail(trouble);
    else if (trouble.kind === "recovered") this.#recover(trouble);
  };

  /** Logs the summaries that are due, and removes old failures. To be called every second or so. */
  sweep(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const [key, group] of this.#groups) {
      for (const [subject, { lastMs }] of group.subjects) {
        if (nowMs - lastMs < FORGET_MS) break;
        removeSubject(group, subject);
      }
      if (group.subjects.size === 0) this.#groups.delete(key);
      else if (nowMs >= group.nextSummaryMs) this.#sumUp(group, nowMs);
    }
  }

  #fail({ level, message, autoscaler, fields, topic }: Failure): void {
    const { log, clock } = this.#options;
    const all = autoscaler === null ? fields : { ...toNameField(autoscaler), ...fields };
    if (topic === undefined) return log[level](message, all);
    const group = this.#open(topic, level);
    const before = removeSubject(group, topic.subject);
    const isNews = before === undefined && group.logged < MAX_LOGGED_SUBJECTS;
    const isLogged = isNews || before?.isLogged === true;
    group.times++;
    if (isNews) group.timesSummedUp++;
    if (isLogged) group.logged++;
    group.subjects.set(topic.subject, { lastMs: clock.monotonic(), isLogged });
    const [oldest = topic.subject] = group.subjects.keys();
    if (group.subjects.size > MAX_SUBJECTS) removeSubject(group, oldest);
    log[isNews ? level : "debug"](message, all);
  }

  /** Logs the message of a subject that is not known any more too. */
  #recover({ what, subject, message }: Recovery): void {
    const { log, clock } = this.#options;
    const nowMs = clock.monotonic();
    let isKnown = false;
    let isLogged = false;
    for (const [key, group] of this.#groups) {
      const one = group.what === what ? removeSubject(group, subject) : undefined;
      if (one === undefined) continue;
      isKnown = true;
      isLogged ||= one.isLogged;
      if (group.subjects.size > 0) continue;
      this.#groups.delete(key);
      log.info(`${what}: recovered`, toSummaryFields(group, nowMs));
    }
    if (message !== undefined) log[isLogged || !isKnown ? "info" : "debug"](message, { subject });
  }

  #open({ what, reason }: FailureTopic, level: Failure["level"]): FailureGroup {
    const key = `${what}\n${reason}`;
    const sinceMs = this.#options.clock.monotonic();
    const group = this.#groups.get(key) ?? {
      what,
      reason,
      level,
      sinceMs,
      subjects: new Map(),
      logged: 0,
      times: 0,
      timesSummedUp: 0,
      summaries: 0,
      nextSummaryMs: sinceMs + SUMMARIES_MS[0],
    };
    this.#groups.set(key, group);
    return group;
  }

  #sumUp(group: FailureGroup, nowMs: number): void {
    const waitMs = SUMMARIES_MS[Math.min(++group.summaries, SUMMARIES_MS.length - 1)] ?? FORGET_MS;
    group.nextSummaryMs = nowMs + waitMs;
    const more = group.times - group.timesSummedUp;
    if (more === 0) return;
    group.timesSummedUp = group.times;
    const examples = [...group.subjects.keys()].slice(-MAX_LOGGED_SUBJECTS);
    this.#options.log[group.level](`${group.what}, still`, { ...toSummaryFields(group, nowMs), more, examples });
  }
}

function toSummaryFields({ reason, times, subjects, sinceMs }: FailureGroup, nowMs: number): LogFields {
  return { reason, times, subjects: subjects.size, forSeconds: Math.round((nowMs - sinceMs) / 1000) };
}

/** Returns the removed subject, or undefined where the group does not have it. */
function removeSubject(group: FailureGroup, subject: string): FailedSubject | undefined {
  const one = group.subjects.get(subject);
  group.subjects.delete(subject);
  if (one?.isLogged === true) group.logged--;
  return one;
}

/**
 * Returns `text` without the parts that differ each time: local ports, times, durations, identifiers. Otherwise each
 * failure would give another status to write.
 */
export function toStableText(text: string): string {
  return VARIABLE_PARTS.reduce((words, [pattern, replacement]) => words.replace(pattern, replacement), text)
    .replace(/ {2,}/g, " ").trim();
}

const ADDRESS = String.raw`(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-fA-F:.%]+\])`;

const VARIABLE_PARTS: readonly (readonly [RegExp, string])[] = [
  // The local port of a connection. Go writes "read tcp 10.0.0.5:40001->10.0.0.1:10250".
  [new RegExp(String.raw`\bfrom ${ADDRESS}:\d+ `, "g"), ""],
  [new RegExp(String.raw`${ADDRESS}:\d+->`, "g"), ""],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "(time)"],
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, "(id)"],
  [/\b(?=[\da-f]*\d)(?=[\da-f]*[a-f])[\da-f]{12,}\b/g, "(id)"],
  // Durations as Go writes them, and long numbers: counters, ports of a range, milliseconds.
  [/\b\d+(?:\.\d+)?(?:ns|µs|us|ms)\b/g, "(time)"],
  [/\b(?:\d+h)?(?:\d+m)?\d+\.\d+s\b/g, "(time)"],
  [/\b\d{7,}\b/g, "(number)"],
];
