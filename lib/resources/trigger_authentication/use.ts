/**
 * Who may use an authentication, and which servers may get its credentials?
 *
 * Its annotations say so. A ClusterTriggerAuthentication is used by ScaledObjects of other people, who write the
 * address of the trigger. So its author names the namespaces and the servers, and without them no object uses it.
 * https://github.com/kedacore/keda/issues/7782
 */
import type { AuthenticationRef } from "../../model/scaled_object.ts";
import {
  findAddressPurpose,
  hostOf,
  type HostRule,
  LOOPBACK,
  matchesHost,
  parseHostRule,
  portOf,
} from "../../units/address.ts";
import { type Fields, isText, LABEL_RULE } from "../../units/fields.ts";
import { quote } from "../../units/untrusted.ts";

export const ALLOWED_HOSTS = "podfit.dev/allowed-hosts";

export const ALLOWED_NAMESPACES = "podfit.dev/allowed-namespaces";

export const ALLOW_PLAIN_HTTP = "podfit.dev/allow-plain-http";

/** What the annotations say. */
export interface AuthenticationUse {
  /** The servers that may get the credentials; `null` = not given. */
  readonly allowedHosts: readonly HostRule[] | null;
  /** The namespaces whose ScaledObjects may use it; `null` = not given. */
  readonly allowedNamespaces: readonly string[] | "*" | null;
  /** Its credentials may be sent over plain HTTP. */
  readonly allowsPlainHttp: boolean;
}

/** What the operator allows to all authentications, as KEDA does. */
export interface CredentialRules {
  /** A ClusterTriggerAuthentication without annotations is for all namespaces and hosts. */
  readonly goAnywhere: boolean;
  readonly overPlainHttp: boolean;
}

export const SAFE_RULES: CredentialRules = { goAnywhere: false, overPlainHttp: false };

/** For whom credentials are. */
export interface Audience extends Pick<AuthenticationRef, "kind" | "name"> {
  /** `null` = any server. */
  readonly hosts: readonly HostRule[] | null;
  readonly overPlainHttp: boolean;
}

/** Far more than a sensible list has. */
const MAX_ENTRIES = 64;

/** Returns what the annotations say; `null` = there are none. Problems are reported to them; never throws. */
export function parseUse(annotations: Fields | null): AuthenticationUse {
  const list = <T>(key: string, options: ListOptions<T>) =>
    annotations === null || !annotations.has(key) ? null : parseList(annotations, key, options);
  const allowedHosts = list(ALLOWED_HOSTS, {
    parse: parseHostRule,
    rule: "must be hosts such as prometheus.monitoring.svc, api:8080 or *.example.com",
  });
  const isForAll = annotations?.get(ALLOWED_NAMESPACES) === "*";
  const allowedNamespaces = isForAll ? "*" : list(ALLOWED_NAMESPACES, {
    parse: (text) => isText(text, LABEL_RULE) ? text : null,
    rule: 'must be names of namespaces, or "*" for all',
  });
  return { allowedHosts, allowedNamespaces, allowsPlainHttp: annotations?.get(ALLOW_PLAIN_HTTP) === "true" };
}

interface ListOptions<T> {
  readonly parse: (text: string) => T | null;
  readonly rule: string;
}

/** Entries with commas between them. An entry that is wrong makes the object invalid. */
function parseList<T>(annotations: Fields, key: string, { parse, rule }: ListOptions<T>): readonly T[] {
  const value = annotations.get(key);
  const texts = typeof value === "string"
    ? value.split(",").map((text) => text.trim()).filter((text) => text !== "")
    : [];
  const entries = texts.slice(0, MAX_ENTRIES).map(parse).filter((entry) => entry !== null);
  if (texts.length === 0 || texts.length > MAX_ENTRIES || entries.length < texts.length) {
    annotations.report(
      key,
      `Cannot use ${quote(value)} as ${key}: ${rule}, at most ${MAX_ENTRIES} with commas between them`,
    );
  }
  return entries;
}

interface Used extends AuthenticationUse, Pick<AuthenticationRef, "kind" | "name"> {}

/** Returns why ScaledObjects of a namespace may not use an authentication, and what to do; `null` if they may. */
export function findNamespaceFault(used: Used, namespace: string, { goAnywhere }: CredentialRules): string | null {
  const { kind, name, allowedNamespaces, allowedHosts } = used;
  if (kind === "TriggerAuthentication" || allowedNamespaces === "*") return null;
  if (allowedNamespaces === null ? goAnywhere : allowedNamespaces.includes(namespace)) return null;
  const hosts = allowedHosts === null && !goAnywhere ? `, and name its servers in ${ALLOWED_HOSTS}` : "";
  const what = allowedNamespaces === null
    ? `annotate it with ${ALLOWED_NAMESPACES}: "${namespace}", or "*" for all namespaces${hosts}`
    : `add "${namespace}" to its annotation ${ALLOWED_NAMESPACES}`;
  return `Cannot use ${kind} "${name}" in namespace "${namespace}": ${what}`;
}

/**
 * Returns for whom the credentials of an authentication are. Its own parameter `url`, `serverAddress` or `oauthTokenURI`
 * names a server too. `parameters`: those whose author may name servers.
 */
export function toAudience(
  { kind, name, allowedHosts, allowsPlainHttp }: Used,
  { rules, parameters }: { readonly rules: CredentialRules; readonly parameters: Readonly<Record<string, string>> },
): Audience {
  const isForAny = allowedHosts === null && (kind === "TriggerAuthentication" || rules.goAnywhere);
  const own = ["url", "serverAddress", "oauthTokenURI"].flatMap((key): readonly HostRule[] => {
    const url = Object.hasOwn(parameters, key) ? URL.parse(parameters[key]?.trim() ?? "") : null;
    const rule = url === null ? null : parseHostRule(`${url.hostname.replace(/\.$/, "")}:${portOf(url)}`);
    return rule === null ? [] : [rule];
  });
  return {
    kind,
    name,
    hosts: isForAny ? null : [...(allowedHosts ?? []), ...own],
    overPlainHttp: rules.overPlainHttp || allowsPlainHttp,
  };
}

/**
 * Returns why a request with credentials may not go to an address, and what to do; `null` if it may. A loopback address
 * may get them over plain HTTP, because no one listens on the way.
 */
export function findDestinationFault({ kind, name, hosts, overPlainHttp }: Audience, url: URL): string | null {
  const [host, port] = [hostOf(url), portOf(url)];
  const what = `credentials of ${kind} "${name}"`;
  if (hosts !== null && !matchesHost(hosts, host, port)) {
    const shown = `${url.hostname}:${port}`;
    const add = hosts.length === 0
      ? `annotate it with ${ALLOWED_HOSTS}: "${shown}"`
      : `add the host to its ${ALLOWED_HOSTS}`;
    return `Cannot send ${what} to "${shown}": it does not name this host; ${add}`;
  }
  if (url.protocol === "https:" || overPlainHttp || findAddressPurpose(host) === LOOPBACK) return null;
  return `Cannot send ${what} over plain HTTP, where others can read them on the way: use https, or annotate it with ` +
    `${ALLOW_PLAIN_HTTP}: "true"`;
}
