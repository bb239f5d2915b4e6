/**
 * Why was there no answer of a trigger's server? The words of fetch and of node:https may repeat the URL or a header, so none of them is passed
 * on: here they become one of a few sentences that say what to do.
 */

/** Never throws. */
export function describeFailure(error: unknown): string {
  const words = listMessages(error).join("; ");
  return CAUSES.find(([pattern]) => pattern.test(words))?.[1] ?? "the connection failed";
}

/** Says what a status of a server means for who wrote the trigger; with a semicolon before it, or empty. */
export function adviseOnStatus(status: number): string {
  return ADVICE.find(([matches]) => matches(status))?.[1] ?? "";
}

const CAUSES: readonly (readonly [RegExp, string])[] = [
  [
    /UnknownIssuer|BadSignature|UnknownCA|self.signed|unable to verify/i,
    "its certificate is signed by an unknown authority; give parameter ca in a TriggerAuthentication, or set unsafeSsl",
  ],
  [
    /not valid for name|altnames/i,
    "its certificate is not for this host; use a name that it contains, or set unsafeSsl",
  ],
  [/CaUsedAsEndEntity/, "it shows a CA certificate as its own; give it a certificate signed by that CA"],
  [/not valid yet/, "its certificate is not valid yet; check the clocks"],
  [/certificate expired|CERT_HAS_EXPIRED/i, "its certificate has expired, or the clock of this machine is wrong"],
  [/CertificateRequired/, "it asks for a client certificate, which is not supported"],
  [
    /InvalidContentType|invalid HTTP version|wrong version number/i,
    "one side speaks http and the other https; check the scheme of its address",
  ],
  [
    /Cannot trust the given CA alone/,
    "podfit cannot trust parameter ca alone, as it trusts public authorities already; set certificate-authority of the cluster in the kubeconfig",
  ],
  [/certificate|PEM|\bcert\b/i, "its certificate, or parameter ca, cannot be used"],
  [/tls handshake eof/, "it closed the connection during the TLS handshake"],
  [/dns error|failed to lookup address|ENOTFOUND|EAI_AGAIN|getaddrinfo/i, "its name cannot be resolved (DNS)"],
  [/Connection refused|ECONNREFUSED/i, "connection refused; is it running, and is the port right"],
  [
    /Connection reset|ECONNRESET|EPIPE|closed before message completed|close_notify|socket hang up|unexpected eof/i,
    "it closed the connection without an answer",
  ],
  [/No route to host|Network is unreachable|EHOSTUNREACH|ENETUNREACH/i, "no route to it from this network"],
  [/Requires net access|NotCapable/, "this process may not connect to it"],
];

const ADVICE: readonly (readonly [(status: number) => boolean, string])[] = [
  [(status) => status === 401 || status === 403, "; check authModes and the TriggerAuthentication"],
  [(status) => status === 404, "; check the path of its address"],
  [(status) => status === 400 || status === 422, "; check what is asked for"],
  [(status) => status === 429 || status === 503, "; it is overloaded, ask less often"],
  [(status) => status >= 500, "; look at that server's log"],
];

/** Of an error and its causes, which fetch nests. */
function listMessages(error: unknown): readonly string[] {
  const messages: string[] = [];
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    messages.push(`${current.name} ${Reflect.get(current, "code") ?? ""} ${current.message}`);
    current = current.cause;
  }
  return messages;
}
