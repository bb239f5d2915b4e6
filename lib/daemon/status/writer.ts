/**
 * Writes the status of an object with one merge patch when it differs from the stored one. Failed writes are retried
 * with growing waits. Changes of texts alone are written less and less often.
 */
import { isOwnCondition, listConditions, type ScaledObjectStatus } from "../../horizontal/status.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import { ApiError, toApiError } from "../../kube/errors.ts";
import type { ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { AutoscalerStatus, Condition } from "../../resources/pod_resource_autoscaler/status.ts";
import { backoffMs, CircuitBreaker } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Semaphore } from "../../runtime/limits.ts";
import { isDeepEqual } from "../../units/equality.ts";
import { isRecord } from "../../units/untrusted.ts";
import { formatSubject, type OnFailure, toFailureReason } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { findBusy } from "../permits.ts";
import { RivalWriters, type RivalWritersOptions } from "./rivals.ts";

export interface StatusWriterOptions<Status> extends Pick<RivalWritersOptions, "kind" | "isKnown" | "rivals"> {
  readonly patch: PatchStatus<Status>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: Pick<Metrics, "failed">;
  /** This podfit covers one node or pod only, and others write the same statuses. */
  readonly isNodeLocal: boolean;
  /** Called when a write has ended. A sweep with many slow writes is long, but not stuck. */
  readonly onProgress: () => void;
  readonly onTrouble: OnFailure;
}

/** An object as the watch shows it, and the status that it should have. */
export interface StatusToWrite<Status> {
  readonly object: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion?: string;
    readonly status: unknown;
  };
  /** The watch is stale. */
  readonly isStale: boolean;
  /** Another program writes the same list, and may write back what it read before. */
  readonly isShared?: boolean;
  readonly status: Status;
  /** A field that follows the time and on which nothing depends: a change of it alone is written every 5 min. */
  readonly minorField?: keyof Status & string;
}

/** What the writes of one sweep share. */
export interface SweepContext {
  readonly signal: AbortSignal;
  /** No sweep follows, so no write is delayed. */
  readonly isLast: boolean;
}

/**
 * Writes statuses that differ from what is stored. It remembers the last write of each object, so that nothing is
 * written twice. Clauses: C51, R90.
 */
export class StatusWriter<Status extends object> {
  readonly #options: StatusWriterOptions<Status>;
  readonly #memory = new Map<string, WriterState<Status>>();
  readonly #limit = new Semaphore(MAX_CONCURRENT, { isShared: true });
  readonly #pending = new Set<Promise<void>>();
  /** By namespace, when a write got no answer, monotonic ms. Writes that waited then would wait as long. */
  readonly #unansweredAtMs = new Map<string, number>();
  readonly #pauses = new StatusPauses();
  readonly #rivalry: RivalWriters;
  /** Not that of resizes: no answer to a status may stop them. */
  readonly #brake: CircuitBreaker;

  constructor(options: StatusWriterOptions<Status>) {
    this.#options = options;
    this.#rivalry = new RivalWriters({ ...options, isExpected: options.isNodeLocal });
    this.#brake = new CircuitBreaker(options);
  }

  /** Returns the last accepted status; `null` if this process has written none. */
  findLast(uid: string): Status | null {
    return this.#memory.get(uid)?.written?.sent ?? null;
  }

  forget(uid: string): void {
    this.#memory.delete(uid);
    this.#pauses.forget(uid);
    this.#rivalry.forget(uid);
  }

