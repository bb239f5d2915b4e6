/**
 * Resizes that wait for room on their node (C41, C45, C47): enacted when it appears, given up after five minutes, or
 * replaced by a scale-down before.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { assertAccountsAgree, readSum } from "../support/accounts.ts";
import { backend } from "../support/backend.ts";
import { deleteObject, type PodRef, readAutoscaler, readPod, setLoad, waitFor } from "../support/cluster.ts";
import type { Condition } from "../support/objects.ts";
import { readActualSize } from "../support/patches.ts";
import { waitForActual } from "../support/pods.ts";
import type { Podfit } from "../support/podfit.ts";
import { waitForResizeState, waitForRest } from "../support/resizes.ts";
import type { Stage } from "../support/stories.ts";
import { assertWaited } from "../support/attempts.ts";
import { assertCountedBlocked, isBlocked, waitForBlocked } from "../support/blocks.ts";
import { assertNotices } from "../support/notices.ts";

const MI = 1024 ** 2;
const PATIENCE_MS = 5 * 60_000;

/** Room appears: what waits is enacted, and its time to apply counts from the PATCH. */
export async function playEnacted({ podfit, pod, recorder }: Stage): Promise<void> {
  const { message } = await waitForDeferred(pod, 110);
  await waitForDeferredTwice(podfit, pod);
  await assertCountedBlocked(podfit, pod, { reason: "ResizeDeferred" });
  assertEquals(await readActual(pod, "cpu.requests"), 10);
  assertEquals(await readApplied(podfit, pod, "up"), null);

  await deleteObject(pod.namespace, "Pod/blocker");
  const freedAt = backend().clock.now();
  await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores === 110 });
  await waitFor("the time to apply", async () => await readApplied(podfit, pod, "up") === 1, { timeoutMs: 10_000 });
  const enactedAt = backend().clock.now();
  const [patch, ...more] = await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  assertEquals(more, [], "one action, and nothing sent again while it waited");
  const waitedSeconds = (freedAt - (patch?.seenAt ?? NaN)) / 1000;
  const applied = readSum(await podfit.metrics(), "time_to_apply_seconds_sum", { ...toSelf(pod), direction: "up" });
  assert(
    applied !== null && applied > waitedSeconds - 1,
    `${applied} s to apply, after ${waitedSeconds} s without room`,
  );
  // No resize is in flight any more.
  await podfit.waitForEvaluations(toSelf(pod), { count: 2 });
  const later = podfit.decisions({ pod }).filter(({ at }) => at > enactedAt);
  assert(later.some((decision) => !isBlocked(decision)), JSON.stringify(later));
  assertEquals(later.filter(({ reason }) => reason?.startsWith("Resize")), []);
  await assertNotices(pod, [
    ["ScaleUp", "Normal", 1, "cpu.requests 10m -> 110m"],
    ["ResizePending", "Warning", 1, "(ResizeDeferred)", message ?? ""],
  ]);
}

export interface GivenUpOptions {
  /** The size given up is commanded again after this long, */
  readonly thenMs: number;
  /** and this keeps it back until then. */
  readonly reason: "ResizeDeferred" | "Cooldown";
}

/** There is no room for five minutes: podfit goes back to the size in force, says so, and starts the cooldown. */
export async function playGivenUp({ podfit, pod, recorder }: Stage, { thenMs, reason }: GivenUpOptions): Promise<void> {
  const { message, lastTransitionTime } = await waitForDeferred(pod, 310);
  await waitForDeferredTwice(podfit, pod);
  const before = (await readAutoscaler(pod.namespace, pod.name)).status;
  assertEquals([before?.lastScaleAction, before?.lastScaleResourceChange], ["scaleUp", "cpu.requests 10m -> 310m"]);

  const [, given, ...more] = await waitFor("the resize to be given up", async () => {
    const patches = await recorder.patches();
    return patches.length > 1 ? patches : null;
  }, { timeoutMs: PATIENCE_MS + 30_000, everyMs: 1000 });
  assertEquals(more, [], "deferred for five minutes, and nothing else sent");
  const [decided, ...others] = podfit.decisions({ pod }).filter(({ action }) => action === "revert");
  assertEquals([decided?.reason, others], ["ResizeDeferred", []]);
  assertEquals(given?.changes, [{ container: "main", key: "cpu.requests", from: 310, to: 10 }]);
  assertWaited([Date.parse(lastTransitionTime ?? ""), given?.seenAt], PATIENCE_MS);
  await waitForRest(pod);
  const self = toSelf(pod);
  assertEquals(readSum(await podfit.metrics(), "scale_delta_absolute_count", self), 1, "a return is no scale action");
  assertEquals((await readAutoscaler(pod.namespace, pod.name)).status?.lastScaleTime, before?.lastScaleTime);

  const again = await waitFor("the size given up to be commanded again", async () => {
    return (await recorder.patches())[2] ?? null;
  }, { timeoutMs: 120_000, everyMs: 2000 });
  assertEquals(again.changes, [{ container: "main", key: "cpu.requests", from: 10, to: 310 }]);
  const waitedMs = again.seenAt - (given?.seenAt ?? NaN);
  // The first sample after the return may come later than the wait ends.
  assert(waitedMs >= thenMs - 1000 && waitedMs < thenMs + 30_000, `commanded again after ${waitedMs} ms`);
  const words = reason === "Cooldown" ? "of the cooldown are left" : "was given up a while ago";
  const meanwhile = podfit.decisions({ pod }).filter(({ at }) => at > (decided?.at ?? NaN) && at < again.seenAt);
  // A sample may fall into the cooldown after the return, however short that is.
  const kepts = meanwhile.filter(isBlocked);
  const cooling = reason === "Cooldown" ? [] : kepts.filter((kept) => kept.reason === "Cooldown");
  assert(cooling.length <= 1, "the cooldown is over by the second sample");
  for (const kept of kepts.filter((one) => !cooling.includes(one))) {
    assertEquals(kept.reason, reason);
    assertStringIncludes(kept.why ?? "", words);
  }
  const { message: anew } = await waitForDeferred(pod, 310);
  assertEquals(await readActual(pod, "cpu.requests"), 10);
  assertEquals(await readApplied(podfit, pod, "up"), null);
  assertEquals(await readApplied(podfit, pod, "down"), null);
  await assertCountedBlocked(podfit, pod, { reason: "ResizeDeferred" });
  await assertNotices(pod, [
    ["ScaleUp", "Normal", 1, "cpu.requests 10m -> 310m"],
    ["ResizePending", "Warning", 1, "(ResizeDeferred)", message ?? ""],
    ["ResizePending", "Warning", 1, "Gave up a stuck resize of", "cpu.requests 310m -> 10m"],
    ["ScaleUp", "Normal", 1, "cpu.requests 10m -> 310m"],
    ["ResizePending", "Warning", 1, "(ResizeDeferred)", anew ?? ""],
  ]);
}

