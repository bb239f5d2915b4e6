/**
 * At which address is a kubelet asked, and over which connection?
 *
 * The node's status is not trusted, because podfit sends a credential there. So only an IP address is dialed, and none
 * that cannot be a node's. A name is dialed only if the operator allows its type. What it resolves to is not checked.
 */
import type { ClientCertificate } from "../../kube/config/credential.ts";
import { oneLine } from "../../kube/errors.ts";
import { createTlsClient, type StatusAnswer, UnverifiedClient } from "../../kube/https.ts";
import type { Clock } from "../../runtime/clock.ts";
import { findAddressPurpose, LOOPBACK } from "../../units/address.ts";
import { isDeepEqual } from "../../units/equality.ts";
import type { KubeletAddress } from "../source.ts";
import { HttpsConnections } from "./https_connection.ts";

/** Not a Request: fetch would copy it, with one more signal, for each poll of each node. */
export interface KubeletRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly certificate: ClientCertificate | null;
}

/** The part of a kubelet's answer that is read. */
export type KubeletAnswer = StatusAnswer;

/** Sends requests to kubelets; disposal closes its connections. */
export class KubeletClient implements Disposable {
  readonly #options: KubeletClientOptions;
  #connections: Connections | null = null;
  #fetchClient: Deno.HttpClient | null = null;
  #certificate: ClientCertificate | null = null;
  #caCerts: readonly string[] = [];
  #isClosed = false;

  constructor(options: KubeletClientOptions) {
    this.#options = options;
  }

  /** Sends a GET that follows no redirect. Rejects, or errors the body, when the signal aborts. */
  send(url: string, { headers, signal, certificate }: KubeletRequest): Promise<KubeletAnswer> {
    const connections = this.#connectionsFor(certificate);
    switch (connections.kind) {
      case "own":
        if (connections.client.canGet(url)) return connections.client.get(url, { headers, signal });
        return this.#fetch(url, { headers, signal, certificate });
      case "fetch":
        return this.#fetch(url, { headers, signal, certificate });
      case "unverified":
        return connections.client.send(url, { headers, signal });
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#disconnect();
  }

  #disconnect(): void {
    this.#connections?.client?.[Symbol.dispose]();
    this.#connections = null;
    this.#fetchClient?.close();
    this.#fetchClient = null;
  }

  #fetch(url: string, { headers, signal, certificate }: KubeletRequest): Promise<KubeletAnswer> {
    const client = this.#fetchClient ??= createTlsClient({ caCerts: this.#caCerts, certificate });
    return fetch(url, { headers, signal, redirect: "manual", client });
  }

  /** A renewed certificate or CA needs new connections; unverified requests in flight then fail, once. */
  #connectionsFor(certificate: ClientCertificate | null): Connections {
    if (this.#isClosed) throw new Error("Cannot send to a kubelet: the source of usage is closed");
    const { getCaCerts } = this.#options;
    const caCerts = getCaCerts();
    const isSame = caCerts === this.#caCerts && isDeepEqual(certificate, this.#certificate);
    if (this.#connections !== null && isSame) return this.#connections;
    this.#disconnect();
    this.#certificate = certificate;
    this.#caCerts = caCerts;
    this.#connections = this.#connect(caCerts, certificate);
    return this.#connections;
  }

  /** Connections of podfit's own cost least. They know neither client certificates nor proxies, which fetch knows. */
  #connect(caCerts: readonly string[], certificate: ClientCertificate | null): Connections {
    const { insecureTls, clock } = this.#options;
    if (insecureTls) return { kind: "unverified", client: new UnverifiedClient(certificate) };
    if (certificate === null && !hasProxy()) return { kind: "own", client: new HttpsConnections({ caCerts, clock }) };
    return { kind: "fetch", client: null };
  }
}

/** The types of a node's addresses: https://kubernetes.io/docs/reference/node/node-status/#addresses */
export const ADDRESS_TYPES = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"] as const;

export type AddressType = typeof ADDRESS_TYPES[number];

/** Which addresses an operator allows. */
export interface AddressRules {
  /** In the order of preference. */
  readonly types: readonly AddressType[];
  /** Whether podfit may run on the machine of a node. */
  readonly allowsLoopback: boolean;
}

/** Returns the first address of the first type that the node has. A refused address is not skipped. */
export function toKubeletOrigin(
  { addresses, port }: KubeletAddress,
  { types, allowsLoopback }: AddressRules,
): KubeletOrigin {
  const found = types.map((type) => addresses?.find((one) => one.type === type)).find((one) => one !== undefined);
  if (found === undefined) {
    return refuse(
      `the node's status has no address of type ${types.join(" or ")} (--kubelet-preferred-address-types has others)`,
    );
  }
  const { type, address } = found;
  const shown = `"${oneLine(String(address))}"`;
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    return refuse(`its port ${oneLine(String(port))} is not a port number`);
  }
  const host = type === "InternalIP" || type === "ExternalIP" ? parseIp(address) : parseHostName(address);
  if (host === null) {
    return refuse(`the node's ${type} ${shown} is not ${type.endsWith("IP") ? "an IP address" : "a host name"}`);
  }
  const purpose = findAddressPurpose(host);
  if (purpose !== null && !(purpose === LOOPBACK && allowsLoopback)) {
    return refuse(`the node's ${type} ${shown} is ${purpose}, which does not lead to a node`);
  }
  return { kind: "origin", origin: `https://${host.includes(":") ? `[${host}]` : host}:${port}`, host };
}

/** Which certificates of kubelets are accepted. */
interface KubeletClientOptions {
  /** Returns the trusted certificates, PEM; the same array as long as they are the same. */
  readonly getCaCerts: () => readonly string[];
  readonly insecureTls: boolean;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
}

type Connections =
  | { readonly kind: "own"; readonly client: HttpsConnections }
  | { readonly kind: "fetch"; readonly client: null }
  | { readonly kind: "unverified"; readonly client: UnverifiedClient };

/** The variables by which fetch sends requests to https URLs through a proxy. */
const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/** Returns whether a proxy may be set; also where this process may not look. */
function hasProxy(): boolean {
  return PROXY_VARIABLES.some((name) => {
    const { state } = Deno.permissions.querySync({ name: "env", variable: name });
    return state !== "granted" || Boolean(Deno.env.get(name));
  });
}

/** Returns the origin of a kubelet, or why it is not dialed. */
export type KubeletOrigin =
  | { readonly kind: "origin"; readonly origin: string; readonly host: string }
  | { readonly kind: "refused"; readonly why: string };

function refuse(why: string): KubeletOrigin {
  return { kind: "refused", why };
}

/** Returns the canonical form of an IP address, without brackets; `null` for anything else. */
function parseIp(text: unknown): string | null {
  if (typeof text !== "string") return null;
  // A URL also accepts 0x7f.1 and 2130706433 as IPv4 addresses; here they are refused.
  if (isIPv4(text)) return text;
  if (!/^[0-9a-f:.]{2,45}$/i.test(text) || !text.includes(":")) return null;
  return URL.parse(`https://[${text}]`)?.hostname.slice(1, -1) ?? null;
}

function isIPv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

/** A name for the resolver; an address in the form of a name counts as an address. */
function parseHostName(text: unknown): string | null {
  if (typeof text !== "string" || text.length > 253) return null;
  const ip = parseIp(text);
  if (ip !== null) return ip;
  // With a last label of digits alone a URL parses the whole as an IPv4 address.
  return /^([a-z0-9]([-a-z0-9_]*[a-z0-9])?\.)*[a-z]([-a-z0-9]*[a-z0-9])?$/i.test(text) ? text.toLowerCase() : null;
}
