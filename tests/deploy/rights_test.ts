/** Which rights does the chart grant by mode, source and feature? The whole of them, as a table (C54). */
import { assertEquals } from "#assert";
import { type Rendered, renderObjects, type Values } from "../../tools/helm.ts";
import { chartTest } from "../support/needs_helm.ts";

/** What podfit does in the namespaces that it looks after, whatever it is. */
const OBJECTS = [
  "podresourceautoscalers.keda.kedify.io: list watch",
  "podresourceautoscalers/status.keda.kedify.io: patch",
  "pods: list watch",
  "deployments.apps: list watch",
  "daemonsets.apps: list watch",
  "statefulsets.apps: list watch",
  "events: create patch",
  "limitranges: list watch",
  "resourcequotas: list watch",
];
const RESIZE = "pods/resize: patch";
/** Of the mode central alone. */
const BUDGETS = "poddisruptionbudgets.policy: list watch";
const NODES = "nodes: list watch";
const PROXY = "nodes/proxy: get";
const USAGE = "pods.metrics.k8s.io: list";
const REVIEWS = ["tokenreviews.authentication.k8s.io: create", "subjectaccessreviews.authorization.k8s.io: create"];
const TOKEN = "serviceaccounts/token[podfit-kubelet]: create";
const lease = (
  name: string,
) => ["leases.coordination.k8s.io: create", `leases.coordination.k8s.io[${name}]: get update`];
const LEASE = lease("podfit");
const ALL = [...OBJECTS, RESIZE];

/** What replicas need beside, in the namespaces that podfit looks after. */
const REPLICAS = [
  "scaledobjects.keda.sh: list watch patch",
  "scaledobjects/status.keda.sh: patch",
  "triggerauthentications.keda.sh: list watch",
  "triggerauthentications/status.keda.sh: patch",
  "deployments.apps: get",
  "statefulsets.apps: get",
  "replicasets.apps: get",
  "controllerrevisions.apps: get",
  "horizontalpodautoscalers.autoscaling: list watch",
];
const SCALE = ["deployments/scale.apps: get update", "statefulsets/scale.apps: get update"];
const CLUSTER_AUTHENTICATIONS = "clustertriggerauthentications.keda.sh: list watch";
/** Only a podfit for all namespaces sees all users. */
const CLUSTER_USERS = "clustertriggerauthentications/status.keda.sh: patch";
const CREDENTIALS = ["secrets: get", "configmaps: get"];

/** Who may do what: by account, then by where; "*" is everywhere. */
type Rights = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

const KUBELET: Rights = { "podfit/podfit-kubelet": { "*": ["nodes/stats: get"] } };
const podfit = (everywhere: readonly string[], own: readonly string[]): Rights => ({
  "podfit/podfit": { "*": everywhere, ...(own.length === 0 ? {} : { podfit: own }) },
});

