/**
 * Every way to name pods on a real cluster: a StatefulSet, a DaemonSet, a selector, and a native sidecar as container;
 * each resized once, by its own autoscaler, and the selector shown (C2, C10, C15, C40).
 */
import { assertEquals } from "#assert";
import { quickSpec, waitForConditions, waitForLastChange } from "./support/autoscalers.ts";
import { applyManifests, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { readActualSize, readSpecSize, recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, daemonSet, deployment, type Manifest, pod, statefulSet } from "./support/workloads.ts";

const LOADED = { requests: { cpu: "10m" }, cpuMillicores: 60 };
const IDLE = { requests: { cpu: "10m" }, port: 8081 };
const EXPRESSIONS = {
  matchLabels: { app: "agent" },
  matchExpressions: [{ key: "app", operator: "In", values: ["agent", "other"] }],
};
const SELECTOR = { matchExpressions: [{ key: "tier", operator: "In", values: ["front"] }] };

/** Each with a bound of its own, so that the final size shows who resized. */
const CASES = [
  {
    name: "store",
    container: "main",
    workload: statefulSet("store", { containers: [LOADED] }),
    pods: { target: { kind: "statefulset", name: "store" } },
    max: 19,
    effectiveSelector: { matchLabels: { app: "store" } },
  },
  {
    name: "agent",
    container: "main",
    workload: withSelector(daemonSet("agent", { containers: [LOADED] })),
    pods: { target: { kind: "daemonset", name: "agent" } },
    max: 18,
    effectiveSelector: EXPRESSIONS,
  },
  {
    name: "bare",
    container: "main",
    workload: pod("bare", { containers: [LOADED], labels: { tier: "front" } }),
    pods: { selector: SELECTOR },
    max: 17,
    effectiveSelector: SELECTOR,
  },
  {
    name: "mesh",
    container: "proxy",
    workload: deployment("mesh", { containers: [IDLE], sidecars: [{ ...LOADED, name: "proxy" }] }),
    pods: { target: { kind: "deployment", name: "mesh" } },
    max: 16,
    effectiveSelector: { matchLabels: { app: "mesh" } },
  },
] as const;

scenario("C2 C10 C15 pods of a StatefulSet, a DaemonSet and a selector, and a sidecar, are each resized once", {
  // A DaemonSet's pod on each of several nodes would be one load too many.
  needs: { images: "load", pods: 4, freeMillicores: 100 },
  async run({ namespace }) {
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await applyManifests(namespace, CASES.map(({ workload }) => workload));
    await using recorders = new AsyncDisposableStack();
    const running = await Promise.all(CASES.map(async (each) => {
      const [found] = await waitForPods(namespace, `app=${each.name}`);
      const ref = { namespace, name: found?.metadata.name ?? "" };
      return { ...each, ref, recorder: recorders.use(await recordPod(ref)) };
    }));
    await applyManifests(
      namespace,
      CASES.map(({ name, pods, container, max }) =>
        autoscaler(name, quickSpec(pods, { containerName: container, max: `${max}m` }))
      ),
    );

    for (const { name, ref, container, max, effectiveSelector } of running) {
      await waitFor(`container "${container}" of "${ref.name}" to have ${max}m`, async () => {
        return readActualSize(await readPod(ref), container)?.["cpu.requests"] === max;
      }, { timeoutMs: 120_000 });
      await waitForConditions({ namespace, name }, {
        Ready: { status: "True" },
        Active: { status: "True", message: "1 pod" },
      });
      const { status } = await waitForLastChange({ namespace, name }, `cpu.requests 10m -> ${max}m`);
      assertEquals(status?.effectiveSelector, effectiveSelector);
      assertEquals(status?.lastScaleAction, "scaleUp");
    }
    for (const { ref, container, recorder, max } of running) {
      const patches = await recorder.patches();
      assertEquals(patches.map(({ changes, managers }) => ({ changes, managers })), [{
        changes: [{ container, key: "cpu.requests", from: 10, to: max }],
        managers: [`podfit.${container}`],
      }], ref.name);
    }
    // The pod's other container is not the sidecar's business.
    const mesh = running.find(({ name }) => name === "mesh");
    if (mesh !== undefined) assertEquals(readSpecSize(await readPod(mesh.ref), "main")["cpu.requests"], 10);
    await podfit.stop();
  },
});

function withSelector(workload: Manifest): Manifest {
  return { ...workload, spec: { ...(workload.spec as Manifest), selector: EXPRESSIONS } };
}
