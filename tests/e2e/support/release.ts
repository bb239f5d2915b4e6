/**
 * podfit as people install it: the chart of deploy/helm with the image of `deno task image`, in pods of the cluster. It
 * looks after the scenario's namespace alone, where that is its own too, so that scenarios do not meet each other's.
 */
import { assertEquals } from "#assert";
import { PODFIT_IMAGE } from "./facts.ts";
import { listGranted, readUsed } from "./rights.ts";
import { kubectl, kubectlJson, runProgram, tryKubectl } from "./kubectl.ts";
import { applyManifests, deleteObject, readAutoscaler, readEvents, waitFor } from "./cluster.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { waitUntil } from "./wait.ts";
import { quickSpec } from "./autoscalers.ts";
import { autoscaler, CGROUP2, deployment, HOLLOW_NODE } from "./workloads.ts";
import type { List, PodJson } from "./objects.ts";
import { CHART, type Values } from "../../../tools/helm.ts";

/** An installed chart; disposal uninstalls it, where that was not done. */
export interface Release extends AsyncDisposable {
  /** Of the release and of all its objects; no other object in the cluster has it. */
  readonly name: string;
  readonly namespace: string;
  /** What is installed, as YAML. */
  readonly fetchManifests: () => Promise<string>;
  /** Resolves when all pods are the new ones, and ready. */
  readonly upgrade: (values: Values) => Promise<void>;
  /** Resolves when helm has deleted what it had installed. */
  readonly uninstall: () => Promise<void>;
  /** podfit's pods that are not ending, sorted by name. */
  readonly listPods: () => Promise<readonly PodJson[]>;
}

/** For the pods of a release on the cluster of tests/cluster, which has no registry. */
const IMAGE = { repository: PODFIT_IMAGE.split(":")[0], pullPolicy: "Never" };
const WAIT_MS = 90_000;
/** An agent of the node-local mode tolerates every taint, and these nodes are other scenarios' own. */
const AWAY_FROM_OTHERS = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{
        matchExpressions: [
          { key: CGROUP2, operator: "DoesNotExist" },
          { key: "kubernetes.io/hostname", operator: "NotIn", values: [HOLLOW_NODE] },
        ],
      }],
    },
  },
};

/** Labels of a pod that has a podfit of its own. */
export const SIDECAR_LABELS = { "podfit.dev/mode": "sidecar" };

/** As in deploy/sidecar-example.yaml: for the container podfit alone. */
const TOKEN_VOLUME = {
  name: "podfit-token",
  projected: {
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 3607 } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
    ],
  },
} as const;

