/**
 * What a real API server refuses to resize (C44): too much for the node, for a LimitRange, for a quota. Each is reported once
 * in the server's words under its named cause, counted, and tried again when the contract says and not before.
 */
import { assert, assertEquals } from "#assert";
import { assertAccountsAgree, readSum } from "./support/accounts.ts";
import { createAccount, LIMITS, without } from "./support/accounts_of_podfit.ts";
import { QUICK_TIMES, waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, setLoad } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import type { Podfit } from "./support/podfit.ts";
import { readRun, waitForActual, waitForRun } from "./support/pods.ts";
import { limitRange, quota, waitForQuota } from "./support/quotas.ts";
import { playTogether, type Stage, type Story } from "./support/stories.ts";
import { assertWaited, readAttempts, waitForAttempts } from "./support/attempts.ts";
import { assertCountedBlocked } from "./support/blocks.ts";
import { assertNotices } from "./support/notices.ts";
import { autoscaler, type LoadContainer, pod } from "./support/workloads.ts";

const MI = 1024 ** 2;
/** The letter: memory may go down as soon as it is low. */
const TIMES = { ...QUICK_TIMES, scaleDown: { window: "0s" } };
const UP = { scaleUpThreshold: 80, scaleDownThreshold: 0, targetUtilization: 60 };
const DOWN = { scaleUpThreshold: 90, scaleDownThreshold: 30, targetUtilization: 60 };
const BARELY = { scaleUpThreshold: 60, scaleDownThreshold: 0, targetUtilization: 2 };

/** Every wanted size ends at a bound, so that each try asks for the same. */
const CASES: Readonly<Record<string, Case>> = {
  most: {
    use: { memoryMiB: 100, requests: { memory: "32Mi" }, limits: { memory: "120Mi" } },
    policy: { memory: { limits: UP } },
    bounds: { memory: { limits: { max: "160Mi" } } },
    play: playMost,
  },
  least: {
    use: { requests: { memory: "64Mi" }, limits: { memory: "128Mi" } },
    policy: { memory: { requests: DOWN } },
    bounds: { memory: { requests: { min: "8Mi" } } },
    play: playLeast,
  },
  metered: {
    use: { memoryMiB: 100, requests: { memory: "32Mi" }, limits: { memory: "128Mi" } },
    policy: { memory: { requests: UP } },
    bounds: { memory: { requests: { max: "120Mi" } } },
    play: playMetered,
  },
};

/**
 * Its bound is hardly more than a node of two cores has: the sample in which its load falls would else want a size between
 * the two, smaller and refused as well.
 */
const HUGE: Case = {
  use: { cpuMillicores: 150, memoryMiB: 60, requests: { cpu: "10m", memory: "32Mi" }, limits: { memory: "128Mi" } },
  policy: { cpu: { requests: BARELY }, memory: { requests: UP } },
  bounds: { cpu: { requests: { max: "2050m" } }, memory: { requests: { max: "48Mi" } } },
  play: playHuge,
};

interface Case {
  readonly use: LoadContainer;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly bounds: Readonly<Record<string, unknown>>;
  readonly play: Story;
}

const REQUESTED_MI = 32 + 64 + 32;
/** The 88Mi more that "metered" wants are too much. */
const HEADROOM_MI = 60;

