/**
 * OOM kills on a real kubelet (L10 to L13): the limit goes up on the change that shows the container running again, reaches the
 * pod's cgroup too, and where it cannot, people are told to delete the pod. What a smaller size would restart is left alone (L6).
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { assertAccountsAgree } from "./support/accounts.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, type PodRef, readEvents, readLimits, readPod, setLoad, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { readActualSize } from "./support/patches.ts";
import { readRun, type Run, waitForActual, waitForRun } from "./support/pods.ts";
import { playTogether, type Stage, type Story } from "./support/stories.ts";
import { autoscaler, pod, type PodOptions } from "./support/workloads.ts";

const MI = 1024 ** 2;
/** Nothing of it lets a streak or a cooldown pass in time: what moves is an answer to a kill. */
const TIMES = { pollInterval: "5s", consecutiveSamples: 60, cooldown: "1h", delay: "1h" };
const SIDE = { scaleUpThreshold: 90, scaleDownThreshold: 30, targetUtilization: 60 };
const MANAGED = { memory: { requests: { ...SIDE, scaleUpThreshold: 100 }, limits: SIDE } };
const SMALL = { requests: { memory: "16Mi" }, limits: { memory: "64Mi" } };

interface Case {
  readonly pod: PodOptions;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly play: Story;
}

const CASES: Readonly<Record<string, Case>> = {
  raised: { pod: { containers: [SMALL] }, policy: MANAGED, play: (stage) => playRaised(stage, 164) },
  beside: {
    pod: { containers: [SMALL, { name: "side", port: 8081, limits: { memory: "32Mi" } }] },
    policy: MANAGED,
    play: (stage) => playRaised(stage, 164),
  },
  unmanaged: { pod: { containers: [SMALL] }, policy: { cpu: { requests: SIDE } }, play: playUnmanaged },
  renewing: {
    pod: {
      containers: [{
        memoryMiB: 20,
        ...SMALL,
        fields: { resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] },
      }],
    },
    policy: {
      memory: { limits: { ...SIDE, scaleDownThreshold: 60 } },
      consecutiveSamples: 1,
      cooldown: "5s",
      delay: "0s",
      scaleDown: { window: "0s" },
    },
    play: playRenewing,
  },
};

scenario("L6 L10 L11 L13 the limit follows an OOM kill at once, and a kill that has no answer is told", {
  needs: { images: "load", kubelet: "signed", pods: 4, freeMillicores: 100 },
  async run({ namespace }) {
    const cases = Object.entries(CASES);
    await applyManifests(namespace, cases.map(([name, one]) => pod(name, one.pod)));
    await Promise.all(cases.map(([name]) => waitForRun({ namespace, name })));
    await applyManifests(
      namespace,
      cases.map(([name, { policy }]) => {
        const selector = { matchLabels: { app: name } };
        return autoscaler(name, { selector, containerName: "main", policy: { ...TIMES, ...policy } });
      }),
    );
    await using stack = new AsyncDisposableStack();
    const stories = Object.fromEntries(cases.map(([name, { play }]) => [name, play]));
    const podfit = await playTogether(stories, { namespace, stack });
    await podfit.stop();
  },
});

/** Grows beyond the limit, is killed, and has the room once it runs again. */
async function playRaised({ podfit, pod, recorder }: Stage, limitMi: number): Promise<void> {
  await podfit.waitForEvaluations({ namespace: pod.namespace, name: pod.name }, { count: 2 });
  const { startedAt } = await kill(pod, 120);
  const ranAt = Date.parse(startedAt ?? "");
  await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes === limitMi * MI, timeoutMs: 20_000 });
  const [patch, ...more] = await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  assertEquals(more, [], "one answer for one kill");
  // Whole seconds; a poll of the node comes each 5 s.
  const waitedMs = (patch?.seenAt ?? NaN) - ranAt;
  assert(waitedMs < 4000, `${waitedMs} ms after the restart`);
  const size = readActualSize(await readPod(pod), "main");
  assertEquals([size?.["memory.requests"], size?.["memory.limits"]], [41 * MI, limitMi * MI]);
  // The pod's own cgroup has room for it, too.
  const run = await readRun(pod);
  await setLoad(pod, { memoryMiB: 120 });
  assertEquals((await readLimits(pod)).memoryBytes, limitMi * MI);
  assertEquals(await readRun(pod), run);
  assertStringIncludes((await readOwnEvents(pod, "ScaleUp"))[0]?.message ?? "", "OOM-killed at a memory limit of 64Mi");
}

