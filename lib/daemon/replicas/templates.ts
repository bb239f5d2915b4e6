/**
 * The pod templates that pods were made from: the workload's own, and the one of the pod's ReplicaSet or
 * ControllerRevision. They are fetched when needed and kept, because revisions never change.
 */
import type { PodTemplateSpec } from "../../api/kubernetes.ts";
import type { ResourcesByContainer } from "../../horizontal/initial_requests.ts";
import type { ApiClient } from "../../kube/client.ts";
import type { PodFacts } from "../../model/pod.ts";
import { AnswerCache, type CacheableAnswer } from "../../runtime/cache.ts";
import type { Clock } from "../../runtime/clock.ts";
import { isRecord } from "../../units/untrusted.ts";
import { parsePod } from "../cluster/parse_pod.ts";
import { REQUEST_TIMEOUT_MS, type TargetPlace } from "./scale_client.ts";

/** The container sizes of a pod's revision and of its workload; `null` = not known. */
interface TemplateSizes {
  readonly revision: ResourcesByContainer | null;
  readonly template: ResourcesByContainer | null;
}

/** They never reject: what cannot be fetched is not known. Clauses: R16, R82. */
export interface Templates {
  /** Returns what is known now. */
  readonly find: (place: TargetPlace, pod: PodFacts) => TemplateSizes;
  /** Fetches what is not known of these pods, a few revisions each time. */
  readonly fetch: (place: TargetPlace, pods: readonly PodFacts[], signal: AbortSignal) => Promise<void>;
}

interface TemplatesOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly clock: Pick<Clock, "monotonic" | "timeout">;
}

/** How many requests run at once for one object. */
const MAX_CONCURRENT = 5;

const MAX_CACHED = 5_000;

/** A workload's template changes with each rollout. A failed request is tried again after this. */
const CACHE_MS = 60_000;

export function createTemplates(options: TemplatesOptions): Templates {
  const cache = new AnswerCache<ResourcesByContainer | null>({ clock: options.clock, maxEntries: MAX_CACHED });
  return {
    find(place, pod) {
      const [template, revision] = [toTemplateSource(place), toRevisionSource(place, pod)];
      return {
        template: (template && cache.last(template.key)) ?? null,
        revision: (revision && cache.last(revision.key)) ?? null,
      };
    },
    async fetch(place, pods, signal) {
      const sources = new Map<string, TemplateSource>();
      for (const source of [toTemplateSource(place), ...pods.map((pod) => toRevisionSource(place, pod))]) {
        if (source !== null && !cache.isValid(source.key)) sources.set(source.key, source);
      }
      await Promise.allSettled(
        [...sources.values()].slice(0, MAX_CONCURRENT).map((source) =>
          cache.get(source.key, () => fetchSizes(source, { ...options, signal }))
        ),
      );
    },
  };
}

/** Rejects with the signal's reason only: another object may need the same template. */
async function fetchSizes(
  source: TemplateSource,
  options: TemplatesOptions & { readonly signal: AbortSignal },
): Promise<CacheableAnswer<ResourcesByContainer | null>> {
  const template = await fetchTemplate(source, options).catch(() => null);
  options.signal.throwIfAborted();
  const value = template && toSizes(template);
  const isLasting = value !== null && source.kind !== "deployments" && source.kind !== "statefulsets";
  return { value, keepMs: isLasting ? Infinity : CACHE_MS };
}

/** An object with a pod template. */
interface TemplateSource {
  readonly kind: "deployments" | "statefulsets" | "replicasets" | "controllerrevisions";
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** Returns `null` for other kinds than Deployment and StatefulSet. */
export function toTemplateSource(
  { namespace, target: { apiVersion, kind, name } }: TargetPlace,
): TemplateSource | null {
  if (apiVersion !== "apps/v1") return null;
  if (kind === "Deployment") return toSource({ kind: "deployments", namespace, name });
  return kind === "StatefulSet" ? toSource({ kind: "statefulsets", namespace, name }) : null;
}

/**
 * The name of a ReplicaSet has the Deployment's name and the template hash. A StatefulSet's pod has the name of its
 * revision in a label.
 */
function toRevisionSource({ namespace, target: { apiVersion, kind, name } }: TargetPlace, { labels }: PodFacts) {
  const [hash, revision] = [labels["pod-template-hash"], labels["controller-revision-hash"]];
  if (apiVersion !== "apps/v1") return null;
  if (kind === "Deployment" && hash !== undefined) {
    return toSource({ kind: "replicasets", namespace, name: `${name}-${hash}` });
  }
  if (kind !== "StatefulSet" || revision === undefined) return null;
  return toSource({ kind: "controllerrevisions", namespace, name: revision });
}

function toSource(source: Omit<TemplateSource, "key">): TemplateSource {
  return { ...source, key: `${source.kind}/${source.namespace}/${source.name}` };
}

/** Returns `null` where the object has no template. Rejects as the client does. */
export async function fetchTemplate(
  { kind, namespace, name }: Omit<TemplateSource, "key">,
  { client: { core }, clock, signal }: TemplatesOptions & { readonly signal: AbortSignal },
): Promise<PodTemplateSpec | null> {
  using timeout = clock.timeout(REQUEST_TIMEOUT_MS);
  const init = { params: { path: { namespace, name } }, signal: AbortSignal.any([signal, timeout.signal]) };
  switch (kind) {
    case "deployments":
      return (await core.GET("/apis/apps/v1/namespaces/{namespace}/deployments/{name}", init)).data?.spec?.template ??
        null;
    case "statefulsets":
      return (await core.GET("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}", init)).data?.spec?.template ??
        null;
    case "replicasets":
      return (await core.GET("/apis/apps/v1/namespaces/{namespace}/replicasets/{name}", init)).data?.spec?.template ??
        null;
    case "controllerrevisions": {
      const { data } = await core.GET("/apis/apps/v1/namespaces/{namespace}/controllerrevisions/{name}", init);
      const revision: unknown = data?.data;
      const spec = isRecord(revision) && isRecord(revision.spec) ? revision.spec : {};
      return isRecord(spec.template) ? spec.template as PodTemplateSpec : null;
    }
  }
}

function toSizes({ spec }: PodTemplateSpec): ResourcesByContainer {
  const { containers } = parsePod({ ...(spec !== undefined && { spec }) });
  return Object.fromEntries(containers.map((container) => [container.name, container.spec]));
}
