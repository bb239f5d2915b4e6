/**
 * Sends a trigger's request: follows redirects, limits the size of the answer, and trusts the CA that the trigger
 * names.
 *
 * The texts of errors may contain secrets, so each failure becomes one of a few fixed sentences.
 */
import { BodyTooLarge, discard, readText } from "../kube/body.ts";
import { createPublicTlsClient, createTlsClient, sendUnverifiedOnce, type StatusAnswer } from "../kube/https.ts";
import { abortable } from "../runtime/tasks.ts";
import { findForbiddenPurpose, hostOf, portOf } from "../units/address.ts";
import { EgressDenied, type FindDestination } from "./egress.ts";
import type { TriggerRequest } from "./request.ts";
import type { Result } from "./value.ts";

type FetchedText = Result<{ status: number; text: string }>;

interface FetchOptions extends Omit<SendOptions, "headers" | "body"> {
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
    const { ca, isTlsUnverified, signal, namespace, isNodeAddress, service } = options;
    const { body } = request;
    const sent = {
      headers: next.headers,
      signal,
      ca,
      isTlsUnverified,
      namespace,
      isNodeAddress,
      ...(service !== undefined && { service }),
    };
    const answer = await options.send(next.url, body === undefined ? sent : { ...sent, body });
    if (!REDIRECTS.has(answer.status)) return await readBody(answer, options);
    await discard(answer);
    if (body !== undefined) return { ok: false, cause: "it redirects, and credentials are not sent on" };
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
  /** It makes the request a POST. */
  readonly body?: string;
  readonly signal: AbortSignal;
  /** The only trusted authority, PEM; `null` = those of the client. */
  readonly ca: string | null;
  readonly isTlsUnverified: boolean;
  /** Whose trigger it is. */
  readonly namespace: string;
  readonly isNodeAddress: (address: string) => boolean;
  /** The Service whose endpoint is asked by its address. */
  readonly service?: URL;
}

/**
 * Sends a GET, or a POST, and follows no redirect. Rejects without an answer. If the signal aborts, it rejects or the body
 * fails.
 */
export type SendToTrigger = (url: URL, options: SendOptions) => Promise<StatusAnswer>;

interface TriggerClientOptions {
  /** The trusted authorities of servers without `ca`, PEM; none by default. */
  readonly caCerts?: readonly string[];
  readonly findDestination: FindDestination;
}

interface TriggerClient extends Disposable {
  readonly send: SendToTrigger;
}

/**
 * Each request goes to an address that was checked. Disposing the client closes the connections.
 *
 * A request over plain HTTP, or without verification, has a connection of its own to the address. Deno's client verifies
 * a certificate by the name that it connects to, so an https request goes to the name. If the name leads elsewhere after
 * the check, the certificate does not match, and nothing is sent there but the beginning of a handshake. Clients that
 * were used last are kept, with few idle connections.
 */