  /**
   * Returns `null` if there is nothing to write, and "later" if it is too early, also after a write that failed, or the
   * last write has not ended.
   * Otherwise returns a promise that resolves when the write has ended and never rejects.
   */
  write(wanted: StatusToWrite<Status>, sweep: SweepContext): Promise<void> | "later" | null {
    const memory = this.#remember(wanted.object.uid);
    if (memory.isWriting) return "later";
    const due = this.#decideWhen(wanted, { memory, sweep });
    if (due !== "now") return due;
    memory.dueAtMs = 0;
    memory.isWriting = true;
    const writing = this.#send(wanted, { memory, sweep }).finally(() => {
      memory.isWriting = false;
      this.#pending.delete(writing);
    });
    this.#pending.add(writing);
    return writing;
  }

  /** Returns the monotonic ms before which no status of the object is sent; a status that differs more may be sent sooner. */
  getDueAtMs(uid: string): number {
    return this.#memory.get(uid)?.dueAtMs ?? 0;
  }

  /** Returns whether no write waits or is under way. */
  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  /** Resolves when every write that has begun has ended. */
  async settle(): Promise<void> {
    await Promise.all(this.#pending);
  }

  #decideWhen(
    { object, isStale, isShared = false, status, minorField }: StatusToWrite<Status>,
    { memory, sweep }: Writing<Status>,
  ): "now" | "later" | null {
    const nowMs = this.#options.clock.monotonic();
    const later = (dueAtMs: number) => {
      memory.dueAtMs = dueAtMs;
      return "later" as const;
    };
    if (nowMs < memory.retryAtMs) return later(memory.retryAtMs);
    const { written } = memory;
    if (written === null) return isDeepEqual(status, object.status, true) ? null : "now";
    const sinceMs = nowMs - written.atMs;
    // A stale watch shows nothing new, not even our own write.
    const isShown = !isStale && sinceMs >= (isShared ? SHARED_LAG_MS : WATCH_LAG_MS);
    const isOverwritten = (isShown || isShared) && this.#isOverwritten(object.status, written);
    if (isShared && !isStale && isOverwritten && !isSameButTimes(status, object.status)) {
      return isShown ? "now" : later(written.atMs + SHARED_LAG_MS);
    }
    if (isShown && isOverwritten) {
      if (isSameButTimes(status, object.status)) return null;
      const overwritten = { object, ours: status, theirs: object.status, writtenAtMs: written.atMs };
      return this.#rivalry.mayWrite(overwritten) ? "now" : later(nowMs + WATCH_LAG_MS);
    }
    if (isDeepEqual(status, written.sent, true)) {
      // The watch is late, or another writer was quick. Nothing else may change until the time tells which.
      const isUnclear = !isStale && !isShown && this.#isOverwritten(object.status, written);
      return isUnclear ? later(written.atMs + WATCH_LAG_MS) : null;
    }
    const change = { before: written.sent, after: status, sinceMs, ...(minorField !== undefined && { minorField }) };
    const pauseMs = sweep.isLast ? 0 : this.#pauses.begin(object.uid, change);
    return sinceMs >= pauseMs ? "now" : later(written.atMs + pauseMs);
  }

  #isOverwritten(shown: unknown, written: Written<Status>): boolean {
    if (shown === written.shown) return false;
    if (!isSameButTimes(shown, written.stored)) return true;
    written.shown = shown;
    return false;
  }

  async #send({ object, isStale, status }: StatusToWrite<Status>, { memory, sweep }: Writing<Status>): Promise<void> {
    const { patch, clock, onProgress, onTrouble } = this.#options;
    const { namespace } = object;
    const sinceMs = clock.monotonic();
    using _slot = await this.#limit.acquire(undefined, { lane: namespace });
    const isUnanswered = (this.#unansweredAtMs.get(namespace) ?? -Infinity) > sinceMs;
    // While it waited, another object may have taken the name of one that was deleted.
    if (isUnanswered || sweep.signal.aborted || this.#memory.get(object.uid) !== memory) return;
    // It does not wait for a permit, because that would delay the loop. The next sweep tries again.
    using permit = this.#brake.tryAcquire();
    if (permit === null) return;
    using timeout = clock.timeout(TIMEOUT_MS);
    try {
      // The watch may not show our last write yet, and another writer may have written after it.
      const change = toMergePatch(object.status, toMergePatch(memory.written?.stored, status));
      const signal = AbortSignal.any([timeout.signal, sweep.signal]);
      const guard = isStale ? findNewestVersion(object, memory.written) : null;
      const { failure, status: stored, resourceVersion: version } = await patch({ ...object, guard }, change, signal);
      this.#unansweredAtMs.delete(namespace);
      permit.report(failure === null ? null : findBusy(failure));
      if (failure !== null) throw failure;
      const { resourceVersion: seenVersion } = object;
      memory.written = { sent: status, stored, atMs: clock.monotonic(), version, seenVersion, shown: UNSEEN };
      memory.failures = 0;
      onTrouble({ kind: "recovered", what: WHAT, subject: formatSubject({ ...object, kind: this.#options.kind }) });
    } catch (error) {
      if (!sweep.signal.aborted) this.#fail(object, error, memory);
    } finally {
      onProgress();
    }
  }

  #fail(object: StatusToWrite<Status>["object"], error: unknown, memory: WriterState<Status>): void {
    const { kind, metrics, onTrouble } = this.#options;
    const autoscaler = { ...object, kind };
    const isRefused = error instanceof ApiError && error.code < 500 && error.code !== 429 && error.code !== 409;
    this.#putOff(memory, isRefused ? REFUSED_MAX_MS : RETRY_MAX_MS);
    if (!(error instanceof ApiError)) this.#unansweredAtMs.set(autoscaler.namespace, this.#options.clock.monotonic());
    // The object was deleted, or has changed since it was read; the watch will report it.
    else if (error.code === 404 || error.code === 409) return;
    metrics.failed(autoscaler.namespace, "StatusWrite");
    onTrouble({
      kind: "failure",
      level: "warn",
      message: `${WHAT}, retrying`,
      autoscaler,
      fields: { error },
      topic: { what: WHAT, reason: toFailureReason(error), subject: formatSubject(autoscaler) },
    });
  }

  #putOff(memory: WriterState<Status>, maxMs: number): void {
    const { clock, random } = this.#options;
    const waitMs = backoffMs(memory.failures++, { baseMs: RETRY_BASE_MS, maxMs, random });
    memory.retryAtMs = clock.monotonic() + waitMs;
  }

  #remember(uid: string): WriterState<Status> {
    const memory = this.#memory.get(uid) ?? { written: null, isWriting: false, retryAtMs: 0, dueAtMs: 0, failures: 0 };
    this.#memory.set(uid, memory);
    return memory;
  }
}

const TIMEOUT_MS = 10_000;

/** A namespace alone has half of them. */
const MAX_CONCURRENT = 16;

const RETRY_BASE_MS = 5_000;

const RETRY_MAX_MS = 60_000;

/** For failures that an operator has to fix, such as a missing right. */
const REFUSED_MAX_MS = 300_000;

/** A watch may show our own write this late. A status that it shows later comes from another writer. */
const WATCH_LAG_MS = 60_000;

/** For a status that another program writes too: it is not at odds with podfit, but may write back an older list. */
const SHARED_LAG_MS = 15_000;

const WHAT = "Cannot write status";

const UNSEEN = Symbol("unseen");

/** What was sent last, and what the server stored. With another CRD it leaves fields out. */
interface Written<Status> {
  readonly sent: Status;
  readonly stored: Status;
  readonly atMs: number;
  /** The resourceVersion that the write made. */
  readonly version: string | null;
  /** The one that the watch showed then. */
  readonly seenVersion: string | undefined;
  /** The last status of the watch that was found to be the stored one; compared by identity. */
  shown: unknown;
}

/** Where a watch is stale, another object may have the name by now. It has another resourceVersion. */
function findNewestVersion(
  { resourceVersion }: StatusToWrite<unknown>["object"],
  written: Pick<Written<unknown>, "version" | "seenVersion"> | null,
): string | null {
  const isOurs = written !== null && written.seenVersion === resourceVersion;
  return (isOurs ? written.version : null) ?? resourceVersion ?? null;
}

interface Writing<Status> {
  readonly memory: WriterState<Status>;
  readonly sweep: SweepContext;
}

interface WriterState<Status> {
  written: Written<Status> | null;
  /** A write waits or is under way. */
  isWriting: boolean;
  retryAtMs: number;
  /** See getDueAtMs. */
  dueAtMs: number;
  failures: number;
}

/** The result of a patch; `status` is what the server stored. */
interface PatchedStatus<Status> {
  readonly failure: ApiError | null;
  readonly status: Status;
  /** `null` = the server did not say it. */
  readonly resourceVersion: string | null;
}

interface ObjectName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The resourceVersion that the object must have still; `null` = any. */
  readonly guard: string | null;
}

