/**
 * A node with cgroup version 2 and pressure stall information: what podfit decides is what its kernel enforces, and what
 * its kernel measures is what podfit decides by. The kubelet is that node's own; see `tests/cluster/guest/node`.
 */
import { assert, assertEquals, assertMatch } from "#assert";
import { QUICK_TIMES, waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, type PodRef, readEvents, readLimits, readPod, setLoad, waitFor } from "./support/cluster.ts";
import { kubectl, kubectlRaw, readKubeconfigFolder, runProgram } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import type { Limits } from "./support/objects.ts";
import { startPodfit } from "./support/podfit.ts";
import { readActualSize, recordPod } from "./support/patches.ts";
import { readRun, type Run, waitForActual, waitForRun } from "./support/pods.ts";
import { installRelease, SIDECAR_LABELS, sidecarFields } from "./support/release.ts";
import { resizeByHand, waitForResizeState } from "./support/resizes.ts";
import { playTogether, type Stage, type Story } from "./support/stories.ts";
import { autoscaler, CGROUP2, type LoadContainer, pod } from "./support/workloads.ts";

const MI = 1024 ** 2;
const NODE = new URL("../cluster/guest/node", import.meta.url).pathname;
const REAL_ONLY = "it is about the kernel of a node";
/** Memory may go down as soon as it is low. */
const TIMES = { ...QUICK_TIMES, scaleDown: { window: "0s" } };
const CPU = {
  requests: { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 60 },
  limits: { scaleUpThreshold: 90, scaleDownThreshold: 10, targetUtilization: 55 },
};
const MEMORY = { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 };

interface Case {
  /** Clauses, and what the scenario shows. */
  readonly says: string;
  readonly use: LoadContainer;
  /** It is a native sidecar of a container that does nothing. */
  readonly isSidecar?: boolean;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly bounds?: Readonly<Record<string, unknown>>;
  readonly prepare?: (pod: PodRef) => Promise<void>;
  readonly play: Story;
}

const GUARANTEED = { cpu: "100m", memory: "64Mi" };

/** Where a container reads a file of this machine. */
const DATA = "/data";

