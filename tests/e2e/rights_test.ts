/**
 * podfit with the rights of deploy/rbac.yaml and no others: they suffice, each way of reading usage needs its own, and
 * a missing one is named (C54).
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ApiServer } from "../../lib/kube/transport.ts";
import { parseAll } from "@std/yaml";
import { quickSpec, waitForConditions, waitForLastChange } from "./support/autoscalers.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, deleteObject, readEvents, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { isWarning } from "./support/log.ts";
import { sumOf } from "./support/metrics.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize } from "./support/patches.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { autoscaler, type Manifest, pod } from "./support/workloads.ts";

const RBAC = new URL("../../deploy/rbac.yaml", import.meta.url);
const STATS = `- { apiGroups: [""], resources: [nodes/stats], verbs: [get] }`;
const PROXY = `- { apiGroups: [""], resources: [nodes/proxy], verbs: [get] }`;
const NEEDS = { images: "load", kubelet: "signed", pods: 1, freeMillicores: 100 } as const;

scenario("C54 the rights of deploy/rbac.yaml suffice to resize, to write status and events", {
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
  ...WATCHED.flatMap((resource) => ["get", "list", "watch"].map((verb) => `${verb} ${resource}`)),
  `patch ${AUTOSCALERS}/status`,
  "patch pods/resize",
  "create events",
  "patch events",
  "get nodes/stats",
];
const BEYOND = [
  ...WATCHED.flatMap((resource) => ["create", "update", "patch", "delete"].map((verb) => `${verb} ${resource}`)),
  "update pods/resize",
  "create pods/exec",
  "delete events",
  "get nodes/proxy",
  "get secrets",
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
    assertMatch(said, /403 Forbidden .*grant podfit the verb "get" on "nodes\/stats" in its ClusterRole/);
    assert(podfit.log().filter(isWarning).some(({ message }) => said.includes(message)), podfit.tail());
    assertEquals(await readRequest(namespace), 10);
    await podfit.stop();
  },
});

scenario("C54 --stats-source proxy works with nodes/proxy, and says so", {
  needs: NEEDS,
  async run({ namespace }) {
    await using account = await createAccount(namespace, (text) => {
      return without(text, STATS).replace(`# ${PROXY}`, PROXY);
    });
    await applyManifests(namespace, loadedPod());
    const args = [...account.args, "--stats-source", "proxy"];
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
    const args = [...account.args, "--stats-source", "cgroup", "--node", nodeName, "--cgroup-root", cgroups.root];
    await using podfit = await startPodfit({ namespaces: [namespace], args });
    await waitForResize(namespace);
    await waitForAllTold(namespace);
    await assertNothingForbidden(podfit);
    assertEquals(podfit.log("Reading usage").map(({ source }) => source), ["cgroup"]);
    assertEquals(sumOf(await podfit.metrics(), "podfit_usage_source", { source: "cgroup" }), 1);
    await podfit.stop();
  },
});

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

async function waitForAllTold(namespace: string): Promise<void> {
  const { status } = await waitForLastChange({ namespace, name: "web" }, "cpu.requests 10m -> 20m");
  assertEquals(status?.lastScaleAction, "scaleUp");
  await waitFor("the event", async () => {
    return (await readEvents(namespace, { about: "web", reason: "PodResourceAutoscalerScaleUp" })).length === 1;
  });
}

async function assertNothingForbidden(podfit: Podfit): Promise<void> {
  const metrics = await podfit.metrics();
  assertEquals(metrics.filter(({ labels }) => labels.code === "403" || labels.result === "forbidden"), []);
  assertEquals(podfit.log().filter((line) => JSON.stringify(line).toLowerCase().includes("forbidden")), []);
}

interface Account extends AsyncDisposable {
  /** For podfit's command line. */
  readonly args: readonly string[];
}

/** deploy/rbac.yaml, edited, under names of its own, and a way in for its service account. */
async function createAccount(namespace: string, edit: (text: string) => string): Promise<Account> {
  const manifests = parseAll(rename(edit(await Deno.readTextFile(RBAC)), namespace)) as readonly Manifest[];
  // The namespace is there already.
  const own = manifests.filter(({ kind }) => kind !== "Namespace");
  await applyManifests(namespace, own);
  const roles = {
    async [Symbol.asyncDispose]() {
      await deleteObject(namespace, `ClusterRole/${namespace}`);
      await deleteObject(namespace, `ClusterRoleBinding/${namespace}`);
    },
  };
  try {
    const opened = await backend().openAccount({ namespace, name: namespace });
    return {
      args: ["--kubeconfig", opened.kubeconfig],
      async [Symbol.asyncDispose]() {
        await opened[Symbol.asyncDispose]();
        await roles[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await roles[Symbol.asyncDispose]();
    throw error;
  }
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

/** Everything in the file is called podfit; a test's namespace is a name that nothing else has. */
function rename(text: string, name: string): string {
  return text.replaceAll(/\b(name|namespace): podfit$/gm, `$1: ${name}`);
}

function without(text: string, rule: string): string {
  const rest = text.replace(`  ${rule}\n`, "");
  if (rest === text) throw new Error(`Cannot find the rule "${rule}" in deploy/rbac.yaml`);
  return rest;
}
