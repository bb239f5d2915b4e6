/**
 * Writes an object's status when it differs from what is stored, with one merge patch (C51, R90). Writes that fail are
 * tried again with growing waits, each object for itself.
 */
import { ApiError } from "../../kube/api_error.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import type { Brake } from "../../runtime/brake.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import { formatName } from "../inventory/facts.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { readBusy } from "../act/busy.ts";
import { isEqual, toMergePatch } from "./merge_patch.ts";
import type { PatchStatus } from "./patch_status.ts";
import { Rivalry, type RivalryOptions } from "./rivalry.ts";
import { isSameButTimes, StatusPauses } from "./status_pauses.ts";
import type { OnTrouble } from "./trouble.ts";

/** Where statuses are written, and who hears of failures. */
export interface StatusWriterOptions<Status> extends Pick<RivalryOptions, "isKnown" | "rivals"> {
  readonly patch: PatchStatus<Status>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Pick<Metrics, "failed">;
  /** While it holds, writes are put off. */
  readonly brake: Pick<Brake, "tryPass">;
  /** This podfit looks after one node or pod only, and others write the same statuses. */
  readonly isNodeLocal: boolean;
  /** A write has ended: many slow ones make a long pass, but none that is stuck. */
  readonly onProgress: () => void;
  readonly onTrouble: OnTrouble;
}

/** An object, as its watch shows it, and the status that it should have. */
export interface StatusToWrite<Status> {
  readonly object: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly status: unknown;
  };
  /** The watch shows nothing new. */
  readonly isStale: boolean;
  readonly status: Status;
}

/** The writes that belong to one sweep over all autoscalers. */
export interface Pass {
  readonly signal: AbortSignal;
  /** The server gave no answer: the other writes of the pass would wait as long for theirs. */
  isUnanswered: boolean;
  /** Nothing is written after this one, so nothing is put off. */
  readonly isLast: boolean;
}

const TIMEOUT_MS = 10_000;
const AT_ONCE = 8;
const RETRY_BASE_MS = 5_000;
const RETRY_MAX_MS = 60_000;
/** For what somebody has to put right, such as a missing right. */
const REFUSED_MAX_MS = 300_000;
/** A watch may show our own write this late; what it shows after that was written by somebody else. */
const WATCH_LAG_MS = 60_000;

const WHAT = "Cannot write status";

/** What was last sent, and what the server made of it: one with another CRD leaves fields out. */
interface Written<Status> {
  readonly sent: Status;
  readonly stored: Status;
  readonly atMs: number;
}

interface Writing<Status> {
  readonly memory: Memory<Status>;
  readonly pass: Pass;
}

interface Memory<Status> {
  written: Written<Status> | null;
  retryAtMs: number;
  failures: number;
}

/** Remembers what was written last for each object, so that nothing is written twice. */
export class StatusWriter<Status extends object> {
  readonly #options: StatusWriterOptions<Status>;
  readonly #memory = new Map<string, Memory<Status>>();
  readonly #limit = new Limit(AT_ONCE);
  readonly #pauses = new StatusPauses();
  readonly #rivalry: Rivalry;

  constructor(options: StatusWriterOptions<Status>) {
    this.#options = options;
    this.#rivalry = new Rivalry({ ...options, isExpected: options.isNodeLocal });
  }

  /** The status that was last sent and accepted; `null` when this process has written none. */
  readLast(uid: string): Status | null {
    return this.#memory.get(uid)?.written?.sent ?? null;
  }

  forget(uid: string): void {
    this.#memory.delete(uid);
    this.#pauses.forget(uid);
    this.#rivalry.forget(uid);
  }

  /**
   * `null` when there is nothing to write, "later" when there is, but not yet; else it resolves when the write has ended,
   * and never rejects.
   */
  write(wanted: StatusToWrite<Status>, pass: Pass): Promise<void> | "later" | null {
    const memory = this.#remember(wanted.object.uid);
    const due = this.#judge(wanted, { memory, pass });
    return due === "now" ? this.#send(wanted, { memory, pass }) : due;
  }

  #judge(
    { object, isStale, status }: StatusToWrite<Status>,
    { memory, pass }: Writing<Status>,
  ): "now" | "later" | null {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < memory.retryAtMs) return null;
    const { written } = memory;
    if (written === null) return isEqual(status, object.status) ? null : "now";
    const sinceMs = nowMs - written.atMs;
    // A stale watch shows nothing new, our own write neither.
    const isShown = !isStale && sinceMs >= WATCH_LAG_MS;
    if (isShown && !isSameButTimes(object.status, written.stored)) {
      if (isSameButTimes(status, object.status)) return null;
      const overwritten = { autoscaler: object, ours: status, theirs: object.status, writtenAtMs: written.atMs };
      return this.#rivalry.mayWrite(overwritten) ? "now" : null;
    }
    if (isEqual(status, written.sent)) return null;
    const change = { before: written.sent, after: status, sinceMs };
    return pass.isLast || this.#pauses.isOver(object.uid, change) ? "now" : "later";
  }

  async #send({ object, status }: StatusToWrite<Status>, { memory, pass }: Writing<Status>): Promise<void> {
    const { patch, clock, brake, onProgress, onTrouble } = this.#options;
    using _slot = await this.#limit.acquire();
    if (pass.isUnanswered || pass.signal.aborted) return;
    // Whoever waited here would hold up the loop: the next sweep looks again.
    using leave = brake.tryPass();
    if (leave === null) return;
    using timeout = clock.timeout(TIMEOUT_MS);
    try {
      // The watch may be behind our last write, and that write behind somebody else's.
      const change = toMergePatch(object.status, toMergePatch(memory.written?.stored, status));
      const signal = AbortSignal.any([timeout.signal, pass.signal]);
      const { failure, status: stored } = await patch(object, change, signal);
      leave.note(failure === null ? null : readBusy(failure));
      if (failure !== null) throw failure;
      memory.written = { sent: status, stored, atMs: clock.monotonic() };
      memory.failures = 0;
      onTrouble({ kind: "recovered", what: WHAT, subject: formatName(object) });
    } catch (error) {
      if (!pass.signal.aborted) this.#fail(object, error, { memory, pass });
    } finally {
      onProgress();
    }
  }

  #fail(autoscaler: StatusToWrite<Status>["object"], error: unknown, { memory, pass }: Writing<Status>): void {
    const { metrics, onTrouble } = this.#options;
    const isRefused = error instanceof ApiError && error.code < 500 && error.code !== 429;
    this.#putOff(memory, isRefused ? REFUSED_MAX_MS : RETRY_MAX_MS);
    if (!(error instanceof ApiError)) pass.isUnanswered = true;
    // Deleted: the watch will say so.
    else if (error.code === 404) return;
    metrics.failed(autoscaler.namespace, "StatusWrite");
    const reason = error instanceof ApiError ? String(error.code) : "NoAnswer";
    onTrouble({
      kind: "failure",
      level: "warn",
      message: `${WHAT}, retrying`,
      autoscaler,
      fields: { error },
      topic: { what: WHAT, reason, subject: formatName(autoscaler) },
    });
  }

  #putOff(memory: Memory<Status>, maxMs: number): void {
    const { clock, random } = this.#options;
    const waitMs = backoffMs(memory.failures++, { baseMs: RETRY_BASE_MS, maxMs, random });
    memory.retryAtMs = clock.monotonic() + waitMs;
  }

  #remember(uid: string): Memory<Status> {
    const memory = this.#memory.get(uid) ?? { written: null, retryAtMs: 0, failures: 0 };
    this.#memory.set(uid, memory);
    return memory;
  }
}