const CASES: Readonly<Record<string, Case>> = {
  follows: {
    says: "C30 C33 CPU and memory up and down, and the kernel's files,",
    use: {
      cpuMillicores: 50,
      memoryMiB: 20,
      requests: { cpu: "100m", memory: "32Mi" },
      limits: { cpu: "200m", memory: "96Mi" },
    },
    policy: { cpu: CPU, memory: { requests: MEMORY, limits: { ...MEMORY, scaleDownThreshold: 20 } } },
    bounds: {
      cpu: { requests: { min: "20m" }, limits: { min: "150m" } },
      memory: { requests: { min: "16Mi" }, limits: { min: "64Mi" } },
    },
    play: playFollows,
  },
  hidden: {
    says: "L20 L21 demand behind a CPU limit, by the kubelet's pressure,",
    use: { cpuMillicores: 20, requests: { cpu: "50m" }, limits: { cpu: "100m" } },
    policy: { cpu: CPU },
    bounds: { cpu: { requests: { min: "50m" }, limits: { min: "100m" } } },
    play: playHidden,
  },
  kept: {
    says: "C40 C47 L53 a memory limit below what is in use",
    use: {
      cpuMillicores: 60,
      memoryMiB: 100,
      requests: { cpu: "50m", memory: "16Mi" },
      limits: { memory: "256Mi" },
    },
    policy: { cpu: { requests: CPU.requests } },
    prepare: prepareKept,
    play: playKept,
  },
  killed: {
    says: "L10 L11 an OOM kill, and its answer,",
    use: { requests: { memory: "16Mi" }, limits: { memory: "64Mi" } },
    policy: { memory: { limits: { ...MEMORY, scaleDownThreshold: 1 } }, cooldown: "1h" },
    play: playKilled,
  },
  cached: {
    says: "C46 a file in the page cache, which is no usage,",
    use: {
      memoryMiB: 20,
      requests: { memory: "64Mi" },
      limits: { memory: "128Mi" },
      fields: { volumeMounts: [{ name: "data", mountPath: DATA, readOnly: true }] },
    },
    // In a guest this is its folder on this machine.
    fields: { volumes: [{ name: "data", hostPath: { path: "/own", type: "Directory" } }] },
    policy: {
      memory: { requests: { ...MEMORY, scaleDownThreshold: 1 }, limits: { ...MEMORY, scaleDownThreshold: 1 } },
    },
    play: playCached,
  },
  guaranteed: {
    says: "C35 the sides of a Guaranteed pod grow together",
    use: { cpuMillicores: 20, memoryMiB: 20, requests: GUARANTEED, limits: GUARANTEED },
    policy: { cpu: { requests: CPU.requests, limits: CPU.requests }, memory: { requests: MEMORY, limits: MEMORY } },
    bounds: {
      cpu: { requests: { min: GUARANTEED.cpu }, limits: { min: GUARANTEED.cpu } },
      memory: { requests: { min: GUARANTEED.memory }, limits: { min: GUARANTEED.memory } },
    },
    play: playGuaranteed,
  },
  restarted: {
    says: "C46 L70 a resize of memory that restarts its container",
    use: {
      memoryMiB: 20,
      requests: { memory: "32Mi" },
      limits: { memory: "64Mi" },
      fields: { resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] },
    },
    policy: { memory: { limits: { ...MEMORY, scaleDownThreshold: 1 } }, cooldown: "1h" },
    play: playRestarted,
  },
  native: {
    says: "C15 a native sidecar grows",
    use: { cpuMillicores: 20, requests: { cpu: "50m" }, limits: { cpu: "200m" } },
    isSidecar: true,
    policy: { cpu: { requests: CPU.requests } },
    bounds: { cpu: { requests: { min: "50m" } } },
    play: playNative,
  },
};

for (const [name, { says, use, isSidecar, fields, policy, bounds, prepare, play }] of Object.entries(CASES)) {
  scenario(`${says} under cgroup v2`, {
    needs: { images: "load", node: "cgroup2" },
    realOnly: REAL_ONLY,
    async run({ namespace, nodeName }) {
      const ref = { namespace, name };
      const containers = isSidecar
        ? { containers: [{ name: "app", port: 8081 }], sidecars: [use] }
        : { containers: [use] };
      await applyManifests(namespace, [pod(name, { ...containers, fields: { ...fields, nodeName } })]);
      await waitForStart(ref);
      await prepare?.(ref);
      const selector = { matchLabels: { app: name } };
      await applyManifests(namespace, [
        autoscaler(name, { selector, containerName: "main", policy: { ...TIMES, ...policy }, bounds }),
      ]);
      await using stack = new AsyncDisposableStack();
      const podfit = await playTogether({ [name]: play }, { namespace, stack });
      await podfit.stop();
    },
  });
}

/** The kubelet keeps a limit below what is in use from the kernel. */
async function prepareKept(kept: PodRef): Promise<void> {
  await setLoad(kept, { memoryMiB: 100 });
  await resizeByHand(kept, { limits: { memory: "64Mi" } });
  await waitForResizeState(kept, "Error");
}

/** Up and down with CPU and memory; after each step the files say what the status says. */
async function playFollows({ pod }: Stage): Promise<void> {
  const [before, run] = [await readEnforced(pod), await readRun(pod)];
  assertEquals([before.cgroupVersion, before.cpuMillicores, before.memoryBytes], [2, 200, 96 * MI]);
  await setLoad(pod, { cpuMillicores: 195, memoryMiB: 85 });
  await waitForActual(pod, "cpu.limits", { fits: (millicores) => millicores > 250 });
  await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores > 180 });
  await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes > 120 * MI });
  const large = await readEnforced(pod);
  assert(toNumber(large.cpuWeight) > toNumber(before.cpuWeight), `weights ${before.cpuWeight}, ${large.cpuWeight}`);
  await setLoad(pod, { cpuMillicores: 5, memoryMiB: 5 });
  await waitForActual(pod, "cpu.limits", { fits: (millicores) => millicores === 150 });
  await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores < 100 });
  await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes === 64 * MI });
  const small = await readEnforced(pod);
  assert(toNumber(small.cpuWeight) < toNumber(large.cpuWeight), `weights ${large.cpuWeight}, ${small.cpuWeight}`);
  assertEquals(await readRun(pod), run);
}

