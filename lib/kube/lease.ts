/**
 * What does a Lease contain, and how is it written? A write succeeds only if the Lease has not changed since it was
 * read.
 */
import type { Lease } from "../api/kubernetes.ts";
import type { Clock } from "../runtime/clock.ts";
import { abortable } from "../runtime/tasks.ts";
import { isRecord } from "../units/untrusted.ts";
import type { ApiClient } from "./client.ts";
import { ApiError, getErrorMessage, toApiError } from "./errors.ts";

// One Lease on the API server: reads it, makes it, and writes it where nobody else has written it meanwhile.

/** A request that failed. Its message says which, why, and what to do where something can be done. */
export class LeaseError extends Error {
  override readonly name = "LeaseError";
  /** The HTTP status; 0 where no answer came, or one that makes no sense. */
  readonly code: number;
  readonly retryAfterMs: number | null;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.code = cause instanceof ApiError ? cause.code : 0;
    this.retryAfterMs = cause instanceof ApiError ? cause.retryAfterMs : null;
  }
}

/** Every call rejects with a LeaseError, and with the signal's reason as soon as the signal aborts. */
export interface LeaseStore {
  /** `null` = there is none. */
  readonly fetch: (signal: AbortSignal) => Promise<LeaseRecord | null>;
  /** As it is stored; `null` = somebody was faster. */
  readonly create: (lease: Lease, signal: AbortSignal) => Promise<LeaseRecord | null>;
  /** As it is stored; `null` = it is another by now, or there is none. */
  readonly update: (lease: Lease, signal: AbortSignal) => Promise<LeaseRecord | null>;
}

/** The Lease of that name. */
export function createLeaseStore({ client, ...options }: LeaseStoreOptions): LeaseStore {
  const { namespace, name, clock, durationMs, timeoutMs } = options;
  const path = { namespace, name };

  async function ask(
    verb: LeaseVerb,
    passing: readonly number[],
    { signal: ending, send }: { readonly signal: AbortSignal; readonly send: (signal: AbortSignal) => Sent },
  ): Promise<LeaseRecord | null> {
    using timeout = clock.timeout(timeoutMs);
    const signal = AbortSignal.any([ending, timeout.signal]);
    try {
      // A transport that holds on to a request must not hold up who leads.
      const { data, error, response } = await abortable(send(signal), signal);
      if (passing.includes(response.status)) return null;
      if (!response.ok) throw toApiError(response, error);
      const record = parseLease(data, durationMs);
      if (record === null) throw new Error("the answer is no Lease");
      return record;
    } catch (error) {
      ending.throwIfAborted();
      throw new LeaseError(describe(verb, error, options), error);
    }
  }

  return {
    fetch: (signal) =>
      ask("get", [404], {
        signal,
        send: (signal) =>
          client.core.GET("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}", {
            params: { path },
            signal,
          }),
      }),
    create: (body, signal) =>
      ask("create", [409], {
        signal,
        send: (signal) =>
          client.core.POST("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases", {
            params: { path: { namespace }, query: { fieldManager: "podfit" } },
            body,
            signal,
          }),
      }),
    update: (body, signal) =>
      ask("update", [404, 409], {
        signal,
        send: (signal) =>
          client.core.PUT("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}", {
            params: { path, query: { fieldManager: "podfit" } },
            body,
            signal,
          }),
      }),
  };
}

// What a Lease says of who leads, read at the edge: whoever may write Leases may write anything into one.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/

/** A Lease as it was seen. */
export interface LeaseRecord {
  /** `null` = nobody. */
  readonly holder: string | null;
  /** For how long it is the holder's after a change was seen, ms. */
  readonly durationMs: number;
  /** Nobody holds it because its last holder has given it back; false where somebody else took the holder out. */
  readonly isReleased: boolean;
  readonly transitions: number;
  /** Two records with the same are the same: nobody has renewed between them. */
  readonly fingerprint: string;
  /** The object as it came, to be written back with another `spec`. */
  readonly lease: Lease;
}

