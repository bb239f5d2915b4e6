/**
 * A refused request as an Error: HTTP code, reason, message and details, and how long the server asks to wait. It is
 * made of whatever came back: a Status, another JSON value, plain text ("404 page not found", "Too many requests") or
 * nothing.
 * https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#status-v1-meta
 */
import type { StatusDetails } from "../api/kubernetes.ts";
import { redact } from "../runtime/secrets.ts";
import { isRecord } from "../units/untrusted.ts";

/** A refusal by the server. `message` is the server's, at most about 1 kB, without a secret of ours that it repeats. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status, or the code of a Status inside a stream. */
  readonly code: number;
  /** The machine-readable reason, e.g. `NotFound`; `null` when the server gave none. */
  readonly reason: string | null;
  readonly details: StatusDetails | null;
  /** How long the server asks to wait before the next try, in ms, at most 1 h; `null` when it does not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, fields: ApiErrorFields) {
    super(message);
    this.code = fields.code;
    this.reason = fields.reason;
    this.details = fields.details;
    this.retryAfterMs = fields.retryAfterMs;
  }
}

export interface ApiErrorFields {
  readonly code: number;
  readonly reason: string | null;
  readonly details: StatusDetails | null;
  readonly retryAfterMs: number | null;
}

/**
 * Makes an error of a response and what was read of its body: parsed JSON, text or undefined. A Status inside a watch
 * stream has its own code, since the response that carried it was a 200. Never throws.
 */
export function toApiError(response: Response, body: unknown): ApiError {
  const status = toRecord(body);
  const details = toDetails(status["details"]);
  const code = response.ok && typeof status["code"] === "number" ? status["code"] : response.status;
  return new ApiError(toMessage(body, response), {
    code,
    reason: toText(status["reason"]),
    details,
    retryAfterMs: readRetryAfterMs(response.headers.get("retry-after"), details),
  });
}

const MAX_TEXT_LENGTH = 1000;
const MAX_CAUSES = 32;
/** A server that asks for a longer wait is not believed. */
const MAX_RETRY_AFTER_MS = 3_600_000;

function toMessage(body: unknown, response: Response): string {
  const own = toText(toRecord(body)["message"]);
  if (own !== null) return own;
  const text = typeof body === "string" ? body.trim() : (body ?? null) === null ? "" : JSON.stringify(body);
  return toText(text) ?? `HTTP ${response.status} ${response.statusText}`.trim();
}

function toDetails(value: unknown): StatusDetails | null {
  if (!isRecord(value)) return null;
  const causes = Array.isArray(value["causes"]) ? value["causes"].slice(0, MAX_CAUSES) : null;
  const seconds = value["retryAfterSeconds"];
  return {
    ...toTexts(value, ["group", "kind", "name", "uid"]),
    ...(causes === null ? {} : { causes: causes.map((cause) => toTexts(cause, ["field", "message", "reason"])) }),
    ...(typeof seconds === "number" ? { retryAfterSeconds: seconds } : {}),
  };
}

/** The header wins, since proxies and API priority set it too. API servers do not use dates there. */
function readRetryAfterMs(header: string | null, details: StatusDetails | null): number | null {
  const seconds = header !== null && /^\d+$/.test(header.trim()) ? Number(header) : details?.retryAfterSeconds;
  if (seconds === undefined || seconds < 0) return null;
  return Math.min(seconds * 1000, MAX_RETRY_AFTER_MS);
}

function toTexts<K extends string>(value: unknown, keys: readonly K[]): { [key in K]?: string } {
  const record = toRecord(value);
  const texts: { [key in K]?: string } = {};
  for (const key of keys) {
    const text = toText(record[key]);
    if (text !== null) texts[key] = text;
  }
  return texts;
}

function toText(value: unknown): string | null {
  if (typeof value !== "string" || value === "") return null;
  const text = redact(value);
  return text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…`;
}

function toRecord(value: unknown): { readonly [key: string]: unknown } {
  return isRecord(value) ? value : {};
}
