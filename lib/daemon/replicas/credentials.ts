/** How the authentications of one object's triggers become parameters: by the watches, and by GETs of what they name (R16). */
import { toApiError } from "../../kube/api_error.ts";
import type { ApiClient } from "../../kube/client.ts";
import { readMessage } from "../../kube/network_error.ts";
import type { Clock } from "../../runtime/clock.ts";
import { isRecord } from "../../units/untrusted.ts";
import { resolveCredentials, type TargetRead } from "../../triggers/credentials.ts";
import type { ObjectRead, ReadObject } from "../../triggers/lookup.ts";
import type { ReadCredentials } from "../../triggers/trigger_credentials.ts";
import type { Objects } from "./objects.ts";
import { REQUEST_MS, type TargetPlace } from "./scale_requests.ts";
import { fetchTemplate, toTemplateSource } from "./templates.ts";

/** Where things are, and what they belong to. */
export interface CredentialsOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly clock: Clock;
  readonly objects: Pick<Objects, "findAuthentication">;
  /** Where the secrets of ClusterTriggerAuthentications are. */
  readonly clusterObjectNamespace: string;
  /** The object's target now; `null` while the object is invalid. */
  readonly readPlace: () => TargetPlace | null;
}

/** For one object. */
export function createReadCredentials(options: CredentialsOptions): ReadCredentials {
  const { client: { core }, objects, clusterObjectNamespace: clusterNamespace } = options;
  const readSecret = createReadObject(options, "secrets", async (init) => {
    const { data, error, response } = await core.GET("/api/v1/namespaces/{namespace}/secrets/{name}", init);
    return { entries: data?.data, error, response };
  });
  const readConfigMap = createReadObject(options, "configmaps", async (init) => {
    const { data, error, response } = await core.GET("/api/v1/namespaces/{namespace}/configmaps/{name}", init);
    return { entries: data?.data, error, response };
  });
  const readTarget = (signal: AbortSignal) => fetchTarget(options, signal);
  return async ({ namespace, ref }, signal) => {
    const found = objects.findAuthentication({
      ...ref,
      namespace: ref.kind === "TriggerAuthentication" ? namespace : null,
    });
    if (!found?.authentication) {
      return { kind: "missing", message: `${ref.kind} "${ref.name}" is not there, or invalid` };
    }
    const of = { namespace, clusterNamespace, readSecret, readConfigMap, readTarget, signal };
    return await resolveCredentials(found.authentication, of);
  };
}

type GetInit = {
  readonly params: { readonly path: { readonly namespace: string; readonly name: string } };
  readonly signal: AbortSignal;
};

interface GotEntries {
  readonly entries: Record<string, string> | undefined;
  readonly error?: unknown;
  readonly response: Response;
}

function createReadObject(
  { clock }: Pick<CredentialsOptions, "clock">,
  resource: string,
  get: (init: GetInit) => Promise<GotEntries>,
): ReadObject {
  return async ({ namespace, name }, signal): Promise<ObjectRead> => {
    using timeout = clock.timeout(REQUEST_MS);
    try {
      const init = { params: { path: { namespace, name } }, signal: AbortSignal.any([signal, timeout.signal]) };
      const { entries, error, response } = await get(init);
      if (response.status === 404) return { kind: "missing" };
      if (response.ok) return { kind: "found", entries: isRecord(entries) ? entries : {} };
      const advice = response.status === 403 ? `; grant get of ${resource} in namespace "${namespace}"` : "";
      return { kind: "failed", cause: `${toApiError(response, error).message}${advice}` };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "failed", cause: readMessage(error) };
    }
  };
}

async function fetchTarget(options: CredentialsOptions, signal: AbortSignal): Promise<TargetRead> {
  const place = options.readPlace();
  const source = place && toTemplateSource(place);
  if (source === null) return { kind: "failed", cause: "env is read of Deployments and StatefulSets only" };
  try {
    const template = await fetchTemplate(source, { ...options, signal });
    return template === null ? { kind: "missing" } : { kind: "found", object: { spec: { template } } };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "failed", cause: readMessage(error) };
  }
}
