/** What of the scale bench's world is few, created by the API of whoever serves it: definition, namespaces, autoscalers. */
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import type { ObjectsClient } from "../../../lib/embedded/objects_client.ts";
import { type JsonObject, textAt } from "../../../lib/embedded/json.ts";
import { waitUntil } from "../../e2e/support/wait.ts";
import { listAutoscalers, listNamespaces, listScaledObjects, type World } from "./scale_world.ts";

const CRDS = ["podresourceautoscaler", "scaledobject", "triggerauthentication", "clustertriggerauthentication"]
  .map((name) => new URL(`../../../crds/${name}.yaml`, import.meta.url));
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export async function createObjects(client: ObjectsClient, world: World): Promise<void> {
  for (const file of CRDS) await createDefinition(client, file);
  for (const name of listNamespaces(world)) {
    await client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  for (const one of listAutoscalers(world)) {
    await createCustom(client, { one, resource: "keda.kedify.io/v1alpha1/podresourceautoscalers" });
  }
  for (const one of listScaledObjects(world)) {
    await createCustom(client, { one, resource: "keda.sh/v1alpha1/scaledobjects" });
  }
}

async function createDefinition(client: ObjectsClient, file: URL): Promise<void> {
  const [definition = {}] = parseAll(await Deno.readTextFile(file)) as JsonObject[];
  if (await client.get(`${DEFINITIONS}/${textAt(definition, "metadata", "name")}`) === null) {
    await client.create(DEFINITIONS, definition);
  }
}

/** A definition that is new is served a little later. */
async function createCustom(
  client: ObjectsClient,
  { one, resource }: { readonly one: JsonObject; readonly resource: string },
): Promise<void> {
  const [group, version, plural] = resource.split("/");
  const path = `/apis/${group}/${version}/namespaces/${textAt(one, "metadata", "namespace")}/${plural}`;
  await waitUntil("an object to be created", () => client.create(path, one), { clock: systemClock });
}
