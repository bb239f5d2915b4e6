/**
 * What works and what does not: the results of health checks, failures as data, and their log. The log groups failures
 * with the same cause, so that one cause does not fill it. `toSteadyWords` removes the parts of an error text that
 * differ each time.
 */
import type { Notice } from "../model/reasons.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log, LogFields } from "../runtime/log.ts";
import { formatName } from "./cluster/facts.ts";
import type { AutoscalerName } from "./metrics/metrics.ts";

/** An answer to "is it alive?" or "is it ready?". */
export interface CheckResult {
  readonly ok: boolean;
  /** Why, one reason per line. */
  readonly message: string;
}

// What is done about it: usage is polled, pods are evaluated and resized, and people hear of it in events, status, log
// and metrics. An actor stands on an observer, runs once, and takes what it remembers of pods with it when it ends.

/** A part of the daemon that runs once, from its start until its signal. */
export interface Runnable {
  /** Not alive when a node's loop or the status loop is stuck. */
  readonly isAlive: () => CheckResult;
  /** Resolves when the signal has aborted and everything is put away; rejects where a part is broken. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

// What goes wrong beside the decisions, as data: an autoscaler that cannot work as it is written, and failures of
// podfit's own parts, which are tried again. The log takes all of it, and so may a caller of the daemon.

/** A state of an autoscaler, a failure of a part of podfit, or the end of one. */
export type FailureReport =
  /** Published as an event when it begins: InvalidSpec, TargetNotFound or ContainerNotFound. */
  | { readonly kind: "status"; readonly autoscaler: AutoscalerName; readonly notice: Notice }
  | Failure
  | Recovery;

/** Something that did not work, and is tried again. */
interface Failure {
  readonly kind: "failure";
  /** error = a person must look; warn = degraded. */
  readonly level: "warn" | "error";
  readonly message: string;
  /** The autoscaler that it concerns; `null` for a node, a list or podfit itself. */
  readonly autoscaler: AutoscalerName | null;
  readonly fields: LogFields;
  /** What it is one case of: cases alike are logged together. Without it each is logged. */
  readonly topic?: FailureTopic;
}

/** What failed for the subject is well again. */
interface Recovery extends Pick<FailureTopic, "what" | "subject"> {
  readonly kind: "recovered";
  /** Logged of subjects that were told one by one. */
  readonly message?: string;
}

/** Failures of one `what` and `reason` are one trouble, however many subjects have it. */
interface FailureTopic {
  /** A constant sentence, e.g. "Cannot write status". */
  readonly what: string;
  /** A word of a closed list, or a status code: there are few. */
  readonly reason: string;
  /** Whom it concerns: a node, or an autoscaler as `namespace/name`. */
  readonly subject: string;
}

/** Must not throw. */
export type OnFailure = (trouble: FailureReport) => void;

// Logs what goes wrong so that one cause makes no flood and none is silent: the first subjects that have it are told
// one by one, the rest and all repetitions are counted and summed up after a minute, five minutes, and then each hour;
// and one line says that it is over.

/** Where it is logged. */
interface FailureLogOptions {
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Told one by one at their level; the others at debug. */
const MAX_LOGGED_SUBJECTS = 3;

const SUMMARIES_MS = [60_000, 300_000, 3_600_000] as const;

/** No part of podfit waits longer for its next try than half of this: what has not failed since is gone. */
const FORGET_MS = 30 * 60_000;

/** Of nodes and autoscalers there are fewer; of what else there may be, the oldest are forgotten. */
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
  /** By subject, the one that failed last at the end. */
  readonly subjects: Map<string, FailedSubject>;
  /** How many of them were told one by one. */
  logged: number;
  times: number;
  timesSummedUp: number;
  summaries: number;
  nextSummaryMs: number;
}

/** Remembers what is failing at present. */
export class FailureLog {
  readonly #options: FailureLogOptions;
  readonly #groups = new Map<string, FailureGroup>();

  constructor(options: FailureLogOptions) {
    this.#options = options;
  }

  /** How many troubles are not over. */
  get size(): number {
    return this.#groups.size;
  }

  /** The recorder logs notices, so those of a status are passed by. */
  readonly report: OnFailure = (trouble) => {
    if (trouble.kind === "failure") this.#fail(trouble);
    else if (trouble.kind === "recovered") this.#recover(trouble);
  };

  /** Writes the summaries that are due, and forgets what has not failed for long. To be called now and then. */
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
    const all = autoscaler === null ? fields : { autoscaler: formatName(autoscaler), ...fields };
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

  /** The message of one that was forgotten is logged too. */
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

/** The case, which is one no more; undefined where there was none. */
function removeSubject(group: FailureGroup, subject: string): FailedSubject | undefined {
  const one = group.subjects.get(subject);
  group.subjects.delete(subject);
  if (one?.isLogged === true) group.logged--;
  return one;
}

// Words that stay the same while what they say does: of an error's text the parts that differ each time (ports of this
// side, times, durations, identifiers) are left out, or each failure would be another status to write.

/** `text` without what changes from one failure to the next. */
export function toStableText(text: string): string {
  return VARIABLE_PARTS.reduce((words, [pattern, replacement]) => words.replace(pattern, replacement), text)
    .replace(/ {2,}/g, " ").trim();
}

const ADDRESS = String.raw`(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-fA-F:.%]+\])`;

const VARIABLE_PARTS: readonly (readonly [RegExp, string])[] = [
  // Of this side of a connection only the port changes; "read tcp 10.0.0.5:40001->10.0.0.1:10250" is Go's way.
  [new RegExp(String.raw`\bfrom ${ADDRESS}:\d+ `, "g"), ""],
  [new RegExp(String.raw`${ADDRESS}:\d+->`, "g"), ""],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "(time)"],
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, "(id)"],
  [/\b(?=[\da-f]*\d)(?=[\da-f]*[a-f])[\da-f]{12,}\b/g, "(id)"],
  // Durations as Go has them, and long numbers: counters, ports of a range, milliseconds.
  [/\b\d+(?:\.\d+)?(?:ns|µs|us|ms)\b/g, "(time)"],
  [/\b(?:\d+h)?(?:\d+m)?\d+\.\d+s\b/g, "(time)"],
  [/\b\d{7,}\b/g, "(number)"],
];
