/**
 * What do triggers read from the API server? TriggerAuthentications name Secrets, ConfigMaps and the environment of the
 * target's pods. A kubernetes-resource trigger names the ConfigMap or Secret that has its value. A metrics-api trigger may
 * ask all endpoints of a Service.
 */
import type { ApiClient } from "../../kube/client.ts";
import { getErrorMessage, toApiError } from "../../kube/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type CredentialRules, SAFE_RULES } from "../../resources/trigger_authentication/use.ts";
import type { Aggregation, ObjectSource } from "../../model/scaled_object.ts";
import { findService } from "../../resources/scaled_object/http_triggers.ts";
import type { WorkBudget } from "../../runtime/budget.ts";
import { createFindEntry, type FetchObject, type ObjectResult } from "../../triggers/container_env.ts";
import { type FetchCredentials, resolveCredentials, type TargetResult } from "../../triggers/credentials.ts";
import { type AskTrigger, type Result, type TriggerAnswer, UNCOUNTED } from "../../triggers/value.ts";
import { portOf } from "../../units/address.ts";
import { isRecord, measureJson, quote } from "../../units/untrusted.ts";
import type { ScaledObjectCache } from "../cluster/scaled_objects.ts";
import { REQUEST_MS } from "./query_limits.ts";
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
      // Loaded on demand: it has the YAML parser.
      const { parseEntryValue } = await import("../../triggers/located.ts");
      work.countBytes(found.text.length);
      const parsed = await work.run(() => parseEntryValue(found.text, source));
      return parsed.ok ? { kind: "value", value: parsed.value, isEmpty: false } : fail(parsed.cause);
    } catch {
      return fail("stopped before it answered");
    }
  };
}

interface AskEndpointsOptions {
  /** Asks one URL, when it is its turn. */
  readonly ask: AskTrigger;
  readonly client: Pick<ApiClient, "untyped">;
  readonly clock: Pick<Clock, "timeout">;
  readonly budget: Pick<WorkBudget, "wait" | "spend">;
}

/**
 * Returns a function that asks each ready endpoint of the Service that the URL of a trigger names, and makes one value of
 * theirs. Endpoints that fail do not count, unless all do. Other triggers are asked as they are. It rejects with the
 * signal's reason only.
 * https://github.com/kedacore/keda/blob/v2.21.0/pkg/scalers/metrics_api_scaler.go
 * Clauses: R98.
 */
export function createAskEndpoints({ ask, client, clock, budget }: AskEndpointsOptions): AskTrigger {
  return async (trigger, asked) => {
    const { source, metricName } = trigger;
    if (source.kind !== "metrics-api" || source.aggregation === null) return await ask(trigger, asked);
    const { aggregation } = source;
    const fail = (cause: string, isSlow = false): FailedAnswer => {
      return { kind: "failed", message: `Cannot read trigger "${metricName}": ${cause}`, isEmpty: false, isSlow };
    };
    const { namespace = "" } = asked;
    using timeout = clock.timeout(MAX_ENDPOINTS_MS);
    const signal = AbortSignal.any([asked.signal, timeout.signal]);
    await budget.wait(namespace, asked.signal);
    const listed = await fetchEndpoints(source.url, { client, signal });
    asked.signal.throwIfAborted();
    budget.spend(namespace, { ms: REQUEST_MS, bytes: listed.bytes });
    if (!listed.ok) return fail(listed.cause);
    const { urls } = listed;
    if (urls.length === 0) return fail("its Service has no ready endpoint");
    if (urls.length > MAX_ENDPOINTS) {
      return fail(`its Service has more than ${MAX_ENDPOINTS} endpoints; let Prometheus collect the values and add up`);
    }
    const answers = await Promise.all(urls.map(async (url) => {
      const ofOne = { ...trigger, source: { ...source, url, aggregation: null } };
      const tooLate = () => fail(`no answer within ${MAX_ENDPOINTS_MS / 1000} s`, true);
      return await ask(ofOne, { ...asked, service: source.url, signal }).catch(tooLate);
    }));
    asked.signal.throwIfAborted();
    const values = answers.flatMap((one) => one.kind === "value" ? [one.value] : []);
    if (values.length > 0) return { kind: "value", value: AGGREGATE[aggregation](values), isEmpty: false };
    const failed = answers.filter((one) => one.kind === "failed");
    // A slow one is not asked again at once.
    return failed.find(({ isSlow }) => isSlow) ?? failed[0] ?? fail("no answer");
  };
}

