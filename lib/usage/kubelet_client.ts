/**
 * HTTPS to kubelets. Verified with native fetch; or, only when an operator asks for it, with any certificate accepted,
 * for which node:https has to serve, as native fetch can't do that for one client. Never used for the API server.
 */
import { isSameCertificate } from "../kube/config/credential.ts";
import type { ClientCertificate } from "../kube/config/credential.ts";
import { createTlsClient } from "../kube/tls.ts";
import { type StatusAnswer, UnverifiedClient } from "../kube/unverified_https.ts";

/** Which certificates of kubelets are accepted. */
export interface KubeletClientOptions {
  /** Gives those that are trusted at the moment, and no others, PEM; the same array as long as they are the same. */
  readonly readCaCerts: () => readonly string[];
  readonly insecureTls: boolean;
}

/** No Request: fetch would make another one of it, with a signal more, for each poll of each node. */
export interface KubeletRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly certificate: ClientCertificate | null;
}

/** What is read of a kubelet's answer. */
export type KubeletAnswer = StatusAnswer;

/** Sends requests to kubelets; disposal closes its connections. */
export class KubeletClient implements Disposable {
  readonly #options: KubeletClientOptions;
  #connections: Connections | null = null;
  #certificate: ClientCertificate | null = null;
  #caCerts: readonly string[] = [];
  #isClosed = false;

  constructor(options: KubeletClientOptions) {
    this.#options = options;
  }

  /** A GET that follows no redirect. Rejects, or errors the body, when the signal aborts. */
  send(url: string, { headers, signal, certificate }: KubeletRequest): Promise<KubeletAnswer> {
    const connections = this.#connectionsFor(certificate);
    return connections.kind === "verified"
      ? fetch(url, { headers, signal, redirect: "manual", client: connections.client })
      : connections.client.send(url, { headers, signal });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#disconnect();
  }

  #disconnect(): void {
    if (this.#connections?.kind === "verified") this.#connections.client.close();
    if (this.#connections?.kind === "unverified") this.#connections.client[Symbol.dispose]();
    this.#connections = null;
  }

  /** A renewed certificate or CA needs new connections; unverified requests under way then fail, once. */
  #connectionsFor(certificate: ClientCertificate | null): Connections {
    if (this.#isClosed) throw new Error("Cannot send to a kubelet: the source of usage is closed");
    const { readCaCerts, insecureTls } = this.#options;
    const caCerts = readCaCerts();
    const isSame = caCerts === this.#caCerts && isSameCertificate(certificate, this.#certificate);
    if (this.#connections !== null && isSame) return this.#connections;
    this.#disconnect();
    this.#certificate = certificate;
    this.#caCerts = caCerts;
    this.#connections = insecureTls ? { kind: "unverified", client: new UnverifiedClient(certificate) } : {
      kind: "verified",
      client: createTlsClient({ caCerts, certificate }),
    };
    return this.#connections;
  }
}

type Connections =
  | { readonly kind: "verified"; readonly client: Deno.HttpClient }
  | { readonly kind: "unverified"; readonly client: UnverifiedClient };