export function createTriggerClient({ caCerts = [], findDestination }: TriggerClientOptions): TriggerClient {
  /** The one that was used last is at the end. */
  const clients = new Map<string, KeptClient>();

  function clientFor(place: ClientPlace): Deno.HttpClient {
    const key = [place.host, place.port, place.ca ?? ""].join(" ");
    const kept = clients.get(key);
    if (kept !== undefined) {
      clients.delete(key);
      clients.set(key, kept);
      return kept.client;
    }
    const { namespace } = place;
    const own = [...clients].filter(([, one]) => one.namespace === namespace);
    const [oldest] = own.length >= MAX_CLIENTS_PER_NAMESPACE ? own.map(([key]) => key) : clients.keys();
    if (oldest !== undefined && (own.length >= MAX_CLIENTS_PER_NAMESPACE || clients.size >= MAX_CLIENTS)) close(oldest);
    const client = createClient(place, caCerts);
    clients.set(key, { client, namespace });
    return client;
  }

  /** Requests in progress continue. */
  function close(key: string): void {
    clients.get(key)?.client.close();
    clients.delete(key);
  }

  async function sendTo(address: string, url: URL, options: SendOptions): Promise<StatusAnswer> {
    const { headers, signal, ca, namespace, body } = options;
    const posted = body === undefined ? {} : { method: "POST", body };
    if (!isVerified(url, options)) {
      return await sendUnverifiedOnce(url, { address, headers: Object.fromEntries(headers), signal, ...posted });
    }
    const client = clientFor({ host: hostOf(url), port: portOf(url), ca, namespace });
    return await fetch(url, { headers, signal, redirect: "manual", client, ...posted });
  }

  async function send(url: URL, options: SendOptions): Promise<StatusAnswer> {
    const { signal, isNodeAddress, service } = options;
    const { addresses, isAllowed } = await abortable(findDestination(url, isNodeAddress, service), signal);
    let failure: unknown = null;
    for (const address of isVerified(url, options) ? addresses.slice(0, 1) : addresses) {
      try {
        return await sendTo(address, url, options);
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    throw new Unreachable(isAllowed, failure);
  }

  return {
    send,
    [Symbol.dispose]() {
      for (const key of [...clients.keys()]) close(key);
    },
  };
}

interface KeptClient {
  readonly client: Deno.HttpClient;
  /** Of the trigger for which it was made. */
  readonly namespace: string;
}

interface ClientPlace extends Pick<SendOptions, "ca" | "namespace"> {
  readonly host: string;
  readonly port: number;
}

const MAX_CLIENTS = 128;

/** One namespace with many servers or authorities must not close the connections of others. */
const MAX_CLIENTS_PER_NAMESPACE = 16;

/** So at most 256 idle connections, each for at most 30 s. */
const POOL = { poolMaxIdlePerHost: 2, poolIdleTimeout: 30_000 };

function isVerified({ protocol }: URL, { isTlsUnverified }: SendOptions): boolean {
  return protocol === "https:" && !isTlsUnverified;
}

function createClient({ ca }: ClientPlace, caCerts: readonly string[]): Deno.HttpClient {
  const own = { certificate: null, pool: POOL };
  try {
    return createTlsClient({ ...own, caCerts: ca === null ? caCerts : [ca] });
  } catch (error) {
    if (ca !== null || caCerts.length > 0) throw error;
    // If the process trusts public authorities for its API server, its triggers do too.
    return createPublicTlsClient(own);
  }
}

/** No address gave an answer. */
class Unreachable extends Error {
  override readonly name = "Unreachable";
  /** The operator has allowed the host, so the author may get the cause. */
  readonly isAllowed: boolean;

  constructor(isAllowed: boolean, cause: unknown) {
    super("no answer", { cause });
    this.isAllowed = isAllowed;
  }
}

/**
 * Returns one of a few fixed sentences: the original text may contain a URL or a header. Whether a port is open, filtered
 * or not there is the same sentence, unless the operator has allowed the host: otherwise triggers would scan networks
 * that their author cannot reach. What a certificate lacks is not a secret, because such a server also answers with
 * unsafeSsl. Never throws.
 */
export function describeFailure(error: unknown): string {
  if (error instanceof EgressDenied) return error.message;
  const words = listMessages(error).join("; ");
  const isHidden = error instanceof Unreachable && !error.isAllowed;
  const cause = (isHidden ? CERTIFICATE_CAUSES : [...CERTIFICATE_CAUSES, ...CONNECTION_CAUSES])
    .find(([pattern]) => pattern.test(words))?.[1];
  return cause ?? (isHidden ? HIDDEN_CAUSE : "the connection failed");
}

const HIDDEN_CAUSE =
  "no HTTP server answers there; check host, port and scheme of its address, or let podfit's operator " +
  "allow the host (--trigger-allow), and podfit names the cause";

/** Returns advice for the author of the trigger, after a semicolon, or an empty text. */
export function adviseOnStatus(status: number): string {
  return ADVICE.find(([matches]) => matches(status))?.[1] ?? "";
}

type Causes = readonly (readonly [RegExp, string])[];

const CERTIFICATE_CAUSES: Causes = [
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
    /Cannot trust the given CA alone/,
    "podfit cannot trust parameter ca alone, as it trusts public authorities already; set certificate-authority of the cluster in the kubeconfig",
  ],
  [/certificate|PEM|\bcert\b/i, "its certificate, or parameter ca, cannot be used"],
];

const CONNECTION_CAUSES: Causes = [
  [
    /InvalidContentType|invalid HTTP version|wrong version number/i,
    "one side speaks http and the other https; check the scheme of its address",
  ],
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
