/**
 * Containers that end by themselves (C22, C23, C46): nothing is sent for one that does not run, and what a run used
 * says nothing about the next one.
 */
import { assert, assertEquals } from "#assert";
import { assertAccountsAgree } from "../support/accounts.ts";
import { backend } from "../support/backend.ts";
import { type PodRef, readEvents, readLimits, readPod, setLoad, waitFor } from "../support/cluster.ts";
import { readRun, type Run, waitForActual, waitForRun } from "../support/pods.ts";
import type { Stage } from "../support/stories.ts";

const MI = 1024 ** 2;
/** The first restart is at once, the next ones after 10 s and 20 s. */
const CRASHES = 3;

export interface CrashingOptions {
  readonly container: string;
  readonly port: number;
}

/** Climbs while it runs, waits while it does not, and begins anew with what the new run uses. */
export async function playCrashing(
  { podfit, pod, recorder }: Stage,
  { container, port }: CrashingOptions,
): Promise<void> {
  await waitFor("the first resize", async () => (await recorder.patches()).length > 0, { timeoutMs: 90_000 });
  for (let crash = 1; crash <= CRASHES; crash++) await kill({ ...pod, port }, container);
  const stoppedAt = backend().clock.now();
  const before = (await recorder.patches()).length;
  const { startedAt } = await waitForRun(pod, container);
  const ranAt = Date.parse(startedAt ?? "");
  assert(ranAt - stoppedAt > 10_000, `a back-off of ${ranAt - stoppedAt} ms only`);
  const decided = () => podfit.decisions({ pod }).filter(({ reason }) => reason !== null);
  // Whole seconds: the last decision may be of the run's beginning.
  const meanwhile = decided().filter(({ at }) => at > stoppedAt + 2000 && at < ranAt);
  assertEquals(new Set(meanwhile.map(({ reason }) => reason)), new Set(["NotRunning"]));

  const resumed = await waitFor("a resize of the new run", async () => {
    return (await recorder.patches())[before] ?? null;
  }, { timeoutMs: 90_000 });
  assert(resumed.seenAt > ranAt, "resized while it did not run");
  const reasons = decided().filter(({ at }) => at >= ranAt && at < resumed.seenAt).map(({ reason }) => reason);
  assert(reasons.includes("Warmup"), `no warm-up in ${reasons.join()}`);
  // The zeros of a container that has just exited would have scaled it down at once.
  for (const { changes } of await recorder.patches()) {
    assertEquals(changes.map(({ key }) => key), ["cpu.requests"]);
    assert((changes[0]?.to ?? 0) > (changes[0]?.from ?? 0), JSON.stringify(changes));
  }
  assertEquals((await readRun(pod, container)).restartCount, CRASHES);
  await assertAccountsAgree(podfit, { autoscaler: pod.name, container, pod, recorder });
}

/**
 * It is killed before its usage is ever read: what answers the kill reaches the pod's cgroup while a run of it lives, or else
 * people are told that only a new pod helps (L11, L13). Which of them is a matter of tens of milliseconds.
 */
export async function playDoomed({ podfit, pod, recorder }: Stage): Promise<void> {
  const saved = await waitFor("a run with room, or word that there is none", async () => {
    const { status } = await readPod(pod);
    const main = status.containerStatuses?.find(({ name }) => name === "main");
    const ranAt = Date.parse(main?.state?.running?.startedAt ?? "");
    if (backend().clock.now() - ranAt > 10_000) return "saved";
    const told = await readEvents(pod.namespace, { about: pod.name, reason: "PodResourceAutoscalerOOMKilled" });
    return told.some(({ message }) => message.includes("delete the pod")) && "told";
  }, { timeoutMs: 240_000, everyMs: 1000 });
  const [first, ...more] = await recorder.patches();
  assertEquals(first?.changes.map(({ key, from, to }) => [key, from, to]), [["memory.limits", 32 * MI, 132 * MI]]);
  if (saved === "told") assertEquals(more.length, 3);
  const decisions = podfit.decisions({ pod });
  assert(decisions.some(({ reason }) => reason === "NotRunning"), JSON.stringify(decisions));
}

/** Another container of the pod is in back-off: the one that runs is resized all the same, and the pod with it. */
export async function playBeside({ podfit, pod, recorder }: Stage): Promise<void> {
  await waitFor("the other container to be in back-off", async () => {
    const { restartCount, startedAt } = await readRun(pod, "broken");
    return restartCount > 0 && startedAt === null;
  });
  await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores === 30 });
  await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes === 160 * MI });
  await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  // More than the pod's two limits were together: its own cgroup has grown too.
  await setLoad(pod, { memoryMiB: 130 });
  assertEquals((await readLimits(pod)).memoryBytes, 160 * MI);
  assertEquals((await readRun(pod)).restartCount, 0);
  assert((await readRun(pod, "broken")).restartCount > 0);
}

/** Makes the container use more than its limit, and waits until that run has ended. */
async function kill(pod: PodRef, container: string): Promise<void> {
  const run = await waitForRun(pod, container);
  // The answer is cut off with the process.
  await setLoad(pod, { memoryMiB: 200 }).catch(() => {});
  await waitFor(`container "${container}" to end`, async () => {
    return !isSame(run, await readRun(pod, container));
  }, { timeoutMs: 20_000 });
}

function isSame(a: Run, b: Run): boolean {
  return b.startedAt !== null && a.containerID === b.containerID;
}
