/**
 * HTTPS to servers whose certificate is not verified, because somebody asked for that: native fetch can't do it for one client, node:https
 * can. Whatever a server answers, nothing is made of it in a handler of node:https: what throws there ends the process.
 */
import { abortable } from "@std/async/abortable";
import type { ClientRequest, IncomingMessage } from "node:http";
import type { Agent } from "node:https";
import type { Answer } from "./body.ts";
import type { ClientCertificate } from "./config/credential.ts";

/** What is read of an answer. No Response, which refuses to be made of many statuses and reasons. */
export interface StatusAnswer extends Answer {
  /** Of three digits, and those may be any. */
  readonly status: number;
  readonly statusText: string;
}

export interface UnverifiedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Its connections accept any certificate; disposal destroys them, and what is under way fails. */
export class UnverifiedClient implements Disposable {
  readonly #certificate: ClientCertificate | null;
  #agent: Agent | null = null;
  #isClosed = false;

  constructor(certificate: ClientCertificate | null) {
    this.#certificate = certificate;
  }

  /** A GET that follows no redirect and asks for no compression. Rejects, or errors the body, when the signal aborts. */
  async send(url: string, { headers, signal }: UnverifiedRequest): Promise<StatusAnswer> {
    // Most podfits never need it, and it costs each of them memory and a part of its start.
    const { Agent, request } = await import("node:https");
    signal.throwIfAborted();
    if (this.#isClosed) throw new Error("the connections are closed");
    // Without `ca` Deno would read the system's, for which it wants a permission of its own.
    this.#agent ??= new Agent({ keepAlive: true, rejectUnauthorized: false, ca: [], ...(this.#certificate ?? {}) });
    return await answerOf(request(url, { agent: this.#agent, headers: { ...headers } }), signal);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#agent?.destroy();
  }
}

async function answerOf(outgoing: ClientRequest, signal: AbortSignal): Promise<StatusAnswer> {
  const abort = () => void outgoing.destroy(toError(signal.reason));
  signal.addEventListener("abort", abort, { once: true });
  outgoing.on("close", () => signal.removeEventListener("abort", abort));
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", resolve);
    // Without this handler nothing would ever come of the request.
    outgoing.on("upgrade", (incoming, socket) => {
      socket.on("error", () => {});
      socket.destroy();
      resolve(incoming);
    });
  });
  outgoing.end();
  return toStatusAnswer(await abortable(answered, signal));
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

function toStatusAnswer(incoming: IncomingMessage): StatusAnswer {
  // An error of a body that nobody reads any more would end the process.
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
    body: statusCode < 200 ? null : ReadableStream.from<Uint8Array<ArrayBuffer>>(incoming),
  };
}