/** A scale-down frees room: it replaces what waits, and gives up the container's other side with it. */
export async function playReplaced({ podfit, pod, recorder }: Stage): Promise<void> {
  const { message } = await waitForDeferred(pod, 210);
  const [first] = await recorder.patches();
  assertEquals(first?.changes, [
    { container: "main", key: "cpu.requests", from: 20, to: 210 },
    { container: "main", key: "memory.requests", from: 32 * MI, to: 64 * MI },
  ]);
  assertEquals(await readActual(pod, "memory.requests"), 32 * MI, "all or nothing");
  await setLoad(pod, { cpuMillicores: 0, memoryMiB: 15 });
  await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores < 20 });
  const patches = await recorder.patches();
  const size = patches[1]?.changes[0]?.to ?? NaN;
  assertEquals(patches.slice(1).map(({ changes }) => changes), [[
    { container: "main", key: "cpu.requests", from: 210, to: size },
    { container: "main", key: "memory.requests", from: 64 * MI, to: 32 * MI },
  ]]);
  await waitForRest(pod);
  await waitFor("the scale-down's time to apply", async () => await readApplied(podfit, pod, "down") === 1);
  assertEquals(await readApplied(podfit, pod, "up"), null, "replaced, never enacted");
  const self = toSelf(pod);
  assertEquals(readSum(await podfit.metrics(), "scale_delta_absolute_count", { ...self, direction: "down" }), 1);
  const lines = podfit.log("Resized pod").filter((line) => line.pod === pod.name);
  assertEquals(lines.map(({ action, change }) => [action, change]), [
    ["scaleUp", "cpu.requests 20m -> 210m, memory.requests 32Mi -> 64Mi"],
    ["scaleDown", `cpu.requests 20m -> ${size}m`],
  ]);
  await assertNotices(pod, [
    ["ScaleUp", "Normal", 1, "cpu.requests 20m -> 210m"],
    ["ResizePending", "Warning", 1, "(ResizeDeferred)", message ?? ""],
    ["ScaleDown", "Normal", 1, `cpu.requests 20m -> ${size}m`],
  ]);
}

async function waitForDeferred(pod: PodRef, millicores: number): Promise<Condition> {
  const condition = await waitForResizeState(pod, "Deferred");
  const { type, message = "" } = condition;
  assertEquals(type, "PodResizePending");
  assertMatch(message, new RegExp(`Node didn't have enough resource: cpu, requested: ${millicores}, used: \\d+,`));
  return condition;
}

/** Two new samples are blocked by the resize that waits, and both wanted more. */
async function waitForDeferredTwice(podfit: Podfit, pod: PodRef): Promise<void> {
  const reason = "ResizeDeferred";
  await waitForBlocked(podfit, { ...toSelf(pod), reason, count: 2, timeoutMs: 120_000, everyMs: 1000 });
  const blocked = podfit.decisions({ pod }).filter((decision) => isBlocked(decision) && decision.reason === reason);
  assertEquals(blocked.filter(({ action }) => action !== "scaleUp"), []);
}

async function readActual(pod: PodRef, key: "cpu.requests" | "memory.requests"): Promise<number | null> {
  return readActualSize(await readPod(pod), "main")?.[key] ?? null;
}

async function readApplied(podfit: Podfit, pod: PodRef, direction: "up" | "down"): Promise<number | null> {
  return readSum(await podfit.metrics(), "time_to_apply_seconds_count", { ...toSelf(pod), direction });
}

function toSelf({ namespace, name }: PodRef) {
  return { namespace, name };
}
