/**
 * A kubelet whose certificate no one signed, as kind and kubeadm set it up: podfit reads nothing and says which options
 * help, unless its options accept any certificate, and then it warns (C51, C54).
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { quickSpec, waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { isWarning } from "./support/log.ts";
import { sumOf } from "./support/metrics.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, pod } from "./support/workloads.ts";

scenario("C54 a self-signed kubelet is not read, by what is said about it, until --kubelet-insecure-tls", {
  needs: { images: "load", kubelet: "self-signed", node: "own", pods: 1, freeMillicores: 100 },
  async run({ namespace, nodeName }) {
    const ref = { namespace, name: "web" };
    const readRequest = async () => readSpecSize(await readPod(ref), "main")["cpu.requests"];
    await applyManifests(namespace, [
      pod("web", {
        containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }],
        fields: nodeName === null ? {} : { nodeName },
      }),
      autoscaler("web", quickSpec({ selector: { matchLabels: { app: "web" } } }, { max: "20m" })),
    ]);
    await waitForPods(namespace, "app=web");

    await using strict = await startPodfit({ namespaces: [namespace] });
    const { status } = await waitForConditions(ref, {
      Ready: { status: "True" },
      Active: { status: "True" },
      Metrics: { status: "False", reason: "MetricsUnavailable", message: "no usage of 1 of 1 pod" },
    });
    const said = status?.conditions?.find(({ type }) => type === "Metrics")?.message ?? "";
    assert(strict.log().filter(isWarning).some(({ message }) => said.includes(message)), strict.tail());
    assertMatch(said, HINT);
    const reads = await strict.metrics();
    assert((sumOf(reads, "podfit_kubelet_reads_total", { result: "tls" }) ?? 0) >= 3);
    assertEquals(sumOf(reads, "podfit_kubelet_reads_total", { result: "ok" }), null);
    assertEquals(await readRequest(), 10);
    await strict.stop();

    await using trusting = await startPodfit({ namespaces: [namespace], args: ["--kubelet-insecure-tls"] });
    const warning = trusting.log().filter(isWarning).find(({ message }) => message.includes("--kubelet-insecure-tls"));
    assertStringIncludes(warning?.message ?? "", "not checked");
    await waitFor("the resize", async () => await readRequest() === 20, { timeoutMs: 90_000 });
    await waitForConditions(ref, { Metrics: { status: "True" } });
    await trusting.stop();
  },
});

const HINT = /certificate not signed by the cluster's CA.*--kubelet-ca.*--kubelet-insecure-tls/;