const CASES: Readonly<Record<string, readonly [Values, Rights]>> = {
  "central by kubelets": [{}, { ...podfit([...ALL, BUDGETS, NODES], [TOKEN, ...LEASE]), ...KUBELET }],
  "central, auto": [{ statsSource: "auto" }, {
    ...podfit([...ALL, BUDGETS, USAGE, NODES], [TOKEN, ...LEASE]),
    ...KUBELET,
  }],
  "central that ignores disruption budgets (L71)": [
    { ignoreDisruptionBudgets: true },
    { ...podfit([...ALL, NODES], [TOKEN, ...LEASE]), ...KUBELET },
  ],
  "central by metrics.k8s.io": [{ statsSource: "metrics-api" }, podfit([...ALL, BUDGETS, USAGE, NODES], LEASE)],
  "central by the proxy": [{ statsSource: "proxy" }, podfit([...ALL, BUDGETS, NODES, PROXY], LEASE)],
  "central alone, without leader election": [
    { replicas: 1, leaderElection: { enabled: false } },
    { ...podfit([...ALL, BUDGETS, NODES], [TOKEN]), ...KUBELET },
  ],
  "central alone, by metrics.k8s.io, without leader election": [
    { replicas: 1, leaderElection: { enabled: false }, statsSource: "metrics-api" },
    podfit([...ALL, BUDGETS, USAGE, NODES], []),
  ],
  "central that resizes nothing (L51)": [
    { dryRun: true },
    { ...podfit([...OBJECTS, BUDGETS, NODES], [TOKEN, ...LEASE]), ...KUBELET },
  ],
  "central with authorized metrics": [
    { metrics: { auth: true } },
    { ...podfit([...ALL, BUDGETS, NODES, ...REVIEWS], [TOKEN, ...LEASE]), ...KUBELET },
  ],
  "central for two namespaces": [{ watchNamespaces: ["shop", "podfit"], statsSource: "auto" }, {
    "podfit/podfit": {
      "*": [NODES],
      shop: [...ALL, BUDGETS, USAGE],
      podfit: [...ALL, BUDGETS, USAGE, TOKEN, ...LEASE],
    },
    ...KUBELET,
  }],
  "central with replicas (R95)": [
    { scaledObjects: { enabled: true } },
    {
      ...podfit([...ALL, BUDGETS, ...REPLICAS, ...SCALE, NODES, CLUSTER_AUTHENTICATIONS, CLUSTER_USERS], [
        TOKEN,
        ...LEASE,
      ]),
      ...KUBELET,
    },
  ],
  "central next to KEDA, which writes who uses an authentication (R95, R99, M22)": [
    { scaledObjects: { mode: "selected" } },
    {
      ...podfit([
        ...ALL,
        BUDGETS,
        ...REPLICAS.filter((right) => !/^(scaledobjects|triggerauthentications.status)[.]keda/.test(right)),
        "scaledobjects.keda.sh: get list watch patch",
        "*.external.metrics.k8s.io: get list",
        ...SCALE,
        NODES,
        CLUSTER_AUTHENTICATIONS,
      ], [TOKEN, ...LEASE]),
      ...KUBELET,
    },
  ],
  "central with replicas, and triggers that ask all endpoints of a Service (R95, R98)": [
    { scaledObjects: { enabled: true, serviceEndpoints: true } },
    {
      ...podfit([
        ...ALL,
        BUDGETS,
        ...REPLICAS,
        ...SCALE,
        "endpointslices.discovery.k8s.io: list",
        NODES,
        CLUSTER_AUTHENTICATIONS,
        CLUSTER_USERS,
      ], [TOKEN, ...LEASE]),
      ...KUBELET,
    },
  ],
  "central with replicas that it only computes (R95)": [
    { scaledObjects: { enabled: true, transferHpas: true }, dryRun: true },
    {
      ...podfit([
        ...OBJECTS,
        BUDGETS,
        "scaledobjects.keda.sh: list watch",
        ...REPLICAS.filter((right) => !right.startsWith("scaledobjects.keda")),
        ...SCALE.map((right) => right.replace(" update", "")),
        NODES,
        CLUSTER_AUTHENTICATIONS,
        CLUSTER_USERS,
      ], [TOKEN, ...LEASE]),
      ...KUBELET,
    },
  ],
  "central next to KEDA, with replicas that it only computes (R95, M7)": [
    { scaledObjects: { mode: "selected" }, dryRun: true },
    {
      ...podfit([
        ...OBJECTS,
        BUDGETS,
        "scaledobjects.keda.sh: list watch",
        ...REPLICAS.filter((right) => !/^(scaledobjects|triggerauthentications.status)[.]keda/.test(right)),
        "*.external.metrics.k8s.io: get list",
        ...SCALE.map((right) => right.replace(" update", "")),
        NODES,
        CLUSTER_AUTHENTICATIONS,
      ], [TOKEN, ...LEASE]),
      ...KUBELET,
    },
  ],
  "central with replicas, credentials and HPAs to take over, for one namespace (R95)": [
    {
      scaledObjects: { enabled: true, transferHpas: true, secretNamespaces: ["shop", "podfit"] },
      watchNamespaces: ["shop"],
      statsSource: "metrics-api",
    },
    {
      "podfit/podfit": {
        "*": [NODES, CLUSTER_AUTHENTICATIONS],
        shop: [
          ...ALL,
          BUDGETS,
          USAGE,
          ...REPLICAS,
          ...SCALE,
          "horizontalpodautoscalers.autoscaling: delete",
          ...CREDENTIALS,
        ],
        podfit: [...LEASE, ...CREDENTIALS],
      },
    },
  ],
  "central with replicas and credentials by name (R95)": [
    {
      scaledObjects: {
        enabled: true,
        secretNamespaces: [{ namespace: "shop", names: ["token", "ca"] }, "podfit-credentials"],
      },
      watchNamespaces: ["shop"],
      statsSource: "metrics-api",
    },
    {
      "podfit/podfit": {
        "*": [NODES, CLUSTER_AUTHENTICATIONS],
        shop: [...ALL, BUDGETS, USAGE, ...REPLICAS, ...SCALE, "secrets[token ca]: get", "configmaps[token ca]: get"],
        "podfit-credentials": CREDENTIALS,
        podfit: LEASE,
      },
    },
  ],
  "central whose replicas are off, whatever else is said of them (R1, R95)": [
    {
      scaledObjects: {
        transferHpas: true,
        serviceEndpoints: true,
        secretNamespaces: ["shop"],
        clusterObjectNamespace: "ops",
      },
    },
    { ...podfit([...ALL, BUDGETS, NODES], [TOKEN, ...LEASE]), ...KUBELET },
  ],
  "node-local by cgroups": [{ mode: "node-local" }, podfit([...ALL, NODES], LEASE)],
  "node-local by kubelets": [
    { mode: "node-local", statsSource: "kubelet" },
    { ...podfit([...ALL, NODES], [TOKEN, ...LEASE]), ...KUBELET },
  ],
  "node-local by metrics.k8s.io": [
    { mode: "node-local", statsSource: "metrics-api" },
    podfit([...ALL, USAGE, NODES], LEASE),
  ],
  "node-local, auto": [
    { mode: "node-local", statsSource: "auto" },
    { ...podfit([...ALL, USAGE, NODES], [TOKEN, ...LEASE]), ...KUBELET },
  ],
  "node-local by the proxy": [{ mode: "node-local", statsSource: "proxy" }, podfit([...ALL, NODES, PROXY], LEASE)],
  "sidecars of nobody": [{ mode: "sidecar" }, {}],
  "sidecars by metrics.k8s.io": [{
    mode: "sidecar",
    sidecar: { serviceAccounts: accounts("shop/web", "search/podfit-sidecar") },
  }, {
    "shop/web": { shop: [...ALL, "pods.metrics.k8s.io: get", ...lease("podfit-sidecar")] },
    "search/podfit-sidecar": { search: [...ALL, "pods.metrics.k8s.io: get", ...lease("podfit-sidecar")] },
  }],
  "sidecars by cgroups": [
    { mode: "sidecar", statsSource: "cgroup", sidecar: { serviceAccounts: accounts("shop/web", "shop/api") } },
    {
      "shop/web": { shop: [...ALL, ...lease("podfit-sidecar")] },
      "shop/api": { shop: [...ALL, ...lease("podfit-sidecar")] },
    },
  ],
};

