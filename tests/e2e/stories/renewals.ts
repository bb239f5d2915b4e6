/**
 * resizePolicy RestartContainer (C43): announced before the PATCH, once per action; the new run begins a new delay, warm-up
 * and streaks, while the cooldown runs on from the PATCH.
 */
import { assert, assertEquals } from "#assert";
import { assertAccountsAgree } from "../support/accounts.ts";
import { waitFor } from "../support/cluster.ts";
import { readRun, waitForActual } from "../support/pods.ts";
import type { Stage } from "../support/stories.ts";
import { assertNotices } from "../support/notices.ts";

const MI = 1024 ** 2;

export interface RenewedOptions {
  readonly cooldownMs: number;
  readonly delayMs: number;
}

/** It takes two steps, with a restart for each. The old run ends slowly, so that times from the PATCH and from the new run differ. */
export async function playRenewed(
  { podfit, pod, recorder }: Stage,
  { cooldownMs, delayMs }: RenewedOptions,
): Promise<void> {
  const run = await waitFor("the first restart", async () => {
    const run = await readRun(pod);
    return run.restartCount === 1 && run.startedAt !== null && run;
  }, { timeoutMs: 120_000 });
  const ranAt = Date.parse(run.startedAt ?? "");
  const [first] = await recorder.patches();
  const patchedAt = first?.seenAt ?? NaN;
  assert(ranAt - patchedAt > 2000, `restarted ${ranAt - patchedAt} ms after the PATCH: too soon to tell them apart`);
  await waitForActual(pod, "memory.requests", { fits: (bytes) => bytes === 96 * MI, timeoutMs: delayMs + 60_000 });
  await waitFor("the second restart", async () => {
    const { restartCount, startedAt } = await readRun(pod);
    return restartCount === 2 && startedAt !== null;
  });
  const patches = await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  const secondAt = patches[1]?.seenAt ?? NaN;
  assert(secondAt - ranAt >= delayMs, `resized ${secondAt - ranAt} ms after the restart, in its delay`);

  const decided = podfit.decisions({ pod }).filter(({ at, reason }) => at > ranAt && at < secondAt && reason !== null);
  const reasons = decided.map(({ reason }) => reason);
  const order = reasons.filter((reason, index) => reason !== "NotRunning" && reason !== reasons[index - 1]);
  assertEquals(order, ["Warmup", "StreakShort", "Cooldown", "Delay"]);
  // The delay holds the resize only from when the cooldown no longer does.
  const cooldownEndedBy = decided.find(({ reason }) => reason === "Delay")?.at ?? NaN;
  const cooledAt = decided.findLast(({ reason }) => reason === "Cooldown")?.at ?? NaN;
  assert(cooledAt < patchedAt + cooldownMs + 1500, `in cooldown ${cooledAt - patchedAt} ms after the PATCH`);
  assert(
    cooldownEndedBy > patchedAt + cooldownMs - 1500,
    `no longer in cooldown ${cooldownEndedBy - patchedAt} ms after the PATCH`,
  );
  const logged = podfit.log().filter(({ message, reason, autoscaler }) => {
    return autoscaler === `${pod.namespace}/${pod.name}` &&
      (reason === "ResizeMayRestart" || message === "Resized pod");
  });
  assertEquals(logged.map(({ message }) => message), ["Notice", "Resized pod", "Notice", "Resized pod"]);
  await assertNotices(pod, [
    ["ResizeMayRestart", "Warning", 1, "(resizePolicy RestartContainer): memory.requests 64Mi -> 80Mi"],
    ["ScaleUp", "Normal", 1, "memory.requests 64Mi -> 80Mi"],
    ["ResizeMayRestart", "Warning", 1, "(resizePolicy RestartContainer): memory.requests 80Mi -> 96Mi"],
    ["ScaleUp", "Normal", 1, "memory.requests 80Mi -> 96Mi"],
  ]);
}

/** The policy is about memory: cpu moves without a restart, and nothing announces one. */
export async function playSpared({ podfit, pod, recorder }: Stage): Promise<void> {
  await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores === 30 });
  await assertAccountsAgree(podfit, { autoscaler: pod.name, pod, recorder });
  await assertNotices(pod, [["ScaleUp", "Normal", 1, "cpu.requests 10m -> 30m"]]);
  assertEquals((await readRun(pod)).restartCount, 0);
}