/** Sends `change`, a merge patch of the status. Rejects if no answer arrives. */
type PatchStatus<Status> = (
  object: ObjectName,
  change: unknown,
  signal: AbortSignal,
) => Promise<PatchedStatus<Status>>;

/** Returns a function that patches the status of PodResourceAutoscalers. */
export function createAutoscalerPatch({ autoscalers }: Pick<ApiClient, "autoscalers">): PatchStatus<AutoscalerStatus> {
  return async (object, change, signal) =>
    toPatched(
      await autoscalers.PATCH(
        "/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers/{name}/status",
        { params: toParams(object), body: toGuarded(object, change) as never, signal },
      ),
      object.uid,
    );
}

/**
 * Returns a function that patches the status of ScaledObjects. Where KEDA writes the same status, only podfit's own
 * conditions are replaced, and the resourceVersion guards those of the others. Clauses: M7.
 */
export function createScaledObjectPatch(
  { scaledObjects }: Pick<ApiClient, "scaledObjects">,
  find: (object: { readonly namespace: string; readonly uid: string }) => ScaledObjectFacts | null,
): PatchStatus<ScaledObjectStatus> {
  return async (object, change, signal) => {
    const facts = find(object);
    const isShared = facts !== null && facts.adoption !== null;
    const answer = await scaledObjects.PATCH(
      "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{name}/status",
      {
        params: toParams(object),
        body: (isShared ? toSharedPatch(facts, change, object.guard) : toGuarded(object, change)) as never,
        signal,
      },
    );
    const patched = toPatched<ScaledObjectStatus>(answer, object.uid);
    return isShared ? { ...patched, status: pickOwnStatus(patched.status) } : patched;
  };
}

