/** Does `podfit lint --cluster` find what only the cluster knows, by few requests that only read? */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { stringify } from "yaml";
import type { Report } from "../../../lib/cli/lint/findings.ts";
import { lintServer } from "../../../lib/cli/lint/lint_cluster.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { parseAll } from "../../../lib/runtime/yaml.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { serveFullCluster } from "../../support/embedded/full_cluster.ts";
import { findClosedPort, runPodfit } from "../../support/podfit_process.ts";

const POLICY = {
  pollInterval: "10s",
  consecutiveSamples: 3,
  cooldown: "30s",
  cpu: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 50, targetUtilization: 70 } },
};

function autoscaler(name: string, spec: Json = {}, namespace = "default"): Json {
  return {
    apiVersion: "keda.kedify.io/v1alpha1",
    kind: "PodResourceAutoscaler",
    metadata: { name, namespace },
    spec: { target: { kind: "deployment", name: "web" }, containerName: "main", policy: POLICY, ...spec },
  };
}

function deployment(resources: Json = { requests: { cpu: "100m", memory: "64Mi" } }): Json {
  const labels = { app: "web" };
  const container = { name: "main", image: "localhost/load:1", resources };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

const PROMETHEUS = {
  type: "prometheus",
  metadata: { serverAddress: "https://prometheus:9090", query: "up", threshold: "10", authModes: "bearer" },
  authenticationRef: { name: "prom" },
};

function scaledObject(name: string, triggers: readonly Json[], target = "web"): Json {
  return {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name, namespace: "default" },
    spec: { scaleTargetRef: { name: target }, minReplicaCount: 1, triggers },
  };
}

const HPA = {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "web-hpa" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    maxReplicas: 5,
    metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } }],
  },
};

const LIMIT_RANGE = {
  apiVersion: "v1",
  kind: "LimitRange",
  metadata: { name: "sizes" },
  spec: { limits: [{ type: "Container", max: { cpu: "2", memory: "1Gi" } }] },
};

interface Asked {
  readonly report: Report;
  /** `GET /api/v1/pods?limit=500` and so on. */
  readonly requests: readonly string[];
}

interface Asking {
  readonly files?: readonly Json[];
  readonly namespace?: string;
  readonly isEveryNamespace?: boolean;
  readonly token?: string;
}

async function lint(run: ClusterRun, asking: Asking = {}): Promise<Asked> {
  const { files = [], namespace = null, isEveryNamespace = false, token } = asking;
  const server = run.cluster.connect(token);
  const requests: string[] = [];
  const transport: typeof server.transport = (request, options) => {
    requests.push(`${request.method} ${request.url.slice(server.origin.length)}`);
    return server.transport(request, options);
  };
  const text = files.map((file) => stringify(file)).join("---\n");
  const report = await lintServer({
    server: { ...server, transport },
    sources: files.length === 0 ? [] : [{ name: "a.yaml", text }],
    options: { namespace, isEveryNamespace },
    clock: run.clock,
    signal: new AbortController().signal,
  });
  return { report, requests };
}

function linesOf({ findings }: Report): readonly string[] {
  return findings.map(({ level, rule, object, path }) => `${level} ${rule} ${object} ${path}`);
}

Deno.test("lint finds nothing wrong with an autoscaler whose pods are there", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment(), autoscaler("web"));
  await run.advance(10);
  const { report } = await lint(run);
  assertEquals([linesOf(report), report.unchecked, [...report.checked]], [[], [], [["autoscaler", 1]]]);
});

Deno.test("lint of the cluster knows whether a window stands for memory itself", async () => {
  await using run = await ClusterRun.start();
  const window = { scaleDown: { window: "6h" } };
  const spec = (policy: Json) => ({ containerName: "*", profile: "balanced", policy });
  await run.create(
    deployment({ requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "128Mi" } }),
    autoscaler("a-inherited", { ...spec(window), priority: 1 }),
    autoscaler("b-own", spec({ ...window, memory: { limits: window } })),
  );
  await run.advance(10);
  const found = linesOf((await lint(run)).report).filter((line) => line.startsWith("advice short-memory"));
  assertEquals(found, ["advice short-memory default/a-inherited spec.policy.memory.limits.scaleDown.window"]);
});

