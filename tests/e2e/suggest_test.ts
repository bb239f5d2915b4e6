/** `podfit suggest` on a real cluster: what it prints for a Deployment with load is taken by the API server, and lint has nothing to say of it. */
import { assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { parseAll } from "../../lib/runtime/yaml.ts";
import { applyManifests, waitForPods } from "./support/cluster.ts";
import { OWN_PROCESS, runCommand } from "./support/commands.ts";
import { kubectl, kubectlJson } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import type { AutoscalerJson, List } from "./support/objects.ts";
import { deployment } from "./support/workloads.ts";

/** It takes a minute of usage, and the first sample may come after 20 s. */
const WATCH = { text: "100s", ms: 100_000 };

scenario("suggest watches a Deployment and prints an autoscaler that applies and lints clean", {
  needs: { images: "load", pods: 1, freeMillicores: 200 },
  realOnly: OWN_PROCESS,
  async run({ namespace }) {
    const size = { requests: { cpu: "200m", memory: "128Mi" }, limits: { cpu: "500m", memory: "256Mi" } };
    await applyManifests(namespace, [
      deployment("web", { containers: [{ ...size, cpuMillicores: 60, memoryMiB: 40 }] }),
    ]);
    await waitForPods(namespace, "app=web");
    const args = ["suggest", "deployment/web", "-n", namespace, "--for", WATCH.text, "--policies", "20"];
    const suggested = await runCommand(args, { timeoutMs: WATCH.ms + 60_000 });
    assertEquals(suggested.code, 0, suggested.complaints.join("\n"));
    const { stdout } = suggested;
    assertMatch(
      stdout,
      /^# Suggested for container main of deployment\/web by what was seen: usage of 1 pod, watched for /,
    );
    assertStringIncludes(stdout, "# Less than a day was seen: peaks of other hours and days are not in it.\n");
    assertMatch(stdout, /^# never resized /m);
    const [manifest, ...more] = parseAll(stdout) as AutoscalerJson[];
    assertEquals(more, []);
    assertEquals([manifest?.metadata.name, manifest?.metadata.namespace], ["web", namespace]);
    const { target, containerName } = manifest?.spec ?? {};
    assertEquals([target, containerName], [{ kind: "deployment", name: "web" }, "main"]);

    const applied = await kubectl(["apply", "--dry-run=server", "-f", "-"], { input: stdout });
    assertEquals(applied.trim(), "podresourceautoscaler.keda.kedify.io/web created (server dry run)");
    for (const where of [[], ["--cluster"]]) {
      const linted = await runCommand(["lint", "-f", "-", ...where], { stdin: stdout });
      assertEquals([linted.code, linted.stdout], [0, ""]);
      assertEquals(linted.complaints, ["podfit: 1 autoscaler: 0 errors, 0 warnings"]);
    }
    const { items } = await kubectlJson<List<AutoscalerJson>>(["get", "podresourceautoscalers", "-n", namespace]);
    assertEquals(items, [], "it prints, and leaves the cluster as it is");
  },
});
