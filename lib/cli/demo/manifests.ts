/** What the demo applies: the files of deploy/demo as they are, carried along in the bundle. */
import { parseAll } from "@std/yaml";
import clusterAuthentication from "../../../crds/clustertriggerauthentication.yaml" with { type: "text" };
import definition from "../../../crds/podresourceautoscaler.yaml" with { type: "text" };
import scaledObject from "../../../crds/scaledobject.yaml" with { type: "text" };
import authentication from "../../../crds/triggerauthentication.yaml" with { type: "text" };
import both from "../../../deploy/demo/both.yaml" with { type: "text" };
import cache from "../../../deploy/demo/cache.yaml" with { type: "text" };
import web from "../../../deploy/demo/web.yaml" with { type: "text" };
import worker from "../../../deploy/demo/worker.yaml" with { type: "text" };
import type { Curve } from "../../sim/model/curve.ts";
import type { Manifest } from "../lint/manifest.ts";
import type { Scene, SceneLoad } from "./scene.ts";
import type { SceneName } from "./scene_name.ts";

/** A scene by its name. */
export function readScene(name: SceneName): Scene {
  const { texts, definitions, ...rest } = SCENE_TEXTS[name];
  const manifests = toManifests(texts);
  return { ...rest, definitions: toManifests(definitions), manifests, loads: manifests.flatMap(readLoad) };
}

const GI = 2 ** 30;

const SCENE_TEXTS = {
  sizes: {
    texts: [web, worker, cache],
    definitions: [definition],
    shadowKinds: ["Deployment"],
    hasReplicas: false,
    // Small enough that the busiest moments of two workloads do not fit at once.
    node: { name: "node-1", cpuMillicores: 2000, memoryBytes: 4 * GI },
  },
  both: {
    texts: [both],
    definitions: [definition, scaledObject, authentication, clusterAuthentication],
    shadowKinds: ["Deployment", "ScaledObject"],
    hasReplicas: true,
    node: { name: "node-1", cpuMillicores: 8000, memoryBytes: 8 * GI },
  },
} as const;

function toManifests(texts: readonly string[]): readonly Manifest[] {
  return texts.flatMap((text) => parseAll(text) as Manifest[]);
}

/** Our own file's annotation: a curve for the first container. */
function readLoad(manifest: Manifest): readonly SceneLoad[] {
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
