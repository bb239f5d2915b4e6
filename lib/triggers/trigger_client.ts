/**
 * The connections of triggers. Certificates are verified by the authorities that a TriggerAuthentication or an operator gives, or, where the
 * trigger says unsafeSsl, not at all; the process trusts no others (see kube/tls.ts).
 */
import { createPublicTlsClient, createTlsClient } from "../kube/tls.ts";
import { type StatusAnswer, UnverifiedClient } from "../kube/unverified_https.ts";

export interface SendOptions {
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** The authority that alone is trusted, PEM; `null` = those of the client. */
  readonly ca: string | null;
  readonly isTlsUnverified: boolean;
}

/** Sends a GET and follows no redirect. Rejects, or errors the body, when the signal aborts; rejects where there is no answer. */
export type SendToTrigger = (url: URL, options: SendOptions) => Promise<StatusAnswer>;

export interface TriggerClientOptions {
  /** The authorities of servers for which no `ca` is given, PEM; none by default. */
  readonly caCerts?: readonly string[];
}

export interface TriggerClient extends Disposable {
  readonly send: SendToTrigger;
}

/** Disposal closes the connections. */
export function createTriggerClient({ caCerts = [] }: TriggerClientOptions = {}): TriggerClient {
  /** By authority, the one that was made last at the end; "" for the client's own. */
  const clients = new Map<string, Deno.HttpClient>();
  const unverified = new UnverifiedClient(null);

  function clientFor(ca: string): Deno.HttpClient {
    const known = clients.get(ca);
    if (known !== undefined) return known;
    const made = ca === "" ? createDefaultClient(caCerts) : createTlsClient({ caCerts: [ca], certificate: null });
    clients.set(ca, made);
    const [oldest] = clients.keys();
    // What it is still used for goes on.
    if (clients.size > MOST_CLIENTS && oldest !== undefined) close(oldest);
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

const MOST_CLIENTS = 64;

/** In a process that trusts public authorities already (its API server is such a one's), so do its triggers. */
function createDefaultClient(caCerts: readonly string[]): Deno.HttpClient {
  try {
    return createTlsClient({ caCerts, certificate: null });
  } catch (error) {
    if (caCerts.length > 0) throw error;
    return createPublicTlsClient({ certificate: null });
  }
}
