/** From the API's Pod to the facts that decisions depend on: what is read, and what counts as absent (C11, C15, C30). */
import { assert, assertEquals } from "#assert";
import type { Pod } from "../../../lib/api/kubernetes.ts";
import { findContainer, getActualSize } from "../../../lib/model/pod.ts";
import { parsePod } from "../../../lib/daemon/cluster/parse_pod.ts";
import { MI, resources, START } from "../../support/builders.ts";

const AT = "2026-11-20T11:00:00Z";

const POD = {
  metadata: {
    uid: "u1",
    namespace: "shop",
    name: "web-1",
    resourceVersion: "7",
    generation: 3,
    labels: { app: "web" },
    annotations: { "pra.kedify.io/reconcile": "enabled" },
    managedFields: [
      { manager: "kubelet", operation: "Update", time: AT, subresource: "status" },
      { manager: "podfit.main", operation: "Update", time: AT, subresource: "resize" },
    ],
  },
  spec: {
    nodeName: "node1",
    containers: [{
      name: "main",
      resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "0.2" } },
      resizePolicy: [
        { resourceName: "cpu", restartPolicy: "NotRequired" },
        { resourceName: "memory", restartPolicy: "RestartContainer" },
      ],
    }],
    initContainers: [{ name: "setup", restartPolicy: "Never" }, { name: "proxy", restartPolicy: "Always" }],
  },
  status: {
    phase: "Running",
    startTime: AT,
    qosClass: "Burstable",
    observedGeneration: 2,
    conditions: [
      { type: "Ready", status: "True", lastTransitionTime: AT },
      { type: "ContainersReady", status: "False", lastTransitionTime: AT },
      { type: "PodResizePending", status: "True", reason: "Deferred", message: "no room", lastTransitionTime: AT },
      { type: "PodResizeInProgress", status: "False", reason: "Error" },
    ],
    containerStatuses: [{
      name: "main",
      ready: true,
      containerID: "containerd://a",
      state: { running: { startedAt: AT } },
      allocatedResources: { cpu: "100m", memory: "128Mi" },
      resources: { requests: { cpu: "90m", memory: "128Mi" }, limits: { cpu: "200m", memory: "1Gi" } },
    }],
    initContainerStatuses: [{
      name: "proxy",
      ready: false,
      containerID: "containerd://p",
      state: { waiting: { reason: "CrashLoopBackOff" } },
    }],
  },
} as unknown as Pod;

function changed(parts: { metadata?: unknown; spec?: unknown; status?: unknown }): Pod {
  const pod = POD as unknown as Record<string, Record<string, unknown>>;
  return {
    metadata: { ...pod["metadata"], ...parts.metadata as object },
    spec: { ...pod["spec"], ...parts.spec as object },
    status: { ...pod["status"], ...parts.status as object },
  } as unknown as Pod;
}

Deno.test("readPod() reads what identifies and qualifies a pod", () => {
  const { containers: _, requests: _requests, resizes, pending, ...facts } = parsePod(POD);
  assertEquals(facts, {
    uid: "u1",
    namespace: "shop",
    name: "web-1",
    nodeName: "node1",
    resourceVersion: "7",
    generation: 3,
    observedGeneration: 2,
    revision: null,
    labels: { app: "web" },
    optedIn: true,
    deleting: false,
    finished: false,
    mirror: false,
    windows: false,
    qosClass: "Burstable",
    podResources: null,
    inProgress: null,
    overhead: null,
    phase: "Running",
    startAt: START,
    ready: { status: "True", at: START },
    readyAt: START,
    containersReadyAt: null,
    memoryLimitBytes: null,
  });
  assertEquals(pending, { reason: "Deferred", message: "no room", since: START });
  assertEquals(resizes.map(({ manager, at }) => [manager, at]), [["podfit.main", START]]);
});

Deno.test("readPod() reads a container's sizes in millicores and bytes", () => {
  assertEquals(parsePod(POD).containers[0], {
    name: "main",
    kind: "container",
    spec: resources({ "cpu.requests": 100, "cpu.limits": 200, "memory.requests": 128 * MI }),
    // The limit that the spec lacks is none to scale, whatever the runtime reports (C37).
    reported: resources({ "cpu.requests": 90, "cpu.limits": 200, "memory.requests": 128 * MI }),
    allocated: resources({ "cpu.requests": 100, "memory.requests": 128 * MI }),
    restartsOn: { cpu: false, memory: true },
    runningAt: START,
    ready: true,
    instance: "containerd://a",
    terminations: [],
  });
});

