/**
 * podfit keeps no state of its own: killed right after a resize and started again it still knows the cooldown, and two
 * at the same time never resize twice for one cause (C40, C42).
 */
import { assert, assertEquals } from "@std/assert";
import { quickSpec, waitForLastChange } from "./support/autoscalers.ts";
import { applyManifests, patchObject, waitFor, waitForPods } from "./support/cluster.ts";
import { sumOf } from "./support/metrics.ts";
import { scenario } from "./support/needs.ts";
import { type Patch, recordPod } from "./support/patches.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { autoscaler, pod } from "./support/workloads.ts";

const COOLDOWN_MS = 40_000;
/** managedFields have whole seconds, cut off; the rest is how late a watch may tell of the first step. */
const COOLDOWN_SLACK_MS = 2_000;

scenario("C42 podfit killed right after a resize keeps the cooldown when it is back, then goes on", {
  needs: { images: "load", pods: 1, freeMillicores: 100 },
  async run({ namespace }) {
    await applyManifests(namespace, [
      pod("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }] }),
      autoscaler("web", climbing({ app: "web" })),
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
    await second.waitForLog("Blocked", (line) => line.reason === "Cooldown", { timeoutMs: COOLDOWN_MS });
    const after = await waitFor("the second resize", async () => {
      const patches = await recorder.patches();
      return patches.length > 1 ? patches : null;
    }, { timeoutMs: 90_000 });
    assertEquals(readSteps(after), [[10, 15], [15, 20]]);
    assertCooldown(after);
    const { status } = await waitForLastChange({ namespace, name: "web" }, "cpu.requests 15m -> 20m");
    assertEquals(status?.scaling, true);
    await second.stop();
  },
});

scenario("C40 two podfits that see the same cause at the same moment resize once", {
  needs: { images: "load", pods: 3, freeMillicores: 100 },
  async run({ namespace }) {
    const names = ["one", "two", "three"];
    // The gate is opened by hand: both hear of it from the watch, and both have been wanting to resize.
    const fields = { readinessGates: [{ conditionType: GATE }] };
    const containers = [{ requests: { cpu: "10m" }, cpuMillicores: 60 }];
    await applyManifests(namespace, [
      ...names.map((name) => pod(name, { containers, fields, labels: { app: "web" } })),
      autoscaler("web", climbing({ app: "web" }, { after: "podReady" })),
    ]);
    await using stack = new AsyncDisposableStack();
    const podfits = await Promise.all([1, 2].map(() => startPodfit({ namespaces: [namespace] })));
    for (const podfit of podfits) stack.use(podfit);
    const recorders = await Promise.all(names.map((name) => recordPod({ namespace, name })));
    for (const recorder of recorders) stack.use(recorder);
    for (const podfit of podfits) {
      for (const name of names) {
        const isWaiting = ({ pod, reason }: Readonly<Record<string, unknown>>) => pod === name && reason === "NotReady";
        await podfit.waitForLog("Blocked", isWaiting, { timeoutMs: 90_000 });
      }
    }
    await Promise.all(names.map((name) => openGate(namespace, name)));

    const countAll = async () => (await Promise.all(recorders.map((each) => each.patches()))).flat().length;
    await waitFor("a second resize of each", async () => {
      const counts = await Promise.all(recorders.map((each) => each.patches()));
      return counts.every((patches) => patches.length >= 2);
    }, { timeoutMs: 150_000 });
    for (const recorder of recorders) {
      const patches = await recorder.patches();
      assertEquals(readSteps(patches).slice(0, 2), [[10, 15], [15, 20]]);
      assertCooldown(patches);
    }
    // What one of them took for done, the other did not count too.
    await waitFor("as many counted as done", async () => {
      const counts = await Promise.all(podfits.map(readUpdates));
      return counts.reduce((sum, count) => sum + count, 0) === await countAll();
    }, { timeoutMs: 5_000 });
    await Promise.all(podfits.map((podfit) => podfit.stop()));
  },
});

const GATE = "example.com/open";

/** Every resize is one step of 5m, and there are always more to take. */
function climbing(matchLabels: Readonly<Record<string, string>>, options: { readonly after?: "podReady" } = {}) {
  return quickSpec({ selector: { matchLabels } }, { cooldown: `${COOLDOWN_MS / 1000}s`, step: "5m", ...options });
}

async function openGate(namespace: string, name: string): Promise<void> {
  const patch = { status: { conditions: [{ type: GATE, status: "True" }] } };
  await patchObject({ namespace, object: `Pod/${name}` }, patch, { type: "strategic", subresource: "status" });
}

function readSteps(patches: readonly Patch[]): readonly (readonly [number | null, number | null])[] {
  return patches.map(({ changes }) => {
    assertEquals(changes.map(({ container, key }) => [container, key]), [["main", "cpu.requests"]]);
    return [changes[0]?.from ?? null, changes[0]?.to ?? null];
  });
}

function assertCooldown(patches: readonly Patch[]): void {
  const gaps = patches.slice(1).map(({ seenAt }, index) => seenAt - (patches[index]?.seenAt ?? 0));
  const shortest = Math.min(...gaps);
  assert(shortest >= COOLDOWN_MS - COOLDOWN_SLACK_MS, `two resizes only ${shortest} ms apart`);
}

async function readUpdates(podfit: Podfit): Promise<number> {
  return sumOf(await podfit.metrics(), "kedify_agent_pra_resource_updates") ?? 0;
}
