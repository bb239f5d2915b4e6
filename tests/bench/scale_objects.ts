/** What of the scale bench's world is few, created by the API of whoever serves it: definition, namespaces, autoscalers. */
import { parseAll } from "@std/yaml";
import { systemClock } from "../../lib/runtime/clock.ts";
import type { ObjectsClient } from "../../lib/sim/objects_client.ts";
import { type JsonObject, textAt } from "../../lib/sim/json.ts";
import { waitUntil } from "../e2e/support/wait.ts";
import { listAutoscalers, listNamespaces, type World } from "./scale_world.ts";

const CRD = new URL("../../crds/podresourceautoscaler.yaml", import.meta.url);
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export async function createObjects(client: ObjectsClient, world: World): Promise<void> {
  const [definition = {}] = parseAll(await Deno.readTextFile(CRD)) as JsonObject[];
  if (await client.get(`${DEFINITIONS}/${textAt(definition, "metadata", "name")}`) === null) {
    await client.create(DEFINITIONS, definition);
  }
  for (const name of listNamespaces(world)) {
    await client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  for (const one of listAutoscalers(world)) {
    const path = `/apis/keda.kedify.io/v1alpha1/namespaces/${
      textAt(one, "metadata", "namespace")
    }/podresourceautoscalers`;
    // A definition that is new is served a little later.
    await waitUntil("an autoscaler to be created", () => client.create(path, one), { clock: systemClock });
  }
}