type FailedAnswer = Extract<TriggerAnswer, { readonly kind: "failed" }>;

/** All of them together, as long as one trigger may take. */
const MAX_ENDPOINTS_MS = 15_000;

const MAX_ENDPOINTS = 100;

/** More than 100 endpoints need. */
const MAX_ENDPOINTS_BYTES = 256 * 1024;

const AGGREGATE: Readonly<Record<Aggregation, (values: readonly number[]) => number>> = {
  average: (values) => addUp(values) / values.length,
  sum: addUp,
  max: (values) => Math.max(...values),
  min: (values) => Math.min(...values),
};

function addUp(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

type EndpointsResult = Result<{ urls: readonly string[] }> & { readonly bytes: number };

/** The signal's abort is a failure too. */
async function fetchEndpoints(
  address: string,
  { client, signal }: { readonly client: Pick<ApiClient, "untyped">; readonly signal: AbortSignal },
): Promise<EndpointsResult> {
  const { service, namespace } = findService(address) ?? { service: "", namespace: "" };
  const query = new URLSearchParams({ labelSelector: `kubernetes.io/service-name=${service}` });
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?${query}`;
  try {
    const limitBytes = MAX_ENDPOINTS_BYTES;
    const { data, error, response } = await client.untyped({ method: "GET", path, limitBytes, signal });
    if (response.ok) return { ok: true, urls: listEndpointUrls(address, data), bytes: measureJson(data) };
    const advice = response.status === 403
      ? "; the chart gives the right with scaledObjects.serviceEndpoints=true"
      : "";
    const cause = `the endpoints of Service "${namespace}/${service}" cannot be listed: `;
    return { ok: false, cause: `${cause}${toApiError(response, error).message}${advice}`, bytes: 0 };
  } catch (error) {
    return { ok: false, cause: `the endpoints of its Service cannot be listed: ${getErrorMessage(error)}`, bytes: 0 };
  }
}

/**
 * Returns the URL of each ready endpoint, once, and at most one more than may be asked. The port is that of the trigger's URL if the endpoint has it, otherwise
 * that of the scheme. A Service of two address families has each pod twice, and only the first family counts. Accepts any
 * shape. Clauses: R98.
 */
export function listEndpointUrls(address: string, list: unknown): readonly string[] {
  const [port, scheme] = [portOf(new URL(address)), new URL(address).protocol];
  const slices = listRecords(list, "items").toSorted((a, b) => toRank(a).localeCompare(toRank(b)));
  const hasPorts = new Map<string, boolean>();
  for (const slice of slices.filter((one) => one["addressType"] === slices[0]?.["addressType"])) {
    const hasPort = listRecords(slice, "ports").some((one) => one["port"] === port);
    for (const { addresses, conditions } of listRecords(slice, "endpoints")) {
      if (isRecord(conditions) && conditions["ready"] === false) continue;
      for (const one of Array.isArray(addresses) ? addresses : []) {
        if (typeof one === "string") hasPorts.set(one, hasPort);
      }
    }
  }
  return [...hasPorts].slice(0, MAX_ENDPOINTS + 1).flatMap(([one, hasPort]) => {
    // A setter ignores what is not a host.
    if (!URL.canParse(`${scheme}//${toHost(one)}/`)) return [];
    const url = new URL(address);
    url.port = hasPort ? String(port) : "";
    url.hostname = toHost(one);
    return [url.href];
  });
}

function toRank({ addressType }: Readonly<Record<string, unknown>>): string {
  return typeof addressType === "string" ? addressType : "";
}

function toHost(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

function listRecords(of: unknown, key: string): readonly Readonly<Record<string, unknown>>[] {
  const list = isRecord(of) ? of[key] : null;
  return Array.isArray(list) ? list.filter(isRecord) : [];
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
