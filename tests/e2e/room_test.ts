/**
 * What a node has left, as podfit adds it up and as the kubelet does (L30, L31): to the millicore the same, and known
 * before a PATCH is sent.
 */
import { assert, assertEquals } from "#assert";
import { QUICK_TIMES } from "./support/autoscalers.ts";
import type { Node, Pod } from "../../lib/api/kubernetes.ts";
import { findContainer } from "../../lib/model/pod.ts";
import { computeMaxAmount, sumPod } from "../../lib/model/pod_amounts.ts";
import { parseNode } from "../../lib/daemon/cluster/parse_objects.ts";
import { parsePod as readFacts } from "../../lib/daemon/cluster/parse_pod.ts";
import { NodeHeadroom } from "../../lib/daemon/cluster/capacity.ts";
import { countErrors } from "./support/accounts.ts";
import { applyManifests, deleteObject, find, type PodRef, readEvents, readPod, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import type { List } from "./support/objects.ts";
import { startPodfit } from "./support/podfit.ts";
import { waitForActual, waitForRun } from "./support/pods.ts";
import { readResizeConditions, resizeByHand, waitForResizeState } from "./support/resizes.ts";
import { findRoomyNode, waitForRoom } from "./support/room.ts";
import { autoscaler, pod } from "./support/workloads.ts";

scenario("L30 the room of a node is the kubelet's own to the millicore, whatever its pods are made of", {
  needs: { images: "load", node: "own", pods: 5, freeMillicores: 800 },
  async run({ namespace, nodeName: own }) {
    const nodeName = own ?? await findRoomyNode();
    const fields = { nodeName };
    const asks = (millicores: number) => ({ requests: { cpu: `${millicores}m` } });
    // On its way down for as long as the scenario lasts: it counts until it is gone.
    const leaving = pod("leaving", {
      containers: [{ ...asks(70), fields: { lifecycle: { preStop: { sleep: { seconds: 60 } } } } }],
      fields: { ...fields, terminationGracePeriodSeconds: 90 },
    });
    await applyManifests(namespace, [
      pod("plain", { containers: [asks(40), { name: "aux", port: 8081, ...asks(30) }], fields }),
      pod("sidecar", { containers: [asks(50)], sidecars: [{ name: "proxy", port: 8081, ...asks(25) }], fields }),
      pod("whole", { containers: [asks(20)], fields: { ...fields, resources: { requests: { cpu: "90m" } } } }),
      leaving,
    ]);
    for (const name of ["plain", "sidecar", "whole", "leaving"]) await waitForRun({ namespace, name });
    await waitForRoom(nodeName);
    await deleteObject(namespace, "Pod/leaving");
    await waitFor("the pod to be on its way out", async () => {
      return (await readPod({ namespace, name: "leaving" })).metadata.deletionTimestamp !== undefined;
    });
    for (const name of ["plain", "sidecar"]) {
      const ref = { namespace, name };
      const most = await readMostMillicores(nodeName, ref);
      await resizeByHand(ref, { requests: { cpu: `${most + 1}m` } });
      await waitForResizeState(ref, "Deferred");
      assertEquals(await readMostMillicores(nodeName, ref), most, "one that waits leaves itself the same room");
      await resizeByHand(ref, { requests: { cpu: `${most}m` } });
      await waitForActual(ref, "cpu.requests", { fits: (millicores) => millicores === most });
      assertEquals(await readResizeConditions(ref), []);
      await resizeByHand(ref, { requests: { cpu: "40m" } });
      await waitForActual(ref, "cpu.requests", { fits: (millicores) => millicores === 40 });
    }
  },
});

/** As podfit works it out of what the API server shows. */
async function readMostMillicores(nodeName: string, { namespace, name }: PodRef): Promise<number> {
  const node = parseNode(await find<Node>(`/api/v1/nodes/${nodeName}`) ?? {} as Node);
  const rooms = new NodeHeadroom({ nodes: new Map([[nodeName, node]]), seesAll: true, onHeadroom() {} });
  const facts = (await find<List<Pod>>("/api/v1/pods"))?.items.map(readFacts) ?? [];
  for (const one of facts) rooms.movePod(null, one);
  const self = facts.find((one) => one.namespace === namespace && one.name === name);
  const main = self === undefined ? null : findContainer(self, "main");
  const room = rooms.find({ nodeName });
  if (self === undefined || main === null || room === null) throw new Error(`Cannot read the room of "${name}"`);
  const key = "cpu.requests";
  return computeMaxAmount(self, main, { key, limit: room.cpuMillicores + sumPod(self, key) });
}

const SIDE = { scaleUpThreshold: 60, scaleDownThreshold: 0, targetUtilization: 10 };

scenario(
  "L30 L31 C50 a request that the node cannot take is fitted, held and told once; its limit and another pod go on",
  {
    // Its podfit looks after all namespaces: else it would not see what the node's other pods ask for.
    needs: { alone: true, images: "load", kubelet: "signed", pods: 3, freeMillicores: 800 },
    async run({ namespace }) {
      const nodeName = await findRoomyNode();
      const fields = { nodeName };
      const web = { namespace, name: "web" };
      const use = { cpuMillicores: 60, requests: { cpu: "10m" }, limits: { cpu: "50m" } };
      await applyManifests(namespace, [pod("web", { containers: [use], fields })]);
      await waitForRun(web);
      const left = 30;
      const rest = await waitForRoom(nodeName) - left;
      await applyManifests(namespace, [pod("rest", { containers: [{ requests: { cpu: `${rest}m` } }], fields })]);
      await waitForRun({ namespace, name: "rest" });
      // The roomiest node may be the spare one, whose kubelet signs its own certificate.
      await using podfit = await startPodfit({ namespaces: [], args: ["--kubelet-insecure-tls"] });
      await applyManifests(namespace, [
        autoscaler("web", {
          selector: { matchLabels: { app: "web" } },
          containerName: "main",
          policy: { ...QUICK_TIMES, cpu: { requests: SIDE, limits: SIDE } },
          bounds: { cpu: { requests: { max: "300m" }, limits: { max: "400m" } } },
        }),
      ]);
      await waitForActual(web, "cpu.requests", { fits: (millicores) => millicores === 10 + left });
      await waitForActual(web, "cpu.limits", { fits: (millicores) => millicores === 400 });
      await waitFor("the event", async () => (await readFailed(namespace)).length === 1);
      const resizes = await readResizeConditions(web);
      assertEquals(resizes, []);
      await deleteObject(namespace, "Pod/rest");
      await waitForActual(web, "cpu.requests", { fits: (millicores) => millicores === 300 });
      const told = await readFailed(namespace);
      assertEquals(told.length, 1);
      assert(told[0]?.includes("(NodeCapacity): cpu.requests stays at 40m: the node has room for 0 more"), told[0]);
      assertEquals(countErrors(await podfit.metrics(), namespace), {});
      await podfit.stop();
    },
  },
);

async function readFailed(namespace: string): Promise<readonly string[]> {
  const events = await readEvents(namespace, { about: "web", reason: "PodResourceAutoscalerScaleFailed" });
  return events.map(({ message }) => message ?? "");
}
