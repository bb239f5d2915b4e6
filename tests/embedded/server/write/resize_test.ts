/**
 * `pods/resize` of the embedded API server against what a real one of 1.36.3 answered, letter by letter.
 */
import { assert, assertEquals } from "#assert";
import type { Json } from "../../../support/api_objects.ts";
import { readRefusal } from "../../../support/refusals.ts";
import { type Answer, MERGE, podManifest, SimServer } from "../../../support/sim_server.ts";

const A = "/api/v1/namespaces/rec/pods/a";

/** The pod "a" of the namespace "rec" on a node of 2 CPU. */
async function start(resources: Json = SMALL, pod: Json = {}): Promise<SimServer> {
  const sim = new SimServer();
  await sim.createNamespace("rec");
  const status = { allocatable: { cpu: "2", memory: "24581692Ki" } };
  await sim.create("/api/v1/nodes", { metadata: { name: "node1" }, status });
  await sim.create("/api/v1/namespaces/rec/pods", { ...podManifest("a", resources, { nodeName: "node1" }), ...pod });
  return sim;
}

const SMALL = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "128Mi" } };

function resize(sim: SimServer, resources: Json, more: Json = {}): Promise<Answer> {
  const patch = { spec: { containers: [{ name: "main", resources }] }, ...more };
  return sim.patch(`${A}/resize`, patch, { manager: "podfit" });
}

interface Case {
  readonly resources?: Json;
  readonly pod?: Json;
  readonly limits?: Json;
  readonly hard?: Json;
  readonly sent: (sim: SimServer) => Promise<Answer>;
}

const CONTAINER_LIMITS = {
  type: "Container",
  max: { cpu: "800m", memory: "1Gi" },
  min: { cpu: "5m" },
  maxLimitRequestRatio: { cpu: "20" },
  default: {},
  defaultRequest: {},
};

/** By the name of the recorded refusal. */
const CASES: Readonly<Record<string, Case>> = {
  bad_quantity: { sent: (sim) => resize(sim, { requests: { cpu: "abc" }, limits: {} }) },
  negative: { sent: (sim) => resize(sim, { requests: { cpu: "-5m" } }) },
  other_resource: { sent: (sim) => resize(sim, { requests: { "ephemeral-storage": "1Gi" } }) },
  qos_change: {
    sent: (sim) => resize(sim, { requests: { cpu: "200m", memory: "64Mi" }, limits: { cpu: "200m", memory: "64Mi" } }),
  },
  remove_limit: { sent: (sim) => resize(sim, { limits: { cpu: null } }) },
  request_over_limit: { sent: (sim) => resize(sim, { requests: { cpu: "600m" } }) },
  unknown_container: {
    sent: (sim) => sim.patch(`${A}/resize`, { spec: { containers: [{ name: "zz", resources: {} }] } }),
  },
  uid_mismatch: {
    sent: (sim) =>
      resize(sim, { requests: { cpu: "110m" } }, { metadata: { uid: "00000000-0000-0000-0000-000000000000" } }),
  },
  version_stale: {
    sent: (sim) => resize(sim, { requests: { cpu: "110m" } }, { metadata: { resourceVersion: "1" } }),
  },
  node_capacity_cpu: { sent: (sim) => resize(sim, { requests: { cpu: "3" }, limits: { cpu: "4" } }) },
  node_capacity_memory: { sent: (sim) => resize(sim, { requests: { memory: "40Gi" }, limits: { memory: "50Gi" } }) },
  limit_range_max: { limits: [CONTAINER_LIMITS], sent: (sim) => resize(sim, { limits: { cpu: "900m" } }) },
  limit_range_max_both: {
    limits: [CONTAINER_LIMITS, { type: "Pod", max: { cpu: "1", memory: "2Gi" } }],
    sent: (sim) => resize(sim, { limits: { cpu: "1500m", memory: "3Gi" } }),
  },
  limit_range_min: {
    limits: [CONTAINER_LIMITS],
    resources: { ...SMALL, limits: { cpu: "40m", memory: "128Mi" }, requests: { cpu: "10m", memory: "64Mi" } },
    sent: (sim) => resize(sim, { requests: { cpu: "2m" } }),
  },
  limit_range_ratio: {
    limits: [CONTAINER_LIMITS],
    sent: (sim) => resize(sim, { requests: { cpu: "5m" } }),
  },
  quota: {
    hard: { "requests.cpu": "500m", "requests.memory": "512Mi", "limits.cpu": "2" },
    resources: { requests: { cpu: "491m", memory: "172Mi" }, limits: { cpu: "1400m" } },
    sent: (sim) => resize(sim, { requests: { cpu: "640m" } }),
  },
  quota_two: {
    hard: { "requests.cpu": "500m", "requests.memory": "512Mi" },
    resources: { requests: { cpu: "491m", memory: "172Mi" } },
    sent: (sim) => resize(sim, { requests: { cpu: "640m", memory: "712Mi" } }),
  },
  unsupported_media_type: {
    sent: (sim) => sim.patch(`${A}/resize`, { spec: {} }, { contentType: "application/json" }),
  },
  unknown_subresource: { sent: (sim) => sim.patch(`${A}/resizes`, { spec: {} }) },
  pod_gone: { sent: (sim) => sim.patch("/api/v1/namespaces/rec/pods/nopod/resize", { spec: {} }) },
  apply_conflict: {
    async sent(sim) {
      await resize(sim, { requests: { cpu: "110m" } });
      const spec = { containers: [{ name: "main", resources: { requests: { cpu: "120m" } } }] };
      const body = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec };
      return await sim.patch(`${A}/resize`, body, { contentType: "application/apply-patch+yaml", manager: "other" });
    },
  },
};