/** The part of the status of an authentication that podfit writes. */
export interface AuthenticationStatus {
  readonly scaledobjects?: string;
}

/** Returns a function that patches the status of TriggerAuthentications; of no namespace: ClusterTriggerAuthentications. */
export function createAuthenticationPatch({ untyped }: Pick<ApiClient, "untyped">): PatchStatus<AuthenticationStatus> {
  return async ({ namespace, name, uid }, change, signal) => {
    const place = namespace === ""
      ? ["clustertriggerauthentications", name]
      : ["namespaces", namespace, "triggerauthentications", name];
    const path = `/apis/keda.sh/v1alpha1/${place.map(encodeURIComponent).join("/")}/status?fieldManager=podfit`;
    const { data, error, response } = await untyped({ method: "PATCH", path, body: { status: change }, signal });
    const patched = isRecord(data) ? { data, error, response } : { error, response };
    const { status, ...rest } = toPatched<AuthenticationStatus>(patched, uid);
    return { ...rest, status: toAuthenticationStatus(isRecord(status) ? status["scaledobjects"] : undefined) };
  };
}

/** Returns the status with this list; an empty one is absent. */
export function toAuthenticationStatus(users: unknown): AuthenticationStatus {
  return typeof users === "string" && users !== "" ? { scaledobjects: users } : {};
}

function toGuarded({ guard }: ObjectName, change: unknown) {
  return { ...(guard !== null && { metadata: { resourceVersion: guard } }), status: change };
}

function toSharedPatch(
  { resourceVersion, status }: ScaledObjectFacts,
  change: unknown,
  guard: string | null,
): unknown {
  const own = isRecord(change) && Array.isArray(change["conditions"]) ? change["conditions"] : [];
  const kept = listConditions(status).filter((one) => !isOwnCondition(one));
  return { metadata: { resourceVersion: guard ?? resourceVersion }, status: { conditions: [...kept, ...own] } };
}

/** Returns the part of a status that is podfit's where KEDA writes the rest. Clauses: M7. */
export function pickOwnStatus(status: unknown): ScaledObjectStatus {
  return { conditions: listConditions(status).filter(isOwnCondition) as ScaledObjectStatus["conditions"] };
}

function toParams({ namespace, name }: Pick<ObjectName, "namespace" | "name">) {
  return { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE } as const;
}

interface PatchAnswer {
  readonly data?: {
    readonly metadata?: { readonly uid?: unknown; readonly resourceVersion?: unknown };
    readonly status?: unknown;
  };
  readonly error?: unknown;
  readonly response: Response;
}