Deno.test("readPod() has one object for what pods of a workload have in common", () => {
  const [one, other] = [parsePod(POD), parsePod(structuredClone(POD))];
  assert(other.labels === one.labels && other.requests === one.requests);
  assert(other.containers[0]?.spec === one.containers[0]?.spec);
  assert(other.containers[0]?.reported === one.containers[0]?.reported);
});

Deno.test("readPod() tells native sidecars from plain init containers (C15)", () => {
  const facts = parsePod(POD);
  assertEquals(facts.containers.map(({ name, kind }) => [name, kind]), [
    ["main", "container"],
    ["setup", "init"],
    ["proxy", "sidecar"],
  ]);
  assertEquals([findContainer(facts, "setup"), findContainer(facts, "nobody")], [null, null]);
  const { runningAt, instance } = findContainer(facts, "proxy") ?? {};
  assertEquals([runningAt, instance], [null, "containerd://p"], "its status stands among the init containers'");
});

const FACTS: readonly [string, Parameters<typeof changed>[0], string, unknown][] = [
  ["a pod being deleted", { metadata: { deletionTimestamp: AT } }, "deleting", true],
  ["a succeeded pod", { status: { phase: "Succeeded" } }, "finished", true],
  ["a failed pod", { status: { phase: "Failed" } }, "finished", true],
  ["a static pod's mirror", { metadata: { annotations: { "kubernetes.io/config.mirror": "x" } } }, "mirror", true],
  ["a Windows pod", { spec: { os: { name: "windows" } } }, "windows", true],
  ["another annotation value", { metadata: { annotations: { "pra.kedify.io/reconcile": "true" } } }, "optedIn", false],
  ["a pod without annotations", { metadata: { annotations: undefined } }, "optedIn", false],
  ["an unbound pod", { spec: { nodeName: undefined } }, "nodeName", null],
  ["a server before 1.33", { metadata: { generation: undefined } }, "generation", null],
  ["a server before 1.34", { status: { observedGeneration: undefined } }, "observedGeneration", null],
  ["an unknown QoS class", { status: { qosClass: "Best" } }, "qosClass", null],
  ["an empty pod-level size as set", { spec: { resources: {} } }, "podResources", resources()],
  [
    "a pod-level size",
    { spec: { resources: { requests: { cpu: "1" } } } },
    "podResources",
    resources({ "cpu.requests": 1000 }),
  ],
  ["a condition without time", { status: { conditions: [{ type: "Ready", status: "True" }] } }, "readyAt", 0],
  [
    "a resize without words",
    {
      status: { conditions: [{ type: "PodResizeInProgress", status: "True" }] },
    },
    "inProgress",
    { reason: "", message: "", since: null },
  ],
  [
    "a container of kubectl debug",
    { spec: { ephemeralContainers: [{ name: "debugger-x7k2p", image: "busybox" }] } },
    "hasEphemeralContainers",
    true,
  ],
  ["an empty list of them", { spec: { ephemeralContainers: [] } }, "hasEphemeralContainers", undefined],
];
for (const [sentence, parts, key, expected] of FACTS) {
  Deno.test(`readPod() reads ${sentence} as ${key} ${JSON.stringify(expected)}`, () => {
    const facts: Readonly<Record<string, unknown>> = { ...parsePod(changed(parts)) };
    assertEquals(facts[key], expected);
  });
}

const STATUSES: readonly [string, Record<string, unknown> | null, string, unknown][] = [
  ["nothing reported without a status", null, "reported", null],
  ["nothing running without a status", null, "runningAt", null],
  ["no instance without a status", null, "instance", null],
  ["a run without a start as long ago", { name: "main", state: { running: {} } }, "runningAt", 0],
  ["an empty report whole: nothing is in force (C30)", { name: "main", resources: {} }, "reported", resources()],
];
for (const [sentence, status, key, expected] of STATUSES) {
  Deno.test(`readPod() reads ${sentence}`, () => {
    const containerStatuses = status === null ? undefined : [status];
    const [main] = parsePod(changed({ status: { containerStatuses, initContainerStatuses: undefined } })).containers;
    assertEquals(({ ...main } as Readonly<Record<string, unknown>>)[key], expected);
  });
}

