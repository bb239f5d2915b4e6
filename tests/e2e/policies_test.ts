/**
 * The shipped admission policies on a real API server (C54): what a central podfit's token may not change, what an
 * agent's token may resize is on its node, what a sidecar's may is its own pod, and nobody else resizes a sidecar's pod.
 */
import { parseAll } from "../../lib/runtime/yaml.ts";
import { assertEquals, assertStringIncludes } from "#assert";
import type { ApiServer } from "../../lib/kube/transport.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, deleteObject, find, waitFor, waitForPods } from "./support/cluster.ts";
import { type Answer, enter, resize, resizeTo, write } from "./support/bound_tokens.ts";
import { scenario } from "./support/needs.ts";
import { hpa, scaledObject } from "./support/scaled_objects.ts";
import { deployment, type Manifest, pod } from "./support/workloads.ts";

const REAL_ONLY = "the embedded API server knows no admission policies";

scenario(
  "C54 L56 a central podfit's token changes nothing in an excluded namespace, and elsewhere only what podfit changes",
  {
    realOnly: REAL_ONLY,
    needs: { images: "load", pods: 2 },
    async run({ namespace }) {
      await using _policy = await install("central", namespace, (text) => {
        return text.replace("system:serviceaccount:podfit:podfit", `system:serviceaccount:${namespace}:podfit`);
      });
      await applyManifests(namespace, [
        ...createAccount("podfit", [
          { apiGroups: ["apps"], resources: ["deployments/scale"], verbs: ["get", "update", "patch"] },
          { apiGroups: ["keda.sh"], resources: ["scaledobjects"], verbs: ["patch"] },
          { apiGroups: ["autoscaling"], resources: ["horizontalpodautoscalers"], verbs: ["delete"] },
        ]),
        load("web", {}),
        deployment("jobs", { containers: [{ requests: { cpu: "10m" } }], replicas: 0 }),
        scaledObject("jobs", {
          minReplicaCount: 1,
          triggers: [{ type: "cpu", metricType: "Utilization", metadata: { value: "50" } }],
        }),
        hpa("one"),
        hpa("two"),
      ]);
      await waitForPods(namespace, "app=web");
      await using podfit = await enter({ namespace, name: "podfit" });
      const to = (resources: unknown) => resizeTo(podfit, { namespace, name: "web" }, resources);
      await waitFor("the policy to be in force", async () => (await to({ limits: { cpu: "1" } })).status === 403);
      assertStringIncludes((await to({ limits: { cpu: "1" } })).message, "adds no request or limit to a container");
      assertEquals((await resize(podfit, namespace, "web")).status, 200);

      const object = `/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/jobs`;
      const change = (body: unknown): Promise<Answer> => write(podfit, { method: "PATCH", path: object, body });
      const refused = await change({ spec: { maxReplicaCount: 1000 } });
      assertEquals(refused.status, 403);
      assertStringIncludes(
        refused.message,
        "podfit changes its finalizer and its record of a ScaledObject, and nothing else",
      );
      assertEquals((await change({ metadata: { annotations: { "autoscaling.keda.sh/paused": "true" } } })).status, 403);
      assertEquals((await change({ metadata: { annotations: { "podfit.dev/keda-metrics": "{}" } } })).status, 200);
      assertEquals((await change({ metadata: { finalizers: ["finalizer.keda.sh", "mine"] } })).status, 403);
      assertEquals((await change({ metadata: { finalizers: ["finalizer.keda.sh"] } })).status, 200);
      const scale = (replicas: number) =>
        write(podfit, {
          method: "PATCH",
          path: `/apis/apps/v1/namespaces/${namespace}/deployments/jobs/scale`,
          body: { spec: { replicas } },
        });
      const end = (name: string) =>
        write(podfit, {
          method: "DELETE",
          path: `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers/${name}`,
        });
      assertEquals([(await scale(1)).status, (await end("one")).status], [200, 200]);

      await using admin = await backend().connect();
      await excludeNamespace(admin, namespace, "true");
      await waitFor("the label to be seen", async () => (await resize(podfit, namespace, "web")).status === 403);
      const excluded = await resize(podfit, namespace, "web");
      assertStringIncludes(excluded.message, `podfit resizes and scales nothing in namespace "${namespace}"`);
      assertEquals([(await scale(0)).status, (await end("two")).status], [403, 403]);
      // podfit lets go of an object there.
      assertEquals((await change({ metadata: { finalizers: [] } })).status, 200);
      assertEquals((await resize(admin, namespace, "web")).status, 200);
      await excludeNamespace(admin, namespace, null);
      await waitFor("the label to be gone", async () => (await resize(podfit, namespace, "web")).status === 200);
    },
  },
);

