/**
 * How a trigger shows who asks: KEDA's authentication modes, out of the trigger's metadata and of its TriggerAuthentication (R14, R16).
 * https://keda.sh/docs/2.20/scalers/prometheus/#authentication-parameters
 */
import type { AuthMode } from "../scaled_object/trigger.ts";
import { quote } from "../units/untrusted.ts";
import type { AskedSource, Credentials } from "./trigger_source.ts";

/** What goes with each request to the trigger's own host. */
export interface Auth {
  readonly headers: readonly AuthHeader[];
  /** A query parameter; `null` = none. */
  readonly query: readonly [name: string, value: string] | null;
  /** The authority that alone is trusted, PEM; `null` = those of the client. */
  readonly ca: string | null;
  readonly isTlsUnverified: boolean;
  /** Every text that must not be seen anywhere. */
  readonly secrets: readonly string[];
}

export interface AuthHeader {
  readonly name: string;
  readonly value: string;
  /** Beside a header of the same name, not in its place. */
  readonly isAdded: boolean;
}

export type AuthRead =
  | { readonly ok: true; readonly auth: Auth }
  /** `cause` says which parameter is missing or wrong, and no value of any. */
  | { readonly ok: false; readonly cause: string };

/** Never throws. Metadata goes before the TriggerAuthentication, and an empty parameter is none. */
export function readAuth(source: AskedSource, credentials: Credentials): AuthRead {
  const read: ReadParameter = (...names) => readParameter(credentials, names);
  const modes = source.authModes ?? parseModes(read("authModes", "authMode"));
  if (modes === null) {
    return { ok: false, cause: "authModes may be apiKey, basic, bearer and custom; tls and oauth are not supported" };
  }
  const apiKey = readApiKey(source, read);
  const cause = findMissing(modes, { source, apiKey, read });
  if (cause !== null) return { ok: false, cause };
  const ca = read("ca");
  if (ca !== null && !ca.includes("-----BEGIN CERTIFICATE-----")) {
    return { ok: false, cause: "parameter ca is no certificate in PEM" };
  }
  const headers = source.kind === "prometheus"
    ? toPrometheusHeaders(modes, read)
    : toApiHeaders(modes, { apiKey, read });
  const hasKey = source.kind === "metrics-api" && modes.includes("apiKey");
  const query = hasKey && apiKey.method === "query" ? [apiKey.name ?? "api_key", apiKey.key ?? ""] as const : null;
  // KEDA makes prometheus' verified client of a ca, whatever unsafeSsl says.
  const isTlsUnverified = source.isTlsUnverified && !(source.kind === "prometheus" && ca !== null && modes.length > 0);
  return {
    ok: true,
    auth: { headers, query, ca, isTlsUnverified, secrets: listSecrets(credentials, apiKey, headers) },
  };
}

/** Gives the first that is there, without blanks around it. */
type ReadParameter = (...names: readonly string[]) => string | null;

interface ApiKey {
  readonly key: string | null;
  readonly method: string;
  readonly name: string | null;
}

const MODES: readonly AuthMode[] = ["apiKey", "basic", "bearer", "custom"];

function readParameter(credentials: Credentials, names: readonly string[]): string | null {
  for (const name of names) {
    const value = Object.hasOwn(credentials, name) ? credentials[name]?.trim() : undefined;
    if (value !== undefined && value !== "") return value;
  }
  return null;
}

function parseModes(text: string | null): readonly AuthMode[] | null {
  if (text === null) return [];
  const words = text.split(",").map((word) => word.trim());
  const modes = MODES.filter((mode) => words.includes(mode));
  return words.every((word) => MODES.some((mode) => mode === word)) ? modes : null;
}

function readApiKey(source: AskedSource, read: ReadParameter): ApiKey {
  const given = source.kind === "metrics-api" ? source : { apiKey: null, method: null, keyParamName: null };
  return {
    key: given.apiKey ?? read("apiKey"),
    method: given.method ?? read("method") ?? "header",
    name: given.keyParamName ?? read("keyParamName"),
  };
}

interface Parameters {
  readonly source: AskedSource;
  readonly apiKey: ApiKey;
  readonly read: ReadParameter;
}

function findMissing(modes: readonly AuthMode[], { source, apiKey, read }: Parameters): string | null {
  if (modes.includes("bearer") && modes.includes("basic")) return "authModes may have bearer or basic, not both";
  const needs: readonly (readonly [AuthMode, string, boolean])[] = [
    ["bearer", "bearerToken", read("bearerToken", "token") !== null],
    ["basic", "username", read("username") !== null],
    ["custom", "customAuthHeader", read("customAuthHeader") !== null],
    ["custom", "customAuthValue", read("customAuthValue") !== null],
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

/** The first of these modes alone counts. */
function toPrometheusHeaders(modes: readonly AuthMode[], read: ReadParameter): readonly AuthHeader[] {
  if (modes.includes("bearer")) return [toBearer(read, false)];
  if (modes.includes("basic")) return [toBasic(read)];
  if (!modes.includes("custom")) return [];
  return [{ name: read("customAuthHeader") ?? "", value: read("customAuthValue") ?? "", isAdded: false }];
}

/** All of them, in KEDA's order. */
function toApiHeaders(modes: readonly AuthMode[], { apiKey, read }: Omit<Parameters, "source">): readonly AuthHeader[] {
  const headers: AuthHeader[] = [];
  if (modes.includes("apiKey") && apiKey.method !== "query") {
    headers.push({ name: apiKey.name ?? "X-API-KEY", value: apiKey.key ?? "", isAdded: true });
  }
  if (modes.includes("basic")) headers.push(toBasic(read));
  if (modes.includes("bearer")) headers.push(toBearer(read, true));
  return headers;
}

function toBearer(read: ReadParameter, isAdded: boolean): AuthHeader {
  return { name: "Authorization", value: `Bearer ${read("bearerToken", "token") ?? ""}`, isAdded };
}

function toBasic(read: ReadParameter): AuthHeader {
  const value = encodeBasic(read("username") ?? "", read("password") ?? "");
  return { name: "Authorization", value, isAdded: false };
}

/** As RFC 7617 has it, in UTF-8. */
export function encodeBasic(username: string, password: string): string {
  return `Basic ${new TextEncoder().encode(`${username}:${password}`).toBase64()}`;
}

function listSecrets(credentials: Credentials, { key }: ApiKey, headers: readonly AuthHeader[]): readonly string[] {
  const all = [...Object.values(credentials), ...headers.map(({ value }) => value.replace(/^(?:Basic|Bearer) /, ""))];
  return [
    ...new Set(
      [...all, ...(key === null ? [] : [key])].map((secret) => secret.trim()).filter((secret) => secret !== ""),
    ),
  ];
}
