/**
 * What pods were made of: the template of their own ReplicaSet or controller revision, and the workload's own (R16, R82). Fetched when
 * asked for, a few at a time; what was found is kept, as revisions never change.
 */
import type { PodTemplateSpec } from "../../api/kubernetes.ts";
import type { Sizes } from "../../core/replicas/births.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { ApiClient } from "../../kube/client.ts";
import type { Clock } from "../../runtime/clock.ts";
import { isRecord } from "../../units/untrusted.ts";
import { readPod } from "../inventory/read_pod.ts";
import { REQUEST_MS, type TargetPlace } from "./scale_requests.ts";

/** A pod's revision and its workload, by what they are made of; `null` = not known (yet). */
export interface TemplateSizes {
  readonly revision: Sizes | null;
  readonly template: Sizes | null;
}

/** None of them rejects: what cannot be read is not known. */
export interface Templates {
  /** What is known by now. */
  readonly read: (place: TargetPlace, pod: PodFacts) => TemplateSizes;
  /** Looks for what is not known of these pods; of many revisions the first few, and the others the next time. */
  readonly fetch: (place: TargetPlace, pods: readonly PodFacts[], signal: AbortSignal) => Promise<void>;
}

export interface TemplatesOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly clock: Pick<Clock, "monotonic" | "timeout">;
}

/** So many requests at once, for one object. */
const MOST_AT_ONCE = 5;
const MOST_KEPT = 5_000;
/** A workload's template changes with each rollout; what could not be read is asked for again. */
const KEPT_MS = 60_000;

interface Kept {
  readonly sizes: Sizes | null;
  readonly untilMs: number;
}

export function createTemplates(options: TemplatesOptions): Templates {
  const { clock } = options;
  const kept = new Map<string, Kept>();
  const isKept = (source: TemplateSource) => (kept.get(source.key)?.untilMs ?? -Infinity) > clock.monotonic();
  return {
    read(place, pod) {
      const [template, revision] = [toTemplateSource(place), toRevisionSource(place, pod)];
      return {
        template: (template && kept.get(template.key)?.sizes) ?? null,
        revision: (revision && kept.get(revision.key)?.sizes) ?? null,
      };
    },
    async fetch(place, pods, signal) {
      const sources = new Map<string, TemplateSource>();
      for (const source of [toTemplateSource(place), ...pods.map((pod) => toRevisionSource(place, pod))]) {
        if (source !== null && !isKept(source)) sources.set(source.key, source);
      }
      await Promise.all(
        [...sources.values()].slice(0, MOST_AT_ONCE).map(async (source) => {
          const template = await fetchTemplate(source, { ...options, signal }).catch(() => null);
          const sizes = template && toSizes(template);
          if (kept.size >= MOST_KEPT) kept.clear();
          const isLasting = sizes !== null && source.kind !== "deployments" && source.kind !== "statefulsets";
          kept.set(source.key, { sizes, untilMs: isLasting ? Infinity : clock.monotonic() + KEPT_MS });
        }),
      );
    },
  };
}

/** An object that has a template of pods. */
interface TemplateSource {
  readonly kind: "deployments" | "statefulsets" | "replicasets" | "controllerrevisions";
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** `null` where the kind's template stands elsewhere: only Deployments and StatefulSets are known. */
export function toTemplateSource(
  { namespace, target: { apiVersion, kind, name } }: TargetPlace,
): TemplateSource | null {
  if (apiVersion !== "apps/v1") return null;
  if (kind === "Deployment") return toSource({ kind: "deployments", namespace, name });
  return kind === "StatefulSet" ? toSource({ kind: "statefulsets", namespace, name }) : null;
}

/** A Deployment's ReplicaSets have its name and the template's hash, a StatefulSet's pods name their revision. */
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

/** `null` where there is none; rejects as the client does. */
export async function fetchTemplate(
  { kind, namespace, name }: Omit<TemplateSource, "key">,
  { client: { core }, clock, signal }: TemplatesOptions & { readonly signal: AbortSignal },
): Promise<PodTemplateSpec | null> {
  using timeout = clock.timeout(REQUEST_MS);
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

function toSizes({ spec }: PodTemplateSpec): Sizes {
  const { containers } = readPod({ ...(spec !== undefined && { spec }) });
  return Object.fromEntries(containers.map((container) => [container.name, container.spec]));
}
