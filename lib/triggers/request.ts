/**
 * Which HTTP request does podfit send for a trigger, and how does the request authenticate itself?
 *
 * KEDA's authentication modes, from the trigger's metadata and its TriggerAuthentication, become headers, a query
 * parameter and a CA.
 */
import type { AuthMode, MetricsApiSource, PrometheusSource } from "../model/scaled_object.ts";
import { quote } from "../units/untrusted.ts";
import type { HttpTriggerSource, Result, TriggerParameters } from "./value.ts";

/** A GET. */
export interface TriggerRequest {
  /** http or https, without user and password. */
  readonly url: URL;
  readonly headers: Headers;
  /** Removed at a redirect to another host. */
  readonly ownHeaders: readonly string[];
  readonly secrets: readonly string[];
}

interface RequestOptions {
  readonly auth: Auth;
  /** Epoch ms. */
  readonly now: number;
  readonly userAgent: string;
}

/** Returns KEDA's request. Never throws. Clauses: R13, R14. */
export function toTriggerRequest(
  source: HttpTriggerSource,
  { auth, now, userAgent }: RequestOptions,
): Result<{ request: TriggerRequest }> {
  const url = source.kind === "prometheus" ? toPrometheusUrl(source, now) : toApiUrl(source, auth);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { ok: false, cause: "its address is not an http or https URL" };
  }
  const custom = source.kind === "prometheus" ? source.customHeaders : [];
  const given = custom.map(([name, value]): AuthHeader => ({ name, value, isAdded: true }));
  const headers = new Headers({ "user-agent": userAgent });
  const ownHeaders: string[] = [];
  const user = removeUser(url);
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

/** Headers of the connection itself: Go leaves them out too, or fetch would refuse them. */
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

