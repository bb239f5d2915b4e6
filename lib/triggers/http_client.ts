/**
 * Sends a trigger's request: follows redirects, limits the size of the answer, and trusts the CA that the trigger
 * names.
 *
 * The texts of errors may contain secrets, so each failure becomes one of a few fixed sentences.
 */
import { BodyTooLarge, discard, readText } from "../kube/body.ts";
import { createPublicTlsClient, createTlsClient, type StatusAnswer, UnverifiedClient } from "../kube/https.ts";
import { findForbiddenPurpose, hostOf } from "../units/address.ts";
import type { TriggerRequest } from "./request.ts";
import type { Result } from "./value.ts";

type FetchedText = Result<{ status: number; text: string }>;

interface FetchOptions extends Pick<SendOptions, "ca" | "isTlsUnverified" | "signal"> {
  readonly send: SendToTrigger;
  /** Which statuses have an answer; the body of others is not read. */
  readonly accepts: (status: number) => boolean;
  readonly limitBytes: number;
  /** Called with the bytes that were read, also of an answer that is too large. */
  readonly onBytes: (bytes: number) => void;
}

/** Returns the text of an answer. Rejects with the error of `send`, and with the signal's reason. */
export async function fetchText(request: TriggerRequest, options: FetchOptions): Promise<FetchedText> {
  let next: Hop = { url: request.url, headers: request.headers };
  for (let redirects = 0;; redirects++) {
    const { ca, isTlsUnverified, signal } = options;
    const answer = await options.send(next.url, { headers: next.headers, signal, ca, isTlsUnverified });
    if (!REDIRECTS.has(answer.status)) return await readBody(answer, options);
    await discard(answer);
    if (redirects === MAX_REDIRECTS) return { ok: false, cause: `it redirects more than ${MAX_REDIRECTS} times` };
    const hop = followRedirect(answer, { request, from: next });
    if ("cause" in hop) return { ok: false, cause: hop.cause };
    next = hop;
  }
}

interface Hop {
  readonly url: URL;
  readonly headers: Headers;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const MAX_REDIRECTS = 5;

async function readBody(
  answer: StatusAnswer,
  { accepts, limitBytes, onBytes, signal }: FetchOptions,
): Promise<FetchedText> {
  const { status } = answer;
  if (!accepts(status)) {
    await discard(answer);
    return { ok: true, status, text: "" };
  }
  try {
    const text = await readText(answer, { limitBytes, signal });
    onBytes(text.length);
    return { ok: true, status, text };
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error;
    onBytes(limitBytes);
    const most = `${Math.floor(limitBytes / 1024)} KiB`;
    return {
      ok: false,
      cause: `the answer has more than ${most}; ask for less, or raise podfit's --max-trigger-answer`,
    };
  }
}

/** Headers that were removed once stay removed. */
function followRedirect(
  answer: StatusAnswer,
  { request, from }: { request: TriggerRequest; from: Hop },
): Hop | { cause: string } {
  const location = answer.headers.get("location");
  const url = location === null ? null : URL.parse(location, from.url);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { cause: `it redirects (${answer.status}) to something that is not an http or https URL` };
  }
  const purpose = findForbiddenPurpose(hostOf(url));
  if (purpose !== null) return { cause: `it redirects (${answer.status}) to ${purpose}, which is not asked` };
  url.username = url.password = "";
  if (isSameHost(from.url, url)) return { url, headers: from.headers };
  if (isLeak(url, request.secrets)) {
    return {
      cause:
        "it redirects to another host with the credentials in the URL, which is not followed; give that host's own address",
    };
  }
  const headers = new Headers(from.headers);
  for (const name of request.ownHeaders) headers.delete(name);
  return { url, headers };
}

/** Another port may be another server. From http's default port to https's default port it is the same host. */
function isSameHost(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  const isUpgrade = from.protocol === "http:" && to.protocol === "https:" && from.port === "" && to.port === "";
  return isUpgrade && from.hostname === to.hostname;
}

/** Short secrets are searched only as whole values, because many URLs contain them by chance. */
function isLeak(url: URL, secrets: readonly string[]): boolean {
  const texts = [url.href, decode(url.href)];
  const values = [...url.searchParams.values()];
  return secrets.some((secret) =>
    values.includes(secret) || (secret.length >= 8 && texts.some((text) => text.includes(secret)))
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

export interface SendOptions {
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** The only trusted authority, PEM; `null` = those of the client. */
  readonly ca: string | null;
  readonly isTlsUnverified: boolean;
}

/**
 * Sends a GET and follows no redirect. Rejects without an answer. If the signal aborts, it rejects or the body
 * fails.
 */
export type SendToTrigger = (url: URL, options: SendOptions) => Promise<StatusAnswer>;

interface TriggerClientOptions {
  /** The trusted authorities of servers without `ca`, PEM; none by default. */
  readonly caCerts?: readonly string[];
}

interface TriggerClient extends Disposable {
  readonly send: SendToTrigger;
}

/** Disposing it closes the connections. */
export function createTriggerClient({ caCerts = [] }: TriggerClientOptions = {}): TriggerClient {
  /** By authority, the newest at the end; "" for the client's own. */
  const clients = new Map<string, Deno.HttpClient>();
  const unverified = new UnverifiedClient(null);

  function clientFor(ca: string): Deno.HttpClient {
    const known = clients.get(ca);
    if (known !== undefined) return known;
    const made = ca === "" ? createDefaultClient(caCerts) : createTlsClient({ caCerts: [ca], certificate: null });
    clients.set(ca, made);
    const [oldest] = clients.keys();
    // Requests in progress continue.
    if (clients.size > MAX_CLIENTS && oldest !== undefined) close(oldest);
    return made;
  }

  function close(ca: string): void {
    clients.get(ca)?.close();
    clients.delete(ca);
  }

  async function send(url: URL, { headers, signal, ca, isTlsUnverified }: SendOptions): Promise<StatusAnswer> {
    if (isTlsUnverified && url.protocol === "https:") {
      return await unverified.send(url.href, { headers: Object.fromEntries(headers), signal });
    }
    return await fetch(url, { headers, signal, redirect: "manual", client: clientFor(ca ?? "") });
  }

  return {
    send,
    [Symbol.dispose]() {
      unverified[Symbol.dispose]();
      for (const ca of [...clients.keys()]) close(ca);
    },
  };
}

const MAX_CLIENTS = 64;

/** If the process trusts public authorities for its API server, its triggers do too. */
function createDefaultClient(caCerts: readonly string[]): Deno.HttpClient {
  try {
    return createTlsClient({ caCerts, certificate: null });
  } catch (error) {
    if (caCerts.length > 0) throw error;
    return createPublicTlsClient({ certificate: null });
  }
}

/** Returns one of a few fixed sentences: the original text may contain a URL or a header. Never throws. */
export function describeFailure(error: unknown): string {
  const words = listMessages(error).join("; ");
  return CAUSES.find(([pattern]) => pattern.test(words))?.[1] ?? "the connection failed";
}

/** Returns advice for the author of the trigger, after a semicolon, or an empty text. */
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

/** Returns the messages of an error and of its nested causes. */
function listMessages(error: unknown): readonly string[] {
  const messages: string[] = [];
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    messages.push(`${current.name} ${Reflect.get(current, "code") ?? ""} ${current.message}`);
    current = current.cause;
  }
  return messages;
}