const KILLED = { containerID: "containerd://k", reason: "OOMKilled", exitCode: 137, finishedAt: AT };
const CRASHED = { containerID: "containerd://c", exitCode: 2 };
const ENDS: readonly [string, unknown, unknown][] = [
  ["the last end of a container that runs again", { lastState: { terminated: KILLED }, state: { running: {} } }, [
    { id: "containerd://k", reason: "OOMKilled", exitCode: 137, finishedAt: START },
  ]],
  ["the last end, then the present one", { lastState: { terminated: KILLED }, state: { terminated: CRASHED } }, [
    { id: "containerd://k", reason: "OOMKilled", exitCode: 137, finishedAt: START },
    { id: "containerd://c", reason: "", exitCode: 2, finishedAt: 0 },
  ]],
  ["no end that has no ID to tell it by", { lastState: { terminated: { ...KILLED, containerID: undefined } } }, []],
  [
    "no more than the beginning of a long reason",
    { lastState: { terminated: { ...KILLED, reason: "x".repeat(999) } } },
    [
      { id: "containerd://k", reason: "x".repeat(64), exitCode: 137, finishedAt: START },
    ],
  ],
];
for (const [sentence, status, expected] of ENDS) {
  Deno.test(`readPod() reads ${sentence} (L10)`, () => {
    const containerStatuses = [{ name: "main", ...status as object }];
    assertEquals(parsePod(changed({ status: { containerStatuses } })).containers[0]?.terminations, expected);
  });
}

const LIMITS: readonly [string, unknown, number | null][] = [
  ["a limit", { limits: { memory: "96Mi" } }, 96 * MI],
  ["none that cgroup v1 calls unlimited", { limits: { memory: "9007199254740988Ki" } }, null],
  ["none without one", { limits: { cpu: "1" } }, null],
  ["none that is unreadable", { limits: { memory: "much" } }, null],
];
for (const [sentence, given, expected] of LIMITS) {
  Deno.test(`readPod() reads of the pod's own cgroup ${sentence} (L11)`, () => {
    assertEquals(parsePod(changed({ status: { resources: given } })).memoryLimitBytes, expected);
  });
}

Deno.test("readPod() leaves out what the runtime reports and the spec lacks (C37)", () => {
  const [main] = parsePod(POD).containers;
  assertEquals([main?.spec["memory.limits"], main?.reported?.["memory.limits"]], [null, null]);
});

Deno.test("readPod() takes an unreadable quantity for absent", () => {
  const containers = [{ name: "main", resources: { requests: { cpu: "12Q", memory: "1Mi" } } }];
  assertEquals(parsePod(changed({ spec: { containers } })).containers[0]?.spec, resources({ "memory.requests": MI }));
});

Deno.test("readPod() reads an empty object without complaint", () => {
  const facts = parsePod({} as Pod);
  assertEquals([facts.uid, facts.containers, facts.resizes, facts.resourceVersion], ["", [], [], ""]);
});

Deno.test("getActualSize() believes the report, else the spec (C30)", () => {
  const [main] = parsePod(POD).containers;
  if (main === undefined) throw new Error("Cannot read a container");
  assertEquals(getActualSize(main)["cpu.requests"], 90);
  assertEquals(getActualSize({ ...main, reported: null })["cpu.requests"], 100);
});

Deno.test("parsePod() keeps no labels of a pod that has more than 16 KiB of them", () => {
  const labels = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`label-${index}`, "x".repeat(60)]));
  const toLabels = (all: Record<string, string>) => parsePod({ metadata: { labels: all } }).labels;
  assertEquals(Object.keys(toLabels(labels)).length, 200);
  assertEquals(
    toLabels({ ...labels, ...Object.fromEntries(Object.keys(labels).map((key) => [`${key}-b`, key.repeat(5)])) }),
    {},
  );
});

Deno.test("parsePod() keeps 501 containers of a pod that has more, and counts the requests of all", () => {
  const toPod = (count: number) => {
    const containers = Array.from({ length: count }, (_, index) => ({
      name: `c-${index}`,
      resources: { requests: { cpu: "1m" } },
    }));
    return parsePod({ spec: { containers } });
  };
  const [some, many] = [toPod(501), toPod(20_000)];
  assertEquals([some.containers.length, some.requests.cpuMillicores], [501, 501]);
  assertEquals([many.containers.length, many.requests.cpuMillicores], [501, 20_000]);
});

Deno.test("parsePod() keeps no controller whose uid, kind or name has more than 253 characters", () => {
  const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "u-web", controller: true };
  const toOwner = (changes: Partial<typeof owner>) => {
    const { revision, workload } = parsePod({ metadata: { ownerReferences: [{ ...owner, ...changes }] } });
    return { revision, workload };
  };
  assertEquals(toOwner({ name: "x".repeat(253) }).workload, `StatefulSet/${"x".repeat(253)}`);
  for (const key of ["uid", "kind", "name"]) {
    assertEquals(toOwner({ [key]: "x".repeat(254) }), { revision: null, workload: undefined }, key);
  }
});
