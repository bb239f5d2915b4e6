/**
 * One pod that is larger than a page of podfit's lists: the API server writes `<` as six bytes. podfit lists the pods of
 * its namespace all the same, and resizes another one (C51).
 */
import { assert, assertEquals } from "#assert";
import { quickSpec } from "./support/autoscalers.ts";
import { backend } from "./support/backend.ts";
import { applyManifests } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { startPodfit } from "./support/podfit.ts";
import { findPod, waitForActual } from "./support/pods.ts";
import { autoscaler, deployment, pod } from "./support/workloads.ts";

const BUSY = { cpuMillicores: 300, requests: { cpu: "50m", memory: "32Mi" } };
const VALUE = "<".repeat(1_420_000);

scenario("C51 a pod whose list has 8.5 MB, more than podfit reads of a page, stops no resize of another", {
  needs: { images: "load", kubelet: "signed", pods: 1, freeMillicores: 100 },
  realOnly: "its API server writes each < as six bytes",
  async run({ namespace }) {
    const target = { target: { kind: "deployment", name: "web" } } as const;
    await applyManifests(namespace, [
      deployment("web", { containers: [BUSY] }),
      autoscaler("web", quickSpec(target, { max: "100m" })),
    ]);
    const { spec, ...large } = pod("large", { containers: [BUSY] }) as Record<string, Record<string, unknown>>;
    const [container] = spec?.["containers"] as readonly Record<string, unknown>[];
    const containers = [{ ...container, env: [{ name: "TEXT", value: VALUE }] }];
    const path = `/api/v1/namespaces/${namespace}/pods`;
    await using server = await backend().connect();
    const created = await server.transport(
      new Request(`${server.origin}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...large, spec: { ...spec, schedulerName: "nobody", containers } }),
      }),
    );
    assertEquals([created.status, await created.body?.cancel()], [201, undefined]);
    const length = (await backend().get(`${path}?fieldSelector=metadata.name=large`))?.length ?? 0;
    assert(length > 8 * 2 ** 20, `its list has ${length} characters`);
    const web = await findPod(namespace, "web");
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await waitForActual(web, "cpu.requests", { fits: (millicores) => millicores === 100 });
    await podfit.stop();
  },
});
