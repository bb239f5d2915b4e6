/**
 * HTTPS to servers whose certificate is not verified, because somebody asked for that: native fetch can't do it for one client, node:https
 * can. Whatever a server answers, nothing is made of it in a handler of node:https: what throws there ends the process.
 */
import { abortable } from "@std/async/abortable";
import type { IncomingMessage } from "node:http";
import { Agent, request as sendRequest } from "node:https";
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
  readonly agent: Agent;
}

/** Makes the connections, which accept any certificate; whoever has them destroys them. */
export function createUnverifiedAgent(certificate: ClientCertificate | null): Agent {
  // Without `ca` Deno would read the system's, for which it wants a permission of its own.
  return new Agent({ keepAlive: true, rejectUnauthorized: false, ca: [], ...(certificate ?? {}) });
}

/** A GET that follows no redirect and asks for no compression. Rejects, or errors the body, when the signal aborts. */
export async function sendUnverified(
  url: string,
  { headers, signal, agent }: UnverifiedRequest,
): Promise<StatusAnswer> {
  signal.throwIfAborted();
  const outgoing = sendRequest(url, { agent, headers: { ...headers } });
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