scenario("C54 L61 the token of a node's podfit resizes pods of that node and of no other", {
  realOnly: REAL_ONLY,
  needs: { node: "own", images: "load", pods: 2 },
  async run({ namespace, nodeName }) {
    // A pod may be bound to a node that is not there, for a while.
    const foreign = nodeName ?? "elsewhere";
    const own = await findNodeBeside(foreign);
    await using _policy = await install("node-local", namespace, (text) => {
      return text.replace("system:serviceaccount:podfit:podfit", `system:serviceaccount:${namespace}:podfit`);
    });
    await applyManifests(namespace, [
      ...createAccount("podfit"),
      load("agent", { nodeName: own, serviceAccountName: "podfit" }),
      load("near", { nodeName: own }),
      load("far", { nodeName: foreign }),
    ]);
    for (const name of ["agent", "near"]) await waitForPods(namespace, `app=${name}`);
    await using agent = await enter({ namespace, name: "podfit", pod: "agent" });
    await waitFor("the policy to be in force", async () => (await resize(agent, namespace, "far")).status === 403);
    const far = await resize(agent, namespace, "far");
    assertStringIncludes(far.message, `the token is of node "${own}" and the pod on node "${foreign}": the podfit of`);
    assertEquals((await resize(agent, namespace, "near")).status, 200);
    await using unbound = await enter({ namespace, name: "podfit" });
    const nowhere = await resize(unbound, namespace, "near");
    assertEquals(nowhere.status, 403);
    assertStringIncludes(nowhere.message, "the token names no node, so this account may write nothing");
    await using admin = await backend().connect();
    assertEquals((await resize(admin, namespace, "far")).status, 200);
    await assertOwnWritesOnly(agent, namespace, "agent");
  },
});

scenario("C17 C54 a pod with a sidecar is resized with its own token alone, and that resizes no other pod", {
  realOnly: REAL_ONLY,
  needs: { images: "load", pods: 3 },
  async run({ namespace }) {
    await using _policy = await install("sidecar", namespace, (text) => text);
    const labels = { "podfit.dev/mode": "sidecar" };
    const own = { serviceAccountName: "podfit-sidecar" };
    await applyManifests(namespace, [
      ...createAccount("podfit-sidecar"),
      ...createAccount("podfit"),
      load("web-1", own, labels),
      load("web-2", own, labels),
      load("db", {}),
    ]);
    for (const name of ["web-1", "web-2", "db"]) await waitForPods(namespace, `app=${name}`);
    await using sidecar = await enter({ namespace, name: "podfit-sidecar", pod: "web-1" });
    await using central = await enter({ namespace, name: "podfit" });
    await waitFor("the policy to be in force", async () => (await resize(central, namespace, "web-1")).status === 403);
    const refused = await resize(central, namespace, "web-1");
    assertStringIncludes(refused.message, 'pod "web-1" is resized by its own podfit alone');
    assertStringIncludes(refused.message, "the token is of no pod: to have another podfit resize it, take the label");
    const answers = async (server: ApiServer) => [
      (await resize(server, namespace, "web-1")).status,
      (await resize(server, namespace, "web-2")).status,
      (await resize(server, namespace, "db")).status,
    ];
    assertEquals(await answers(sidecar), [200, 403, 403]);
    assertEquals(await answers(central), [403, 403, 200]);
    await using admin = await backend().connect();
    assertEquals(await answers(admin), [200, 200, 200]);
    await assertOwnWritesOnly(sidecar, namespace, "web-1");

    await excludeNamespace(admin, namespace, "true");
    await waitFor("the label to be seen", async () => (await resize(sidecar, namespace, "web-1")).status === 403);
    const excluded = await resize(sidecar, namespace, "web-1");
    assertStringIncludes(excluded.message, `podfit resizes nothing in namespace "${namespace}"`);
    assertEquals((await resize(admin, namespace, "web-1")).status, 200);
  },
});

