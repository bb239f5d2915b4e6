/**
 * Why was there no answer? The errors of fetch have their reason two causes deep and never say what to do. Here they
 * become one line with the server and the likely cause.
 */
import { redact } from "../runtime/secrets.ts";

/** Makes an error that names the API server and the likely cause, of what `fetch` threw. */
export function toNetworkError(error: unknown, origin: string): Error {
  return new Error(`Cannot reach API server "${origin}": ${describeNetworkError(error)}`, { cause: error });
}

/**
 * Names the likely cause of what `fetch` threw and what to check; the innermost message where it is not a known one.
 */
export function describeNetworkError(error: unknown): string {
  const words = redact(innermostMessage(error));
  const known = CAUSES.find(([pattern]) => pattern.test(words));
  return known === undefined ? words : known[1];
}

/** Says whether fetch sent nothing because no CA that it trusts vouches for the server's certificate. */
export function isUntrusted(error: unknown): boolean {
  return /UnknownIssuer|BadSignature/.test(innermostMessage(error));
}

/** Says whether another try would end the same: the two sides do not trust each other, or speak different protocols. */
export function isLasting(error: unknown): boolean {
  return DISTRUST.test(innermostMessage(error));
}

const DISTRUST =
  /UnknownIssuer|BadSignature|not valid for name|CaUsedAsEndEntity|CertificateRequired|fatal alert: (BadCertificate|UnknownCA|CertificateUnknown)|InvalidContentType|invalid HTTP version/;

/**
 * Gives the message of an error on one line of at most 500 characters. For native fetch, which says "fetch failed",
 * that is the message of the cause.
 */
export function readMessage(error: unknown): string {
  let cause = error;
  while (cause instanceof TypeError && cause.message === "fetch failed" && cause.cause) cause = cause.cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return oneLine(message.replace(/^error sending request for url \(.*?\): (client error \(\w+\): )?/, ""));
}

/** Makes text from outside fit for a message: one line of at most 500 characters, without a secret of ours. */
export function oneLine(text: string): string {
  return redact(text).replace(/[\p{Cc}\s]+/gu, " ").trim().slice(0, MAX_MESSAGE_LENGTH);
}

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
