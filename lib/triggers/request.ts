/** What is sent to ask a trigger: KEDA's request, parameter by parameter (R13, R14). Order of parameters and case of header names mean nothing. */
import type { MetricsApiSource, PrometheusSource } from "../scaled_object/trigger.ts";
import { type Auth, type AuthHeader, encodeBasic } from "./read_auth.ts";
import type { AskedSource } from "./trigger_source.ts";

/** A GET. */
export interface TriggerRequest {
  /** http or https, without user and password. */
  readonly url: URL;
  readonly headers: Headers;
  /** What stays behind at a redirect to another host. */
  readonly ownHeaders: readonly string[];
  readonly secrets: readonly string[];
}

export type TriggerRequestRead =
  | { readonly ok: true; readonly request: TriggerRequest }
  /** Quotes no header and no part of the URL. */
  | { readonly ok: false; readonly cause: string };

export interface RequestOptions {
  readonly auth: Auth;
  /** Epoch ms. */
  readonly now: number;
  readonly userAgent: string;
}

/** Never throws. */
export function toTriggerRequest(source: AskedSource, { auth, now, userAgent }: RequestOptions): TriggerRequestRead {
  const url = source.kind === "prometheus" ? toPrometheusUrl(source, now) : toApiUrl(source, auth);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { ok: false, cause: "its address is no http or https URL" };
  }
  const custom = source.kind === "prometheus" ? source.customHeaders : [];
  const given = custom.map(([name, value]): AuthHeader => ({ name, value, isAdded: true }));
  const headers = new Headers({ "user-agent": userAgent });
  const ownHeaders: string[] = [];
  const user = takeUser(url);
  for (const { name, value, isAdded } of [...given, ...auth.headers]) {
    if (!isSendable(name, value)) {
      return {
        ok: false,
        cause: "a header cannot be sent: its name or its value has a character that HTTP does not allow",
      };
    }
    if (KEPT_BY_HTTP.has(name.toLowerCase())) continue;
    const bytes = toByteString(value);
    if (isAdded && ownHeaders.includes(name.toLowerCase())) headers.append(name, bytes);
    else headers.set(name, bytes);
    ownHeaders.push(name.toLowerCase());
  }
  if (user !== null && !headers.has("authorization")) {
    headers.set("authorization", user);
    ownHeaders.push("authorization");
  }
  const secrets = user === null ? auth.secrets : [...auth.secrets, user.slice("Basic ".length)];
  return { ok: true, request: { url, headers, ownHeaders, secrets } };
}

/** The connection's own: Go leaves them out too, or means by them what fetch would refuse. */
const KEPT_BY_HTTP: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** A trailing slash of the address stays, as in KEDA. */
function toPrometheusUrl(source: PrometheusSource, now: number): URL | null {
  const parameters: (readonly [string, string])[] = [["query", source.query], ["time", formatQueryTime(now)]];
  if (source.namespace !== null) parameters.push(["namespace", source.namespace]);
  const query = [...parameters, ...source.queryParameters].map(([name, value]) => `${escape(name)}=${escape(value)}`);
  return URL.parse(`${source.serverAddress}/api/v1/query?${query.join("&")}`);
}

/** RFC 3339 in whole seconds, cut. */
function formatQueryTime(now: number): string {
  return new Date(now).toISOString().replace(/\.[0-9]+Z$/, "Z");
}

function toApiUrl({ url: address }: MetricsApiSource, { query }: Auth): URL | null {
  const url = URL.parse(address);
  if (url !== null && query !== null) url.searchParams.set(query[0], query[1]);
  return url;
}

/** As Go's url.QueryEscape. */
function escape(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}

/** Takes user and password out of the URL, which fetch would refuse, for a header. */
function takeUser(url: URL): string | null {
  if (url.username === "" && url.password === "") return null;
  const header = encodeBasic(decode(url.username), decode(url.password));
  url.username = url.password = "";
  return header;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isSendable(name: string, value: string): boolean {
  // deno-lint-ignore no-control-regex -- those are what a header may not have
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && !/[\x00-\x08\x0a-\x1f\x7f]/.test(value);
}

/** A character for each byte of the text in UTF-8, which is how headers take them. */
function toByteString(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}
