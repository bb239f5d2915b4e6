/** What can go wrong between podfit and a collection of the API server, so that a watch can tell how to go on. */
import type { ApiError } from "./api_error.ts";
import { BodyTooLarge } from "./body.ts";
import { readMessage } from "./network_error.ts";

/**
 * - `status`: the server refused the request.
 * - `expired`: the server no longer has the resource version or the continue token, or does not have it yet.
 * - `unreachable`: the request failed before an answer.
 * - `hung`: no answer came.
 * - `quiet`: a watch was answered, and not one whole line of it came.
 * - `dropped`: the connection ended within the body.
 * - `silent`: nothing more came after some lines of a watch, or no whole page of a list in its time.
 * - `malformed`: the answer is not what the API promises.
 * - `too_large`: the answer has more bytes than podfit reads.
 * - `short`: the server ended a watch within a second.
 */
export type FailureKind =
  | "status"
  | "expired"
  | "unreachable"
  | "hung"
  | "quiet"
  | "dropped"
  | "silent"
  | "malformed"
  | "too_large"
  | "short";

export interface FailureOptions {
  readonly kind: FailureKind;
  /** An ApiError where the server answered. */
  readonly cause?: unknown;
}

/** A list or watch that failed. Its message names the collection's path. */
export class CollectionFailure extends Error {
  override readonly name = "CollectionFailure";
  readonly kind: FailureKind;
  /** The HTTP status or the code of a Status; `null` where the server did not answer. */
  readonly code: number | null;
  /** How long the server asks to wait, in ms; `null` where it does not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, { kind, cause }: FailureOptions) {
    super(message, { cause });
    this.kind = kind;
    const answer = cause instanceof Error && cause.name === "ApiError" ? cause as ApiError : null;
    this.code = answer?.code ?? null;
    this.retryAfterMs = answer?.retryAfterMs ?? null;
  }
}

/** The request that failed. */
export interface FailedCall {
  readonly verb: "list" | "watch";
  readonly path: string;
}

/** Makes a failure of a refusal by the server. */
export function toStatusFailure(cause: ApiError, { verb, path }: FailedCall): CollectionFailure {
  // A 504 with this cause: the server's cache is behind the version that is asked for, as after a restore of etcd.
  const isAhead = cause.details?.causes?.some(({ reason }) => reason === "ResourceVersionTooLarge") ?? false;
  const kind = cause.code === 410 || isAhead ? "expired" : "status";
  return new CollectionFailure(`Cannot ${verb} "${path}": ${cause.code} ${cause.message}`, { kind, cause });
}

/** Makes a failure of what ended a body early. Throws the signal's reason instead when the signal has aborted. */
export function toBodyFailure(
  cause: unknown,
  { verb, path, signal }: FailedCall & { readonly signal: AbortSignal },
): CollectionFailure {
  signal.throwIfAborted();
  if (cause instanceof CollectionFailure) return cause;
  const isSilent = cause instanceof DOMException && cause.name === "TimeoutError";
  const kind = cause instanceof BodyTooLarge ? "too_large" : isSilent ? "silent" : "dropped";
  const why = isSilent ? "the connection went silent" : readMessage(cause);
  return new CollectionFailure(`Cannot ${verb} "${path}": ${why}`, { kind, cause });
}
