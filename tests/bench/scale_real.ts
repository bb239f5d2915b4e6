/**
 * The world of the scale bench on a real API server: hollow kubelets register its nodes, and its pods, autoscalers and
 * namespaces are created as anybody would. All of it is gone when the stack is disposed of.
 */
import { parseAll } from "@std/yaml";
import { connect } from "../../lib/kube/connect.ts";
import { systemClock } from "../../lib/runtime/clock.ts";
import { createObjectsClient, type ObjectsClient, readCode } from "../../lib/sim/objects_client.ts";
import { createAuthority } from "../../lib/sim/server/certificates.ts";
import { type JsonObject, listAt, textAt } from "../../lib/sim/server/json.ts";
import type { BenchCluster } from "./scale_run.ts";
import { startWorker } from "./scale_worker.ts";
import {
  listAutoscalers,
  listNamespaces,
  listPods,
  nodeConfig,
  readTemplate,
  SETTLED_MS,
  type World,
} from "./scale_world.ts";

const CRD = new URL("../../crds/podresourceautoscaler.yaml", import.meta.url);
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
  await waitFor(
    "all pods to be ready",
    async () => await countReadyPods(client, world) === world.nodes * world.podsPerNode,
  );
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  return { path: kubeconfig, token: await createToken(client, world), args: ["--kubelet-ca", caPath] };
}

async function createObjects(client: ObjectsClient, world: World): Promise<void> {
  const [definition = {}] = parseAll(await Deno.readTextFile(CRD)) as JsonObject[];
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  if (await client.get(`${definitions}/${textAt(definition, "metadata", "name")}`) === null) {
    await client.create(definitions, definition);
  }
  await inTurn(listNamespaces(world), async (name) => {
    await client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    // Without it no pod may be created.
    await waitFor("a service account", async () => {
      return await client.get(`/api/v1/namespaces/${name}/serviceaccounts/default`) !== null;
    });
  });
  await waitFor("all nodes", async () => {
    const nodes = await Promise.all(listNodes(world).map((name) => client.get(`/api/v1/nodes/${name}`)));
    return nodes.every((node) => node !== null);
  });
  await inTurn(listAutoscalers(world), async (one) => {
    const namespace = textAt(one, "metadata", "namespace");
    const path = `/apis/keda.kedify.io/v1alpha1/namespaces/${namespace}/podresourceautoscalers`;
    // A definition that is new is served a little later.
    await waitFor("an autoscaler", () => client.create(path, one).then(() => true, (error) => fail(error, 404)));
  });
  await inTurn(listPods(world, await readTemplate()), async ({ metadata, spec, ...head }) => {
    const { name = "", namespace = "", labels = {} } = metadata ?? {};
    const pod = JSON.parse(JSON.stringify({ ...head, metadata: { name, labels }, spec })) as JsonObject;
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
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: BINDING } },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace }],
  });
  const answer = await client.create(`/api/v1/namespaces/${namespace}/serviceaccounts/default/token`, {
    ...{ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7200 } },
  });
  return textAt(answer, "status", "token");
}

function listNodes(world: World): readonly string[] {
  return Array.from({ length: world.nodes }, (_, index) => nodeConfig(index).name);
}

async function inTurn<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += AT_ONCE) await Promise.all(all.slice(from, from + AT_ONCE).map(act));
}

async function waitFor(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const endsAt = performance.now() + WAIT_MS; !await isSo();) {
    if (performance.now() > endsAt) throw new Error(`Cannot go on: waited ${WAIT_MS / 1000} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function fail(error: unknown, expected: number): false {
  if (readCode(error) === expected) return false;
  throw error;
}
