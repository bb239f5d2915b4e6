/**
 * The shipped admission policies on a real API server (C54): what an agent's token may resize is on its node, what a
 * sidecar's may is its own pod, and nobody else resizes a sidecar's pod.
 */
import { parseAll } from "../../lib/runtime/yaml.ts";
import { assertEquals, assertStringIncludes } from "#assert";
import type { ApiServer } from "../../lib/kube/transport.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, deleteObject, find, waitFor, waitForPods } from "./support/cluster.ts";
import { enter, resize } from "./support/bound_tokens.ts";
import { scenario } from "./support/needs.ts";
import { type Manifest, pod } from "./support/workloads.ts";

const REAL_ONLY = "the embedded API server knows no admission policies";

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
    assertStringIncludes(nowhere.message, "the token names no node, so this account may resize no pod");
    await using admin = await backend().connect();
    assertEquals((await resize(admin, namespace, "far")).status, 200);
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
  },
});

async function findNodeBeside(other: string): Promise<string> {
  const list = await find<{ readonly items: readonly { readonly metadata: { readonly name: string } }[] }>(
    "/api/v1/nodes",
  );
  return list?.items.map(({ metadata }) => metadata.name).find((name) => name !== other) ?? "";
}

function load(name: string, fields: Readonly<Record<string, unknown>>, labels: Readonly<Record<string, string>> = {}) {
  return pod(name, { containers: [{ requests: { cpu: "10m" } }], fields, labels });
}

/** A service account that may resize the pods of its namespace. */
function createAccount(name: string): readonly Manifest[] {
  const rbac = "rbac.authorization.k8s.io";
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } },
    {
      apiVersion: `${rbac}/v1`,
      kind: "Role",
      metadata: { name },
      rules: [{ apiGroups: [""], resources: ["pods/resize"], verbs: ["patch"] }],
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
  const renamed = edit(text).replaceAll(/\b(name|policyName): podfit-(?:node-local|sidecar)$/gm, `$1: ${name}`);
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