Deno.test("lint names targets, containers and selectors that match nothing in the cluster", async () => {
  await using run = await ClusterRun.start();
  await run.create(
    deployment(),
    autoscaler("a-target", { target: { kind: "deployment", name: "wbe" } }),
    autoscaler("b-container", { containerName: "mian" }),
    autoscaler("c-selector", { target: undefined, selector: { matchLabels: { app: "wbe" } } }),
    autoscaler("d-excluded", { containerName: "*", excludeContainers: ["main"] }),
  );
  await run.advance(10);
  const { report } = await lint(run);
  assertEquals(linesOf(report), [
    "error target-missing default/a-target spec.target",
    "error container-missing default/b-container spec.containerName",
    "warning selector-empty default/c-selector spec.selector",
    "error container-missing default/d-excluded spec.excludeContainers",
  ]);
  assertStringIncludes(report.findings[1]?.message ?? "", 'has a container "mian"');
  assertStringIncludes(report.findings[1]?.message ?? "", 'there is "main"');
});

Deno.test("lint names an HPA on the same resource, and the autoscaler that comes second", async () => {
  await using run = await ClusterRun.start();
  const selector = { target: undefined, selector: { matchLabels: { app: "web" } } };
  await run.create(deployment(), HPA, autoscaler("first"), autoscaler("second", selector));
  await run.advance(10);
  const { report } = await lint(run);
  assertEquals(linesOf(report), [
    "warning hpa-same-resource default/first spec.policy.cpu.requests",
    "warning two-owners default/second spec.containerName",
    "warning hpa-same-resource default/second spec.policy.cpu.requests",
  ]);
});

Deno.test("lint names a VPA that sizes the same container, where there are VPAs, and none that is off", async () => {
  await using run = await ClusterRun.start();
  await defineVpas(run);
  await run.create(deployment(), autoscaler("web"));
  const vpa = (name: string, updateMode: string) => ({
    apiVersion: "autoscaling.k8s.io/v1",
    kind: "VerticalPodAutoscaler",
    metadata: { name },
    spec: { targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, updatePolicy: { updateMode } },
  });
  for (const one of [vpa("off", "Off"), vpa("auto", "Auto")]) {
    await run.cluster.client.create("/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers", one);
  }
  const { report } = await lint(run);
  assertEquals(linesOf(report), ["warning vpa-same-resource default/web spec.policy.cpu.requests"]);
  assertStringIncludes(report.findings[0]?.message ?? "", 'VPA "auto"');
});

Deno.test("lint holds bounds against limit ranges and against the largest node", async () => {
  await using run = await ClusterRun.start();
  const bounds = { cpu: { requests: { min: "100m", max: "3" } } };
  await run.create(deployment(), autoscaler("web", { bounds }));
  await run.advance(10);
  assertEquals(linesOf((await lint(run)).report), []);
  await run.create(LIMIT_RANGE);
  assertEquals(linesOf((await lint(run)).report), [
    "warning bounds-limit-range default/web spec.bounds.cpu.requests.max",
  ]);
  await run.delete("limitranges/sizes");
  await run.patch("podresourceautoscalers/web", { spec: { bounds: { cpu: { requests: { max: "500" } } } } });
  const { report } = await lint(run);
  assertEquals(linesOf(report), ["warning bounds-node default/web spec.bounds.cpu.requests.max"]);
  assertStringIncludes(report.findings[0]?.message ?? "", "above what any node has");
});

Deno.test("lint names Guaranteed pods that are managed on one side, by the class that the API server gave them", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment({ limits: { cpu: "100m", memory: "64Mi" } }), autoscaler("web"));
  await run.advance(10);
  const { report } = await lint(run);
  assertEquals(linesOf(report), ["warning guaranteed-one-side default/web spec.policy.cpu.requests"]);
});