/** Its limit lets the container use a third of what it wants; pressure in the kubelet's summary tells how much that is. */
async function playHidden({ pod, recorder }: Stage): Promise<void> {
  await setLoad(pod, { cpuMillicores: 300 });
  const limit = await waitForActual(pod, "cpu.limits", { fits: (millicores) => millicores > 300 });
  await waitForHiddenDemand(pod);
  const changes = await recorder.changes("main", "cpu.limits");
  assert(changes.length <= 5, `${changes.length} resizes to ${limit}m`);
  const { cpu: { psi } } = await readSummary(pod);
  assert(toNumber(psi?.full.total) > 0, `pressure in the summary: ${JSON.stringify(psi)}`);
  assertEquals((await readEnforced(pod)).cpuMillicores, readActualSize(await readPod(pod), "main")?.["cpu.limits"]);
}

async function waitForHiddenDemand({ namespace, name }: PodRef): Promise<void> {
  await waitFor("an event that names a demand behind the limit", async () => {
    const events = await readEvents(namespace, { about: name, reason: "PodResourceAutoscalerScaleUp" });
    return events.some(({ message }) => /held back \d+ % of the time: demand/.test(message ?? ""));
  });
}

/** Below what is in use: the limit before stays in force, podfit says so, and once there is room the new one is. */
async function playKept({ pod }: Stage): Promise<void> {
  await waitForConditions(pod, { Limited: { status: "True", reason: "ResizeError" } });
  assertEquals((await readLimits(pod)).memoryBytes, 256 * MI);
  const run = await readRun(pod);
  await setLoad(pod, { memoryMiB: 10 });
  await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes === 64 * MI });
  assertEquals((await readEnforced(pod)).memoryBytes, 64 * MI);
  await waitForConditions(pod, { Limited: { status: "False", reason: "NotLimited" } });
  assertEquals(await readRun(pod), run);
}

/** The kernel ends the container at its limit; the next run has more. */
async function playKilled({ podfit, pod }: Stage): Promise<void> {
  await podfit.waitForEvaluations(pod, { count: 2 });
  const before = await readRun(pod);
  // The answer is cut off with the process.
  await setLoad(pod, { memoryMiB: 120 }).catch(() => {});
  await waitFor("the next run", async () => {
    const { startedAt, containerID } = await readRun(pod);
    return startedAt !== null && containerID !== before.containerID;
  });
  const { status: { containerStatuses: [status] = [] } } = await readPod(pod);
  assertEquals(status?.lastState?.["terminated"]?.reason, "OOMKilled");
  // It may have been seen next to its limit before it was killed: that is answered, too.
  const limit = await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes > 100 * MI });
  assertEquals((await readEnforced(pod)).memoryBytes, limit);
  await waitFor("an event that names the kill", async () => {
    const [event] = await readEvents(pod.namespace, { about: pod.name, reason: "PodResourceAutoscalerScaleUp" });
    return /OOM-killed at a memory limit of \d+Mi|memory\.limits at \d+ %/.test(event?.message ?? "");
  });
  const run = await readRun(pod);
  await setLoad(pod, { memoryMiB: Math.floor(limit / MI * 0.7) });
  assertEquals(await readRun(pod), run);
}

