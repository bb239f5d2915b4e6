/** What a scene of the demo is played with: its node, what is applied, and the loads that belong to whole workloads. */
import type { Curve } from "../../sim/model/curve.ts";
import type { Manifest } from "../lint/manifest.ts";

/** One scene, for both clusters. */
export interface Scene {
  readonly node: { readonly name: string; readonly cpuMillicores: number; readonly memoryBytes: number };
  /** CustomResourceDefinitions. */
  readonly definitions: readonly Manifest[];
  /** Workloads and what looks after them, in the order in which they are shown. */
  readonly manifests: readonly Manifest[];
  /** Of these kinds alone are the manifests of the shadow. */
  readonly shadowKinds: readonly string[];
  readonly loads: readonly SceneLoad[];
  /** Whether podfit sets replicas, of the shadow too. */
  readonly hasReplicas: boolean;
}

/** Millicores that all ready pods of a workload share. */
export interface SceneLoad {
  readonly labels: Readonly<Record<string, string>>;
  readonly container: string;
  readonly cpuMillicores: Curve;
}
