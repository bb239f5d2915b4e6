/** What the embedded API server makes of manifests, updates and deletions, as a real one does. */
import { assert, assertEquals, assertMatch } from "#assert";
import type { Json } from "../../../support/api_objects.ts";
import { expectOk, MERGE, podManifest, secondsAfterStart, SimServer } from "../../../support/sim_server.ts";

const PODS = "/api/v1/namespaces/rec/pods";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/rec/deployments";

async function start(): Promise<SimServer> {
  const sim = new SimServer();
  await sim.createNamespace("rec");
  return sim;
}

function workload(kind: string, spec: Json = {}): Json {
  const template = { metadata: { labels: { app: "s" } }, spec: { containers: [{ name: "main", image: "x" }] } };
  const selector = { matchLabels: { app: "s" } };
  return { apiVersion: "apps/v1", kind, metadata: { name: "s" }, spec: { selector, template, ...spec } };
}

Deno.test("a pod is completed as by a real server", async () => {
  const sim = await start();
  const manifest = podManifest("a", { limits: { cpu: "200m", memory: "64Mi" } });
  manifest.spec.containers[0].ports = [{ containerPort: 80 }];
  const pod = await sim.create(PODS, manifest);
  const { managedFields: _fields, uid, ...metadata } = pod.metadata;
  assertMatch(uid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assertEquals(metadata, {
    name: "a",
    namespace: "rec",
    generation: 1,
    labels: { app: "a" },
    creationTimestamp: secondsAfterStart(0),
    resourceVersion: String(sim.api.store.version),
  });
  assertEquals(pod.spec, {
    containers: [{
      name: "main",
      image: "localhost/load:1",
      imagePullPolicy: "IfNotPresent",
      ports: [{ containerPort: 80, protocol: "TCP" }],
      resources: { limits: { cpu: "200m", memory: "64Mi" }, requests: { cpu: "200m", memory: "64Mi" } },
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
    }],
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
    enableServiceLinks: true,
    serviceAccountName: "default",
    serviceAccount: "default",
    priority: 0,
    preemptionPolicy: "PreemptLowerPriority",
    tolerations: ["not-ready", "unreachable"].map((name) => ({
      key: `node.kubernetes.io/${name}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 300,
    })),
  });
  assertEquals(pod.status, { phase: "Pending", qosClass: "Guaranteed" });
});

Deno.test("quantities are spelled as a real server spells them", async () => {
  const sim = await start();
  const cases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    cpu: {
      "1.2": "1200m",
      "1.23": "1230m",
      "1.234": "1.234",
      "0.123": "123m",
      "1.2345": "1235m",
      "1e3": "1e3",
      "1E-3": "1E-3",
      "100.5": "100500m",
      "1000m": "1",
      "1500m": "1500m",
      "0.0001": "1m",
      "1k": "1k",
      "123456": "123456",
      "+1": "+1",
      "01": "01",
      ".5": "500m",
      "1.": "1.",
      "1000000u": "1",
      "1234567u": "1235m",
      "0": "0",
      "00": "0",
      "0.0": "0",
      "0m": "0",
    },
    memory: {
      "1Gi": "1Gi",
      "1024Mi": "1Gi",
      "1000": "1k",
      "1024": "1024",
      "1000Ki": "1000Ki",
      "0.5Gi": "512Mi",
      "1.5Mi": "1536Ki",
      "1000M": "1G",
      "1e6": "1e6",
      "512000000": "512M",
      "129e6": "129e6",
      "50000k": "50M",
      "128974848000m": "128974848",
      "1.1Mi": "1153433600m",
      "1.0Gi": "1Gi",
    },
  };
  for (const [resource, spellings] of Object.entries(cases)) {
    for (const [sent, kept] of Object.entries(spellings)) {
      const pod = podManifest("a", { requests: { [resource]: sent } });
      const { body } = await sim.call("POST", `${PODS}?dryRun=All`, pod);
      assertEquals(body.spec?.containers[0].resources.requests[resource], kept, `${resource} ${sent}`);
    }
  }
});

Deno.test("wrong pods are refused with everything that is wrong, in a real server's words", async () => {
  const sim = await start();
  const bad = podManifest("x", { requests: { cpu: "2" }, limits: { cpu: "1", memory: "-1" } }, {
    restartPolicy: "Foo",
  });
  bad.spec.containers[0].imagePullPolicy = "zz";
  const cases: readonly (readonly [Json, number, string])[] = [
    [{ metadata: { name: "x" } }, 422, 'Pod "x" is invalid: spec.containers: Required value'],
    [
      { metadata: {} },
      422,
      'Pod "" is invalid: [metadata.name: Required value: name or generateName is required, ' +
      "spec.containers: Required value]",
    ],
    [
      bad,
      422,
      'Pod "x" is invalid: [spec.containers[0].imagePullPolicy: Unsupported value: "zz": supported values: "Always", ' +
      '"IfNotPresent", "Never", spec.containers[0].resources.limits[memory]: Invalid value: "-1": must be greater ' +
      'than or equal to 0, spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to ' +
      'cpu limit of 1, spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or ' +
      'equal to 0, spec.restartPolicy: Unsupported value: "Foo": supported values: "Always", "OnFailure", "Never"]',
    ],
    [
      podManifest("x", { requests: { cpu: "zz" } }),
      400,
      'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression ' +
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      { metadata: { name: "x", namespace: "other" } },
      400,
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
  ];
  for (const [manifest, code, message] of cases) {
    const answer = await sim.call("POST", PODS, manifest);
    assertEquals([answer.code, answer.body.message], [code, message]);
  }
  const nowhere = await sim.call("POST", "/api/v1/namespaces/nons/pods", podManifest());
  assertEquals([nowhere.code, nowhere.body.message], [404, 'namespaces "nons" not found']);
  assertEquals((await sim.call("GET", PODS)).body.items, []);
});

Deno.test("a limit range gives sizes to a new pod, and a quota keeps it out or counts it", async () => {
  const sim = await start();
  const limits = [{ type: "Container", max: { cpu: "1" }, defaultRequest: { cpu: "50m" } }];
  const range = await sim.create("/api/v1/namespaces/rec/limitranges", { metadata: { name: "l" }, spec: { limits } });
  assertEquals(range.spec.limits[0].default, { cpu: "1" });
  const hard = { "requests.cpu": "120m", pods: "5", "limits.memory": "1Gi" };
  await sim.create("/api/v1/namespaces/rec/resourcequotas", { metadata: { name: "q" }, spec: { hard } });
  const unset = await sim.call("POST", PODS, podManifest("z"));
  assertEquals(unset.body.message, 'pods "z" is forbidden: failed quota: q: must specify limits.memory for: main');
  const pod = await sim.create(PODS, podManifest("a", { limits: { memory: "64Mi" } }));
  assertEquals(pod.spec.containers[0].resources, {
    limits: { cpu: "1", memory: "64Mi" },
    requests: { cpu: "50m", memory: "64Mi" },
  });
  const used = async () => (await sim.get("/api/v1/namespaces/rec/resourcequotas/q")).status.used;
  assertEquals(await used(), { "limits.memory": "64Mi", pods: "1", "requests.cpu": "50m" });
  await sim.create(PODS, podManifest("b", { limits: { memory: "64Mi" } }));
  const over = await sim.call("POST", PODS, podManifest("c", { limits: { memory: "64Mi" } }));
  assertEquals(
    over.body.message,
    'pods "c" is forbidden: exceeded quota: q, requested: requests.cpu=50m, used: requests.cpu=100m, ' +
      "limited: requests.cpu=120m",
  );
  await sim.call("DELETE", `${PODS}/a`);
  assertEquals((await used()).pods, "1");
});

Deno.test("a quota follows resizes, ends and deletions of pods, and its own changes", async () => {
  const sim = await start();
  const QUOTA = "/api/v1/namespaces/rec/resourcequotas";
  for (const name of ["a", "b", "c"]) await sim.create(PODS, podManifest(name, { requests: { cpu: "100m" } }));
  await sim.create(QUOTA, { metadata: { name: "q" }, spec: { hard: { "requests.cpu": "1", pods: "9" } } });
  const used = async () => {
    const { pods, ...rest } = (await sim.get(`${QUOTA}/q`)).status.used;
    return [pods, rest["requests.cpu"]];
  };
  assertEquals(await used(), ["3", "300m"]);
  const size = { spec: { containers: [{ name: "main", resources: { requests: { cpu: "150m" } } }] } };
  await sim.patch(`${PODS}/a/resize`, size);
  assertEquals(await used(), ["3", "350m"]);
  await sim.patch(`${PODS}/a/status`, { status: { phase: "Succeeded" } });
  assertEquals(await used(), ["2", "200m"]);
  await sim.call("DELETE", `${PODS}/a`);
  await sim.call("DELETE", `${PODS}/b`);
  assertEquals(await used(), ["1", "100m"]);
  await sim.patch(`${QUOTA}/q`, { spec: { hard: { "requests.cpu": null, "limits.cpu": "1" } } });
  assertEquals((await sim.get(`${QUOTA}/q`)).status.used, { "limits.cpu": "0", pods: "1" });
});

Deno.test("workloads are completed as by a real server", async () => {
  const sim = await start();
  const make = async (plural: string, kind: string) => {
    const { spec, status, metadata } = await sim.create(`/apis/apps/v1/namespaces/rec/${plural}`, workload(kind));
    assertEquals([metadata.generation, spec.template.spec.schedulerName], [1, "default-scheduler"]);
    const { template: _template, selector: _selector, ...rest } = spec;
    return { spec: rest, status };
  };
  const rollingUpdate = { type: "RollingUpdate" };
  assertEquals(await make("deployments", "Deployment"), {
    spec: {
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
      strategy: { ...rollingUpdate, rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
    },
    status: {},
  });
  assertEquals(await make("statefulsets", "StatefulSet"), {
    spec: {
      replicas: 1,
      revisionHistoryLimit: 10,
      podManagementPolicy: "OrderedReady",
      serviceName: "",
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
      updateStrategy: { ...rollingUpdate, rollingUpdate: { partition: 0 } },
    },
    status: { replicas: 0, availableReplicas: 0 },
  });
  assertEquals(await make("daemonsets", "DaemonSet"), {
    spec: {
      revisionHistoryLimit: 10,
      updateStrategy: { ...rollingUpdate, rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    },
    status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
  });
  assertEquals(await make("replicasets", "ReplicaSet"), { spec: { replicas: 1 }, status: { replicas: 0 } });
});

Deno.test("a wrong deployment is refused with everything that is wrong, in a real server's words", async () => {
  const sim = await start();
  const containers = [{ name: "m", image: "x" }, { name: "m", image: "" }, { name: "A_" }];
  const { body } = await sim.call(
    "POST",
    DEPLOYMENTS,
    workload("Deployment", {
      template: { metadata: { labels: { app: "t" } }, spec: { containers } },
    }),
  );
  const causes = body.details.causes.map(({ field, message }: Json) => `${field}: ${message}`);
  assertEquals(
    causes.map((cause: string) => cause.slice(0, 90)).sort(),
    [
      'spec.template.metadata.labels: Invalid value: {"app":"t"}: `selector` does not match template `labels`',
      "spec.template.spec.containers[1].image: Required value",
      'spec.template.spec.containers[1].name: Duplicate value: "m"',
      "spec.template.spec.containers[2].image: Required value",
      'spec.template.spec.containers[2].name: Invalid value: "A_": a lowercase RFC 1123 label must consist',
    ].map((cause) => cause.slice(0, 90)),
  );
});

Deno.test("a spec that changes begins a generation, status and labels do not, a selector stays", async () => {
  const sim = await start();
  await sim.create(DEPLOYMENTS, workload("Deployment"));
  const path = `${DEPLOYMENTS}/s`;
  const generation = async (patch: Json, where = path) => expectOk(await sim.patch(where, patch)).metadata.generation;
  assertEquals(await generation({ metadata: { labels: { a: "b" } } }), 1);
  assertEquals(await generation({ spec: { replicas: 2 } }), 2);
  assertEquals(await generation({ spec: { replicas: 2 } }), 2);
  assertEquals(await generation({ status: { replicas: 2 }, spec: { replicas: 9 } }, `${path}/status`), 2);
  const { spec, status } = await sim.get(path);
  assertEquals([spec.replicas, status], [2, { replicas: 2 }]);
  const { code, body } = await sim.patch(path, { spec: { selector: { matchLabels: { app: "t" } } } });
  assertEquals([code, body.details.causes.at(-1).message.split(": ").at(-1)], [422, "field is immutable"]);
  const scale = expectOk(await sim.patch(`${path}/scale`, { spec: { replicas: 5 } }, { contentType: MERGE }));
  assertEquals([scale.kind, scale.spec.replicas, scale.status.selector], ["Scale", 5, "app=s"]);
  assertEquals((await sim.get(path)).metadata.generation, 3);
});

Deno.test("updates are guarded by version and UID, and a dry run keeps nothing", async () => {
  const sim = await start();
  const made = await sim.create(DEPLOYMENTS, workload("Deployment"));
  const path = `${DEPLOYMENTS}/s`;
  const dry = expectOk(await sim.patch(`${path}?dryRun=All`, { spec: { replicas: 7 } }));
  assertEquals([dry.spec.replicas, await sim.get(path)], [7, made]);
  await sim.patch(path, { spec: { replicas: 2 } });
  const stale = await sim.call("PUT", path, made);
  assertEquals([stale.code, stale.body.reason, stale.body.details], [409, "Conflict", {
    name: "s",
    group: "apps",
    kind: "deployments",
  }]);
  const again = await sim.call("POST", DEPLOYMENTS, workload("Deployment"));
  assertEquals([again.code, again.body.message], [409, 'deployments.apps "s" already exists']);
  const other = await sim.call("DELETE", path, { preconditions: { uid: "x" } });
  assertEquals([other.code, (await sim.get(path)).spec.replicas], [409, 2]);
  const renamed = await sim.call("PUT", path, { ...made, metadata: { name: "y" } });
  assertEquals([renamed.code, renamed.body.message], [
    400,
    "the name of the object (y) does not match the name on the URL (s)",
  ]);
});

Deno.test("a pod on a node takes its time to go, others go at once", async () => {
  const sim = await start();
  await sim.create(PODS, podManifest("waits"));
  await sim.create(PODS, podManifest("runs", {}, { nodeName: "node1" }));
  expectOk(await sim.call("DELETE", `${PODS}/waits`));
  assertEquals((await sim.call("GET", `${PODS}/waits`)).code, 404);
  const { metadata } = expectOk(await sim.call("DELETE", `${PODS}/runs`, { gracePeriodSeconds: 20 }));
  assertEquals([metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds, metadata.generation], [
    secondsAfterStart(20),
    20,
    2,
  ]);
  expectOk(await sim.call("DELETE", `${PODS}/runs`, { gracePeriodSeconds: 0 }));
  assertEquals((await sim.call("GET", `${PODS}/runs`)).code, 404);
});

Deno.test("finalizers hold an object back until the last one is taken away", async () => {
  const sim = await start();
  const path = "/api/v1/namespaces/rec/configmaps";
  await sim.create(path, { metadata: { name: "c", finalizers: ["example.com/hold", "example.com/more"] } });
  expectOk(await sim.call("DELETE", `${path}/c`));
  expectOk(await sim.patch(`${path}/c`, { metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/more"] } }));
  assertEquals((await sim.get(`${path}/c`)).metadata.finalizers, ["example.com/hold"]);
  expectOk(await sim.patch(`${path}/c`, { metadata: { finalizers: null } }));
  assertEquals((await sim.call("GET", `${path}/c`)).code, 404);
});

Deno.test("a namespace ends when its finalizer is gone, and takes nothing new before", async () => {
  const sim = await start();
  const { status } = expectOk(await sim.call("DELETE", "/api/v1/namespaces/rec"));
  assertEquals(status.phase, "Terminating");
  const late = await sim.call("POST", PODS, podManifest());
  assertEquals([late.code, late.body.details.causes[0].reason], [403, "NamespaceTerminating"]);
  const namespace = await sim.get("/api/v1/namespaces/rec");
  namespace.spec.finalizers = [];
  await sim.call("PUT", "/api/v1/namespaces/rec/finalize", namespace);
  assertEquals((await sim.call("GET", "/api/v1/namespaces/rec")).code, 404);
});

Deno.test("times of leases and events have six digits of a second, as a real server demands", async () => {
  const sim = await start();
  const leases = "/apis/coordination.k8s.io/v1/namespaces/rec/leases";
  const lease = (renewTime: string, leaseDurationSeconds = 15) => ({
    metadata: { name: "l" },
    spec: { holderIdentity: "x", leaseDurationSeconds, renewTime },
  });
  const milli = await sim.call("POST", leases, lease("2026-11-20T11:45:00.123Z"));
  assertEquals([milli.code, milli.body.message], [
    400,
    'Lease in version "v1" cannot be handled as a Lease: parsing time "2026-11-20T11:45:00.123Z" as ' +
    '"2006-01-02T15:04:05.000000Z07:00": cannot parse ".123Z" as ".000000"',
  ]);
  const zero = await sim.call("POST", leases, lease("2026-11-20T11:45:00.123456Z", 0));
  assertEquals(
    zero.body.message,
    'Lease.coordination.k8s.io "l" is invalid: spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
  );
  assertEquals((await sim.call("POST", leases, lease("2026-11-20T11:45:00.123456Z"))).code, 201);
  const event = { metadata: { generateName: "e-" }, involvedObject: { namespace: "other" }, reason: "Because" };
  const elsewhere = await sim.call("POST", "/api/v1/namespaces/rec/events", event);
  assert(elsewhere.body.message.endsWith('Invalid value: "other": does not match event.namespace'));
});