scenario("C44 C50 C52 C53 a refusal is told once under its cause, counted, and tried again when it may be", {
  needs: { images: "load", kubelet: "signed", pods: 3 },
  async run({ namespace }) {
    const cases = Object.entries(CASES);
    await applyManifests(namespace, cases.map(([name, { use }]) => pod(name, { containers: [use] })));
    await Promise.all(cases.map(([name]) => waitForRun({ namespace, name })));
    // Only now: what is created under them would be refused or changed.
    await applyManifests(namespace, [
      limitRange("sizes", { type: "Container", min: { memory: "16Mi" }, max: { memory: "128Mi" } }),
      quota("memory", { "requests.memory": `${REQUESTED_MI + HEADROOM_MI}Mi` }),
      ...cases.map(([name, one]) => newAutoscaler(name, one)),
    ]);
    await waitForQuota(namespace, "memory", { "requests.memory": `${REQUESTED_MI}Mi` });
    await using stack = new AsyncDisposableStack();
    const stories = Object.fromEntries(cases.map(([name, { play }]) => [name, play]));
    // Who sees limit ranges and quotas is not refused for them (L32).
    const account = stack.use(await createAccount(namespace, (text) => without(text, LIMITS)));
    const podfit = await playTogether(stories, { namespace, stack, args: account.args });

    // Refused PATCHes: "most" 2 and "least" 3 times, "metered" once.
    await assertRefused(podfit, { namespace, times: { LimitRange: 5, Quota: 1 } });
    for (const [name] of cases) assertEquals((await readRun({ namespace, name })).restartCount, 0);
    await podfit.stop();
  },
});

scenario("C44 C50 C52 C53 what is too much for the node is refused for cpu alone, and a smaller size goes at once", {
  // The sample in which the load falls may want most of the node. Before 1.36 the kubelet alone looks at the node's capacity.
  needs: { images: "load", kubelet: "signed", pods: 1, freeMillicores: 1500, sinceMinor: "1.36" },
  async run({ namespace }) {
    const huge = { namespace, name: "huge" };
    await applyManifests(namespace, [pod("huge", { containers: [HUGE.use] })]);
    await waitForRun(huge);
    await applyManifests(namespace, [newAutoscaler("huge", HUGE)]);
    await using stack = new AsyncDisposableStack();
    const podfit = await playTogether({ huge: HUGE.play }, { namespace, stack });
    await assertRefused(podfit, { namespace, times: { NodeCapacity: 2 } });
    assertEquals((await readRun(huge)).restartCount, 0);
    await podfit.stop();
  },
});

interface Refused {
  readonly namespace: string;
  /** By cause; no other cause refused anything. */
  readonly times: Readonly<Record<string, number>>;
}

async function assertRefused(podfit: Podfit, { namespace, times }: Refused): Promise<void> {
  const samples = await podfit.metrics();
  const counted = ["LimitRange", "Quota", "NodeCapacity"].map((reason) => {
    return [reason, readSum(samples, "error_total", { namespace, reason }) ?? 0];
  });
  assertEquals(Object.fromEntries(counted), { LimitRange: 0, Quota: 0, NodeCapacity: 0, ...times });
}

/** A changed autoscaler may go at once, within the wait of a refused size. */
async function playMost({ podfit, pod, recorder }: Stage): Promise<void> {
  const attempts = await waitForAttempts(podfit, pod, { count: 2 });
  assertWaited(attempts, 30_000);
  const { policy = {} } = CASES.most ?? {};
  await applyManifests(pod.namespace, [
    newAutoscaler("most", { policy, bounds: { memory: { limits: { max: "124Mi" } } } }),
  ]);
  assertEquals(await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes > 120 * MI }), 124 * MI);
  const [, second = NaN, third = NaN] = readAttempts(podfit, pod);
  assert(third - second < 55_000, `a changed autoscaler waited ${third - second} ms`);
  await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  const words = "maximum memory usage per Container is 128Mi, but limit is 160Mi";
  await assertNotices(pod, [
    ["ScaleFailed", "Warning", 1, "(LimitRange)", words, "wanted memory.limits 120Mi -> 160Mi"],
    ["ScaleUp", "Normal", 1, "memory.limits 120Mi -> 124Mi"],
  ]);
}

