/**
 * Does another process write the same statuses? The one that knows less stops; otherwise both write less often.
 * Without this, two writers would overwrite each other for ever.
 */
import type { Clock } from "../../runtime/clock.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { OnFailure } from "../health.ts";
import type { AutoscalerName } from "../metrics/metrics.ts";

// Does somebody else write the same statuses? Two podfits that see different things would write over each other for
// ever. Whoever knows less yields, whoever knows as much does so after a few times, and what is written over another's
// is little in all. Once nobody answers any more it is as if there had been nobody.

/** Who hears of it. */
export interface RivalWritersOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly onTrouble: OnFailure;
  /** podfits that look after a part of the pods each write what they see: that is no mistake. */
  readonly isExpected: boolean;
  /** Whether a status, of any shape, is that of one who sees usage. */
  readonly isKnown: (status: unknown) => boolean;
  /** Who may it be, and what is to be done: the end of a sentence. */
  readonly rivals: string;
}

/** A status that somebody has written over ours. */
interface Overwritten {
  readonly autoscaler: AutoscalerName & { readonly uid: string };
  /** Of any shape. */
  readonly ours: unknown;
  readonly theirs: unknown;
  /** When ours was written, monotonic ms: which one was written over. */
  readonly writtenAtMs: number;
}

const WHAT = "Statuses are written over";

/** Somebody who puts a status right by hand does so once or twice. */
const MAX_OVERWRITES = 3;

const FIRST_YIELD_MS = 5 * 60_000;

const MAX_YIELD_MS = 15 * 60_000;

/** Whoever has not written over it for so long is gone. */
const FORGET_MS = 2 * MAX_YIELD_MS;

/** Between two writes over another's, of all autoscalers together. */
const PAUSE_MS = 60_000;

/** What was written over another's has stood for so long: nobody answers any more. */
const GONE_MS = 3 * 60_000;

interface Contest {
  times: number;
  writtenAtMs: number;
  lastMs: number;
  yieldMs: number;
  yieldUntilMs: number;
}

/** Remembers which statuses are contested. */
export class RivalWriters {
  readonly #options: RivalWritersOptions;
  /** By uid. */
  readonly #contests = new Map<string, Contest>();
  /** When somebody last wrote over ours, and when we first wrote over theirs since; of all autoscalers. */
  #lastMs = -Infinity;
  #answeredMs = -Infinity;
  #nextMs = -Infinity;
  /** Contests from before are over. */
  #goneMs = -Infinity;

  constructor(options: RivalWritersOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#contests.delete(uid);
  }

  /** Whether ours may be written over theirs now. */
  mayWrite(overwritten: Overwritten): boolean {
    const nowMs = this.#options.clock.monotonic();
    const contest = this.#record(overwritten, nowMs);
    if (this.#answeredMs > this.#lastMs && nowMs - this.#answeredMs >= GONE_MS) this.#end(nowMs);
    if (contest.lastMs <= this.#goneMs) return true;
    if (nowMs < contest.yieldUntilMs) return false;
    return (contest.times === 1 && contest.yieldMs === 0) || this.#mayOverwriteNow(nowMs);
  }

  #end(nowMs: number): void {
    if (this.#goneMs < this.#answeredMs) {
      this.#options.onTrouble({ kind: "recovered", what: WHAT, subject: "podfit" });
    }
    this.#goneMs = nowMs;
  }

  #mayOverwriteNow(nowMs: number): boolean {
    if (nowMs < this.#nextMs) return false;
    this.#nextMs = nowMs + PAUSE_MS;
    if (this.#answeredMs <= this.#lastMs) this.#answeredMs = nowMs;
    return true;
  }

  /** Each status of ours is written over once. */
  #record({ autoscaler, ours, theirs, writtenAtMs }: Overwritten, nowMs: number): Contest {
    const before = this.#contests.get(autoscaler.uid);
    if (before !== undefined && before.writtenAtMs === writtenAtMs) return before;
    const isNew = before === undefined || nowMs - before.lastMs > FORGET_MS || before.lastMs <= this.#goneMs;
    const contest = isNew ? { times: 1, yieldMs: 0, yieldUntilMs: 0 } : { ...before, times: before.times + 1 };
    const { isKnown } = this.#options;
    const [we, they] = [isKnown(ours), isKnown(theirs)];
    if ((they && !we) || (they === we && contest.times >= MAX_OVERWRITES)) {
      const longestMs = this.#options.isExpected ? FIRST_YIELD_MS : MAX_YIELD_MS;
      contest.yieldMs = Math.min(Math.max(contest.yieldMs * 2, FIRST_YIELD_MS), longestMs);
      contest.yieldUntilMs = nowMs + contest.yieldMs;
    }
    const noted = { ...contest, writtenAtMs, lastMs: nowMs };
    this.#contests.set(autoscaler.uid, noted);
    this.#lastMs = nowMs;
    if (noted.times >= MAX_OVERWRITES || noted.yieldMs > 0) this.#report(autoscaler, noted);
    return noted;
  }

  #report(autoscaler: AutoscalerName, { times, yieldMs }: Contest): void {
    if (this.#options.isExpected) return;
    const message = `Somebody else writes other statuses of the same autoscalers: ${this.#options.rivals}`;
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message,
      autoscaler,
      fields: { times, yieldSeconds: yieldMs / 1000 },
      topic: { what: WHAT, reason: "AnotherWriter", subject: "podfit" },
    });
  }
}

/** Of a PodResourceAutoscaler: its usage is seen. */
export function isMetricsKnown(status: unknown): boolean {
  if (!isRecord(status) || !Array.isArray(status.conditions)) return false;
  return status.conditions.some((one) => isRecord(one) && one.type === "Metrics" && one.status === "True");
}

/** The other writer of PodResourceAutoscalers. */
export const OTHER_PODFIT_ADVICE = "run one podfit only, or give each its own namespaces with --namespace";