for (const [name, { resources, pod, limits, hard, sent }] of Object.entries(CASES)) {
  Deno.test(`pods/resize refuses as a real server did: ${name.replaceAll("_", " ")}`, async () => {
    const sim = await start(resources, pod);
    const path = "/api/v1/namespaces/rec";
    if (limits !== undefined) await sim.create(`${path}/limitranges`, { metadata: { name: "l" }, spec: { limits } });
    if (hard !== undefined) await sim.create(`${path}/resourcequotas`, { metadata: { name: "q" }, spec: { hard } });
    const before = await sim.get(A);
    const { body } = await sent(sim);
    assertEquals(body, readRefusal(name).body);
    if (name !== "apply_conflict") assertEquals(await sim.get(A), before);
  });
}

Deno.test("pods/resize refuses a mirror pod as a real server did", async () => {
  const sim = await start();
  const manifest = podManifest("mirror", SMALL);
  manifest.metadata.annotations = { "kubernetes.io/config.mirror": "x" };
  await sim.create("/api/v1/namespaces/rec/pods", manifest);
  const spec = { containers: [{ name: "main", resources: { requests: { cpu: "110m" } } }] };
  const { body } = await sim.patch("/api/v1/namespaces/rec/pods/mirror/resize", { spec });
  assertEquals(body, readRefusal("static_pod").body);
});

Deno.test("pods/resize names both resources that a node has too little of, after limit ranges and before quotas", async () => {
  const sim = await start();
  const quota = { metadata: { name: "q" }, spec: { hard: { "requests.cpu": "500m" } } };
  await sim.create("/api/v1/namespaces/rec/resourcequotas", quota);
  const huge = { requests: { cpu: "30", memory: "400Gi" }, limits: { cpu: "40", memory: "500Gi" } };
  assertEquals(
    (await resize(sim, huge)).body.message,
    'pods "a" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 30000, ' +
      "allocatable: 2000; memory, requested: 429496729600, allocatable: 25171652608",
  );
  const range = { metadata: { name: "l" }, spec: { limits: [{ type: "Container", max: { cpu: "1" } }] } };
  await sim.create("/api/v1/namespaces/rec/limitranges", range);
  assertEquals(
    (await resize(sim, huge)).body.message,
    'pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 40',
  );
});

Deno.test("pods/resize refuses a merge patch that replaces a container by its size", async () => {
  const sim = await start();
  const spec = { containers: [{ name: "main", image: "localhost/load:1", resources: {} }] };
  const { code, body } = await sim.patch(`${A}/resize`, { spec }, { contentType: MERGE });
  assertEquals(code, 422);
  assertEquals(
    body.message,
    'Pod "a" is invalid: [spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing, ' +
      "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed, " +
      "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed]",
  );
});

Deno.test("pods/resize begins a generation, and an exact repetition changes nothing at all", async () => {
  const sim = await start();
  const first = (await resize(sim, { requests: { cpu: "200m" } })).body;
  assertEquals(first.metadata.generation, 2);
  assertEquals(first.spec.containers[0].resources.requests, { cpu: "200m", memory: "64Mi" });
  await sim.clock.advance(5000);
  assertEquals((await resize(sim, { requests: { cpu: "200m" } })).body, first);
});

Deno.test("pods/resize takes another spelling of the same size without a generation or a new time", async () => {
  const sim = await start();
  const first = (await resize(sim, { requests: { memory: "96Mi" } })).body;
  await sim.clock.advance(5000);
  const { metadata, spec } = (await resize(sim, { requests: { memory: "100663296" } })).body;
  assertEquals(spec.containers[0].resources.requests.memory, "100663296");
  assert(metadata.resourceVersion !== first.metadata.resourceVersion);
  assertEquals([metadata.generation, metadata.managedFields], [2, first.metadata.managedFields]);
});

Deno.test("pods/resize takes sizes of sidecars and of the pod, and drops whatever else was sent", async () => {
  const sim = new SimServer();
  await sim.createNamespace("rec");
  const sidecar = { name: "proxy", image: "x", restartPolicy: "Always", resources: SMALL };
  await sim.create("/api/v1/namespaces/rec/pods", podManifest("a", SMALL, { initContainers: [sidecar] }));
  const spec = {
    nodeName: "elsewhere",
    containers: [{ name: "main", image: "other:2" }],
    initContainers: [{ name: "proxy", resources: { limits: { cpu: "600m" } } }],
    resources: { requests: { cpu: "300m" } },
  };
  const { code, body } = await sim.patch(`${A}/resize`, { metadata: { labels: { x: "y" } }, spec });
  assertEquals(code, 200);
  assertEquals(body.spec.initContainers[0].resources.limits.cpu, "600m");
  assertEquals(body.spec.resources, { requests: { cpu: "300m" } });
  assertEquals([body.spec.nodeName, body.spec.containers[0].image], [undefined, "localhost/load:1"]);
  assertEquals(body.metadata.labels, { app: "a" });
});

Deno.test("pods/resize refuses a resize of the whole spec by any other way", async () => {
  const sim = await start();
  const spec = { containers: [{ name: "main", resources: { requests: { cpu: "200m" } } }] };
  const { code, body } = await sim.patch(A, { spec });
  assertEquals(code, 422);
  assert(body.message.startsWith('Pod "a" is invalid: spec: Forbidden: pod updates may not change fields other than '));
});
