/**
 * The world of the scale bench on a real API server: hollow kubelets register its nodes, and its pods, autoscalers and
 * namespaces are created as anybody would. All of it is gone when the stack is disposed of.
 */
import { connect } from "../../../lib/kube/http_transport.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { createObjectsClient, type ObjectsClient } from "../../../lib/embedded/objects_client.ts";
import { createAuthority } from "../../support/embedded/certificates.ts";
import { type JsonObject, listAt, textAt } from "../../../lib/embedded/json.ts";
import { waitUntil } from "../../e2e/support/wait.ts";
import { createObjects } from "./scale_objects.ts";
import type { BenchCluster } from "./scale_run.ts";
import { startWorker } from "./scale_worker.ts";
import { listNamespaces, listPods, nodeConfig, readTemplate, SETTLED_MS, type World } from "./scale_world.ts";

const BINDING = "podfit-scale-bench";
const AT_ONCE = 16;
const WAIT_MS = 300_000;

export async function startRealCluster(
  world: World,
  { kubeconfig, directory, stack }: { kubeconfig: string; directory: string; stack: AsyncDisposableStack },
): Promise<BenchCluster> {
  const server = stack.use(await connect({ version: "bench", kubeconfigPaths: [kubeconfig] }));
  const { signal } = new AbortController();
  const client = createObjectsClient({ server, clock: systemClock, agent: "bench", signal });
  const authority = await createAuthority("scale bench");
  const caPath = `${directory}/kubelet-ca.pem`;
  await Deno.writeTextFile(caPath, authority.caCert);
  // After the kubelets have ended, who would register them again.
  stack.defer(() => inTurn(listNodes(world), async (name) => void await client.delete(`/api/v1/nodes/${name}`)));
  const kubelets = stack.use(startWorker("scale_real_kubelets.ts"));
  await kubelets.tell({ world, kubeconfig, ...await authority.issue("kubelet") });
  await kubelets.hear();
  stack.defer(() => removeObjects(client, world));
  await createObjects(client, world);
  await createPods(client, world);
  await waitFor(
    "all pods to be ready",
    async () => await countReadyPods(client, world) === world.nodes * world.podsPerNode,
  );
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  return { path: kubeconfig, token: await createToken(client, world), args: ["--kubelet-ca", caPath] };
}

async function createPods(client: ObjectsClient, world: World): Promise<void> {
  // Without it no pod may be created.
  await waitFor("the service accounts", async () => {
    const paths = listNamespaces(world).map((name) => `/api/v1/namespaces/${name}/serviceaccounts/default`);
    return (await Promise.all(paths.map(client.get))).every((account) => account !== null);
  });
  await waitFor("the nodes", async () => {
    const nodes = await Promise.all(listNodes(world).map((name) => client.get(`/api/v1/nodes/${name}`)));
    return nodes.every((node) => node !== null);
  });
  await inTurn(listPods(world, await readTemplate()), async ({ metadata, spec, ...head }) => {
    const { name = "", namespace = "", labels = {}, annotations = {} } = metadata ?? {};
    // Its load is in an annotation.
    const pod = JSON.parse(JSON.stringify({ ...head, metadata: { name, labels, annotations }, spec })) as JsonObject;
    await client.create(`/api/v1/namespaces/${namespace}/pods`, pod);
  });
}

/** With a kubelet that lets its pods go. */
async function removeObjects(client: ObjectsClient, world: World): Promise<void> {
  await client.delete(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${BINDING}`);
  const names = listNamespaces(world);
  await inTurn(names, async (name) => void await client.delete(`/api/v1/namespaces/${name}`));
  await waitFor("the namespaces to be gone", async () => {
    const left = await Promise.all(names.map((name) => client.get(`/api/v1/namespaces/${name}`)));
    return left.every((namespace) => namespace === null);
  });
}

async function countReadyPods(client: ObjectsClient, world: World): Promise<number> {
  const lists = await Promise.all(listNamespaces(world).map((name) => client.get(`/api/v1/namespaces/${name}/pods`)));
  const pods = lists.flatMap((list) => listAt(list ?? {}, "items"));
  return pods.filter((pod) =>
    listAt(pod, "status", "conditions").some(({ type, status }) => type === "Ready" && status === "True")
  ).length;
}

/** Of somebody who may ask metrics-server. */
async function createToken(client: ObjectsClient, world: World): Promise<string> {
  const [namespace = ""] = listNamespaces(world);
  await client.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: BINDING },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace }],
  });
  const answer = await client.create(`/api/v1/namespaces/${namespace}/serviceaccounts/default/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 7200 },
  });
  return textAt(answer, "status", "token");
}

function listNodes(world: World): readonly string[] {
  return Array.from({ length: world.nodes }, (_, index) => nodeConfig(index).name);
}

async function inTurn<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += AT_ONCE) await Promise.all(all.slice(from, from + AT_ONCE).map(act));
}

function waitFor(what: string, isSo: () => Promise<boolean>): Promise<boolean> {
  return waitUntil(what, isSo, { clock: systemClock, timeoutMs: WAIT_MS, everyMs: 500 });
}