async function playUnmanaged({ podfit, pod, recorder }: Stage): Promise<void> {
  await podfit.waitForEvaluations({ namespace: pod.namespace, name: pod.name }, { count: 2 });
  await kill(pod, 120);
  const event = await waitFor("the event of the kill", async () => (await readOwnEvents(pod, "OOMKilled"))[0], {
    timeoutMs: 20_000,
  });
  assertStringIncludes(event.message, "OOM-killed at a memory limit of 64Mi: the limit is not managed");
  assertEquals(await recorder.patches(), []);
}

/** Usage is far below the limit for as long as it takes to say so; up is allowed. */
async function playRenewing({ pod, recorder }: Stage): Promise<void> {
  const event = await waitFor("the event of the restart that is not made", async () => {
    return (await readOwnEvents(pod, "ResizeMayRestart"))[0];
  }, { timeoutMs: 60_000 });
  assertStringIncludes(event.message, "RestartRequired");
  assertEquals((await recorder.patches()).length, 0);
  assertEquals((await readRun(pod)).restartCount, 0);
}

/** Makes the container use more than its limit, and waits for its next run. */
async function kill(pod: PodRef, memoryMiB: number): Promise<Run> {
  const before = await readRun(pod);
  // The answer is cut off with the process.
  await setLoad(pod, { memoryMiB }).catch(() => {});
  return await waitFor(`the next run of pod "${pod.name}"`, async () => {
    const run = await readRun(pod);
    return run.startedAt !== null && run.containerID !== before.containerID && run;
  }, { timeoutMs: 60_000 });
}

function readOwnEvents({ namespace, name }: PodRef, reason: string) {
  return readEvents(namespace, { about: name, reason: `PodResourceAutoscaler${reason}` });
}

scenario("L11 a resize reaches the pod's cgroup where its container runs, and nowhere else", {
  // It reads the pod's own size in `status.resources`.
  needs: { images: "load", kubelet: "signed", pods: 2, sinceMinor: "1.36" },
  async run({ namespace }) {
    const busy = { memoryMiB: 100, ...SMALL };
    await applyManifests(namespace, [pod("dead", { containers: [busy] }), pod("alive", { containers: [SMALL] })]);
    const [dead, alive] = [{ namespace, name: "dead" }, { namespace, name: "alive" }];
    await Promise.all([playDead(dead), playAlive(alive)]);
  },
});

/** Resized in back-off: told as done, and the pod's cgroup is as it was. */
async function playDead(ref: PodRef): Promise<void> {
  await waitFor("a second kill", async () => {
    const { restartCount, startedAt } = await readRun(ref);
    return restartCount >= 1 && startedAt === null;
  }, { timeoutMs: 60_000, everyMs: 200 });
  await resize(ref, 160);
  await waitForActual(ref, "memory.limits", { fits: (bytes) => bytes === 160 * MI, timeoutMs: 20_000 });
  assertEquals(await readPodLimit(ref), "64Mi");
}

/** Resized as soon as it is seen to run again. */
async function playAlive(ref: PodRef): Promise<void> {
  await waitForRun(ref);
  await kill(ref, 100);
  await resize(ref, 160);
  await waitForActual(ref, "memory.limits", { fits: (bytes) => bytes === 160 * MI, timeoutMs: 20_000 });
  assertEquals(await readPodLimit(ref), "160Mi");
  const run = await readRun(ref);
  await setLoad(ref, { memoryMiB: 100 });
  assertEquals(await readRun(ref), run);
}

async function resize({ namespace, name }: PodRef, limitMi: number): Promise<void> {
  const patch = { spec: { containers: [{ name: "main", resources: { limits: { memory: `${limitMi}Mi` } } }] } };
  await backend().patch({ kind: "Pod", namespace, name }, { type: "strategic", subresource: "resize", patch });
}

/** What the kubelet reads back from the pod's cgroup. */
async function readPodLimit(ref: PodRef): Promise<string | undefined> {
  const { status } = await readPod(ref) as { readonly status: { readonly resources?: ResourceLists } };
  return status.resources?.limits?.["memory"];
}

interface ResourceLists {
  readonly limits?: Readonly<Record<string, string>>;
}