Deno.test("lint names authentications and secrets that triggers miss, by one request for each secret", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  await run.create(deployment(), scaledObject("web", [PROMETHEUS]));
  const path = "default/web spec.triggers[0].authenticationRef";
  assertEquals(linesOf((await lint(run)).report), [`error authentication-missing ${path}`]);
  await run.create({
    apiVersion: "keda.sh/v1alpha1",
    kind: "TriggerAuthentication",
    metadata: { name: "prom" },
    spec: { secretTargetRef: [{ parameter: "bearerToken", name: "token", key: "token" }] },
  });
  const missing = await lint(run);
  assertEquals(linesOf(missing.report), [`error secret-missing ${path}`]);
  assertEquals(missing.requests.filter((one) => one.includes("secrets")), [
    "GET /api/v1/namespaces/default/secrets/token",
  ]);
  await run.create({ apiVersion: "v1", kind: "Secret", metadata: { name: "token" }, data: { other: "eA==" } });
  const { findings } = (await lint(run)).report;
  assertStringIncludes(findings[0]?.message ?? "", 'secret "default/token" has no key "token"');
  await run.patch("secrets/token", { data: { token: "c2VjcmV0" } });
  const good = await lint(run);
  assertEquals(linesOf(good.report), []);
  assert(!JSON.stringify(good.report).includes("c2VjcmV0"));
});

Deno.test("lint warns of credentials that the daemon would not send (R16, R96)", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  const kind = "ClusterTriggerAuthentication";
  const toTrigger = (serverAddress: string) => ({
    ...PROMETHEUS,
    metadata: { ...PROMETHEUS.metadata, serverAddress },
    authenticationRef: { name: "prom", kind },
  });
  const create = (annotations: Json) => ({
    apiVersion: "keda.sh/v1alpha1",
    kind,
    metadata: { name: "prom", annotations },
    spec: { secretTargetRef: [{ parameter: "bearerToken", name: "token", key: "token" }] },
  });
  await run.create(deployment(), scaledObject("web", [toTrigger("http://prometheus:9090")]), create({}));
  const said = async () => (await lint(run)).report.findings.filter(({ rule }) => rule === "authentication-refused");
  const path = "spec.triggers[0].authenticationRef";
  const annotate = (annotations: Json) =>
    run.patch("clustertriggerauthentications/prom", { metadata: { annotations } });
  assertEquals((await said()).map((one) => [one.level, one.path]), [["warning", path]]);
  assertStringIncludes((await said())[0]?.message ?? "", "podfit.dev/allowed-namespaces");
  await annotate({ "podfit.dev/allowed-namespaces": "*", "podfit.dev/allowed-hosts": "*.svc" });
  assertStringIncludes((await said())[0]?.message ?? "", "does not name this host");
  await annotate({ "podfit.dev/allowed-hosts": "prometheus" });
  assertStringIncludes((await said())[0]?.message ?? "", "over plain HTTP");
  await annotate({ "podfit.dev/allow-plain-http": "true" });
  assertEquals(await said(), []);
});

Deno.test("lint asks about a target's name that is one slip away from that of a workload, and about no other", async () => {
  await using run = await ClusterRun.start();
  const names = ["wbe", "we", "webb", "wob", "bweb", "webbb", "bew", "other"];
  await run.create(
    deployment(),
    ...names.map((name) => autoscaler(name, { target: { kind: "deployment", name } })),
    autoscaler("set", { target: { kind: "statefulset", name: "webb" } }),
  );
  const asked = (await lint(run)).report.findings.filter(({ message }) => message.includes('(did you mean "web"?)'));
  assertEquals(asked.map(({ object }) => object?.replace("default/", "")), ["bweb", "wbe", "we", "webb", "wob"]);
});

