/**
 * An older definition of the resource is installed, which lets through what ours refuses (C8): podfit says what is wrong
 * with such an autoscaler, every problem with its path, and goes on with the others.
 */
import { parse } from "../../lib/runtime/yaml.ts";
import { assertEquals, assertStringIncludes } from "#assert";
import { quickSpec, waitForConditions, waitForLastChange } from "./support/autoscalers.ts";
import { applyManifests, readEvents, waitFor } from "./support/cluster.ts";
import { findPod } from "./support/pods.ts";
import { scenario } from "./support/needs.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment, type Manifest } from "./support/workloads.ts";

const CRD = new URL("../../crds/podresourceautoscaler.yaml", import.meta.url);

scenario("C8 what an older definition lets through is reported with every path, and disturbs no other", {
  needs: { alone: true, images: "load", pods: 1, freeMillicores: 100 },
  async run({ namespace }) {
    const web = { target: { kind: "deployment" as const, name: "web" } };
    const good = quickSpec(web, { max: "20m" });
    await using _old = await installOldDefinition(namespace);
    await applyManifests(namespace, [
      deployment("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }] }),
      autoscaler("bad", { ...good, ...BAD }),
      autoscaler("good", good),
    ]);
    await findPod(namespace, "web");
    await using podfit = await startPodfit({ namespaces: [namespace] });
    const { status } = await waitForConditions({ namespace, name: "bad" }, {
      Ready: { status: "False", reason: "InvalidSpec" },
      Active: { status: "False", reason: "InvalidSpec" },
    });
    const told = await waitFor("the event", async () => {
      const events = await readEvents(namespace, { about: "bad", reason: "PodResourceAutoscalerInvalidSpec" });
      return events.length > 0 ? events : null;
    });
    assertEquals(told.map(({ type, count }) => [type, count]), [["Warning", 1]]);
    const ready = status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "";
    for (const path of PATHS) {
      assertStringIncludes(ready, `${path}: `);
      assertStringIncludes(told[0]?.message ?? "", path);
    }
    await waitForLastChange({ namespace, name: "good" }, "cpu.requests 10m -> 20m", { timeoutMs: 90_000 });
    await podfit.stop();
  },
});

const BAD = {
  containerName: "",
  bounds: { cpu: { requests: { min: "2", max: "1", step: "0" } } },
};
const PATHS = ["spec.containerName", "spec.bounds.cpu.requests.min", "spec.bounds.cpu.requests.step"];

/** Types and no more, until it is disposed of. */
async function installOldDefinition(namespace: string): Promise<AsyncDisposable> {
  const definition = parse(await Deno.readTextFile(CRD)) as Manifest;
  await applyManifests(namespace, [loosen(definition) as Manifest]);
  return { [Symbol.asyncDispose]: () => applyManifests(namespace, [definition]) };
}

const CHECKS = /^(x-kubernetes-validations|pattern|enum|(min|max)(imum|Length|Items|Properties))$/;

function loosen(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(loosen);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !CHECKS.test(key));
  return Object.fromEntries(kept.map(([key, inner]) => [key, loosen(inner)]));
}
