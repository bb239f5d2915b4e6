/**
 * Sends requests to one API server over native fetch, with its CA and the credential of the moment. After a 401 the
 * same request is sent once more if there is a newer credential. Nothing else is retried, and timeouts are the
 * caller's.
 */
import { abortable } from "@std/async/abortable";
import { isSameCertificate, isSameCredential, toHeader } from "./config/credential.ts";
import type { ClientCertificate, Credential } from "./config/credential.ts";
import { toNetworkError } from "./network_error.ts";
import type { ServerConfig } from "./config/server_config.ts";

export interface HttpTransportOptions {
  readonly userAgent: string;
}

/** Owns the connections to one API server; disposal closes them. */
export class HttpTransport implements Disposable {
  readonly #config: ServerConfig;
  readonly #userAgent: string;
  #client: Deno.HttpClient | null = null;
  #certificate: ClientCertificate | null = null;
  #isClosed = false;
  /**
   * Keeps request and response alive as long as the body. Deno 2.9 does not abort a streaming body whose Response was
   * collected as garbage: the body alone does not hold the signal. https://github.com/denoland/deno/issues/29075
   */
  readonly #heldByBody = new WeakMap<ReadableStream, readonly [Request, Response]>();

  constructor(config: ServerConfig, options: HttpTransportOptions) {
    this.#config = config;
    this.#userAgent = options.userAgent;
  }

  /** The client certificate of the last request; `null` without one. */
  get clientCertificate(): ClientCertificate | null {
    return this.#certificate;
  }

  /** Reads the credential without connecting. Rejects when there is none, or when its certificate can't be used. */
  async prepare(): Promise<void> {
    this.#clientFor(await this.#config.readCredential(null));
  }

  /** Sends a request, as a Transport does. */
  async send(request: Request): Promise<Response> {
    // A stream cannot be sent twice, so the body is read first. podfit's are small.
    const body = request.body === null ? null : await request.arrayBuffer();
    const credential = await this.#readCredential(null, request.signal);
    const response = await this.#sendOnce(request, { body, credential });
    if (response.status !== 401) return response;
    let newer: Credential;
    try {
      newer = await this.#readCredential(credential, request.signal);
    } catch (error) {
      // cancel() rejects when the signal has ended the body already.
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

  /** A plugin may take a minute, so the wait ends with the request's signal. */
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

  /** Closing the old client does not end the requests and bodies that still use it (tested). */
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
        // Deno never gives up a dead HTTP/2 connection: https://github.com/denoland/deno/issues/36542
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