Deno.test("lint says of a ScaledObject what the daemon would say of who sets its replicas", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  const cron = {
    type: "cron",
    metadata: { timezone: "UTC", start: "0 8 * * *", end: "0 18 * * *", desiredReplicas: "3" },
  };
  await run.create(deployment(), HPA, scaledObject("one", [cron]), scaledObject("two", [cron], "wbe"));
  assertEquals(linesOf((await lint(run)).report), [
    "warning replicas-owned default/one spec.scaleTargetRef",
    "error target-missing default/two spec.scaleTargetRef.name",
  ]);
});

Deno.test("lint holds files against the cluster, and speaks of what is in the files only, on their lines", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment(), autoscaler("there"), autoscaler("broken", { containerName: "mian" }));
  await run.advance(10);
  const file = autoscaler("mine");
  delete file.metadata.namespace;
  const { report } = await lint(run, { files: [file] });
  assertEquals(linesOf(report), ["warning two-owners mine spec.containerName"]);
  assertEquals([report.findings[0]?.file, report.findings[0]?.place], ["a.yaml", { line: 9, column: 3 }]);
  // What it replaces is no rival of it.
  assertEquals(linesOf((await lint(run, { files: [autoscaler("there")] })).report), []);
  // What the files bring themselves is there.
  const other = JSON.parse(JSON.stringify(deployment()).replaceAll('"web"', '"api"'));
  const target = { target: { kind: "deployment", name: "api" } };
  assertEquals(linesOf((await lint(run, { files: [autoscaler("mine", target)] })).report), [
    "error target-missing default/mine spec.target",
  ]);
  assertEquals(linesOf((await lint(run, { files: [autoscaler("mine", target), other] })).report), []);
});

Deno.test("lint says which of two autoscalers acts, whichever of them is in the files", async () => {
  await using run = await ClusterRun.start();
  const [high, low] = [autoscaler("high", { priority: 10 }), autoscaler("low", { priority: 1 })];
  await run.create(deployment(), high, low);
  await run.advance(10);
  const messagesOf = async (file: Json) =>
    (await lint(run, { files: [file] })).report.findings.map(({ message }) => message);
  const says = (other: string) =>
    `autoscaler "${other}" is for container "main" of the same pods: only the one of the higher priority (10) ever ` +
    "resizes it: put both policies into one autoscaler";
  assertEquals([await messagesOf(high), await messagesOf(low)], [[says("low")], [says("high")]]);
});

Deno.test("lint looks at the namespace that it is told, the context's, or all", async () => {
  await using run = await ClusterRun.start();
  await run.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  await run.create(autoscaler("here"), autoscaler("there", {}, "shop"));
  const objects = async (asking: Asking) => (await lint(run, asking)).report.findings.map(({ object }) => object);
  assertEquals(await objects({}), ["default/here"]);
  assertEquals(await objects({ namespace: "shop" }), ["shop/there"]);
  assertEquals(await objects({ isEveryNamespace: true }), ["default/here", "shop/there"]);
});

Deno.test("lint only reads, each list once, and no list that nothing depends on", async () => {
  await using run = await ClusterRun.start();
  await run.create(deployment(), autoscaler("a"), autoscaler("b", { containerName: "*" }));
  await run.advance(10);
  const { requests } = await lint(run);
  assertEquals(requests.map((one) => one.replace(/\?.*/, "")), [
    "GET /apis/keda.kedify.io/v1alpha1/namespaces/default/podresourceautoscalers",
    "GET /apis/keda.sh/v1alpha1/namespaces/default/scaledobjects",
    "GET /apis/apps/v1/namespaces/default/deployments",
    "GET /api/v1/namespaces/default/pods",
    "GET /apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    "GET /apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers",
  ]);
  await run.delete("podresourceautoscalers/a");
  await run.delete("podresourceautoscalers/b");
  assertEquals((await lint(run)).requests.length, 2);
});

