/**
 * What is an IP address reserved for, and may podfit send a request to it?
 *
 * Triggers and node addresses are checked with it.
 */

export const LOOPBACK = "a loopback address";

const LINK_LOCAL = "a link-local address";

const UNSPECIFIED = "the unspecified address";

const MULTICAST = "a multicast address";

/**
 * Returns what an address is reserved for, if that makes it useless as the address of one server; `host` is canonical,
 * without brackets.
 */
export function findAddressPurpose(host: string): string | null {
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(host);
  if (mapped !== null) {
    const [high, low] = [parseInt(mapped[1] ?? "", 16), parseInt(mapped[2] ?? "", 16)];
    return findAddressPurpose([high >> 8, high & 255, low >> 8, low & 255].join("."));
  }
  return PURPOSES.find(([pattern]) => pattern.test(host))?.[1] ?? null;
}

/**
 * Returns why podfit sends no request to a URL whose host is an address; `null` if it does. Cloud machines find their
 * credentials at link-local addresses. A loopback address is allowed: it may be a proxy on the same machine.
 */
export function findForbiddenPurpose({ hostname }: URL): string | null {
  const purpose = findAddressPurpose(hostname.replace(/^\[(.*)\]$/, "$1"));
  return purpose !== null && NEVER_ASKED.has(purpose) ? purpose : null;
}

const NEVER_ASKED: ReadonlySet<string> = new Set([LINK_LOCAL, UNSPECIFIED, MULTICAST]);

/**
 * https://www.iana.org/assignments/iana-ipv4-special-registry,
 * https://www.iana.org/assignments/iana-ipv6-special-registry
 */
const PURPOSES: readonly (readonly [RegExp, string])[] = [
  [/^127\.[\d.]+$|^::1$/, LOOPBACK],
  [/^169\.254\.[\d.]+$|^fe[89ab][0-9a-f]:/, LINK_LOCAL],
  [/^0\.[\d.]+$|^::$/, UNSPECIFIED],
  [/^(22[4-9]|23\d)\.[\d.]+$|^ff[0-9a-f]{2}:/, MULTICAST],
  [/^(24\d|25[0-5])\.[\d.]+$/, "a reserved address"],
];
