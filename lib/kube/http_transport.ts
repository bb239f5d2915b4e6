/**
 * How does podfit connect to a real API server? Requests go over native fetch with the current CA and credential.
 *
 * After a 401 the request is sent once more if there is a newer credential.
 */
import { type Clock, isTimeoutError, systemClock } from "../runtime/clock.ts";
import { abortable } from "../runtime/tasks.ts";
import { isDeepEqual } from "../units/equality.ts";
import { type ClientCertificate, type Credential, toHeader } from "./config/credential.ts";
import { type ConfigSources, loadServerConfig, type ServerConfig } from "./config/load.ts";
import { isUntrusted, toNetworkError } from "./errors.ts";
import { createPublicTlsClient, createTlsClient } from "./https.ts";
import { type ApiServer, type SendOptions, sendWithCredential } from "./transport.ts";

export interface ConnectOptions extends ConfigSources {
  /** podfit's own, for the User-Agent. */
  readonly version: string;
  readonly clock?: Pick<Clock, "now" | "timeout">;
  /** Ends the opening, with an exec plugin that still runs; what is open already stays so. */
  readonly signal?: AbortSignal;
}

/**
 * Opens the API server of the first configuration that is found. Reads its credential without sending anything. Rejects
 * if the configuration cannot be used, and says what to do.
 */
export async function connect(options: ConnectOptions): Promise<ApiServer> {
  const closing = new AbortController();
  const { clock = systemClock, signal } = options;
  const close = () => closing.abort();
  signal?.addEventListener("abort", close, { once: true });
  try {
    const config = await loadServerConfig(options, { clock, signal: closing.signal });
    return await openServer(config, { version: options.version, onClose: close });
  } finally {
    signal?.removeEventListener("abort", close);
  }
}

