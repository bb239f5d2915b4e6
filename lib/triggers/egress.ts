/**
 * To which address does a trigger's request go, and may it?
 *
 * A tenant writes the URL, and often the DNS record as well. So a name is resolved here, and each address is checked. The
 * sender takes an address from here and not the name, so that a second answer of the DNS has no effect.
 *
 * The order is: addresses that podfit never asks, what the operator denies, what the operator allows, and then this
 * machine, the API server and nodes. Everything else is allowed, such as Services of the cluster.
 */
import {
  findAddressPurpose,
  findForbiddenPurpose,
  hostOf,
  type HostRule,
  listIpKeys,
  matchesHost,
  parseIp,
  portOf,
} from "../units/address.ts";

/** Resolves to the addresses of a name; rejects if there are none. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

interface EgressOptions {
  /** Hosts and addresses that may be asked although they are denied by default. */
  readonly allow: readonly HostRule[];
  readonly deny: readonly HostRule[];
  /** The addresses of the pod that podfit runs in. */
  readonly own: readonly string[];
  /** The API server's host, a name or an address; `null` = not known. */
  readonly apiServer: string | null;
  readonly resolve?: ResolveHost;
  /** Milliseconds. */
  readonly monotonic: () => number;
}

/** Where a request may be sent. */
interface Destination {
  /** In the order in which they are tried; never empty. */
  readonly addresses: readonly string[];
  /** The operator has allowed the host itself. */
  readonly isAllowed: boolean;
}

/**
 * Rejects with `EgressDenied`, and with the error of the resolver. `service`: whose endpoint the URL is; what is denied by
 * that name is denied too.
 */
export type FindDestination = (
  url: URL,
  isNodeAddress: (address: string) => boolean,
  service?: URL,
) => Promise<Destination>;

/** The request is not sent; the message says why, and what to do. */
export class EgressDenied extends Error {
  override readonly name = "EgressDenied";
}

/** Returns a function that resolves and checks the host of a URL. */
export function createEgress(options: EgressOptions): FindDestination {
  const { allow, deny, own, apiServer, resolve = resolveBySystem, monotonic } = options;
  const ownKeys = new Set(own.flatMap(listIpKeys));
  const known = new Map<string, Resolved>();

  async function resolveHost(host: string): Promise<readonly string[]> {
    if (parseIp(host) !== null) return [host];
    const found = known.get(host);
    if (found !== undefined && found.untilMs > monotonic()) return await found.addresses;
    const addresses = resolve(host);
    known.delete(host);
    known.set(host, { addresses, untilMs: monotonic() + RESOLVED_FOR_MS });
    const [oldest] = known.keys();
    if (known.size > MAX_RESOLVED && oldest !== undefined) known.delete(oldest);
    try {
      return await addresses;
    } catch (error) {
      if (known.get(host)?.addresses === addresses) known.delete(host);
      throw error;
    }
  }

  async function listApiServerKeys(): Promise<ReadonlySet<string>> {
    if (apiServer === null) return new Set();
    return new Set((await resolveHost(apiServer).catch(() => [])).flatMap(listIpKeys));
  }

  return async (url, isNodeAddress, service = url) => {
    const [host, port] = [hostOf(url), portOf(url)];
    const isAllowed = matchesHost(allow, host, port);
    for (const named of [url, service]) {
      if (!matchesHost(deny, hostOf(named), portOf(named))) continue;
      throw new EgressDenied(`the operator of podfit denies ${shown(hostOf(named))}`);
    }
    const [addresses, apiServerKeys] = [await resolveHost(host), await listApiServerKeys()];
    const findFault = (address: string): string | null => {
      const purpose = findForbiddenPurpose(address);
      if (purpose !== null) return `${shown(host)} is ${purpose}, which is not asked`;
      if (matchesHost(deny, address, port)) return `the operator of podfit denies the address of ${shown(host)}`;
      if (isAllowed || matchesHost(allow, address, port)) return null;
      const keys = listIpKeys(address);
      const isInternal = findAddressPurpose(address) !== null ||
        keys.some((key) => ownKeys.has(key) || apiServerKeys.has(key)) || isNodeAddress(address);
      return isInternal
        ? `${shown(host)} is podfit itself, the API server or a node, which is not asked; ` +
          "podfit's operator can allow it (--trigger-allow)"
        : null;
    };
    const allowed = addresses.filter((address) => findFault(address) === null);
    if (allowed.length > 0) return { addresses: allowed.slice(0, MAX_TRIED), isAllowed };
    const [first] = addresses;
    throw new EgressDenied(first === undefined ? `${shown(host)} has no address` : findFault(first) ?? "");
  };
}

interface Resolved {
  readonly addresses: Promise<readonly string[]>;
  readonly untilMs: number;
}

/** One look-up for all triggers of a server in this time. */
const RESOLVED_FOR_MS = 10_000;

const MAX_RESOLVED = 1000;

/** A server with many addresses that do not answer must not take the whole timeout. */
const MAX_TRIED = 3;

function shown(host: string): string {
  return `host "${host}"`;
}

/** As other requests of this process resolve names: by the C library, with the search domains of the pod. */
async function resolveBySystem(host: string): Promise<readonly string[]> {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}