/** What the kernel keeps of a file fills the limit, and no size follows. */
async function playCached({ podfit, pod, recorder }: Stage): Promise<void> {
  const file = "large";
  const path = `${readKubeconfigFolder()}/guests/${(await readPod(pod)).spec.nodeName}/${file}`;
  // It takes no room on the disk.
  using large = await Deno.create(path);
  await large.truncate(500 * MI);
  try {
    const proxy = `/api/v1/namespaces/${pod.namespace}/pods/${pod.name}:8080/proxy`;
    assertMatch(await kubectlRaw(`${proxy}/read?file=${DATA}/${file}`, { timeoutMs: 60_000 }), /^read=524288000$/m);
  } finally {
    await Deno.remove(path);
  }
  const { memory } = await waitFor("the summary to show the file", async () => {
    const seen = await readSummary(pod);
    if (toNumber(seen.memory.usageBytes) > 100 * MI) return seen;
    throw new Error(JSON.stringify(seen.memory));
  });
  assert(toNumber(memory.workingSetBytes) < 64 * MI, `a working set of ${memory.workingSetBytes} bytes`);
  const seen = podfit.decisions({ pod }).length;
  await waitFor("two more decisions on new usage", () => {
    const more = podfit.decisions({ pod }).slice(seen).filter(({ isNewSample }) => isNewSample);
    return Promise.resolve(more.length >= 2);
  }, { timeoutMs: 90_000, everyMs: 1000 });
  assertEquals(await recorder.patches(), []);
}

/** Requests and limits stay equal, and so does the class. */
async function playGuaranteed({ pod }: Stage): Promise<void> {
  const run = await readRun(pod);
  await setLoad(pod, { cpuMillicores: 95, memoryMiB: 55 });
  await waitForActual(pod, "cpu.limits", { fits: (millicores) => millicores > 100 });
  await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes > 64 * MI });
  await readEnforced(pod);
  const found = await readPod(pod);
  const size = readActualSize(found, "main");
  assertEquals(size?.["cpu.requests"], size?.["cpu.limits"]);
  assertEquals(size?.["memory.requests"], size?.["memory.limits"]);
  assertEquals(found.status.qosClass, "Guaranteed");
  assertEquals(await readRun(pod), run);
}

/** The next run has the size from its start. */
async function playRestarted({ podfit, pod }: Stage): Promise<void> {
  await podfit.waitForEvaluations(pod, { count: 2 });
  const before = await readRun(pod);
  await setLoad(pod, { memoryMiB: 55 });
  await waitFor("the next run", async () => {
    const { startedAt, restartCount } = await readRun(pod);
    return startedAt !== null && restartCount === before.restartCount + 1;
  }, { timeoutMs: 90_000, everyMs: 1000 });
  const limit = await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes > 64 * MI });
  assertEquals((await readEnforced(pod)).memoryBytes, limit);
  const { status: { containerStatuses: [status] = [] } } = await readPod(pod);
  assert(status?.lastState?.["terminated"]?.reason !== "OOMKilled", "the resize ended it, and no kill");
}

async function playNative({ pod }: Stage): Promise<void> {
  await waitForRun(pod, "app");
  const [before, runs] = [await readEnforced(pod), await readRuns(pod)];
  await setLoad(pod, { cpuMillicores: 150 });
  await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores > 140 });
  const after = await readEnforced(pod);
  assert(toNumber(after.cpuWeight) > toNumber(before.cpuWeight), `weights ${before.cpuWeight}, ${after.cpuWeight}`);
  assertEquals(await readRuns(pod), runs);
}

function readRuns(pod: PodRef): Promise<readonly Run[]> {
  return Promise.all([readRun(pod), readRun(pod, "app")]);
}