for (const [who, [values, rights]] of Object.entries(CASES)) {
  chartTest(`podfit ${who} has the rights that it uses, and no others (C54)`, async () => {
    assertEquals(sortAll(readRights(await renderObjects({ values }))), sortAll(rights));
  });
}

chartTest("who may read records is a role, bound to nobody", async () => {
  const objects = await renderObjects({ values: { metrics: { auth: true }, debug: { enabled: true } } });
  const role = objects.find(({ metadata: { name } }) => name === "podfit-debug-reader");
  assertEquals(role?.["rules"], [{ nonResourceURLs: ["/debug/records"], verbs: ["get"] }]);
  assertEquals(objects.filter(({ roleRef }) => roleRef?.name === "podfit-debug-reader"), []);
});

chartTest("who may read metrics is a role, bound to nobody", async () => {
  const objects = await renderObjects({ values: { metrics: { auth: true } } });
  const role = objects.find(({ metadata: { name } }) => name === "podfit-metrics-reader");
  assertEquals(role?.["rules"], [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]);
  assertEquals(objects.filter(({ roleRef }) => roleRef?.name === "podfit-metrics-reader"), []);
});

chartTest("no account but podfit's own pod mounts a token", async () => {
  const objects = await renderObjects({});
  const accounts = objects.filter(({ kind }) => kind === "ServiceAccount");
  assertEquals(accounts.map(({ automountServiceAccountToken }) => automountServiceAccountToken), [false, false]);
});

function accounts(...names: readonly string[]) {
  return names.map((name) => ({ namespace: name.split("/")[0], name: name.split("/")[1] }));
}

/** What roles say, through what binds them. */
function readRights(objects: readonly Rendered[]): Rights {
  const rights: Record<string, Record<string, string[]>> = {};
  for (const binding of objects.filter(({ kind }) => kind.endsWith("RoleBinding"))) {
    const { kind, name } = binding["roleRef"];
    const { namespace } = binding.metadata;
    const role = objects.find((one) =>
      one.kind === kind && one.metadata.name === name && one.metadata.namespace === namespace
    );
    for (const subject of binding["subjects"]) {
      const places = rights[`${subject.namespace}/${subject.name}`] ??= {};
      (places[namespace ?? "*"] ??= []).push(...(role?.["rules"] ?? []).flatMap(describeRule));
    }
  }
  return rights;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** `patch pods/resize` is `pods/resize: patch`. */
function describeRule({ apiGroups: [group = ""], resources, resourceNames, verbs }: Rule): readonly string[] {
  const names = resourceNames === undefined ? "" : `[${resourceNames.join(" ")}]`;
  return resources.map((one) => `${one}${group === "" ? "" : `.${group}`}${names}: ${verbs.join(" ")}`);
}

function sortAll(rights: Rights): Rights {
  const sort = <T>(record: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1));
  return sort(
    Object.fromEntries(
      Object.entries(rights).map(([who, places]) => [
        who,
        sort(Object.fromEntries(Object.entries(places).map(([where, some]) => [where, [...some].sort()]))),
      ]),
    ),
  );
}
