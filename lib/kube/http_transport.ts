/**
 * Sends requests to one API server over native fetch, with its CA and the credential of the moment. After a 401 the
 * same request goes out once more if there is a newer credential; nothing else is retried and nothing is timed here.
 */
import { abortable } from "@std/async/abortable";
import { isSameCertificate, isSameCredential, toHeader } from "./config/credential.ts";
import type { ClientCertificate, Credential } from "./config/credential.ts";
import { toNetworkError } from "./network_error.ts";
import type { ServerConfig } from "./config/server_config.ts";

export interface HttpTransportOptions {
  readonly userAgent: string;
}

export class HttpTransport implements Disposable {
  readonly #config: ServerConfig;
  readonly #userAgent: string;
  #client: Deno.HttpClient | null = null;
  #certificate: ClientCertificate | null = null;
  #isClosed = false;
  /**
   * Deno 2.9 forgets to abort a streaming body once the garbage collector has taken its Response: the body alone does
   * not hold the signal. So both live as long as the body does. See https://github.com/denoland/deno/issues/29075
   */
  readonly #heldByBody = new WeakMap<ReadableStream, readonly [Request, Response]>();

  constructor(config: ServerConfig, options: HttpTransportOptions) {
    this.#config = config;
    this.#userAgent = options.userAgent;
  }

  get clientCertificate(): ClientCertificate | null {
    return this.#certificate;
  }

  /** Connects to nothing yet, but tells whether certificate and key can be used. */
  async prepare(): Promise<void> {
    this.#clientFor(await this.#config.readCredential(null));
  }

  async send(request: Request): Promise<Response> {
    // A stream cannot be sent twice, so the body is read first; podfit's are small.
    const body = request.body === null ? null : await request.arrayBuffer();
    const credential = await this.#readCredential(null, request.signal);
    const response = await this.#sendOnce(request, { body, credential });
    if (response.status !== 401) return response;
    let newer: Credential;
    try {
      newer = await this.#readCredential(credential, request.signal);
    } catch (error) {
      // Rejects where the signal has ended the body already.
      await response.body?.cancel().catch(() => {});
      throw error;
    }
    if (isSameCredential(newer, credential)) return response;
    await response.body?.cancel();
    return await this.#sendOnce(request, { body, credential: newer });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#client?.close();
    this.#client = null;
  }

  /** A plugin may take a minute; the request that waits for it has its own time. */
  async #readCredential(rejected: Credential | null, signal: AbortSignal): Promise<Credential> {
    try {
      return await abortable(this.#config.readCredential(rejected), signal);
    } catch (error) {
      if (!signal.aborted || !isTimeout(signal.reason)) throw error;
      const { origin, source } = this.#config;
      throw new Error(`Cannot send to API server "${origin}": no credential in time from ${source}`, { cause: error });
    }
  }

  async #sendOnce(
    request: Request,
    { body, credential }: { readonly body: ArrayBuffer | null; readonly credential: Credential },
  ): Promise<Response> {
    const { method, signal, redirect } = request;
    signal.throwIfAborted();
    const client = this.#clientFor(credential);
    const headers = this.#headersFor(request, credential);
    try {
      const response = await fetch(request.url, { method, headers, body, signal, redirect, client });
      if (response.body !== null) this.#heldByBody.set(response.body, [request, response]);
      return response;
    } catch (error) {
      if (signal.aborted && !isTimeout(signal.reason)) throw error;
      throw toNetworkError(error, this.#config.origin);
    }
  }

  #headersFor(request: Request, credential: Credential): Headers {
    const headers = new Headers(request.headers);
    headers.set("User-Agent", this.#userAgent);
    const authorization = toHeader(credential.authorization);
    if (authorization !== null && !headers.has("Authorization")) headers.set("Authorization", authorization);
    return headers;
  }

  /** Closing the old client leaves the requests and bodies that still use it alone (measured, and tested). */
  #clientFor({ clientCertificate }: Credential): Deno.HttpClient {
    if (this.#isClosed) throw new Error(`Cannot send to API server "${this.#config.origin}": the connection is closed`);
    if (this.#client !== null && isSameCertificate(clientCertificate, this.#certificate)) return this.#client;
    const client = this.#createClient(clientCertificate);
    this.#client?.close();
    this.#client = client;
    this.#certificate = clientCertificate;
    return client;
  }

  #createClient(certificate: ClientCertificate | null): Deno.HttpClient {
    const { caCerts, proxyUrl, source } = this.#config;
    try {
      return Deno.createHttpClient({
        // A dead HTTP/2 connection is never given up: https://github.com/denoland/deno/issues/36542
        http2: false,
        caCerts: [...caCerts],
        ...(proxyUrl === null ? {} : { proxy: toProxy(proxyUrl) }),
        ...(certificate ?? {}),
      });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`Cannot use the certificates of ${source}: ${reason}`, { cause });
    }
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

function toProxy(proxyUrl: string): Deno.Proxy {
  const url = new URL(proxyUrl);
  const basicAuth = { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  url.username = url.password = "";
  return basicAuth.username === "" ? { url: url.href } : { url: url.href, basicAuth };
}