scenario("L15 what waits for memory below its limit gets a larger one, within the cooldown, and is not killed", {
  needs: { images: "load", node: "cgroup2", memoryQos: true },
  realOnly: REAL_ONLY,
  async run({ namespace, nodeName }) {
    const use = { memoryMiB: 20, requests: { memory: "16Mi" }, limits: { memory: "128Mi" } };
    const web = { namespace, name: "web" };
    await applyManifests(namespace, [pod("web", { containers: [use], fields: { nodeName } })]);
    const run = await waitForStart(web);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    const limits = { scaleUpThreshold: 98, scaleDownThreshold: 1, targetUtilization: 60 };
    const policy = { ...TIMES, consecutiveSamples: 5, cooldown: "1h", memory: { limits } };
    await applyManifests(namespace, [
      autoscaler("web", { selector: { matchLabels: { app: "web" } }, containerName: "main", policy }),
    ]);
    await podfit.waitForEvaluations(web, { count: 2 });
    // The answer comes once the memory is there.
    const loaded = setLoad(web, { memoryMiB: 125 }).catch(() => {});
    const limit = await waitForActual(web, "memory.limits", { fits: (bytes) => bytes > 150 * MI });
    await loaded;
    assertEquals((await readEnforced(web)).memoryBytes, limit);
    const { memory } = await waitFor("the memory to be there", async () => {
      const seen = await readSummary(web);
      if (toNumber(seen.memory.workingSetBytes) > 120 * MI) return seen;
      throw new Error(JSON.stringify(seen.memory));
    }, { timeoutMs: 90_000 });
    assert(toNumber(memory.psi?.full.total) > 0, `pressure in the summary: ${JSON.stringify(memory.psi)}`);
    assertEquals(await readRun(web), run, "nothing was killed");
    await podfit.stop();
  },
});

const AGENT_TIMES = { ...TIMES, pollInterval: "1s", consecutiveSamples: 2 };

scenario("C54 L20 L21 L61 the agent of a node with cgroup v2 reads its files", {
  needs: { images: "load", podfitImage: true, node: "cgroup2" },
  realOnly: "podfit runs in a pod of its image",
  async run({ namespace, nodeName }) {
    await importPodfit();
    const containers: Readonly<Record<string, LoadContainer>> = {
      free: { cpuMillicores: 20, memoryMiB: 20, requests: { cpu: "50m", memory: "64Mi" } },
      hidden: { cpuMillicores: 20, requests: { cpu: "50m" }, limits: { cpu: "100m" } },
    };
    await applyManifests(namespace, [
      ...Object.entries(containers).map(([name, use]) => pod(name, { containers: [use], fields: { nodeName } })),
      ...Object.keys(containers).map((name) => {
        const policy = { ...AGENT_TIMES, cpu: CPU, memory: { requests: MEMORY } };
        return autoscaler(name, { selector: { matchLabels: { app: name } }, containerName: "main", policy });
      }),
    ]);
    const [free, hidden] = [{ namespace, name: "free" }, { namespace, name: "hidden" }];
    const runs = await Promise.all([waitForStart(free), waitForStart(hidden)]);
    await using recorder = await recordPod(hidden);
    await using release = await installRelease(namespace, {
      mode: "node-local",
      statsSource: "cgroup",
      affinity: {},
      nodeSelector: { [CGROUP2]: "" },
      log: { level: "debug" },
    });
    await setLoad(free, { cpuMillicores: 250, memoryMiB: 100 });
    await waitForActual(free, "cpu.requests", { fits: (millicores) => millicores > 250 });
    await waitForActual(free, "memory.requests", { fits: (bytes) => bytes > 100 * MI });
    await readEnforced(free);
    await setLoad(free, { cpuMillicores: 20 });
    await setLoad(hidden, { cpuMillicores: 400 });
    await waitForActual(hidden, "cpu.limits", { fits: (millicores) => millicores > 400 });
    assertEquals(
      (await readEnforced(hidden)).cpuMillicores,
      readActualSize(await readPod(hidden), "main")?.["cpu.limits"],
    );
    const changes = await recorder.changes("main", "cpu.limits");
    assert(changes.length <= 3, JSON.stringify(changes));
    assertMatch(
      await kubectl(["logs", "-n", namespace, `daemonset/${release.name}`]),
      /held back \d+ % of the time: demand/,
    );
    assertEquals(await Promise.all([readRun(free), readRun(hidden)]), runs);
  },
});

