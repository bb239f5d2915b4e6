/**
 * podfit with the rights of deploy/install.yaml and no others: they suffice, each way of reading usage needs its own, and
 * a missing one is named (C54).
 */
import { assert, assertEquals, assertMatch } from "#assert";
import type { ApiServer } from "../../lib/kube/transport.ts";
import { createAccount, LIMITS, without } from "./support/accounts_of_podfit.ts";
import { quickSpec, waitForConditions, waitForLastChange } from "./support/autoscalers.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, readEvents, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { isWarning } from "./support/log.ts";
import { sumOf } from "./support/metrics.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize } from "./support/patches.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { autoscaler, type Manifest, pod } from "./support/workloads.ts";

const STATS = `- { apiGroups: [""], resources: [nodes/stats], verbs: [get] }`;
const NODES = `- { apiGroups: [""], resources: [nodes], verbs: [list, watch] }`;
const PROXY = `- { apiGroups: [""], resources: [nodes/proxy], verbs: [get] }`;
const NEEDS = { images: "load", kubelet: "signed", pods: 1, freeMillicores: 100 } as const;

scenario("C54 the rights of deploy/install.yaml suffice to resize, to write status and events", {
  needs: NEEDS,
  async run({ namespace }) {
    await using account = await createAccount(namespace, (text) => text);
    await applyManifests(namespace, loadedPod());
    await using podfit = await startPodfit({ namespaces: [namespace], args: account.args });
    await waitForResize(namespace);
    await waitForAllTold(namespace);
    await assertNothingForbidden(podfit);
    await podfit.stop();
  },
});

scenario("C54 the role has each right that podfit uses, and none beyond", {
  async run({ namespace }) {
    await using _account = await createAccount(namespace, (text) => text);
    await using server = await backend().connect();
    const user = `system:serviceaccount:${namespace}:${namespace}`;
    const isAllowed = (right: string) => askRight(server, { namespace, user, right });
    await waitFor("the role to be in force", () => isAllowed("list nodes"), { timeoutMs: 10_000 });
    const ask = (rights: readonly string[], expected: boolean) =>
      Promise.all(rights.map(async (right) => await isAllowed(right) === expected ? [] : [right]));
    assertEquals((await ask(USED, true)).flat(), [], "missing rights");
    assertEquals((await ask(BEYOND, false)).flat(), [], "rights that podfit does not use");
  },
});

const AUTOSCALERS = "podresourceautoscalers.keda.kedify.io";
const WATCHED = [AUTOSCALERS, "pods", "deployments.apps", "daemonsets.apps", "statefulsets.apps", "nodes"];
const USED = [
  ...WATCHED.flatMap((resource) => ["list", "watch"].map((verb) => `${verb} ${resource}`)),
  `patch ${AUTOSCALERS}/status`,
  "patch pods/resize",
  "create events",
  "patch events",
  ...["limitranges", "resourcequotas"].flatMap((resource) => [`list ${resource}`, `watch ${resource}`]),
  ...["list", "watch"].map((verb) => `${verb} poddisruptionbudgets.policy`),
  "create leases.coordination.k8s.io",
];
const BEYOND = [
  ...WATCHED.flatMap((resource) => ["get", "create", "update", "patch", "delete"].map((verb) => `${verb} ${resource}`)),
  "get pods/resize",
  "update pods/resize",
  `get ${AUTOSCALERS}/status`,
  "list events",
  "create pods/exec",
  "delete events",
  "get nodes/proxy",
  // Of the account that kubelets see.
  "get nodes/stats",
  "create serviceaccounts/token",
  "get secrets",
  "get limitranges",
  // Of the Lease with podfit's name alone.
  ...["get", "list", "watch", "update", "patch", "delete"].map((verb) => `${verb} leases.coordination.k8s.io`),
  "update resourcequotas",
  ...["get", "create", "update", "patch", "delete"].map((verb) => `${verb} poddisruptionbudgets.policy`),
];

