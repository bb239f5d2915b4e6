/**
 * What is an IP address reserved for, may podfit send a request to it, and does a rule such as `*.shop.svc:9090` or
 * `10.0.0.0/8` match it?
 *
 * Triggers, their credentials and node addresses are checked with it.
 */
import { isText, NAME_RULE } from "./fields.ts";

export const LOOPBACK = "a loopback address";

const LINK_LOCAL = "a link-local address";

const METADATA = "the address of a cloud's metadata service";

const UNSPECIFIED = "the unspecified address";

const MULTICAST = "a multicast address";

/**
 * https://www.iana.org/assignments/iana-ipv4-special-registry,
 * https://www.iana.org/assignments/iana-ipv6-special-registry; the metadata services are those of Azure, Alibaba,
 * Oracle, AWS and Google. Most clouds have theirs at 169.254.169.254.
 */
const RESERVED: readonly (readonly [cidr: string, purpose: string])[] = [
  ["127.0.0.0/8", LOOPBACK],
  ["::1", LOOPBACK],
  ["169.254.0.0/16", LINK_LOCAL],
  ["fe80::/10", LINK_LOCAL],
  ["168.63.129.16", METADATA],
  ["100.100.100.200", METADATA],
  ["192.0.0.192", METADATA],
  ["fd00:ec2::254", METADATA],
  ["fd20:ce::254", METADATA],
  ["0.0.0.0/8", UNSPECIFIED],
  ["::", UNSPECIFIED],
  ["224.0.0.0/4", MULTICAST],
  ["ff00::/8", MULTICAST],
  ["240.0.0.0/4", "a reserved address"],
];

/** Purposes whose addresses podfit never asks, whatever an operator allows. */
const NEVER_ASKED: ReadonlySet<string> = new Set([LINK_LOCAL, METADATA, UNSPECIFIED, MULTICAST]);

/**
 * Returns what an address is reserved for, if that makes it useless as the address of one server; `null` for others and
 * for names. An IPv6 address that contains an IPv4 address counts as both.
 */
export function findAddressPurpose(host: string): string | null {
  for (const form of listForms(host)) {
    const found = RANGES.find(({ range }) => isInRange(form, range));
    if (found !== undefined) return found.purpose;
  }
  return null;
}

/** Returns why podfit sends no request to an address, whatever the operator allows; `null` if it may. */
export function findForbiddenPurpose(host: string): string | null {
  const purpose = findAddressPurpose(host);
  return purpose !== null && NEVER_ASKED.has(purpose) ? purpose : null;
}

/** Returns the host of a URL without the brackets of an IPv6 address and without the dot at the end of a name. */
export function hostOf({ hostname }: Pick<URL, "hostname">): string {
  return hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

/** Returns the port that a request to an http or https URL goes to. */
export function portOf({ port, protocol }: Pick<URL, "port" | "protocol">): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

/** Bytes of an address, 4 or 16. */
type Ip = readonly number[];

interface Range {
  readonly ip: Ip;
  readonly bits: number;
}

/** With the zone: 45 characters are an address, and 15 are the name of an interface. */
const MAX_IP_LENGTH = 64;

/** Returns the bytes of an address, without brackets; `null` for everything else. Never throws. */
export function parseIp(text: string): Ip | null {
  if (text.length > MAX_IP_LENGTH) return null;
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) {
    const bytes = text.split(".").map(Number);
    return bytes.every((byte) => byte <= 255) ? bytes : null;
  }
  // A zone such as %eth0 is not part of the address.
  const bare = text.replace(/%.*$/, "");
  const url = bare.includes(":") && /^[\d.:a-f]+$/i.test(bare) ? URL.parse(`http://[${bare}]/`) : null;
  if (url === null) return null;
  const [first = [], last = []] = hostOf(url).split("::").map((half) =>
    half.split(":").filter((word) => word !== "").flatMap((word) => [parseInt(word, 16) >> 8, parseInt(word, 16) & 255])
  );
  return [...first, ...Array<number>(16 - first.length - last.length).fill(0), ...last];
}

