/**
 * What triggers that ask over HTTP have in common (R13 to R16): the address, who asks, and how long they wait.
 * https://github.com/kedacore/keda/blob/v2.20.2/pkg/scalers/authentication/authentication_types.go
 */
import { findForbiddenPurpose } from "../units/address_purpose.ts";
import { quote } from "../units/untrusted.ts";
import type { Metadata } from "./metadata.ts";
import type { SourceContext } from "./parsed_source.ts";
import type { AuthMode, MetricsApiSource } from "./trigger.ts";

export const HTTP_KEYS = ["authModes", "authMode", "unsafeSsl", "timeout"];

export interface HttpContext extends Pick<SourceContext, "hasAuthentication"> {
  /** Which modes have an effect for this type. */
  readonly modes: readonly AuthMode[];
  /** There is a key in the metadata itself. */
  readonly hasApiKey: boolean;
}

/** Gives what they have in common. What is wrong is reported to the metadata; never throws. */
export function parseHttp(
  metadata: Metadata,
  context: HttpContext,
): Pick<MetricsApiSource, "authModes" | "isTlsUnverified" | "timeoutMs"> {
  return {
    authModes: parseAuthModes(metadata, context),
    isTlsUnverified: metadata.boolean("unsafeSsl") ?? false,
    timeoutMs: readTimeout(metadata),
  };
}

function readTimeout(metadata: Metadata): number {
  const timeoutMs = metadata.durationMs("timeout") ?? 0;
  if (timeoutMs > MAX_TIMEOUT_MS) {
    const given = quote(metadata.text("timeout"));
    metadata.warn("timeout", `Cannot wait ${given} for an answer: it is cut to 15s, as a tick is 15 s`);
  }
  return timeoutMs === 0 ? DEFAULT_TIMEOUT_MS : Math.min(timeoutMs, MAX_TIMEOUT_MS);
}

/** Gives an address that can be asked. */
export function readAddress(metadata: Metadata, key: "url" | "serverAddress"): string | null {
  const text = metadata.text(key);
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    metadata.report(
      key,
      `Cannot use ${quote(text)} as ${key}: must be an address that begins with http:// or https://`,
    );
    return null;
  }
  const purpose = findForbiddenPurpose(url);
  if (purpose === null) return text;
  metadata.report(key, `Cannot use ${quote(text)} as ${key}: its host is ${purpose}, which is not asked`);
  return null;
}

const DEFAULT_TIMEOUT_MS = 3000;
/** A tick: who waits longer has the next one wait too. */
const MAX_TIMEOUT_MS = 15_000;

const MODES = ["apiKey", "basic", "bearer", "custom", "tls", "oauth"];
/** Of these one at most. */
const EXCLUSIVE = ["bearer", "basic", "oauth"];

function parseAuthModes(metadata: Metadata, context: HttpContext): readonly AuthMode[] | null {
  const key = metadata.has("authModes") ? "authModes" : "authMode";
  const text = metadata.text(key);
  if (text === null) return null;
  const given = text.split(",").map((mode) => mode.trim());
  const unknown = given.filter((mode) => !MODES.includes(mode));
  const refuse = (why: string) => metadata.report(key, `Cannot use ${quote(text)} as ${key}: ${why}`);
  if (unknown.length > 0) refuse(`must be of ${context.modes.join(", ")}, with commas between several`);
  else if (given.includes("tls") || given.includes("oauth")) {
    refuse(`tls and oauth are not supported, use ${context.modes.join(" or ")}`);
  } else if (given.filter((mode) => EXCLUSIVE.includes(mode)).length > 1) refuse("only one of bearer, basic");
  const used = context.modes.filter((mode) => given.includes(mode));
  for (const mode of given.filter((mode) => MODES.slice(0, 4).includes(mode) && !used.some((one) => one === mode))) {
    metadata.warn(key, `Cannot use ${mode} in ${key}: it has no effect here`);
  }
  for (const mode of used) {
    const hasOwn = mode === "apiKey" && context.hasApiKey;
    if (!context.hasAuthentication && !hasOwn) {
      refuse(`the credentials of ${mode} come from an authenticationRef, add one`);
    }
  }
  return used;
}