/** What a pod's spec needs for podfit as a native sidecar, which reads the cgroups of its node. */
export function sidecarFields(serviceAccountName: string) {
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const podfit = {
    name: "podfit",
    image: PODFIT_IMAGE,
    imagePullPolicy: "Never",
    resources: { requests: { cpu: "20m", memory: "128Mi" } },
    securityContext: { runAsNonRoot: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
    restartPolicy: "Always",
    // The containers of a pod share its address, and the load has podfit's own port.
    args: ["run", "--stats-source", "cgroup", "--cgroup-root", "/host/cgroup", "--listen", "0.0.0.0:10280"],
    env: [
      { name: "PRA_ENABLED", value: "true" },
      field("POD_NAMESPACE", "metadata.namespace"),
      field("POD_NAME", "metadata.name"),
      { name: "PODFIT_POD", value: "$(POD_NAMESPACE)/$(POD_NAME)" },
      field("PODFIT_NODE", "spec.nodeName"),
    ],
    volumeMounts: [
      { name: "cgroup", mountPath: "/host/cgroup", readOnly: true },
      { name: TOKEN_VOLUME.name, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true },
    ],
  };
  return {
    serviceAccountName,
    automountServiceAccountToken: false,
    initContainers: [podfit],
    volumes: [{ name: "cgroup", hostPath: { path: "/sys/fs/cgroup" } }, TOKEN_VOLUME],
  };
}

/** Installs the chart, and waits until its pods are ready. The definition is there already, and not the release's. */
export async function installRelease(namespace: string, values: Values): Promise<Release> {
  // The chart leaves room for what it appends.
  const name = `podfit-${namespace.slice(-6)}`;
  const common: Values = {
    image: IMAGE,
    affinity: AWAY_FROM_OTHERS,
    fullnameOverride: name,
    watchNamespaces: values["mode"] === "sidecar" ? [] : [namespace],
    crds: { install: false },
  };
  let isInstalled = false;
  const helm = (verb: string, more: Values) =>
    runProgram(
      "helm",
      [verb, name, CHART, "--namespace", namespace, "--wait", "--timeout", `${WAIT_MS}ms`, "-f", "-"],
      {
        input: JSON.stringify({ ...common, ...values, ...more }),
        timeoutMs: WAIT_MS + 10_000,
      },
    );
  const release: Release = {
    name,
    namespace,
    fetchManifests: () => runProgram("helm", ["get", "manifest", name, "--namespace", namespace]),
    upgrade: async (more) => void await helm("upgrade", more),
    async uninstall() {
      await runProgram("helm", ["uninstall", name, "--namespace", namespace, "--wait"], { timeoutMs: WAIT_MS });
      isInstalled = false;
      // What podfit makes itself goes with its namespace, or by hand: see the README.
      await kubectl(["delete", "lease", "--ignore-not-found", name, "podfit-sidecar", "-n", namespace]);
    },
    async listPods() {
      const selector = `app.kubernetes.io/instance=${name}`;
      const { items } = await kubectlJson<List<PodJson>>(["get", "pods", "-n", namespace, "-l", selector]);
      return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
    },
    async [Symbol.asyncDispose]() {
      if (isInstalled) await release.uninstall();
    },
  };
  try {
    isInstalled = true;
    await helm("install", {});
  } catch (error) {
    const standing = await tryKubectl(["describe", "pods", "-n", namespace]);
    const log = await tryKubectl(["logs", "-n", namespace, "-l", `app.kubernetes.io/instance=${name}`, "--tail=20"]);
    await release.uninstall().catch(() => {});
    throw new Error(`${(error as Error).message}\n${standing.stdout.slice(-4000)}\n${log.stdout}`, { cause: error });
  }
  return release;
}

/** Who holds the Lease, by the name of its pod; `null` = nobody. */
export async function readLeader(namespace: string, lease: string): Promise<string | null> {
  const { code, stdout } = await tryKubectl([
    "get",
    "lease",
    lease,
    "-n",
    namespace,
    "-o",
    "jsonpath={.spec.holderIdentity}",
  ]);
  return code === 0 && stdout !== "" ? stdout.replace(/_[^_]*$/, "") : null;
}

/** Waits for a leader other than that one, and names it. */
export function waitForLeader(
  { namespace, name }: Pick<Release, "namespace" | "name">,
  { not = null, timeoutMs = 45_000 }: { readonly not?: string | null; readonly timeoutMs?: number } = {},
): Promise<string> {
  return waitUntil("a leader", async () => {
    const leader = await readLeader(namespace, name);
    return leader === not ? null : leader;
  }, { timeoutMs, everyMs: 500, clock: systemClock });
}

/** Waits until no object of the cluster has the release's name in its own, or in the label of its release. */
export async function waitForNothingLeft({ name, namespace }: Pick<Release, "name" | "namespace">): Promise<void> {
  const kinds = (await kubectl(["api-resources", "--verbs=list", "-o", "name"])).trim().split("\n")
    .filter((kind) => !PASSING.some((one) => kind.startsWith(one) || kind.endsWith(one)));
  const columns = `KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,OF:.metadata.labels.${INSTANCE}`;
  await waitFor(`nothing to be left of release "${name}"`, async () => {
    const table = await kubectl(["get", kinds.join(","), "-A", "--no-headers", "-o", `custom-columns=${columns}`], {
      timeoutMs: 60_000,
    });
    const left = table.split("\n").map((line) => line.trim().split(/\s+/))
      .filter(([kind, , object = "", of]) => kind !== "Namespace" && (object.includes(name) || of === name));
    if (left.length > 0) throw new Error(`in "${namespace}": ${left.map((words) => words.join(" ")).join(", ")}`);
    return true;
  }, { timeoutMs: 60_000, everyMs: 2_000 });
}

const INSTANCE = "app\\.kubernetes\\.io/instance";
/** They tell of what was; nobody installs them. */
const PASSING = ["events", "componentstatuses", "metrics.k8s.io"];

/** Each right of these accounts is used by now or soon, and nothing was refused. */
export async function assertRightsAreUsed(release: Release, accounts: readonly string[]): Promise<void> {
  const manifests = await release.fetchManifests();
  for (const name of accounts) {
    const account = { namespace: release.namespace, name };
    const granted = listGranted(manifests, account);
    await waitFor(`every right of "${name}" to be used`, async () => {
      const { rights } = await readUsed(account);
      const unused = granted.filter((right) => !rights.includes(right));
      if (unused.length > 0) throw new Error(`not used: ${unused.join(", ")}`);
      return true;
    }, { timeoutMs: 60_000, everyMs: 1_000 });
    const { rights, forbidden } = await readUsed(account);
    assertEquals(forbidden, [], `refused to "${name}"`);
    assertEquals(rights.filter((right) => !granted.includes(right)), [], `used by "${name}", granted by others`);
  }
}

/** An event that is told again is counted, which is a right of its own. */
export async function tellTwice(namespace: string): Promise<void> {
  const lost = { target: { kind: "deployment", name: "lost" } } as const;
  const told = (count: number) =>
    waitFor(`the event to be told ${count} times`, async () => {
      const events = await readEvents(namespace, { about: "lost", reason: "PodResourceAutoscalerTargetNotFound" });
      return events.some((event) => event.count === count);
    });
  await applyManifests(namespace, [autoscaler("lost", quickSpec(lost))]);
  await told(1);
  await applyManifests(namespace, [deployment("lost", { replicas: 0 })]);
  await waitFor("the target to be found", async () => {
    return (await readAutoscaler(namespace, "lost")).status?.effectiveSelector !== undefined;
  });
  await deleteObject(namespace, "Deployment/lost");
  await told(2);
}