/** The API server returns the status in the shape in which it was sent. */
function toPatched<Status>({ data, error, response }: PatchAnswer, uid: string): PatchedStatus<Status> {
  const failure = response.ok ? null : toApiError(response, error);
  const { uid: ofAnswer = uid, resourceVersion } = data?.metadata ?? {};
  // Another object may have the name by now.
  const isOurs = ofAnswer === uid && typeof resourceVersion === "string";
  return { failure, status: (data?.status ?? {}) as Status, resourceVersion: isOurs ? resourceVersion : null };
}

/**
 * Returns the merge patch (RFC 7386) from `from` to `to`. It has all of `to`, because the server may have less than
 * `from` by now, and `null` for each key to remove. A patch as `to` also removes the keys of a second `from`.
 */
export function toMergePatch(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const removed = Object.keys(from).filter((key) => !Object.hasOwn(to, key)).map((key) => [key, null]);
  const kept = Object.entries(to).map(([key, value]) => [key, toMergePatch(from[key], value)]);
  return Object.fromEntries([...removed, ...kept]);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A change of a status, and the time since the last write, ms. */
interface StatusChange {
  readonly before: object;
  readonly after: object;
  readonly sinceMs: number;
  readonly minorField?: string;
}

const MIN_PAUSE_MS = 5_000;

const MAX_PAUSE_MS = 60_000;

const MINOR_PAUSE_MS = 300_000;

/** After this number of pauses without a write, a change of text is written at once again. */
const PAUSES_UNTIL_RESET = 4;

/**
 * Decides how soon a status may be written again. The first change is written at once. While only texts change, the
 * pauses grow.
 */
class StatusPauses {
  readonly #words = new Map<string, number>();

  forget(uid: string): void {
    this.#words.delete(uid);
  }

  /**
   * Returns how long after the last write the change may be written, in ms. If that time has come, it is taken for
   * written: after a change of text alone the next one waits longer.
   */
  begin(uid: string, { before, after, sinceMs, minorField }: StatusChange): number {
    if (
      minorField !== undefined && isDeepEqual(omitFields(before, [minorField]), omitFields(after, [minorField]), true)
    ) {
      return MINOR_PAUSE_MS;
    }
    if (sinceMs < MIN_PAUSE_MS || !isTextOnlyChange(before, after)) return MIN_PAUSE_MS;
    const pauseMs = this.#words.get(uid) ?? MIN_PAUSE_MS;
    if (sinceMs < pauseMs) return pauseMs;
    if (sinceMs >= PAUSES_UNTIL_RESET * pauseMs) this.#words.delete(uid);
    else this.#words.set(uid, Math.min(2 * pauseMs, MAX_PAUSE_MS));
    return pauseMs;
  }
}

/** Returns whether both are equal, apart from the times of conditions. */
function isSameButTimes(a: unknown, b: unknown): boolean {
  return isDeepEqual(
    stripConditionFields(a, ["lastTransitionTime"]),
    stripConditionFields(b, ["lastTransitionTime"]),
    true,
  );
}

/** Sizes and the number of pods follow each rollout and each resize, as messages do. */
function isTextOnlyChange(before: object, after: object): boolean {
  const [one, other] = [before, after].map((status) =>
    stripConditionFields(omitFields(status, SIZE_FIELDS), ["message"])
  );
  return isDeepEqual(one, other, true);
}

function omitFields(status: object, fields: readonly string[]): object {
  return Object.fromEntries(Object.entries(status).filter(([key]) => !fields.includes(key)));
}

const SIZE_FIELDS: readonly string[] = [
  "pods",
  "requests",
  "containers",
  "waiting",
] satisfies (keyof AutoscalerStatus)[];

/** `status` can have any shape. */
function stripConditionFields(status: unknown, fields: readonly (keyof Condition)[]): unknown {
  if (!isRecord(status) || !Array.isArray(status.conditions)) return status;
  const conditions = status.conditions.map((one) =>
    isRecord(one) ? Object.fromEntries(Object.entries(one).filter(([key]) => !fields.includes(key as never))) : one
  );
  return { ...status, conditions };
}
