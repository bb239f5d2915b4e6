/**
 * Memory limits below what is in use (C46, C47): podfit asks for none; what somebody else asked for is only reported,
 * and holds everything else of the pod; what became too small on its way is given up.
 */
import { assert, assertEquals } from "#assert";
import { assertAccountsAgree, readSum } from "../support/accounts.ts";
import { backend } from "../support/backend.ts";
import { type PodRef, readLimits, readPod, setLoad, waitFor } from "../support/cluster.ts";
import { readActualSize } from "../support/patches.ts";
import { openGate, waitForActual } from "../support/pods.ts";
import { readResizeConditions, resizeByHand, waitForResizeState, waitForRest } from "../support/resizes.ts";
import type { Stage } from "../support/stories.ts";
import { assertCountedBlocked, isBlocked, readBlocked, waitForBlocked } from "../support/blocks.ts";
import { assertNotices, type ExpectedNotice } from "../support/notices.ts";

const MI = 1024 ** 2;
const PATIENCE_MS = 30_000;
const POLL_MS = 5_000;

/** The resize is somebody else's, and there from the beginning: podfit never gives it up, and a person repairs it. */
export async function playForeign({ podfit, pod, recorder }: Stage): Promise<void> {
  const blocks = { ...toSelf(pod), reason: "ResizeError" };
  await waitForBlocked(podfit, blocks);
  // Long enough for a resize of podfit's own to be given up.
  await backend().clock.sleep(PATIENCE_MS + 10_000);
  await waitForBlocked(podfit, { ...blocks, count: await readBlocked(podfit, blocks) + 1 });
  const [{ lastTransitionTime } = {}] = await readResizeConditions(pod);
  assert(
    backend().clock.now() - Date.parse(lastTransitionTime ?? "") > PATIENCE_MS,
    `in error since ${lastTransitionTime}`,
  );
  assertEquals(await recorder.patches(), []);
  await assertCountedBlocked(podfit, pod, { reason: "ResizeError" });
  await assertNotices(pod, [STUCK]);

  await resizeByHand(pod, { limits: { memory: "256Mi" } });
  await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores === 20 });
  assertEquals((await recorder.patches()).map(({ changes }) => changes), [
    [{ container: "main", key: "memory.limits", from: 64 * MI, to: 256 * MI }],
    [{ container: "main", key: "cpu.requests", from: 10, to: 20 }],
  ]);
  await assertAtRest(pod);
  await waitFor("the time to apply", async () => {
    return readSum(await podfit.metrics(), "time_to_apply_seconds_count", toSelf(pod)) === 1;
  });
  await assertNotices(pod, [STUCK, ["ScaleUp", "Normal", 1, "cpu.requests 10m -> 20m"]]);
}

/** The resize is podfit's own: usage rises between the sample that wants the limit lowered and the PATCH. */
export async function playReturned({ podfit, pod, recorder }: Stage): Promise<void> {
  await waitForBlocked(podfit, { ...toSelf(pod), reason: "NotReady", timeoutMs: 120_000 });
  await setLoad(pod, { memoryMiB: 150 });
  await openGate(pod);
  await waitForResizeState(pod, "Error");
  const failedAt = backend().clock.now();
  const patches = await waitFor("the resize to be given up", async () => {
    const patches = await recorder.patches();
    return patches.length > 1 ? patches : null;
  }, { timeoutMs: 90_000 });
  const reverts = podfit.decisions({ pod }).filter(({ action }) => action === "revert");
  assertEquals(reverts.map(({ reason }) => reason), ["ResizeError"]);
  await waitForRest(pod);
  assertEquals(patches.map(({ changes }) => changes), [
    [{ container: "main", key: "memory.limits", from: 256 * MI, to: 60 * MI }],
    [{ container: "main", key: "memory.limits", from: 60 * MI, to: 256 * MI }],
  ]);
  const waitedMs = (patches[1]?.seenAt ?? NaN) - failedAt;
  // podfit counts from its last look before the error, at most a poll ago; this one looked a second ago.
  const leastMs = PATIENCE_MS - POLL_MS - 1000;
  assert(waitedMs >= leastMs && waitedMs < PATIENCE_MS + 2 * POLL_MS, `waited ${waitedMs} ms, not ${PATIENCE_MS} ms`);
  await assertAtRest(pod);
  const samples = await podfit.metrics();
  assertEquals(readSum(samples, "scale_delta_absolute_count", toSelf(pod)), 1, "a return is no scale action");
  assertEquals(readSum(samples, "time_to_apply_seconds_count", toSelf(pod)), null);
  await assertNotices(pod, [
    ["ScaleDown", "Normal", 1, "memory.limits 256Mi -> 60Mi"],
    STUCK,
    ["ResizePending", "Warning", 1, "Gave up a stuck resize of", "memory.limits 60Mi -> 256Mi"],
  ]);
}

/** A limit that usage leaves no room below is not lowered; once it does, it is. */
export async function playInUse({ podfit, pod, recorder }: Stage): Promise<void> {
  await waitForBlocked(podfit, toSelf(pod));
  const first = podfit.decisions({ pod }).find(isBlocked);
  assertEquals([first?.reason, first?.action], ["MemoryInUse", "scaleDown"]);
  await assertCountedBlocked(podfit, pod, { reason: "MemoryInUse" });
  assertEquals(await recorder.patches(), []);
  await setLoad(pod, { memoryMiB: 20 });
  await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes === 64 * MI });
  await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  await assertNotices(pod, [
    ["ScaleFailed", "Warning", 1, "(MemoryInUse)", "memory.limits is not lowered: "],
    ["ScaleDown", "Normal", 1, "memory.limits 110Mi -> 64Mi"],
  ]);
}

const STUCK: ExpectedNotice = ["ResizePending", "Warning", 1, "(ResizeError)", "below current usage"];

/** The limit that was there before is in force, and reported. */
async function assertAtRest(pod: PodRef): Promise<void> {
  await waitForRest(pod);
  assertEquals(readActualSize(await readPod(pod), "main")?.["memory.limits"], 256 * MI);
  assertEquals((await readLimits(pod)).memoryBytes, 256 * MI);
}

function toSelf({ namespace, name }: PodRef) {
  return { namespace, name };
}
