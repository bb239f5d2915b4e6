/**
 * Which HTTP request does podfit send for a trigger, and how does the request authenticate itself?
 *
 * KEDA's authentication modes, from the trigger's metadata and its TriggerAuthentication, become headers, a query
 * parameter and a CA.
 */
import type { AuthMode, MetricsApiSource, PrometheusSource } from "../model/scaled_object.ts";
import { isRecord, quote } from "../units/untrusted.ts";
import type { HttpTriggerSource, Result, TriggerParameters } from "./value.ts";

/** A GET, or a POST if it has a body. */
export interface TriggerRequest {
  /** http or https, without user and password. */
  readonly url: URL;
  readonly headers: Headers;
  /** Removed at a redirect to another host. */
  readonly ownHeaders: readonly string[];
  readonly secrets: readonly string[];
  readonly body?: string;
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
export interface Auth {
  readonly headers: readonly AuthHeader[];
  /** A query parameter; `null` = none. */
  readonly query: readonly [name: string, value: string] | null;
  /** The only trusted authority, PEM; `null` = those of the client. */
  readonly ca: string | null;
  readonly isTlsUnverified: boolean;
  /** A token is needed before the request, and then a header of it; `null` = none. */
  readonly oauth: OAuth | null;
  /** Every text that must not appear anywhere. */
  readonly secrets: readonly string[];
}

/** How a token is asked for: the client credentials flow of OAuth 2. */
interface OAuth {
  readonly url: URL;
  readonly clientId: string;
  readonly clientSecret: string | null;
  /** grant_type, scope, and what the authentication adds. */
  readonly form: URLSearchParams;
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
 * https://keda.sh/docs/2.21/scalers/prometheus/#authentication-parameters
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
  const oauth = modes.includes("oauth") ? parseOAuth(find) : null;
  if (typeof oauth === "string") return { ok: false, cause: oauth };
  const hasKey = source.kind === "metrics-api" && modes.includes("apiKey");
  const query = hasKey && apiKey.method === "query" ? [apiKey.name ?? "api_key", apiKey.key ?? ""] as const : null;
  // In KEDA a prometheus trigger with a ca verifies the server, whatever unsafeSsl is.
  const isTlsUnverified = source.isTlsUnverified && !(source.kind === "prometheus" && ca !== null && modes.length > 0);
  return {
    ok: true,
    auth: { headers, query, ca, isTlsUnverified, oauth, secrets: listSecrets(credentials, apiKey, headers) },
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
  prometheus: ["apiKey", "basic", "bearer", "custom", "oauth"],
};

/** At most one of these is allowed. */
const EXCLUSIVE: readonly AuthMode[] = ["bearer", "basic", "oauth"];

/** Returns a text if something is wrong. */
function parseOAuth(find: FindParameter): OAuth | string {
  const url = URL.parse(find("oauthTokenURI") ?? "");
  if (url === null || !/^https?:$/.test(url.protocol)) return "parameter oauthTokenURI is not an http or https URL";
  url.username = url.password = "";
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  const scopes = (find("scopes", "scope") ?? "").split(",").map((scope) => scope.trim()).filter((scope) =>
    scope !== ""
  );
  if (scopes.length > 0) form.set("scope", scopes.join(" "));
  const added = new URLSearchParams(find("endpointParams") ?? "");
  if (added.has("scope") && scopes.length > 0) return "parameter endpointParams must not have scope, as scopes has it";
  for (const name of new Set(added.keys())) form.delete(name);
  for (const [name, value] of added) form.append(name, value);
  return { url, clientId: find("clientID") ?? "", clientSecret: find("clientSecret"), form };
}

/**
 * Returns the requests for a token, in the order in which they are tried; none without OAuth. A server may want the
 * client's secret as a header, or in the form. Never throws.
 * https://pkg.go.dev/golang.org/x/oauth2/clientcredentials
 * Clauses: R100.
 */
export function toTokenRequests({ oauth, secrets }: Auth, userAgent: string): readonly TriggerRequest[] {
  if (oauth === null) return [];
  const { url, clientId, clientSecret, form } = oauth;
  const toRequest = (
    added: Readonly<Record<string, string>>,
    own: Readonly<Record<string, string>>,
  ): TriggerRequest => {
    const body = new URLSearchParams([...form, ...Object.entries(added)]).toString();
    const headers = new Headers({
      "content-type": "application/x-www-form-urlencoded",
      "user-agent": userAgent,
      ...own,
    });
    return { url, headers, ownHeaders: ["authorization"], secrets, body };
  };
  if (clientSecret === null) return [toRequest({ client_id: clientId }, {})];
  const authorization = encodeBasic(escape(clientId), escape(clientSecret));
  return [toRequest({}, { authorization }), toRequest({ client_id: clientId, client_secret: clientSecret }, {})];
}

/** Returns the authentication with a token as its header. */
export function withToken(auth: Auth, token: Token): Auth {
  const { headers, secrets } = auth;
  const header = { name: "Authorization", value: `${token.type} ${token.text}`, isAdded: false };
  return { ...auth, headers: [...headers, header], secrets: [...secrets, token.text] };
}

export interface Token {
  /** `Bearer`, or another one. */
  readonly type: string;
  readonly text: string;
  /** `null` = it does not say. */
  readonly expiresInSeconds: number | null;
}

/**
 * Returns the token of an answer, which is JSON or a form; `null` if there is none. Never throws.
 * https://pkg.go.dev/golang.org/x/oauth2#Token
 * Clauses: R100.
 */
export function parseToken(text: string): Token | null {
  const fields = parseTokenFields(text);
  const { access_token: token, token_type: type, expires_in: expires, error } = fields;
  if (typeof token !== "string" || token === "" || (error ?? "") !== "") return null;
  const seconds = typeof expires === "string" ? Number(expires) : expires;
  const known = TOKEN_TYPES.find((one) => one.toLowerCase() === String(type ?? "").toLowerCase());
  return {
    type: known ?? (typeof type === "string" && type !== "" ? type : "Bearer"),
    text: token,
    expiresInSeconds: typeof seconds === "number" && seconds > 0 ? seconds : null,
  };
}

const TOKEN_TYPES = ["Bearer", "MAC", "Basic"];

function parseTokenFields(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return Object.fromEntries(new URLSearchParams(text));
  }
}

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
  if (modes.filter((mode) => EXCLUSIVE.includes(mode)).length > 1) {
    return `authModes may have only one of ${EXCLUSIVE.join(", ")}`;
  }
  const needs: readonly (readonly [AuthMode, string, boolean])[] = [
    ["bearer", "bearerToken", find("bearerToken", "token") !== null],
    ["basic", "username", find("username") !== null],
    ["custom", "customAuthHeader", find("customAuthHeader") !== null],
    ["custom", "customAuthValue", find("customAuthValue") !== null],
    ["oauth", "oauthTokenURI", find("oauthTokenURI") !== null],
    ["oauth", "clientID", find("clientID") !== null],
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
