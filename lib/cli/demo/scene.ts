/** What does a scene of the demo apply? Its node, manifests and loads, from the files of deploy/demo. */
import web from "../../../deploy/demo/web.yaml" with { type: "text" };
import worker from "../../../deploy/demo/worker.yaml" with { type: "text" };
import cache from "../../../deploy/demo/cache.yaml" with { type: "text" };
import definition from "../../../crds/podresourceautoscaler.yaml" with { type: "text" };
import both from "../../../deploy/demo/both.yaml" with { type: "text" };
import scaledObject from "../../../crds/scaledobject.yaml" with { type: "text" };
import authentication from "../../../crds/triggerauthentication.yaml" with { type: "text" };
import clusterAuthentication from "../../../crds/clustertriggerauthentication.yaml" with { type: "text" };
import type { Curve } from "../../embedded/model/load.ts";
import type { Manifest } from "../manifests/files.ts";
import type { SceneName } from "./options.ts";
import { parseAll } from "../../runtime/yaml.ts";

/** One scene, for both clusters. */
export interface Scene {
  readonly node: { readonly name: string; readonly cpuMillicores: number; readonly memoryBytes: number };
  /** CustomResourceDefinitions. */
  readonly definitions: readonly Manifest[];
  /** Workloads and their autoscalers, in the order in which they are shown. */
  readonly manifests: readonly Manifest[];
  /** Kinds whose manifests the cluster without podfit gets. */
  readonly comparisonKinds: readonly string[];
  readonly loads: readonly SceneLoad[];
  /** Whether podfit sets replicas, also in the cluster without resizes. */
  readonly hasReplicas: boolean;
}

/** Millicores that all ready pods of a workload share. */
interface SceneLoad {
  readonly labels: Readonly<Record<string, string>>;
  readonly container: string;
  readonly cpuMillicores: Curve;
}

/** A scene by its name. */
export function getScene(name: SceneName): Scene {
  const { texts, definitions, ...rest } = SCENE_TEXTS[name];
  const manifests = toManifests(texts);
  return { ...rest, definitions: toManifests(definitions), manifests, loads: manifests.flatMap(listSceneLoads) };
}

const GI = 2 ** 30;

const SCENE_TEXTS = {
  sizes: {
    texts: [web, worker, cache],
    definitions: [definition],
    comparisonKinds: ["Deployment"],
    hasReplicas: false,
    // Small enough that the peaks of two workloads do not fit at once.
    node: { name: "node-1", cpuMillicores: 2000, memoryBytes: 4 * GI },
  },
  both: {
    texts: [both],
    definitions: [definition, scaledObject, authentication, clusterAuthentication],
    comparisonKinds: ["Deployment", "ScaledObject"],
    hasReplicas: true,
    node: { name: "node-1", cpuMillicores: 8000, memoryBytes: 8 * GI },
  },
} as const;

function toManifests(texts: readonly string[]): readonly Manifest[] {
  return texts.flatMap((text) => parseAll(text) as Manifest[]);
}

/** Annotation of these files: a curve for the first container. */
function listSceneLoads(manifest: Manifest): readonly SceneLoad[] {
  const { metadata, spec } = manifest as unknown as LoadedWorkload;
  const text = metadata.annotations?.["demo.podfit.dev/load"];
  if (text === undefined) return [];
  const [container] = spec.template.spec.containers;
  return [{ labels: spec.selector.matchLabels, container: container.name, cpuMillicores: JSON.parse(text) as Curve }];
}

interface LoadedWorkload {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: { readonly spec: { readonly containers: readonly [{ readonly name: string }] } };
  };
}
