/**
 * Why was there no answer? The words of fetch are buried two causes deep and never say what to do; here they become one
 * line with the server and the likely cause.
 */

/** Wraps what `fetch` threw; the origin names the server. */
export function toNetworkError(error: unknown, origin: string): Error {
  return new Error(`Cannot reach API server "${origin}": ${describeNetworkError(error)}`, { cause: error });
}

export function describeNetworkError(error: unknown): string {
  const words = innermostMessage(error);
  const known = CAUSES.find(([pattern]) => pattern.test(words));
  return known === undefined ? words : known[1];
}

/** Words of rustls, hyper and the operating system, as Deno 2.9 passes them on. */
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

/** fetch says "fetch failed" and keeps the reason in `cause`; the name is kept for DOMExceptions. */
function innermostMessage(error: unknown): string {
  let innermost = error;
  for (let depth = 0; depth < 5 && innermost instanceof Error && innermost.cause instanceof Error; depth++) {
    innermost = innermost.cause;
  }
  if (innermost instanceof DOMException) return `${innermost.name}: ${innermost.message}`;
  return innermost instanceof Error ? innermost.message : String(innermost);
}