scenario("C54 without nodes/stats the kubelet refuses, and the missing right is named", {
  needs: NEEDS,
  async run({ namespace }) {
    // An account of its own: a kubelet remembers for minutes whom it has admitted.
    await using account = await createAccount(namespace, (text) => without(text, STATS));
    await applyManifests(namespace, loadedPod());
    await waitForPods(namespace, "app=web");
    await using podfit = await startPodfit({ namespaces: [namespace], args: account.args });
    const { status } = await waitForConditions({ namespace, name: "web" }, {
      Active: { status: "True" },
      Metrics: { status: "False", reason: "MetricsUnavailable", message: '"nodes/stats"' },
    });
    const said = status?.conditions?.find(({ type }) => type === "Metrics")?.message ?? "";
    assertMatch(said, /403 Forbidden .*grant that user the verb "get" on "nodes\/stats" in its ClusterRole/);
    assert(podfit.log().filter(isWarning).some(({ message }) => said.includes(message)), podfit.tail());
    assertEquals(await readRequest(namespace), 10);
    await podfit.stop();
  },
});

scenario(
  "C54 L32 without the right to limit ranges and quotas podfit is ready, says once what it does not see, and resizes",
  {
    needs: NEEDS,
    async run({ namespace }) {
      await using account = await createAccount(namespace, (text) => without(text, LIMITS));
      await applyManifests(namespace, loadedPod());
      await using podfit = await startPodfit({ namespaces: [namespace], args: account.args });
      await waitForResize(namespace);
      await waitForAllTold(namespace);
      const said = podfit.log("Not watched, because the right is missing: podfit relies on refusals");
      assertEquals(said.map(({ resource, level }) => [resource, level]).sort(), [
        ["limitranges", "INFO"],
        ["resourcequotas", "INFO"],
      ]);
      assertEquals(
        podfit.log().filter(isWarning).filter(({ message }) => String(message).startsWith("Cannot watch")),
        [],
      );
      await podfit.stop();
    },
  },
);

scenario("C54 --stats-source proxy works with nodes/proxy, and says so", {
  needs: NEEDS,
  async run({ namespace }) {
    await using account = await createAccount(namespace, (text) => {
      return without(text, STATS).replace(NODES, `${NODES}\n  ${PROXY}`);
    });
    await applyManifests(namespace, loadedPod());
    const args = [...account.ownArgs, "--stats-source", "proxy"];
    await using podfit = await startPodfit({ namespaces: [namespace], args });
    await waitForResize(namespace);
    await waitForAllTold(namespace);
    await assertNothingForbidden(podfit);
    assertEquals(podfit.log("Reading usage").map(({ source }) => source), ["proxy"]);
    assertEquals(sumOf(await podfit.metrics(), "podfit_usage_source", { source: "proxy" }), 1);
    await podfit.stop();
  },
});

scenario("C54 L61 --stats-source cgroup needs no right to usage, and says which source it is", {
  needs: { ...NEEDS, cgroups: true },
  async run({ namespace }) {
    await using account = await createAccount(namespace, (text) => without(text, STATS));
    await applyManifests(namespace, loadedPod());
    const [{ spec: { nodeName = "" } } = { spec: {} }] = await waitForPods(namespace, "app=web");
    await using cgroups = await backend().mountCgroups();
    const args = [...account.ownArgs, "--stats-source", "cgroup", "--node", nodeName, "--cgroup-root", cgroups.root];
    await using podfit = await startPodfit({ namespaces: [namespace], args });
    await waitForResize(namespace);
    await waitForAllTold(namespace);
    await assertNothingForbidden(podfit);
    assertEquals(podfit.log("Reading usage").map(({ source }) => source), ["cgroup"]);
    assertEquals(sumOf(await podfit.metrics(), "podfit_usage_source", { source: "cgroup" }), 1);
    await podfit.stop();
  },
});

