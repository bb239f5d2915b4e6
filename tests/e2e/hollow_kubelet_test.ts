/**
 * A kubelet of the embedded cluster as a node of a real one: the real API server takes what it writes, podfit reads it
 * over TLS and resizes its pod, and the real server and the model agree about what came of it (C20, C40, C45).
 */
import { assertEquals, assertMatch } from "#assert";
import { connect } from "../../lib/kube/http_transport.ts";
import { systemClock } from "../../lib/runtime/clock.ts";
import { createKubelet, type Kubelet } from "../../lib/embedded/kubelet/kubelet.ts";
import { serve } from "../support/embedded/serve.ts";
import { assertAccountsAgree } from "./support/accounts.ts";
import { quickSpec } from "./support/autoscalers.ts";
import { applyManifests, deleteObject, find, readEvents, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { kubectl, kubectlJson } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import type { NodeJson } from "./support/objects.ts";
import { readSpecSize, recordPod } from "./support/patches.ts";
import { readRun, waitForActual } from "./support/pods.ts";
import { startPodfit } from "./support/podfit.ts";
import { createLoadServer } from "../support/embedded/load_server.ts";
import { autoscaler, HOLLOW_NODE, pod } from "./support/workloads.ts";

scenario("C20 C40 C45 a pod on a hollow kubelet is resized through a real API server", {
  realOnly: "it is the embedded kubelet that stands before a real API server here",
  async run({ namespace }) {
    await using node = await startNode();
    await waitFor("the node to be ready", async () => {
      const { status } = await kubectlJson<NodeJson>(["get", "node", HOLLOW_NODE]);
      return status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    }, { timeoutMs: 20_000 });
    await applyManifests(namespace, [
      pod("web", {
        containers: [{ requests: { cpu: "10m" }, limits: { memory: "64Mi" }, cpuMillicores: 60, memoryMiB: 20 }],
        fields: { nodeName: HOLLOW_NODE },
      }),
      autoscaler("web", quickSpec({ selector: { matchLabels: { app: "web" } } }, { max: "20m" })),
    ]);
    const ref = { namespace, name: "web" };
    await waitForPods(namespace, "app=web");
    const before = await readRun(ref);
    {
      await using recorder = await recordPod(ref);
      await using podfit = await startPodfit({ namespaces: [namespace], args: ["--kubelet-insecure-tls"] });
      await waitForActual(ref, "cpu.requests", { fits: (millicores) => millicores === 20 });
      await assertAccountsAgree(podfit, { autoscaler: "web", pod: ref, recorder });
      await podfit.stop();
    }
    assertEquals(readSpecSize(await readPod(ref), "main")["cpu.requests"], 20);
    assertEquals(await readRun(ref), before);
    const { status } = await readPod(ref);
    assertEquals(status.conditions?.filter(({ type }) => type.startsWith("PodResize")), []);
    const events = await readEvents(namespace, { about: "web" });
    assertEquals(
      events.filter(({ involvedObject, reason }) => involvedObject.kind === "Pod" && !/^PodRes/.test(reason))
        .map(({ reason }) => reason),
      ["Pulled", "Created", "Started", "ResizeStarted", "ResizeCompleted"],
    );
    const limits = createLoadServer(node.kubelet).findLimits({ ...ref, port: 8080 });
    assertEquals([limits?.cpuShares, limits?.memoryBytes], [20, 64 * 2 ** 20]);

    // A container that uses more than its limit is killed, and its status on the real server says so.
    await waitFor("the container to be killed", () => Promise.resolve(kill(node.kubelet, namespace)), {
      timeoutMs: 1000,
    });
    await waitFor("the container to be started again", async () => (await readRun(ref)).restartCount === 1);
    assertMatch(JSON.stringify((await readPod(ref)).status.containerStatuses?.[0]?.lastState), /OOMKilled/);
    await deleteObject(namespace, "Pod/web");
    await waitFor("the pod to be gone", async () => {
      return await find(`/api/v1/namespaces/${namespace}/pods/web`) === null;
    }, { timeoutMs: 20_000 });
    // Pods of other scenarios' DaemonSets come to each node that there is, and their namespaces go.
    assertEquals(node.errors.filter((error) => !/ is being terminated$/.test(String(error))), []);
  },
});

function kill(kubelet: Kubelet, namespace: string): boolean {
  try {
    createLoadServer(kubelet).set({ namespace, name: "web", port: 8080 }, { memoryMiB: 100 });
    return false;
  } catch (error) {
    return /killed/.test(String(error));
  }
}

interface HollowNode extends AsyncDisposable {
  readonly kubelet: Kubelet;
  readonly errors: readonly unknown[];
}

/** Its taint keeps away whom nobody sends there, but for DaemonSets that tolerate everything. Gone from the cluster with its disposal. */
async function startNode(): Promise<HollowNode> {
  const stack = new AsyncDisposableStack();
  const kubeconfigVariable = Deno.env.get("KUBECONFIG") ?? "";
  const server = stack.use(await connect({ version: "e2e", kubeconfigVariable }));
  const served = stack.use(await serve((request) => kubelet.handle(request)));
  const errors: unknown[] = [];
  const kubelet = createKubelet({
    server,
    node: {
      config: {
        name: HOLLOW_NODE,
        hostIP: "127.0.0.1",
        cpuMillicores: 2000,
        memoryBytes: 2 ** 32,
        pods: 10,
        seed: HOLLOW_NODE,
        system: { cpuMillicores: 10, memoryBytes: 2 ** 27 },
        stepMs: 250,
        hasCadvisor: true,
        hasPsi: true,
      },
      port: served.port,
      taints: [{ key: "podfit.dev/hollow", effect: "NoSchedule" }],
    },
    clock: systemClock,
    random: Math.random,
    onError: (error) => errors.push(error),
  });
  const ending = new AbortController();
  const running = kubelet.run(ending.signal);
  stack.defer(async () => {
    ending.abort();
    await running;
    await kubectl(["delete", "node", HOLLOW_NODE, "--ignore-not-found"]);
  });
  return { kubelet, errors, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
