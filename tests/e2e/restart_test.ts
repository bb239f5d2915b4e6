/** podfit keeps no state of its own: killed right after a resize and started again it still knows the cooldown (C42). */
import { assertEquals } from "#assert";
import { waitForLastChange } from "./support/autoscalers.ts";
import { applyManifests, waitFor, waitForPods } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { assertCooldown, climbing, readSteps } from "./support/steps.ts";
import { waitForBlocked } from "./support/blocks.ts";
import { autoscaler, pod } from "./support/workloads.ts";

const COOLDOWN_MS = 40_000;

scenario("C42 podfit killed right after a resize keeps the cooldown when it is back, then goes on", {
  needs: { images: "load", pods: 1, freeMillicores: 100 },
  async run({ namespace }) {
    await applyManifests(namespace, [
      pod("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }] }),
      autoscaler("web", climbing({ app: "web" }, { cooldownMs: COOLDOWN_MS })),
    ]);
    await waitForPods(namespace, "app=web");
    await using recorder = await recordPod({ namespace, name: "web" });
    await using first = await startPodfit({ namespaces: [namespace] });
    await waitFor("the first resize", async () => (await recorder.patches()).length > 0, { everyMs: 20 });
    await first.kill();
    const before = await recorder.patches();
    assertEquals(before.length, 1);

    await using second = await startPodfit({ namespaces: [namespace] });
    // It wants to, so it is the cooldown alone that holds it back.
    await waitForBlocked(second, { namespace, name: "web", reason: "Cooldown", timeoutMs: COOLDOWN_MS });
    const after = await waitFor("the second resize", async () => {
      const patches = await recorder.patches();
      return patches.length > 1 ? patches : null;
    }, { timeoutMs: 90_000 });
    assertEquals(readSteps(after), [[10, 15], [15, 20]]);
    assertCooldown(after, COOLDOWN_MS);
    const { status } = await waitForLastChange({ namespace, name: "web" }, "cpu.requests 15m -> 20m");
    assertEquals(status?.scaling, true);
    await second.stop();
  },
});