scenario("C54 --stats-source metrics-api needs the list of pods of metrics.k8s.io alone, and names that right", {
  needs: { ...NEEDS, metricsServer: true },
  async run({ namespace }) {
    await using account = await createAccount(namespace, (text) => without(text, STATS));
    await applyManifests(namespace, loadedPod());
    const args = [...account.ownArgs, "--stats-source", "metrics-api"];
    await using podfit = await startPodfit({ namespaces: [namespace], args });
    const { status } = await waitForConditions({ namespace, name: "web" }, {
      Metrics: { status: "False", reason: "MetricsUnavailable", message: "metrics.k8s.io" },
    });
    const said = status?.conditions?.find(({ type }) => type === "Metrics")?.message ?? "";
    assertMatch(said, /403 .*grant that user the verb "list" on "pods" of API group "metrics\.k8s\.io"/);
    await applyManifests(namespace, grant(namespace));
    await waitForResize(namespace);
    await waitForAllTold(namespace);
    assertEquals(podfit.log("Reading usage").map(({ source }) => source), ["metrics-api"]);
    assertEquals(sumOf(await podfit.metrics(), "podfit_usage_source", { source: "metrics-api" }), 1);
    await podfit.stop();
  },
});

/** The right to usage by metrics.k8s.io in the namespace alone. */
function grant(namespace: string): readonly Manifest[] {
  const metadata = { name: "podfit-usage", namespace };
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: metadata.name };
  return [
    {
      apiVersion,
      kind: "Role",
      metadata,
      rules: [{ apiGroups: ["metrics.k8s.io"], resources: ["pods"], verbs: ["list"] }],
    },
    {
      apiVersion,
      kind: "RoleBinding",
      metadata,
      roleRef,
      subjects: [{ kind: "ServiceAccount", name: namespace, namespace }],
    },
  ];
}

function loadedPod(): readonly Manifest[] {
  return [
    pod("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }] }),
    autoscaler("web", quickSpec({ selector: { matchLabels: { app: "web" } } }, { max: "20m" })),
  ];
}

async function waitForResize(namespace: string): Promise<void> {
  await waitFor("the resize", async () => await readRequest(namespace) === 20, { timeoutMs: 90_000 });
}

async function readRequest(namespace: string): Promise<number | null> {
  return readSpecSize(await readPod({ namespace, name: "web" }), "main")["cpu.requests"];
}

const SCALE_UP = { kind: "PodResourceAutoscaler", about: "web", reason: "PodResourceAutoscalerScaleUp" } as const;

async function waitForAllTold(namespace: string): Promise<void> {
  const { status } = await waitForLastChange({ namespace, name: "web" }, "cpu.requests 10m -> 20m");
  assertEquals(status?.lastScaleAction, "scaleUp");
  await waitFor("the event", async () => {
    return (await readEvents(namespace, SCALE_UP)).length === 1;
  });
}

async function assertNothingForbidden(podfit: Podfit): Promise<void> {
  const metrics = await podfit.metrics();
  assertEquals(metrics.filter(({ labels }) => labels.code === "403" || labels.result === "forbidden"), []);
  assertEquals(podfit.log().filter((line) => JSON.stringify(line).toLowerCase().includes("forbidden")), []);
}

/** May this user do that here? `right`: `patch deployments.apps/scale`. */
async function askRight(
  { origin, transport }: ApiServer,
  { namespace, user, right }: { readonly namespace: string; readonly user: string; readonly right: string },
): Promise<boolean> {
  const [, verb, resource, group, subresource] = /^(\w+) (\w+)(?:\.([\w.]+))?(?:\/(\w+))?$/.exec(right) ?? [];
  const resourceAttributes = { verb, resource, group, subresource, namespace };
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, resourceAttributes },
  };
  const response = await transport(
    new Request(`${origin}/apis/authorization.k8s.io/v1/subjectaccessreviews`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(review),
    }),
  );
  const { status } = await response.json();
  return status.allowed === true;
}
