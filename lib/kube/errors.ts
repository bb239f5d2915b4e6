/**
 * What went wrong with a request? An ApiError is a refusal by the server.
 *
 * A network error becomes one line that names the server and the likely cause.
 *
 * https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#status-v1-meta
 */
import type { StatusDetails } from "../api/kubernetes.ts";
import { redact } from "../runtime/secrets.ts";
import { replaceUnseen } from "../runtime/unseen.ts";
import { isRecord } from "../units/untrusted.ts";

/**
 * A refusal by the server. `message` is the server's, at most about 1 kB; secrets of this process in it are replaced.
 */
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

/**
 * Returns an error made of a response and its body: parsed JSON, text or undefined. A Status inside a watch stream has
 * its own code, because its response was a 200. Never throws.
 */
export function toApiError(response: Response, body: unknown): ApiError {
  const status = toRecord(body);
  const details = toDetails(status["details"]);
  const code = response.ok && typeof status["code"] === "number" ? status["code"] : response.status;
  return new ApiError(toMessage(body, response), {
    code,
    reason: toText(status["reason"]),
    details,
    retryAfterMs: parseRetryAfterMs(response.headers.get("retry-after"), details),
  });
}

/**
 * Returns an error that names the API server and the likely cause of the error that `fetch` threw. Its reason is two
 * causes deep and never says what to do.
 */
export function toNetworkError(error: unknown, origin: string): Error {
  return new Error(`Cannot reach API server "${origin}": ${describeNetworkError(error)}`, { cause: error });
}

/**
 * Returns the likely cause of the error that `fetch` threw and what to check; the innermost message if the cause is
 * unknown.
 */
export function describeNetworkError(error: unknown): string {
  const words = redact(innermostMessage(error));
  const known = CAUSES.find(([pattern]) => pattern.test(words));
  return known === undefined ? words : known[1];
}

/** Returns whether fetch sent nothing because no trusted CA has signed the server's certificate. */
export function isUntrusted(error: unknown): boolean {
  return /UnknownIssuer|BadSignature/.test(innermostMessage(error));
}

/** Returns whether another try would fail too: the two sides do not trust each other, or use different protocols. */
export function isLasting(error: unknown): boolean {
  return DISTRUST.test(innermostMessage(error));
}

/**
 * Returns the message of an error on one line of at most 500 characters. Native fetch says "fetch failed": there it is
 * the message of the cause.
 */
export function getErrorMessage(error: unknown): string {
  let cause = error;
  while (cause instanceof TypeError && cause.message === "fetch failed" && cause.cause) cause = cause.cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return oneLine(message.replace(/^error sending request for url \(.*?\): (client error \(\w+\): )?/, ""));
}

/**
 * Returns text from outside as one line of at most 500 characters, without a secret of this process and without what a
 * terminal hides.
 */
export function oneLine(text: string): string {
  return replaceUnseen(redact(text).replace(/[\p{Cc}\s]+/gu, " ").trim().slice(0, MAX_MESSAGE_LENGTH));
}

interface ApiErrorFields {
  readonly code: number;
  readonly reason: string | null;
  readonly details: StatusDetails | null;
  readonly retryAfterMs: number | null;
}

const MAX_TEXT_LENGTH = 1000;

const MAX_CAUSES = 32;

/** A longer wait that a server asks for is cut to this. */
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
function parseRetryAfterMs(header: string | null, details: StatusDetails | null): number | null {
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

const DISTRUST =
  /UnknownIssuer|BadSignature|not valid for name|CaUsedAsEndEntity|CertificateRequired|fatal alert: (BadCertificate|UnknownCA|CertificateUnknown)|InvalidContentType|invalid HTTP version/;

const MAX_MESSAGE_LENGTH = 500;

/** Patterns of the messages of rustls, hyper and the operating system, as Deno 2.9 passes them on. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [
    /UnknownIssuer/,
    "its certificate is signed by an unknown authority; check certificate-authority of the cluster in the kubeconfig",
  ],
  [/BadSignature/, "its certificate is signed by another authority of the same name; check certificate-authority"],
  [/not valid for name/, "its certificate is not for this host; use a server name that it contains"],
  [/CaUsedAsEndEntity/, "it shows a CA certificate as its own; give it a certificate signed by that CA"],
  [/not valid yet/, "its certificate is not valid yet; check the clocks"],
  [/certificate expired/, "its certificate has expired, or the clock of this machine is wrong"],
  [
    /CertificateRequired/,
    "it asks for a client certificate; check client-certificate of the user",
  ],
  [
    /fatal alert: (BadCertificate|UnknownCA|CertificateExpired|CertificateUnknown|DecryptError)/,
    "it refuses the client certificate; check client-certificate of the user",
  ],
  [/InvalidContentType|invalid HTTP version/, "one side speaks http and the other https; check the scheme of server"],
  [/tls handshake eof/, "it closed the connection during the TLS handshake"],
  [/dns error|failed to lookup address/, "its name cannot be resolved (DNS)"],
  [/Connection refused/, "connection refused; is it running, and is the port right"],
  [/Connection reset|closed before message completed|close_notify/, "it closed the connection without an answer"],
  [/No route to host|Network is unreachable/, "no route to it from this network"],
  [/TimeoutError|timed out/i, "no answer in time"],
];

/** The message of the innermost cause, with the name of a DOMException before it. */
function innermostMessage(error: unknown): string {
  let innermost = error;
  for (let depth = 0; depth < 5 && innermost instanceof Error && innermost.cause instanceof Error; depth++) {
    innermost = innermost.cause;
  }
  if (innermost instanceof DOMException) return `${innermost.name}: ${innermost.message}`;
  return innermost instanceof Error ? innermost.message : String(innermost);
}
