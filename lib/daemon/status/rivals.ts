/**
 * Does another process write the same statuses? The one that knows less stops; otherwise both write less often. Without
 * this, two writers would overwrite each other for ever.
 */
import type { Clock } from "../../runtime/clock.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { LimitedKind } from "../cluster/object_limits.ts";
import type { OnFailure } from "../health.ts";
import type { AutoscalerName } from "../metrics/metrics.ts";

export interface RivalWritersOptions {
  /** Of the objects whose statuses are written. */
  readonly kind: LimitedKind;
  readonly clock: Pick<Clock, "monotonic">;
  readonly onTrouble: OnFailure;
  /** Podfits that each cover a part of the pods write what they see. That is expected and not a mistake. */
  readonly isExpected: boolean;
  /** Returns whether a status, of any shape, comes from a writer that sees usage. */
  readonly isKnown: (status: unknown) => boolean;
  /** Who the other writer may be and what to do: the end of a sentence. */
  readonly rivals: string;
}

/** A status that another process has written over ours. */
interface Overwritten {
  readonly object: AutoscalerName & { readonly uid: string };
  /** Any shape. */
  readonly ours: unknown;
  readonly theirs: unknown;
  /** When ours was written, monotonic ms. It identifies the write. */
  readonly writtenAtMs: number;
}

const WHAT = "Statuses are written over";

/** A person who edits a status by hand does so once or twice. */
const MAX_OVERWRITES = 3;

const FIRST_YIELD_MS = 5 * 60_000;

const MAX_YIELD_MS = 15 * 60_000;

/** After this time without another write, the contest is forgotten. */
const FORGET_MS = 2 * MAX_YIELD_MS;

/** The pause between two writes over foreign statuses, for all autoscalers together. */
const PAUSE_MS = 60_000;

/** If our write over a foreign status lasts this long, the other writer has gone. */
const GONE_MS = 3 * 60_000;

interface Contest {
  times: number;
  writtenAtMs: number;
  lastMs: number;
  yieldMs: number;
  yieldUntilMs: number;
}

/**
 * Remembers which statuses another process overwrites. The writer that sees no usage yields at once, the other one
 * after a few times. All contests end when the other writer has gone.
 */
export class RivalWriters {
  readonly #options: RivalWritersOptions;
  /** By autoscaler uid. */
  readonly #contests = new Map<string, Contest>();
  /** When another process last wrote over ours, and when we first wrote over theirs since then; for all autoscalers. */
  #lastMs = -Infinity;
  #answeredMs = -Infinity;
  #nextMs = -Infinity;
  /** Contests before this time are over. */
  #goneMs = -Infinity;

  constructor(options: RivalWritersOptions) {
    this.#options = options;
  }

  forget(uid: string): void {
    this.#contests.delete(uid);
  }

  /** Returns whether our status may be written over theirs now. */
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
      this.#options.onTrouble({ kind: "recovered", what: WHAT, subject: this.#options.kind });
    }
    this.#goneMs = nowMs;
  }

  #mayOverwriteNow(nowMs: number): boolean {
    if (nowMs < this.#nextMs) return false;
    this.#nextMs = nowMs + PAUSE_MS;
    if (this.#answeredMs <= this.#lastMs) this.#answeredMs = nowMs;
    return true;
  }

  /** Records each overwrite once. */
  #record({ object, ours, theirs, writtenAtMs }: Overwritten, nowMs: number): Contest {
    const before = this.#contests.get(object.uid);
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
    this.#contests.set(object.uid, noted);
    this.#lastMs = nowMs;
    if (noted.times >= MAX_OVERWRITES || noted.yieldMs > 0) this.#report(object, noted);
    return noted;
  }

  #report(object: AutoscalerName, { times, yieldMs }: Contest): void {
    const { kind, isExpected, rivals } = this.#options;
    if (isExpected) return;
    const message = `Somebody else writes other statuses of the same ${kind}s: ${rivals}`;
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message,
      autoscaler: { ...object, kind },
      fields: { times, yieldSeconds: yieldMs / 1000 },
      topic: { what: WHAT, reason: "AnotherWriter", subject: kind },
    });
  }
}

/** Returns whether the status of a PodResourceAutoscaler says that its usage is known. */
export function isMetricsKnown(status: unknown): boolean {
  if (!isRecord(status) || !Array.isArray(status.conditions)) return false;
  return status.conditions.some((one) => isRecord(one) && one.type === "Metrics" && one.status === "True");
}

/** The advice when another podfit writes statuses of PodResourceAutoscalers. */
export const OTHER_PODFIT_ADVICE = "run one podfit only, or give each its own namespaces with --namespace";