Deno.test("lint says which definition is missing, and how to install it", async () => {
  await using run = await ClusterRun.start();
  const { report } = await lint(run, { files: [scaledObject("web", [PROMETHEUS])] });
  const [missing] = report.findings;
  assertEquals([missing?.rule, missing?.file, missing?.level], ["crd-missing", null, "error"]);
  assertStringIncludes(
    missing?.message ?? "",
    "the cluster has no ScaledObject: install its definition with `kubectl apply",
  );
  const { report: none } = await lint(run);
  assertEquals(linesOf(none), [], "nobody needs ScaledObjects who has none");
});

Deno.test("lint says what it could not check, and which right that takes, and finds the rest", async () => {
  const user = { name: "linter", groups: ["system:authenticated"] };
  await using run = await ClusterRun.start({ tokens: new Map([["lint", user]]) });
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const rules = [{ apiGroups: ["keda.kedify.io", "apps"], resources: ["*"], verbs: ["list"] }];
  await run.cluster.client.create(`${rbac}/clusterroles`, { metadata: { name: "lint" }, rules });
  await run.cluster.client.create(`${rbac}/clusterrolebindings`, {
    metadata: { name: "lint" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "lint" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "linter" }],
  });
  await run.create(autoscaler("web", { bounds: { cpu: { requests: { max: "2" } } } }));
  const { report } = await lint(run, { token: "lint" });
  assertEquals(linesOf(report), ["error target-missing default/web spec.target"]);
  const words = report.unchecked.join("\n");
  for (const plural of ["scaledobjects", "pods", "horizontalpodautoscalers", "limitranges"]) {
    assertStringIncludes(words, `grant list of ${plural} in namespace "default"`);
  }
  assertStringIncludes(words, "bounds against nodes: grant list of nodes");
});

Deno.test("podfit lint --cluster asks the cluster of a kubeconfig, and ends with 1, 0 or 2", async () => {
  await using cluster = await serveFullCluster({ clock: systemClock });
  const crd = await Deno.readTextFile(new URL("../../../crds/podresourceautoscaler.yaml", import.meta.url));
  const [definition] = parseAll(crd) as readonly Json[];
  await cluster.client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  const autoscalers = "/apis/keda.kedify.io/v1alpha1/namespaces/default/podresourceautoscalers";
  await cluster.client.create(autoscalers, autoscaler("web"));
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, cluster.kubeconfig());
    const run = (...args: readonly string[]) =>
      runPodfit({ args: ["lint", "--cluster", ...args], permissions: "start" });
    const bad = await run("--kubeconfig", path);
    assertEquals([bad.code, bad.complaints], [1, ["podfit: 1 autoscaler: 1 error, 0 warnings"]]);
    assert(
      bad.stdout.startsWith("PodResourceAutoscaler default/web: error: spec.target: there is no deployment "),
      bad.stdout,
    );
    await cluster.client.create("/apis/apps/v1/namespaces/default/deployments", deployment());
    const good = await run("--kubeconfig", path, "-o", "json");
    assertEquals([good.code, JSON.parse(good.stdout).findings], [0, []]);
    await Deno.writeTextFile(
      path,
      cluster.kubeconfig().replaceAll(/https?:\/\/[^\s"]+/g, `http://127.0.0.1:${findClosedPort()}`),
    );
    const dead = await run("--kubeconfig", path);
    assertEquals([dead.code, dead.stdout, dead.complaints.length], [2, "", 1]);
    assertStringIncludes(dead.complaints[0] ?? "", "Cannot reach API server");
    const none = await run("--kubeconfig", "/no/such", "-f", "deploy/quickstart.yaml");
    assertEquals(none.code, 2);
    assertStringIncludes(none.complaints[0] ?? "", "/no/such");
    assertStringIncludes(none.complaints.at(-1) ?? "", "1 autoscaler: ");
  } finally {
    await Deno.remove(path);
  }
});

async function defineVpas(run: ClusterRun): Promise<void> {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await run.cluster.client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "verticalpodautoscalers.autoscaling.k8s.io" },
    spec: {
      group: "autoscaling.k8s.io",
      scope: "Namespaced",
      names: { plural: "verticalpodautoscalers", singular: "verticalpodautoscaler", kind: "VerticalPodAutoscaler" },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
}
