/**
 * How is the certificate of a server verified? One client trusts the given authorities and no others. The other client
 * accepts any certificate, if an operator asked for that.
 *
 * Deno adds the given authorities to its own store of roots, which holds the public ones: with them, any public
 * certificate for the name would get the token. The store belongs to the process and is filled at its first use. So
 * podfit has it filled with nothing before it makes a client. node:https is used without verification only, because it
 * throws inside event handlers for some bad answers.
 * https://docs.deno.com/runtime/reference/env_variables/#special-environment-variables
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Agent } from "node:https";
import { abortable } from "../runtime/tasks.ts";
import type { Answer } from "./body.ts";
import { hostOf, parseIp } from "../units/address.ts";
import type { ClientCertificate } from "./config/credential.ts";

/**
 * Returns a client that trusts servers of these authorities alone. Throws for certificates that cannot be used, and as
 * requireGivenRoots() does.
 */
export function createTlsClient(options: TlsClientOptions): Deno.HttpClient {
  requireGivenRoots();
  return createClient(options);
}

/**
 * Makes sure that connections trust the authorities that they are given and no others. Throws if the process trusts
 * public authorities already: because of a request before the first client, a download of packages, Deno's check for a
 * newer Deno, or createPublicTlsClient().
 */
export function requireGivenRoots(): void {
  if (findRoots() === "none") return;
  if (findRoots() === "public" || hasLoadedRoots()) {
    throw new Error(
      "Cannot trust the given CA alone: this process trusts public authorities already; set certificate-authority " +
        "of the cluster in the kubeconfig, and start podfit by `deno task start`, or with DENO_NO_UPDATE_CHECK=1",
    );
  }
  trustNoRuntimeRoots();
}

/**
 * Returns a client for a server whose configuration names no authority: it trusts the roots of the runtime. From then
 * on createTlsClient() throws, because the process has them.
 */
export function createPublicTlsClient(options: Omit<TlsClientOptions, "caCerts">): Deno.HttpClient {
  const client = createClient({ ...options, caCerts: [] });
  if (findRoots() === null) Deno.env.set(ROOTS_VARIABLE, `public ${Deno.pid}`);
  return client;
}

/**
 * Makes the process trust no root of the runtime. It must not have fetched anything yet: a store that is filled does
 * not change.
 */
export function trustNoRuntimeRoots(): void {
  const given = FILE_VARIABLES.map((name) => [name, Deno.env.get(name)] as const);
  const store = Deno.env.get(STORE_VARIABLE) ?? "";
  for (const name of FILE_VARIABLES) Deno.env.delete(name);
  Deno.env.set(STORE_VARIABLE, "");
  Deno.createHttpClient({}).close();
  Deno.env.set(ROOTS_VARIABLE, `none ${Deno.pid}`);
  // As they were, for programs that podfit runs.
  if (store === "") Deno.env.delete(STORE_VARIABLE);
  else Deno.env.set(STORE_VARIABLE, store);
  for (const [name, file] of given) if (file !== undefined) Deno.env.set(name, file);
}

/** The part of an answer that is read. It is not a Response, because a Response cannot have every status and reason. */
export interface StatusAnswer extends Answer {
  /** Any three digits. */
  readonly status: number;
  readonly statusText: string;
}

/**
 * Its connections accept any certificate; disposal destroys them, and requests in flight fail. No handler of node:https
 * does work, because an error there ends the process.
 */
export class UnverifiedClient implements Disposable {
  readonly #certificate: ClientCertificate | null;
  #agent: Agent | null = null;
  #isClosed = false;

  constructor(certificate: ClientCertificate | null) {
    this.#certificate = certificate;
  }