scenario("C54 L20 L21 L61 a sidecar on a node with cgroup v2 reads the files of its pod", {
  needs: { images: "load", podfitImage: true, node: "cgroup2" },
  realOnly: "podfit runs in a pod of its image",
  async run({ namespace, nodeName }) {
    await importPodfit();
    const account = "podfit-sidecar";
    await applyManifests(namespace, [
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account, namespace } },
    ]);
    await using _release = await installRelease(namespace, {
      mode: "sidecar",
      statsSource: "cgroup",
      sidecar: { serviceAccounts: [{ namespace, name: account }] },
    });
    const use = { cpuMillicores: 20, requests: { cpu: "50m" }, limits: { cpu: "100m" } };
    const web = { namespace, name: "web" };
    const fields = { ...sidecarFields(account), nodeName };
    await applyManifests(namespace, [
      pod("web", { containers: [use], labels: { app: "web", ...SIDECAR_LABELS }, fields }),
    ]);
    const run = await waitForStart(web);
    await using recorder = await recordPod(web);
    const selector = { matchLabels: { app: "web" } };
    const policy = { ...AGENT_TIMES, cpu: CPU };
    await applyManifests(namespace, [autoscaler("web", { selector, containerName: "main", policy })]);
    await setLoad(web, { cpuMillicores: 300 });
    await waitForActual(web, "cpu.limits", { fits: (millicores) => millicores > 300 });
    await readEnforced(web);
    const changes = await recorder.changes("main", "cpu.limits");
    assert(changes.length <= 3, JSON.stringify(changes));
    await waitForHiddenDemand(web);
    assertEquals(await readRun(web), run);
  },
});

/** Into the images of the node, which has only those of pods that use the kubelet's usage. */
async function importPodfit(): Promise<void> {
  const images = `${readKubeconfigFolder()}/../images`;
  await runProgram(NODE, ["import", `${images}/podfit.tar`], { timeoutMs: 120_000 });
}

/** A process starts slowly there, on a busy machine very slowly. */
async function waitForStart(pod: PodRef): Promise<Run> {
  const run = await waitFor(`pod "${pod.name}" to run`, async () => {
    const run = await readRun(pod);
    return run.startedAt === null ? null : run;
  }, { timeoutMs: 180_000, everyMs: 1000 });
  await waitFor(`the load of pod "${pod.name}" to listen`, () => readLimits(pod), { timeoutMs: 60_000, everyMs: 1000 });
  return run;
}

/** What the files of the container's cgroup say, once they say what the status says. */
function readEnforced(pod: PodRef): Promise<Limits> {
  return waitFor(`the kernel to enforce the size of pod "${pod.name}"`, async () => {
    const [limits, actual] = [await readLimits(pod), readActualSize(await readPod(pod), "main")];
    assertEquals([limits.cpuMillicores, limits.memoryBytes], [
      actual?.["cpu.limits"] ?? null,
      actual?.["memory.limits"] ?? null,
    ]);
    return limits;
  }, { timeoutMs: 30_000, everyMs: 1000 });
}

interface ContainerStats {
  readonly name: string;
  readonly cpu: { readonly psi?: { readonly full: { readonly total: number } } };
  readonly memory: {
    readonly usageBytes?: number;
    readonly workingSetBytes?: number;
    readonly psi?: { readonly full: { readonly total: number } };
  };
}

interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string };
    readonly containers: readonly ContainerStats[];
  }[];
}

async function readSummary({ namespace, name }: PodRef): Promise<ContainerStats> {
  const { spec: { nodeName } } = await readPod({ namespace, name });
  const summary = JSON.parse(await kubectlRaw(`/api/v1/nodes/${nodeName}/proxy/stats/summary`)) as Summary;
  const found = summary.pods.find(({ podRef }) => podRef.namespace === namespace && podRef.name === name);
  const main = found?.containers.find((container) => container.name === "main");
  if (main === undefined) throw new Error(`Cannot find pod "${name}" in the summary of node "${nodeName}"`);
  return main;
}

function toNumber(value: number | null | undefined): number {
  if (typeof value !== "number") throw new Error(`Expected a number, not ${value}`);
  return value;
}
