/**
 * The process of the API server: the embedded one over TLS, its pods and nodes put straight into its store, as their
 * kubelets would have reported them by now. It first says what its kubelets serve with, and is told their ports. It also
 * reports resizes as carried out, since the kubelets of this bench talk to no API server.
 */
import type { JsonObject } from "../../../lib/embedded/json.ts";
import type { Container, Pod } from "../../../lib/api/kubernetes.ts";
import { toNode, toNodeStatus } from "../../../lib/embedded/kubelet/register.ts";
import { createObjectsClient, type ObjectsClient } from "../../../lib/embedded/objects_client.ts";
import { ADMIN } from "../../support/embedded/access.ts";
import { createAuthority } from "../../support/embedded/certificates.ts";
import type { EmbeddedApiServer } from "../../../lib/embedded/server/http/handler.ts";
import { serve, toKubeconfig } from "../../support/embedded/serve.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { createFullApiServer } from "../../support/embedded/full_cluster.ts";
import { createObjects } from "./scale_objects.ts";
import { hearMessages, say } from "./scale_worker.ts";
import { listDeployments, nodeConfig, readTemplate, SETTLED_MS, startMachine, type World } from "./scale_world.ts";

const TOKEN = "bench";

/** From a resize to the first status of it, and from there to the second. */
const BEGIN_MS = 300;
const CARRY_OUT_MS = 1_000;

const told = hearMessages();
const authority = await createAuthority("scale bench");
await say({ kubelets: await authority.issue("kubelet") });
const { world, ports } = (await told.next()).value as { world: World; ports: readonly number[] };
const api = createFullApiServer({ clock: systemClock, random: Math.random, tokens: new Map([[TOKEN, ADMIN]]) });
await createObjects(toClient(api), world);
for (const deployment of listDeployments(world)) api.store.put("apps/deployments", deployment);
await putNodes(api, world, ports);
carryOutResizes(api, toClient(api));
await using served = await serve(api.handle, { authority });
await say({ kubeconfig: toKubeconfig(served, TOKEN), token: TOKEN });
// Until nobody is there.
await told.next();

function toClient({ handle }: EmbeddedApiServer): ObjectsClient {
  const transport = (request: Request) => {
    request.headers.set("authorization", `Bearer ${TOKEN}`);
    return handle(request);
  };
  const server = { origin: "https://scale.bench", transport };
  return createObjectsClient({ server, clock: systemClock, agent: "bench", signal: new AbortController().signal });
}

async function putNodes({ store }: EmbeddedApiServer, world: World, ports: readonly number[]): Promise<void> {
  const template = await readTemplate();
  const now = world.startedAt + SETTLED_MS;
  for (let node = 0; node < world.nodes; node++) {
    const options = { config: nodeConfig(node), port: ports[node] ?? 0 };
    const object = toNode(options);
    const metadata = { ...object.metadata as JsonObject, uid: options.config.name };
    store.put("/nodes", { ...object, metadata, status: toNodeStatus(options, { now, since: world.startedAt }) });
    const machine = startMachine(world, { node, template, now: () => now });
    for (const pod of machine.pods) {
      const status = machine.getStatus(pod.metadata?.uid ?? "");
      store.put("/pods", JSON.parse(JSON.stringify({ ...pod, status })));
    }
  }
}

/** A kubelet writes two statuses for a resize: that it has begun, and a little later that it is done. */
function carryOutResizes({ store }: EmbeddedApiServer, client: ObjectsClient): void {
  store.collection("/pods").listen(({ kind, entry: { object }, previous }) => {
    const [metadata, spec] = [object["metadata"] as Pod["metadata"], object["spec"] as Pod["spec"]];
    const before = previous?.object["metadata"] as Pod["metadata"];
    if (kind !== "MODIFIED" || metadata?.generation === before?.generation) return;
    const observedGeneration = metadata?.generation ?? 0;
    const status = object["status"] as Pod["status"];
    const [total] = spec?.containers ?? [];
    /** The list is replaced as a whole. */
    const withSizes = (toSizes: (resources: Container["resources"]) => JsonObject) =>
      (status?.containerStatuses ?? []).map((one) => {
        const container = spec?.containers.find(({ name }) => name === one.name);
        return { ...one, ...toSizes(container?.resources) };
      });
    const patch = (status: unknown) =>
      client.patch(`/api/v1/namespaces/${metadata?.namespace}/pods/${metadata?.name}/status`, "strategic", {
        status,
      } as JsonObject);
    const begin = () =>
      patch({
        observedGeneration,
        allocatedResources: total?.resources?.requests,
        conditions: [{ type: "PodResizeInProgress", status: "True", observedGeneration }],
        containerStatuses: withSizes((resources) => ({ allocatedResources: resources?.requests as JsonObject })),
      });
    const end = () =>
      patch({
        resources: total?.resources,
        conditions: [{ $patch: "delete", type: "PodResizeInProgress" }],
        containerStatuses: withSizes((resources) => ({
          allocatedResources: resources?.requests as JsonObject,
          resources: resources as JsonObject,
        })),
      });
    void systemClock.sleep(BEGIN_MS).then(begin).then(() => systemClock.sleep(CARRY_OUT_MS)).then(end);
  }, null);
}
