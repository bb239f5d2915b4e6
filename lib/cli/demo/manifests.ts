/** What the demo applies: the files of deploy/demo as they are, carried along in the bundle. */
import { parseAll } from "@std/yaml";
import definition from "../../../crds/podresourceautoscaler.yaml" with { type: "text" };
import cache from "../../../deploy/demo/cache.yaml" with { type: "text" };
import web from "../../../deploy/demo/web.yaml" with { type: "text" };
import worker from "../../../deploy/demo/worker.yaml" with { type: "text" };
import type { Manifest } from "../lint/autoscaler.ts";

/** podfit's CustomResourceDefinition. */
export function readDefinition(): Manifest {
  return parseAll(definition)[0] as Manifest;
}

/** Workloads and their autoscalers, in the order in which they are shown. */
export function readExamples(): readonly Manifest[] {
  return [web, worker, cache].flatMap((text) => parseAll(text) as Manifest[]);
}