  /** A GET that follows no redirect and asks for no compression. Rejects, or errors the body, when the signal aborts. */
  async send(url: string, { headers, signal }: UnverifiedRequest): Promise<StatusAnswer> {
    // Loaded on demand: most podfits never need it, and it costs memory and time at the start.
    const { Agent, request } = await import("node:https");
    signal.throwIfAborted();
    if (this.#isClosed) throw new Error("the connections are closed");
    // Without `ca` Deno would read the system's, which needs an extra permission.
    this.#agent ??= new Agent({ keepAlive: true, rejectUnauthorized: false, ca: [], ...(this.#certificate ?? {}) });
    return await answerOf(request(url, { agent: this.#agent, headers: { ...headers } }), signal);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#agent?.destroy();
  }
}

/**
 * Sends one request to this address, a GET without a body, whatever the host of the URL is; over https it accepts any certificate. Its connection
 * ends with the answer. Rejects, or errors the body, when the signal aborts.
 */
export async function sendUnverifiedOnce(
  url: URL,
  { address, headers, signal, method = "GET", body }: UnverifiedRequest & PostedBody & { readonly address: string },
): Promise<StatusAnswer> {
  const isTls = url.protocol === "https:";
  const { Agent, request } = isTls ? await import("node:https") : await import("node:http");
  signal.throwIfAborted();
  const isName = parseIp(hostOf(url)) === null;
  const options = {
    agent: new Agent({ keepAlive: false, ...(isTls && { rejectUnauthorized: false, ca: [] }) }),
    hostname: address,
    method,
    headers: { ...headers, host: url.host },
    ...(isTls && { servername: isName ? url.hostname : "" }),
  };
  return await answerOf(request(url, options), signal, body);
}

interface PostedBody {
  readonly method?: string;
  readonly body?: string;
}

interface TlsClientOptions {
  /** PEM. With none, no server is trusted. */
  readonly caCerts: readonly string[];
  readonly certificate: ClientCertificate | null;
  readonly proxy?: Deno.Proxy;
  /** Which connections are kept open. */
  readonly pool?: Pick<Deno.CreateHttpClientOptions, "poolMaxIdlePerHost" | "poolIdleTimeout">;
}

/** Names the stores that roots are loaded from, `mozilla` where it is not set; none where it is empty. */
const STORE_VARIABLE = "DENO_TLS_CA_STORE";

/** Name files whose certificates are added. */
const FILE_VARIABLES = ["DENO_CERT", "NODE_EXTRA_CA_CERTS"];

/** What podfit had loaded into which process. This is not a module variable, because workers share the store. */
const ROOTS_VARIABLE = "PODFIT_ROOTS";

function findRoots(): "none" | "public" | null {
  const [what, pid] = Deno.env.get(ROOTS_VARIABLE)?.split(" ") ?? [];
  return pid === String(Deno.pid) && (what === "none" || what === "public") ? what : null;
}

function createClient({ caCerts, certificate, proxy, pool }: TlsClientOptions): Deno.HttpClient {
  return Deno.createHttpClient({
    // Deno never gives up a dead HTTP/2 connection: https://github.com/denoland/deno/issues/36542
    http2: false,
    caCerts: [...caCerts],
    ...(proxy === undefined ? {} : { proxy }),
    ...pool,
    ...(certificate ?? {}),
  });
}

/** A store that has not been filled can't be filled from one that does not exist. */
function hasLoadedRoots(): boolean {
  const given = Deno.env.get(STORE_VARIABLE);
  // Whatever has filled it then, it was with nothing.
  if (given === "" && FILE_VARIABLES.every((name) => !Deno.env.get(name))) return false;
  // A compiled program would keep that failure; and nothing but podfit's own requests can fill the store there.
  if (Deno.build.standalone) return false;
  Deno.env.set(STORE_VARIABLE, "podfit-asks-whether-it-is-filled");
  try {
    Deno.createHttpClient({}).close();
    return true;
  } catch {
    return false;
  } finally {
    if (given === undefined) Deno.env.delete(STORE_VARIABLE);
    else Deno.env.set(STORE_VARIABLE, given);
  }
}

interface UnverifiedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

async function answerOf(outgoing: ClientRequest, signal: AbortSignal, body?: string): Promise<StatusAnswer> {
  const abort = () => void outgoing.destroy(toError(signal.reason));
  signal.addEventListener("abort", abort, { once: true });
  outgoing.on("close", () => signal.removeEventListener("abort", abort));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", resolve);
    // Without this handler the request would never end.
    outgoing.on("upgrade", (incoming, socket) => {
      socket.on("error", () => {});
      socket.destroy();
      resolve(incoming);
    });
  });
  outgoing.end(body);
  return toStatusAnswer(await abortable(answered, signal));
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

function toStatusAnswer(incoming: IncomingMessage): StatusAnswer {
  // An error of a body without a reader would end the process.
  incoming.on("error", () => {});
  const { statusCode = 0, statusMessage = "", headers } = incoming;
  return {
    status: statusCode,
    statusText: statusMessage,
    headers: {
      get(name) {
        const value = headers[name];
        return typeof value === "string" ? value : null;
      },
    },
    body: statusCode < 200 ? null : streamBody(incoming),
  };
}

/**
 * A body that is cancelled ends its connection. ReadableStream.from() does not: before the first read its iterator has
 * nothing to end, so the socket and what it has received would stay for ever.
 */
function streamBody(incoming: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks: AsyncIterator<Uint8Array<ArrayBuffer>> = incoming[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel() {
      incoming.destroy();
    },
  }, { highWaterMark: 0 });
}