/** By the label; `null` ends it. */
function excludeNamespace(admin: ApiServer, namespace: string, value: string | null): Promise<Answer> {
  return write(admin, {
    method: "PATCH",
    path: `/api/v1/namespaces/${namespace}`,
    body: { metadata: { labels: { "podfit.dev/excluded": value } } },
  });
}

/** Leases and events in the name of that pod, and of no other. */
async function assertOwnWritesOnly(server: ApiServer, namespace: string, pod: string): Promise<void> {
  const lease = (holderIdentity: string, leaseDurationSeconds = 15) => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "statuses" },
    spec: { holderIdentity, leaseDurationSeconds },
  });
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const hold = (...given: Parameters<typeof lease>) =>
    write(server, { method: "PATCH", path: `${path}/statuses`, body: { spec: lease(...given).spec } });
  const create = (holder: string) => write(server, { method: "POST", path, body: lease(holder) });
  const refused = await create("other_1");
  assertEquals(refused.status, 403);
  assertStringIncludes(refused.message, "podfit holds and releases a Lease in the name of its own pod only");
  assertEquals((await create(`${pod}_1`)).status, 201);
  assertEquals([(await hold("other_1")).status, (await hold(`${pod}_1`, 3600)).status], [403, 403]);
  assertEquals([(await hold(`${pod}_1`)).status, (await hold("", 1)).status], [200, 200]);

  const events = `/api/v1/namespaces/${namespace}/events`;
  const event = (name: string, reportingInstance: string) =>
    write(server, {
      method: "POST",
      path: events,
      body: {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name },
        involvedObject: { kind: "Pod", namespace, name: pod },
        reason: "Told",
        message: "told",
        type: "Normal",
        source: { component: "podfit" },
        reportingComponent: "podfit",
        reportingInstance,
      },
    });
  assertEquals([(await event("own", pod)).status, (await event("other", "other")).status], [201, 403]);
  const count = { method: "PATCH", path: `${events}/own`, body: { count: 2 } } as const;
  assertEquals((await write(server, count)).status, 200);
}

async function findNodeBeside(other: string): Promise<string> {
  const list = await find<{ readonly items: readonly { readonly metadata: { readonly name: string } }[] }>(
    "/api/v1/nodes",
  );
  return list?.items.map(({ metadata }) => metadata.name).find((name) => name !== other) ?? "";
}

function load(name: string, fields: Readonly<Record<string, unknown>>, labels: Readonly<Record<string, string>> = {}) {
  return pod(name, { containers: [{ requests: { cpu: "10m" } }], fields, labels });
}

/** A service account that may write what agents and sidecars write, and what else the rules say. */
function createAccount(name: string, more: readonly Manifest[] = []): readonly Manifest[] {
  const rbac = "rbac.authorization.k8s.io";
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } },
    {
      apiVersion: `${rbac}/v1`,
      kind: "Role",
      metadata: { name },
      rules: [
        { apiGroups: [""], resources: ["pods/resize"], verbs: ["patch"] },
        { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
        { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "patch"] },
        ...more,
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name }],
    },
  ];
}

/** Under a name of its own and for that namespace alone, so that no other scenario meets it. */
async function install(file: string, namespace: string, edit: (text: string) => string): Promise<AsyncDisposable> {
  const text = await Deno.readTextFile(new URL(`../../deploy/policies/${file}.yaml`, import.meta.url));
  const name = `podfit-${namespace}`;
  const renamed = edit(text).replaceAll(/\b(name|policyName): podfit-(?:central|node-local|sidecar)$/gm, `$1: ${name}`);
  const [policy = {}, binding = {}] = parseAll(renamed) as readonly Manifest[];
  const matchResources = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } };
  await applyManifests(namespace, [policy, { ...binding, spec: { ...binding["spec"] as object, matchResources } }]);
  return {
    async [Symbol.asyncDispose]() {
      await deleteObject(namespace, `ValidatingAdmissionPolicyBinding/${name}`);
      await deleteObject(namespace, `ValidatingAdmissionPolicy/${name}`);
    },
  };
}
