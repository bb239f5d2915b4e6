/**
 * At which of a node's addresses is its kubelet asked? Whoever may write the node's status chooses them, and podfit
 * sends a credential there. So only an IP address is dialed, unless the operator asks for names, which are whatever DNS
 * makes of them, and none that leads back to podfit's own machine, to a metadata service of a cloud or to many at once.
 */
import { oneLine } from "../kube/network_error.ts";
import { LOOPBACK, readPurpose } from "../units/address_purpose.ts";
import type { Address } from "./watch_usage.ts";

/** The types of a node's addresses: https://kubernetes.io/docs/reference/node/node-status/#addresses */
export const ADDRESS_TYPES = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"] as const;

export type AddressType = typeof ADDRESS_TYPES[number];

/** Which addresses an operator allows. */
export interface AddressRules {
  /** In the order in which they are looked for. */
  readonly types: readonly AddressType[];
  /** Where podfit may be on the machine of a node. */
  readonly allowsLoopback: boolean;
}

/** The origin of a kubelet, or why it isn't dialed. */
export type Dialed =
  | { readonly kind: "origin"; readonly origin: string; readonly host: string }
  | { readonly kind: "refused"; readonly why: string };

/** Chooses the first address of the first type that the node has. An address that is refused is not passed over. */
export function toKubeletOrigin({ addresses, port }: Address, { types, allowsLoopback }: AddressRules): Dialed {
  const found = types.map((type) => addresses?.find((one) => one.type === type)).find((one) => one !== undefined);
  if (found === undefined) {
    return refuse(
      `the node's status has no address of type ${types.join(" or ")} (--kubelet-preferred-address-types has others)`,
    );
  }
  const { type, address } = found;
  const shown = `"${oneLine(String(address))}"`;
  if (!Number.isInteger(port) || port < 1 || port > 65535) return refuse(`its port ${oneLine(String(port))} is none`);
  const host = type === "InternalIP" || type === "ExternalIP" ? readIp(address) : readName(address);
  if (host === null) {
    return refuse(`the node's ${type} ${shown} is no ${type.endsWith("IP") ? "IP address" : "host name"}`);
  }
  const purpose = readPurpose(host);
  if (purpose !== null && !(purpose === LOOPBACK && allowsLoopback)) {
    return refuse(`the node's ${type} ${shown} is ${purpose}, which is no way to a node`);
  }
  return { kind: "origin", origin: `https://${host.includes(":") ? `[${host}]` : host}:${port}`, host };
}

function refuse(why: string): Dialed {
  return { kind: "refused", why };
}

/** Gives an IP address as it is written canonically, without brackets; `null` for anything else. */
function readIp(text: unknown): string | null {
  if (typeof text !== "string") return null;
  // A URL also takes 0x7f.1 and 2130706433 for IPv4 addresses, which are none here.
  if (isIPv4(text)) return text;
  if (!/^[0-9a-f:.]{2,45}$/i.test(text) || !text.includes(":")) return null;
  return URL.parse(`https://[${text}]`)?.hostname.slice(1, -1) ?? null;
}

function isIPv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

/** A name that a resolver is asked for; an address that is given as a name is read as the address. */
function readName(text: unknown): string | null {
  if (typeof text !== "string" || text.length > 253) return null;
  const ip = readIp(text);
  if (ip !== null) return ip;
  // A last label of digits alone makes a URL read the whole as an IPv4 address.
  return /^([a-z0-9]([-a-z0-9_]*[a-z0-9])?\.)*[a-z]([-a-z0-9]*[a-z0-9])?$/i.test(text) ? text.toLowerCase() : null;
}
