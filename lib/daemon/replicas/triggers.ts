/**
 * What do triggers read from the API server? TriggerAuthentications name Secrets, ConfigMaps and the environment of the
 * target's pods. A kubernetes-resource trigger names the ConfigMap or Secret that has its value.
 */
import type { ApiClient } from "../../kube/client.ts";
import { getErrorMessage, toApiError } from "../../kube/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type CredentialRules, SAFE_RULES } from "../../resources/trigger_authentication/use.ts";
import type { ObjectSource } from "../../model/scaled_object.ts";
import { createFindEntry, type FetchObject, type ObjectResult } from "../../triggers/container_env.ts";
import { type FetchCredentials, resolveCredentials, type TargetResult } from "../../triggers/credentials.ts";
import { parseEntryValue } from "../../triggers/located.ts";
import { type AskTrigger, type TriggerAnswer, UNCOUNTED } from "../../triggers/value.ts";
import { isRecord, quote } from "../../units/untrusted.ts";
import type { ScaledObjectCache } from "../cluster/scaled_objects.ts";
import { REQUEST_TIMEOUT_MS, type TargetPlace } from "./scale_client.ts";
import { fetchTemplate, toTemplateSource } from "./templates.ts";

/** Which secrets may be read, and where credentials may go. */
export interface DaemonCredentialRules extends CredentialRules {
  /** Only secrets with the label `podfit.dev/trigger: "true"` are used. */
  readonly needLabel: boolean;
}

export const SAFE_CREDENTIAL_RULES: DaemonCredentialRules = { ...SAFE_RULES, needLabel: false };

const SECRET_LABEL = "podfit.dev/trigger";

interface CredentialsOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly clock: Clock;
  readonly objects: Pick<ScaledObjectCache, "findAuthentication">;
  /** Where the secrets of ClusterTriggerAuthentications are. */
  readonly clusterObjectNamespace: string;
  readonly credentialRules: DaemonCredentialRules;
  /** Returns the object's target now, or `null` while the object is invalid. */
  readonly findTarget: () => TargetPlace | null;
}

/** Returns a function for one object that resolves a TriggerAuthentication to parameters. Clauses: R16. */
export function createFetchCredentials(options: CredentialsOptions): FetchCredentials {
  const { objects, clusterObjectNamespace: clusterNamespace, credentialRules: rules } = options;
  const { fetchSecret, fetchConfigMap } = createFetchers(options);
  return async ({ namespace, ref }, signal) => {
    const found = objects.findAuthentication({
      ...ref,
      namespace: ref.kind === "TriggerAuthentication" ? namespace : null,
    });
    if (!found?.authentication) {
      return { kind: "missing", message: `${ref.kind} "${ref.name}" does not exist or is invalid` };
    }
    const of = {
      namespace,
      clusterNamespace,
      rules,
      fetchSecret,
      fetchConfigMap,
      fetchTarget: (signal: AbortSignal) => fetchTarget(options, signal),
      pause: () => options.clock.sleep(0, signal),
      signal,
    };
    return await resolveCredentials(found.authentication, of);
  };
}

type FetchersOptions = Pick<CredentialsOptions, "client" | "clock" | "credentialRules">;

interface Fetchers {
  readonly fetchSecret: FetchObject;
  readonly fetchConfigMap: FetchObject;
}

function createFetchers({ client: { core }, clock, credentialRules: { needLabel } }: FetchersOptions): Fetchers {
  return {
    fetchSecret: createFetchObject({ clock }, "secrets", async (init) => {
      const { data, error, response } = await core.GET("/api/v1/namespaces/{namespace}/secrets/{name}", init);
      const isUsable = !needLabel || data?.metadata?.labels?.[SECRET_LABEL] === "true";
      return { entries: data?.data, refusal: isUsable ? null : NO_LABEL, error, response };
    }),
    fetchConfigMap: createFetchObject({ clock }, "configmaps", async (init) => {
      const { data, error, response } = await core.GET("/api/v1/namespaces/{namespace}/configmaps/{name}", init);
      return { entries: data?.data, error, response };
    }),
  };
}

/** Returns a function that reads the one object of a kubernetes-resource trigger. It never rejects. Clauses: R97. */
export function createAskObject(options: FetchersOptions): AskTrigger<ObjectSource> {
  const fetchers = createFetchers(options);
  return async ({ metricName, source }, { namespace = "", signal, work = UNCOUNTED }) => {
    const fail = (cause: string): TriggerAnswer => {
      return { kind: "failed", message: `Cannot read trigger "${metricName}": ${cause}`, isEmpty: false };
    };
    const kind = source.objectKind === "Secret" ? "secret" : "config map";
    const { name, key } = source;
    try {
      const found = await createFindEntry({ ...fetchers, namespace, signal })({ kind, name, key });
      if (found.kind === "absent") return fail(`${kind} "${namespace}/${name}" has no key ${quote(key)}`);
      if (found.kind !== "found") return fail(found.cause);
      work.countBytes(found.text.length);
      const parsed = await work.run(() => parseEntryValue(found.text, source));
      return parsed.ok ? { kind: "value", value: parsed.value, isEmpty: false } : fail(parsed.cause);
    } catch {
      return fail("stopped before it answered");
    }
  };
}

const NO_LABEL = `it lacks the label that podfit needs (--require-secret-label); label it ${SECRET_LABEL}=true`;

type GetInit = {
  readonly params: { readonly path: { readonly namespace: string; readonly name: string } };
  readonly signal: AbortSignal;
};

interface EntriesResponse {
  readonly entries: Record<string, string> | undefined;
  /** Why the object may not be used, and what to do. */
  readonly refusal?: string | null;
  readonly error?: unknown;
  readonly response: Response;
}

function createFetchObject(
  { clock }: Pick<CredentialsOptions, "clock">,
  resource: string,
  get: (init: GetInit) => Promise<EntriesResponse>,
): FetchObject {
  return async ({ namespace, name }, signal): Promise<ObjectResult> => {
    using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
    try {
      const init = { params: { path: { namespace, name } }, signal: AbortSignal.any([signal, timeout.signal]) };
      const { entries, refusal = null, error, response } = await get(init);
      if (response.status === 404) return { kind: "missing" };
      if (response.ok && refusal !== null) return { kind: "failed", cause: refusal };
      if (response.ok) return { kind: "found", entries: isRecord(entries) ? entries : {} };
      const advice = response.status === 403 ? `; grant get of ${resource} in namespace "${namespace}"` : "";
      return { kind: "failed", cause: `${toApiError(response, error).message}${advice}` };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "failed", cause: getErrorMessage(error) };
    }
  };
}

async function fetchTarget(options: CredentialsOptions, signal: AbortSignal): Promise<TargetResult> {
  const place = options.findTarget();
  const source = place && toTemplateSource(place);
  if (source === null) return { kind: "failed", cause: "env is read from Deployments and StatefulSets only" };
  try {
    const template = await fetchTemplate(source, { ...options, signal });
    return template === null ? { kind: "missing" } : { kind: "found", object: { spec: { template } } };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "failed", cause: getErrorMessage(error) };
  }
}