/**
 * Gives the record of a Lease, `null` for what is none. A duration that makes no sense, or is shorter than `durationMs`
 * without a release, is taken for `durationMs`, because the holder that wrote the rest goes by that.
 */
export function parseLease(value: unknown, durationMs: number): LeaseRecord | null {
  if (!isRecord(value) || !isRecord(value["metadata"])) return null;
  if (typeof value["metadata"]["resourceVersion"] !== "string") return null;
  const spec = isRecord(value["spec"]) ? value["spec"] : {};
  const { holderIdentity, leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec;
  const holder = typeof holderIdentity === "string" && holderIdentity !== "" ? holderIdentity : null;
  const writtenMs = isWhole(seconds) ? seconds * 1000 : 0;
  return {
    holder,
    durationMs: Math.min(Math.max(writtenMs, durationMs), Math.max(MAX_DURATION_MS, durationMs)),
    isReleased: holder === null && seconds === RELEASED_SECONDS,
    transitions: isWhole(transitions) ? transitions : 0,
    fingerprint: JSON.stringify(spec),
    lease: value,
  };
}

/** The first Lease of its name. */
export function newLease(name: string, hold: Hold): Lease {
  const time = formatMicroTime(hold.now);
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name },
    spec: { ...toSpec(hold), acquireTime: time, leaseTransitions: 0 },
  };
}

/** The Lease with another holder, or the same one who renews it. */
export function holdLease({ holder, transitions, lease }: LeaseRecord, hold: Hold): Lease {
  const isRenewal = holder === hold.holder;
  const taken = {
    acquireTime: formatMicroTime(hold.now),
    leaseTransitions: Math.min(transitions + 1, MAX_TRANSITIONS),
  };
  return { ...lease, spec: { ...lease.spec, ...toSpec(hold), ...(!isRenewal && taken) } };
}

/** The Lease as its holder gives it back: anybody may take it at once. */
export function releaseLease({ lease }: LeaseRecord, now: number): Lease {
  const time = formatMicroTime(now);
  const released = { holderIdentity: "", leaseDurationSeconds: RELEASED_SECONDS, renewTime: time, acquireTime: time };
  return { ...lease, spec: { ...lease.spec, ...released } };
}

/** Writes epoch ms as a MicroTime, which has six digits of a second's fraction and no other number of them. */
export function formatMicroTime(at: number): string {
  return new Date(at).toISOString().replace(/Z$/, "000Z");
}

/** Where the Lease is. */
interface LeaseStoreOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Pick<Clock, "timeout">;
  /** For how long a Lease is its holder's, where it does not say. */
  readonly durationMs: number;
  /** How long each request may take. */
  readonly timeoutMs: number;
}

type LeaseVerb = "get" | "create" | "update";

type Sent = Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;

function describe(verb: LeaseVerb, error: unknown, { namespace, name }: Pick<LeaseStoreOptions, "namespace" | "name">) {
  const why = error instanceof ApiError ? `${error.code} ${error.message}` : getErrorMessage(error);
  const advice = error instanceof ApiError && error.code === 403
    ? `; grant get, create and update on leases (coordination.k8s.io) in namespace "${namespace}"`
    : error instanceof ApiError && error.code === 404
    ? `; is there a namespace "${namespace}"?`
    : "";
  return `Cannot ${verb} Lease "${namespace}/${name}": ${why}${advice}`;
}

/** Who holds the Lease from now on. */
interface Hold {
  readonly holder: string;
  readonly durationMs: number;
  /** Epoch ms, for people: nobody reckons with it. */
  readonly now: number;
}

const MAX_DURATION_MS = 3_600_000;

/** What a release writes, as client-go does. */
const RELEASED_SECONDS = 1;

/** The field is an int32. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

function toSpec({ holder, durationMs, now }: Hold): NonNullable<Lease["spec"]> {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    renewTime: formatMicroTime(now),
  };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