/** Removes user and password from the URL, which fetch would refuse, and returns a header instead. */
function removeUser(url: URL): string | null {
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

/** Returns one character for each byte of the text in UTF-8, as headers need them. */
function toByteString(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

/** What is sent with each request to the trigger's own host. */
interface Auth {
  readonly headers: readonly AuthHeader[];
  /** A query parameter; `null` = none. */
  readonly query: readonly [name: string, value: string] | null;
  /** The only trusted authority, PEM; `null` = those of the client. */
  readonly ca: string | null;
  readonly isTlsUnverified: boolean;
  /** Every text that must not appear anywhere. */
  readonly secrets: readonly string[];
}

interface AuthHeader {
  readonly name: string;
  readonly value: string;
  /** Added to a header of the same name, and does not replace it. */
  readonly isAdded: boolean;
}

/**
 * Returns the authentication of a trigger. Metadata has priority over the TriggerAuthentication, and an empty parameter
 * is absent. Never throws.
 * https://keda.sh/docs/2.20/scalers/prometheus/#authentication-parameters
 * Clauses: R14, R16.
 */
export function resolveAuth(source: HttpTriggerSource, credentials: TriggerParameters): Result<{ auth: Auth }> {
  const find: FindParameter = (...names) => findParameter(credentials, names);
  const allowed = MODES[source.kind];
  const modes = source.authModes ?? parseModes(find("authModes", "authMode"), allowed);
  if (modes === null) {
    return { ok: false, cause: `parameter authModes must be of ${allowed.join(", ")}, with commas between several` };
  }
  const apiKey = findApiKey(source, find);
  const cause = findMissing(modes, { source, apiKey, find });
  if (cause !== null) return { ok: false, cause };
  const ca = find("ca");
  if (ca !== null && !ca.includes("-----BEGIN CERTIFICATE-----")) {
    return { ok: false, cause: "parameter ca is not a certificate in PEM" };
  }
  const headers = source.kind === "prometheus"
    ? toPrometheusHeaders(modes, find)
    : toApiHeaders(modes, { apiKey, find });
  const hasKey = source.kind === "metrics-api" && modes.includes("apiKey");
  const query = hasKey && apiKey.method === "query" ? [apiKey.name ?? "api_key", apiKey.key ?? ""] as const : null;
  // In KEDA a prometheus trigger with a ca verifies the server, whatever unsafeSsl is.
  const isTlsUnverified = source.isTlsUnverified && !(source.kind === "prometheus" && ca !== null && modes.length > 0);
  return {
    ok: true,
    auth: { headers, query, ca, isTlsUnverified, secrets: listSecrets(credentials, apiKey, headers) },
  };
}

/** Returns the first parameter that is set, trimmed. */
type FindParameter = (...names: readonly string[]) => string | null;

interface ApiKey {
  readonly key: string | null;
  readonly method: string;
  readonly name: string | null;
}

/** In the TriggerAuthentication. */
const MODES: Readonly<Record<HttpTriggerSource["kind"], readonly AuthMode[]>> = {
  "metrics-api": ["apiKey", "basic", "bearer"],
  prometheus: ["apiKey", "basic", "bearer", "custom"],
};

function findParameter(credentials: TriggerParameters, names: readonly string[]): string | null {
  for (const name of names) {
    const value = Object.hasOwn(credentials, name) ? credentials[name]?.trim() : undefined;
    if (value !== undefined && value !== "") return value;
  }
  return null;
}

function parseModes(text: string | null, allowed: readonly AuthMode[]): readonly AuthMode[] | null {
  if (text === null) return [];
  const words = text.split(",").map((word) => word.trim());
  const modes = allowed.filter((mode) => words.includes(mode));
  return words.every((word) => allowed.some((mode) => mode === word)) ? modes : null;
}

function findApiKey(source: HttpTriggerSource, find: FindParameter): ApiKey {
  const given = source.kind === "metrics-api" ? source : { apiKey: null, method: null, keyParamName: null };
  return {
    key: given.apiKey ?? find("apiKey"),
    method: given.method ?? find("method") ?? "header",
    name: given.keyParamName ?? find("keyParamName"),
  };
}

interface Parameters {
  readonly source: HttpTriggerSource;
  readonly apiKey: ApiKey;
  readonly find: FindParameter;
}

function findMissing(modes: readonly AuthMode[], { source, apiKey, find }: Parameters): string | null {
  if (modes.includes("bearer") && modes.includes("basic")) return "authModes may have bearer or basic, not both";
  const needs: readonly (readonly [AuthMode, string, boolean])[] = [
    ["bearer", "bearerToken", find("bearerToken", "token") !== null],
    ["basic", "username", find("username") !== null],
    ["custom", "customAuthHeader", find("customAuthHeader") !== null],
    ["custom", "customAuthValue", find("customAuthValue") !== null],
    ["apiKey", "apiKey", source.kind === "prometheus" || apiKey.key !== null],
  ];
  const [missing] = needs.filter(([mode, , isThere]) => modes.includes(mode) && !isThere);
  if (missing !== undefined) {
    return `authentication mode ${quote(missing[0])} needs parameter ${
      quote(missing[1])
    }; give it in the TriggerAuthentication`;
  }
  const isMethod = apiKey.method === "header" || apiKey.method === "query";
  return source.kind === "metrics-api" && modes.includes("apiKey") && !isMethod
    ? "method must be header or query"
    : null;
}

/** Only the first of these modes counts. */
function toPrometheusHeaders(modes: readonly AuthMode[], find: FindParameter): readonly AuthHeader[] {
  if (modes.includes("bearer")) return [toBearer(find, false)];
  if (modes.includes("basic")) return [toBasic(find)];
  if (!modes.includes("custom")) return [];
  return [{ name: find("customAuthHeader") ?? "", value: find("customAuthValue") ?? "", isAdded: false }];
}

/** All of them count, in KEDA's order. */
function toApiHeaders(modes: readonly AuthMode[], { apiKey, find }: Omit<Parameters, "source">): readonly AuthHeader[] {
  const headers: AuthHeader[] = [];
  if (modes.includes("apiKey") && apiKey.method !== "query") {
    headers.push({ name: apiKey.name ?? "X-API-KEY", value: apiKey.key ?? "", isAdded: true });
  }
  if (modes.includes("basic")) headers.push(toBasic(find));
  if (modes.includes("bearer")) headers.push(toBearer(find, true));
  return headers;
}

function toBearer(find: FindParameter, isAdded: boolean): AuthHeader {
  return { name: "Authorization", value: `Bearer ${find("bearerToken", "token") ?? ""}`, isAdded };
}

function toBasic(find: FindParameter): AuthHeader {
  const value = encodeBasic(find("username") ?? "", find("password") ?? "");
  return { name: "Authorization", value, isAdded: false };
}

/** As in RFC 7617, in UTF-8. */
function encodeBasic(username: string, password: string): string {
  return `Basic ${new TextEncoder().encode(`${username}:${password}`).toBase64()}`;
}

function listSecrets(
  credentials: TriggerParameters,
  { key }: ApiKey,
  headers: readonly AuthHeader[],
): readonly string[] {
  const all = [...Object.values(credentials), ...headers.map(({ value }) => value.replace(/^(?:Basic|Bearer) /, ""))];
  return [
    ...new Set(
      [...all, ...(key === null ? [] : [key])].map((secret) => secret.trim()).filter((secret) => secret !== ""),
    ),
  ];
}
