/**
 * podfit with the rights of deploy/rbac.yaml and no others: they suffice, each way of reading usage needs its own, and
 * a missing one is named (C54).
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseAll } from "@std/yaml";
import { quickSpec, waitForConditions, waitForLastChange } from "./support/autoscalers.ts";
import { applyManifests, readEvents, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { kubectl, kubectlJson, tryKubectl } from "./support/kubectl.ts";
import { isWarning } from "./support/log.ts";
import { sumOf } from "./support/metrics.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize } from "./support/patches.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { autoscaler, type Manifest, pod } from "./support/workloads.ts";

const RBAC = new URL("../../deploy/rbac.yaml", import.meta.url);
const STATS = `- { apiGroups: [""], resources: [nodes/stats], verbs: [get] }`;
const PROXY = `- { apiGroups: [""], resources: [nodes/proxy], verbs: [get] }`;
const REAL_ONLY = "roles and tokens are the real API server's and kubelet's";
const NEEDS = { images: "load", kubelet: "signed", pods: 1, freeMillicores: 100 } as const;

scenario("C54 the rights of deploy/rbac.yaml suffice to resize, to write status and events", {
  needs: NEEDS,
  realOnly: REAL_ONLY,
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
  realOnly: REAL_ONLY,
  async run({ namespace }) {
    await using _account = await createAccount(namespace, (text) => text);
    const isAllowed = async (right: string): Promise<boolean> => {
      const [verb = "", resource = "", subresource = ""] = right.split(/[ /]/);
      const who = [`--as=system:serviceaccount:${namespace}:${namespace}`, "-n", namespace];
      const { stdout } = await tryKubectl([
        ...["auth", "can-i", verb, resource, ...(subresource === "" ? [] : [`--subresource=${subresource}`])],
        ...who,
      ]);
      return stdout.trim() === "yes";
    };
    await waitFor("the role to be in force", () => isAllowed("list nodes"), { timeoutMs: 10_000 });
    const ask = (rights: readonly string[], expected: boolean) =>
      Promise.all(rights.map(async (right) => await isAllowed(right) === expected ? [] : [right]));
    assertEquals((await ask(USED, true)).flat(), [], "missing rights");
    assertEquals((await ask(BEYOND, false)).flat(), [], "rights that podfit does not use");
  },
});

const WATCHED = ["podresourceautoscalers", "pods", "deployments.apps", "daemonsets.apps", "statefulsets.apps", "nodes"];
const USED = [
  ...WATCHED.flatMap((resource) => ["get", "list", "watch"].map((verb) => `${verb} ${resource}`)),
  ...["patch podresourceautoscalers/status", "patch pods/resize", "create events", "patch events", "get nodes/stats"],
];
const BEYOND = [
  ...WATCHED.flatMap((resource) => ["create", "update", "patch", "delete"].map((verb) => `${verb} ${resource}`)),
  ...["update pods/resize", "create pods/exec", "delete events", "get nodes/proxy", "get secrets"],
];

scenario("C54 without nodes/stats the kubelet refuses, and the missing right is named", {
  needs: NEEDS,
  realOnly: REAL_ONLY,
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
  realOnly: REAL_ONLY,
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

/** deploy/rbac.yaml, edited, under names of its own, and a kubeconfig with a token of its service account. */
async function createAccount(namespace: string, edit: (text: string) => string): Promise<Account> {
  const manifests = parseAll(rename(edit(await Deno.readTextFile(RBAC)), namespace)) as readonly Manifest[];
  // The namespace is there already.
  const own = manifests.filter(({ kind }) => kind !== "Namespace");
  await applyManifests(namespace, own);
  const path = await Deno.makeTempFile({ prefix: "podfit-e2e-", suffix: ".kubeconfig" });
  const account = {
    args: ["--kubeconfig", path],
    async [Symbol.asyncDispose]() {
      await Deno.remove(path);
      await kubectl(["delete", "clusterrole,clusterrolebinding", namespace, "--ignore-not-found"]);
    },
  };
  try {
    const token = (await kubectl(["create", "token", namespace, "-n", namespace])).trim();
    const config = await kubectlJson<KubeconfigJson>(["config", "view", "--minify", "--raw", "--flatten"]);
    const users = config.users.map(({ name }) => ({ name, user: { token } }));
    await Deno.writeTextFile(path, JSON.stringify({ ...config, users }));
    return account;
  } catch (error) {
    await account[Symbol.asyncDispose]();
    throw error;
  }
}

interface KubeconfigJson {
  readonly users: readonly { readonly name: string }[];
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