/** Returns the address, and the IPv4 address that it contains: mapped, compatible, of NAT64 or of 6to4. */
function listForms(text: string): readonly Ip[] {
  const ip = parseIp(text);
  if (ip === null) return [];
  const embedding = ip.length === 16 ? EMBEDDINGS.find(({ range }) => isInRange(ip, range)) : undefined;
  return embedding === undefined ? [ip] : [ip, ip.slice(embedding.at, embedding.at + 4)];
}

/** Returns one text for all notations of an address, and one for the IPv4 address in it; empty for a name. */
export function listIpKeys(text: string): readonly string[] {
  return listForms(text).map((form) => form.join("."));
}

function isInRange(ip: Ip, { ip: start, bits }: Range): boolean {
  if (ip.length !== start.length) return false;
  const whole = bits >> 3;
  for (let index = 0; index < whole; index++) if (ip[index] !== start[index]) return false;
  const mask = (0xff00 >> (bits & 7)) & 0xff;
  return mask === 0 || ((ip[whole] ?? 0) & mask) === ((start[whole] ?? 0) & mask);
}

/** `10.0.0.0/8` or one address; `null` for everything else. */
function parseRange(text: string): Range | null {
  const [address = "", bits, more] = text.split("/");
  const ip = parseIp(address);
  if (ip === null || more !== undefined) return null;
  const given = bits === undefined ? ip.length * 8 : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity;
  return given <= ip.length * 8 ? { ip, bits: given } : null;
}

function getRange(text: string): Range {
  const range = parseRange(text);
  if (range === null) throw new TypeError(`Cannot use "${text}" as a range of addresses`);
  return range;
}

const RANGES = RESERVED.map(([cidr, purpose]) => ({ range: getRange(cidr), purpose }));

/** Where in these ranges the IPv4 address begins. */
const EMBEDDINGS = [
  { range: getRange("::ffff:0:0/96"), at: 12 },
  { range: getRange("::/96"), at: 12 },
  { range: getRange("64:ff9b::/96"), at: 12 },
  { range: getRange("64:ff9b:1::/48"), at: 12 },
  { range: getRange("2002::/16"), at: 2 },
];

/** Servers that were named: a host, all names below a suffix, or addresses; of one port or of all. */
export type HostRule = HostName & { readonly port: number | null };

type HostName =
  | { readonly kind: "name"; readonly name: string; readonly isSuffix: boolean }
  | { readonly kind: "range"; readonly range: Range };

/**
 * Parses `prometheus.monitoring.svc`, `api:8080`, `*.shop.svc`, `10.0.0.0/8`, `10.1.2.3:9090` or `[fd00::1]:9090`;
 * `null` for everything else. Never throws.
 */
export function parseHostRule(text: string): HostRule | null {
  const whole = parseRange(text.replace(/^\[([^\]]*)\]$/, "$1"));
  if (whole !== null) return { kind: "range", range: whole, port: null };
  const [, host = text, written] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  const port = written === undefined ? null : Number(written);
  if (port !== null && (port < 1 || port > 65_535)) return null;
  const range = parseRange(host.replace(/^\[(.*)\]$/, "$1"));
  if (range !== null) return { kind: "range", range, port };
  const isSuffix = host.startsWith("*.");
  const name = (isSuffix ? host.slice(2) : host).toLowerCase().replace(/\.$/, "");
  // Only digits and dots would be an address that is not one.
  if (!isText(name, NAME_RULE) || /^[\d.]+$/.test(name)) return null;
  return { kind: "name", name, isSuffix, port };
}

/** Whether a rule names this host, which is a name or an address; see `hostOf` and `portOf`. */
export function matchesHost(rules: readonly HostRule[], host: string, port: number): boolean {
  const forms = listForms(host);
  return rules.some((rule) => {
    if (rule.port !== null && rule.port !== port) return false;
    if (rule.kind === "range") return forms.some((form) => isInRange(form, rule.range));
    return rule.isSuffix ? host.endsWith(`.${rule.name}`) : host === rule.name;
  });
}