/** Opens the API server of a configuration. Rejects when its credential can't be read or used. */
async function openServer(
  config: ServerConfig,
  { version, onClose = () => {} }: { readonly version: string; readonly onClose?: () => void },
): Promise<ApiServer> {
  const { origin, namespace, source, getCredential } = config;
  const http = new HttpTransport(config, { userAgent: `podfit/${version}` });
  await http.prepare();
  return {
    origin,
    namespace,
    source,
    get caCerts() {
      return http.caCerts;
    },
    transport: (request, options) => http.send(request, options),
    getCredential,
    [Symbol.asyncDispose]() {
      onClose();
      http[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

/**
 * Owns the connections to one API server; disposal closes them. A request is sent once more after a 401 if there is a
 * newer credential, and after a distrusted certificate if there is a newer CA. Nothing else is retried, no redirect is
 * followed, and the caller sets timeouts.
 */
export class HttpTransport implements Disposable {
  readonly #config: ServerConfig;
  readonly #userAgent: string;
  #connections: Connections | null = null;
  #caCerts: readonly string[];
  #isClosed = false;
  /**
   * Keeps request and response alive as long as the body. Deno 2.9 does not abort a streaming body whose Response was
   * collected as garbage: the body alone does not hold the signal. https://github.com/denoland/deno/issues/29075
   */
  readonly #heldByBody = new WeakMap<ReadableStream, readonly [Request, Response]>();

  constructor(config: ServerConfig, options: HttpTransportOptions) {
    this.#config = config;
    this.#caCerts = config.caCerts;
    this.#userAgent = options.userAgent;
  }

  /** The CA certificates of the last request, PEM. */
  get caCerts(): readonly string[] {
    return this.#caCerts;
  }

  /** Reads the credential without connecting. Rejects when there is none, or when its certificate can't be used. */
  async prepare(): Promise<void> {
    this.#clientFor(await this.#config.getCredential(null));
  }

  /** Sends a request, as a Transport does. */
  async send(request: Request, options: SendOptions = {}): Promise<Response> {
    // A stream cannot be sent twice, so the body is read first. podfit's are small. `request.body` would make a stream of
    // it, which takes longer to read.
    const bytes = await request.arrayBuffer();
    const body = bytes.byteLength === 0 ? null : bytes;
    return await sendWithCredential(
      (rejected) => this.#getCredential(rejected, request.signal),
      (credential) => this.#sendOnce(request, { body, credential, ...options }),
    );
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#connections?.client.close();
    this.#connections = null;
  }

  /** A plugin may take a minute, so the wait ends with the request's signal. */
  async #getCredential(rejected: Credential | null, signal: AbortSignal): Promise<Credential> {
    try {
      return await abortable(this.#config.getCredential(rejected), signal);
    } catch (error) {
      if (!signal.aborted || !isTimeoutError(signal.reason)) throw error;
      const { origin, source } = this.#config;
      throw new Error(`Cannot send to API server "${origin}": no credential in time from ${source}`, { cause: error });
    }
  }

  async #sendOnce(
    request: Request,
    { body, credential, beforeSend }: Outgoing,
  ): Promise<Response> {
    const { method, signal } = request;
    const headers = this.#headersFor(request, credential);
    await this.#getCaCerts(null);
    for (let isLast = false;; isLast = true) {
      signal.throwIfAborted();
      const client = this.#clientFor(credential);
      const used = this.#caCerts;
      beforeSend?.();
      try {
        const response = await fetch(request.url, { method, headers, body, signal, redirect: "manual", client });
        if (response.body !== null) this.#heldByBody.set(response.body, [request, response]);
        return response;
      } catch (error) {
        if (signal.aborted && !isTimeoutError(signal.reason)) throw error;
        if (!isLast && isUntrusted(error) && await this.#getCaCerts(used) !== used) continue;
        throw toNetworkError(error, this.#config.origin);
      }
    }
  }

  async #getCaCerts(refusing: readonly string[] | null): Promise<readonly string[]> {
    const { getCaCerts } = this.#config;
    if (getCaCerts !== undefined) this.#caCerts = await getCaCerts(refusing);
    return this.#caCerts;
  }

  #headersFor(request: Request, credential: Credential): Headers {
    const headers = new Headers(request.headers);
    headers.set("User-Agent", this.#userAgent);
    const { authorization } = credential;
    if (authorization !== null && !headers.has("Authorization")) headers.set("Authorization", toHeader(authorization));
    return headers;
  }

  /** Closing the old client does not end the requests and bodies that still use it (tested). */
  #clientFor({ clientCertificate }: Credential): Deno.HttpClient {
    if (this.#isClosed) throw new Error(`Cannot send to API server "${this.#config.origin}": the connection is closed`);
    const open = this.#connections;
    const caCerts = this.#caCerts;
    if (open?.caCerts === caCerts && isDeepEqual(clientCertificate, open.certificate)) return open.client;
    const client = this.#createClient(clientCertificate);
    open?.client.close();
    this.#connections = { client, caCerts, certificate: clientCertificate };
    return client;
  }

  #createClient(certificate: ClientCertificate | null): Deno.HttpClient {
    const { origin, proxyUrl, source } = this.#config;
    const caCerts = this.#caCerts;
    const options = { certificate, ...(proxyUrl === null ? {} : { proxy: toProxy(proxyUrl) }) };
    try {
      const isPublic = caCerts.length === 0 && origin.startsWith("https:");
      return isPublic ? createPublicTlsClient(options) : createTlsClient({ ...options, caCerts });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Cannot use the certificates of ${source}: ${reason}`, { cause });
    }
  }
}

interface HttpTransportOptions {
  readonly userAgent: string;
}

interface Outgoing extends SendOptions {
  readonly body: ArrayBuffer | null;
  readonly credential: Credential;
}

interface Connections {
  readonly client: Deno.HttpClient;
  /** What the client was made with. */
  readonly caCerts: readonly string[];
  readonly certificate: ClientCertificate | null;
}

function toProxy(proxyUrl: string): Deno.Proxy {
  const url = new URL(proxyUrl);
  const basicAuth = { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  url.username = url.password = "";
  return basicAuth.username === "" ? { url: url.href } : { url: url.href, basicAuth };
}
