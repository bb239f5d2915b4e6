/**
 * Logs what goes wrong so that one cause makes no flood and none is silent: the first subjects that have it are told one
 * by one, the rest and all repetitions are counted and summed up after a minute, five minutes, and then each hour; and
 * one line says that it is over.
 */
import type { Clock } from "../../runtime/clock.ts";
import type { Log, LogFields } from "../../runtime/log.ts";
import { formatName } from "../inventory/facts.ts";
import type { Failure, OnTrouble, Recovery, Topic } from "./trouble.ts";

/** Where it is logged. */
export interface TroubleLogOptions {
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Told one by one at their level; the others at debug. */
const TOLD_ONE_BY_ONE = 3;
const SUMMARIES_MS = [60_000, 300_000, 3_600_000] as const;
/** No part of podfit waits longer for its next try than half of this: what has not failed since is gone. */
const FORGET_MS = 30 * 60_000;
/** Of nodes and autoscalers there are fewer; of what else there may be, the oldest are forgotten. */
const MOST_SUBJECTS = 10_000;

interface Case {
  lastMs: number;
  readonly isTold: boolean;
}

interface Matter {
  readonly what: string;
  readonly reason: string;
  readonly level: Failure["level"];
  readonly sinceMs: number;
  /** By subject, the one that failed last at the end. */
  readonly cases: Map<string, Case>;
  /** How many of them were told one by one. */
  told: number;
  times: number;
  timesSummedUp: number;
  summaries: number;
  nextSummaryMs: number;
}

/** Remembers what is failing at present. */
export class TroubleLog {
  readonly #options: TroubleLogOptions;
  readonly #matters = new Map<string, Matter>();

  constructor(options: TroubleLogOptions) {
    this.#options = options;
  }

  /** How many troubles are not over. */
  get size(): number {
    return this.#matters.size;
  }

  /** The recorder logs notices, so those of a status are passed by. */
  readonly take: OnTrouble = (trouble) => {
    if (trouble.kind === "failure") this.#fail(trouble);
    else if (trouble.kind === "recovered") this.#recover(trouble);
  };

  /** Writes the summaries that are due, and forgets what has not failed for long. To be called now and then. */
  sweep(): void {
    const nowMs = this.#options.clock.monotonic();
    for (const [key, matter] of this.#matters) {
      for (const [subject, { lastMs }] of matter.cases) {
        if (nowMs - lastMs < FORGET_MS) break;
        remove(matter, subject);
      }
      if (matter.cases.size === 0) this.#matters.delete(key);
      else if (nowMs >= matter.nextSummaryMs) this.#sumUp(matter, nowMs);
    }
  }

  #fail({ level, message, autoscaler, fields, topic }: Failure): void {
    const { log, clock } = this.#options;
    const all = autoscaler === null ? fields : { autoscaler: formatName(autoscaler), ...fields };
    if (topic === undefined) return log[level](message, all);
    const matter = this.#open(topic, level);
    const before = remove(matter, topic.subject);
    const isNews = before === undefined && matter.told < TOLD_ONE_BY_ONE;
    const isTold = isNews || before?.isTold === true;
    matter.times++;
    if (isNews) matter.timesSummedUp++;
    if (isTold) matter.told++;
    matter.cases.set(topic.subject, { lastMs: clock.monotonic(), isTold });
    const [oldest = topic.subject] = matter.cases.keys();
    if (matter.cases.size > MOST_SUBJECTS) remove(matter, oldest);
    log[isNews ? level : "debug"](message, all);
  }

  /** The message of one that was forgotten is logged too. */
  #recover({ what, subject, message }: Recovery): void {
    const { log, clock } = this.#options;
    const nowMs = clock.monotonic();
    let isKnown = false;
    let isTold = false;
    for (const [key, matter] of this.#matters) {
      const one = matter.what === what ? remove(matter, subject) : undefined;
      if (one === undefined) continue;
      isKnown = true;
      isTold ||= one.isTold;
      if (matter.cases.size > 0) continue;
      this.#matters.delete(key);
      log.info(`${what}: it is over`, toFields(matter, nowMs));
    }
    if (message !== undefined) log[isTold || !isKnown ? "info" : "debug"](message, { subject });
  }

  #open({ what, reason }: Topic, level: Failure["level"]): Matter {
    const key = `${what}\n${reason}`;
    const sinceMs = this.#options.clock.monotonic();
    const matter = this.#matters.get(key) ?? {
      what,
      reason,
      level,
      sinceMs,
      cases: new Map(),
      told: 0,
      times: 0,
      timesSummedUp: 0,
      summaries: 0,
      nextSummaryMs: sinceMs + SUMMARIES_MS[0],
    };
    this.#matters.set(key, matter);
    return matter;
  }

  #sumUp(matter: Matter, nowMs: number): void {
    const waitMs = SUMMARIES_MS[Math.min(++matter.summaries, SUMMARIES_MS.length - 1)] ?? FORGET_MS;
    matter.nextSummaryMs = nowMs + waitMs;
    const more = matter.times - matter.timesSummedUp;
    if (more === 0) return;
    matter.timesSummedUp = matter.times;
    const examples = [...matter.cases.keys()].slice(-TOLD_ONE_BY_ONE);
    this.#options.log[matter.level](`${matter.what}, still`, { ...toFields(matter, nowMs), more, examples });
  }
}

function toFields({ reason, times, cases, sinceMs }: Matter, nowMs: number): LogFields {
  return { reason, times, subjects: cases.size, forSeconds: Math.round((nowMs - sinceMs) / 1000) };
}

/** The case, which is one no more; undefined where there was none. */
function remove(matter: Matter, subject: string): Case | undefined {
  const one = matter.cases.get(subject);
  matter.cases.delete(subject);
  if (one?.isTold === true) matter.told--;
  return one;
}