/** Left alone, a refused size waits 30 s, then 60 s. */
async function playLeast({ podfit, pod, recorder }: Stage): Promise<void> {
  const attempts = await waitForAttempts(podfit, pod, { count: 3, timeoutMs: 150_000 });
  assertWaited(attempts, 30_000);
  assertWaited(attempts.slice(1), 60_000);
  assertEquals(await recorder.patches(), []);
  const words = "minimum memory usage per Container is 16Mi, but request is 8Mi";
  await assertNotices(pod, [
    ["ScaleFailed", "Warning", 1, "(LimitRange)", words, "wanted memory.requests 64Mi -> 8Mi"],
  ]);
  const self = { namespace: pod.namespace, name: pod.name };
  await assertCountedBlocked(podfit, pod, { reason: "LimitRange", refused: attempts.length });
  const samples = await podfit.metrics();
  const side = { resource: "memory", side: "requests", direction: "down" };
  const decided = readSum(samples, "scale_decisions_total", { ...self, ...side }) ?? 0;
  assert(decided > attempts.length, `${decided} decisions`);
  assertEquals(readSum(samples, "time_to_apply_seconds_count", self), null);
  const { status } = await waitForConditions(self, {
    Ready: { status: "True", reason: "Valid" },
    Active: { status: "True" },
    Scaling: { status: "False", reason: "Idle" },
  });
  assertEquals(status?.lastScaleTime, undefined);
}

/** A raised quota is no change of the pod: it is seen at the next try. */
async function playMetered({ podfit, pod, recorder }: Stage): Promise<void> {
  await waitForAttempts(podfit, pod, { count: 1 });
  await applyManifests(pod.namespace, [quota("memory", { "requests.memory": "1Gi" })]);
  assertEquals(await waitForActual(pod, "memory.requests", { fits: (bytes) => bytes > 32 * MI }), 120 * MI);
  const attempts = readAttempts(podfit, pod);
  assertEquals(attempts.length, 2);
  assertWaited(attempts, 30_000);
  await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  const words = "exceeded quota: memory, requested: requests.memory=88Mi";
  await assertNotices(pod, [
    ["ScaleFailed", "Warning", 1, "(Quota)", words, "wanted memory.requests 32Mi -> 120Mi"],
    ["ScaleUp", "Normal", 1, "memory.requests 32Mi -> 120Mi"],
  ]);
}

/** The refusal names cpu: memory moves on its own, and a smaller cpu size goes at once. */
async function playHuge({ podfit, pod, recorder }: Stage): Promise<void> {
  assertEquals(await waitForActual(pod, "memory.requests", { fits: (bytes) => bytes > 32 * MI }), 48 * MI);
  const [first] = readAttempts(podfit, pod);
  const attempts = await waitForAttempts(podfit, pod, { count: 3 });
  assertWaited([first, attempts[2]], 30_000);
  await setLoad(pod, { cpuMillicores: 10 });
  const size = await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores > 10 });
  assert(size < 2000, `a request of ${size}m`);
  const [, , second = NaN, smaller = NaN] = readAttempts(podfit, pod);
  assert(smaller - second < 55_000, `a smaller size waited ${smaller - second} ms`);
  const patches = await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  assertEquals(patches.map(({ changes }) => changes.map(({ key }) => key)), [["memory.requests"], ["cpu.requests"]]);
  const words = "node didn't have enough allocatable resources: cpu, requested: 2050, allocatable: ";
  const wanted = "wanted cpu.requests 10m -> 2050m, memory.requests 32Mi -> 48Mi";
  await assertNotices(pod, [
    ["ScaleFailed", "Warning", 1, "(NodeCapacity)", words, wanted],
    ["ScaleUp", "Normal", 1, "memory.requests 32Mi -> 48Mi"],
    ["ScaleUp", "Normal", 1, `cpu.requests 10m -> ${size}m`],
  ]);
}

function newAutoscaler(name: string, { policy, bounds }: Pick<Case, "policy" | "bounds">) {
  const selector = { matchLabels: { app: name } };
  return autoscaler(name, { selector, containerName: "main", policy: { ...TIMES, ...policy }, bounds });
}
