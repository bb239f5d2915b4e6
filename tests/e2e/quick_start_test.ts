/**
 * The section "podfit from source" of tests/README.md, command by command, in one shell as a newcomer would type it. Only the last
 * command, which takes the cluster down, is left out: other scenarios need it.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { isOwnCluster } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { listSteps } from "../../tools/docs/commands.ts";
import { getSection } from "../../tools/docs/markdown.ts";
import { runInShell } from "./support/shell.ts";

const OWN_CLUSTER = "task --quiet cluster:up";

scenario("the way from source ends in a visible resize", {
  // Its podfit looks after all namespaces.
  needs: { alone: true, podfitImage: true, kubelet: "signed", freeMillicores: 200, pods: 1 },
  realOnly: "its commands start a cluster and podfit as processes of their own",
  async run() {
    const atEnd = "kubectl delete --ignore-not-found --wait=false -f deploy/quickstart.yaml";
    const { code, output } = await runInShell(await readCommands(), { atEnd });
    assertEquals(code, 0, output);
    assertMatch(
      output,
      /^hello +hello +1 +\d\S* +\d+Mi +(True|False) +True +\S+ +(apply +)?balanced +([A-Z]\w+ +)?cpu\..* +\d+s$/m,
      output,
    );
    assertStringIncludes(output, "PodResourceAutoscalerScaleUp");
    assertStringIncludes(output, "Scaled up container");
    const after = /^(\{"limits".*\})\n(\d+)$/m.exec(output);
    assert(after !== null, output);
    const resources = JSON.parse(after[1] ?? "") as { limits: { cpu: string }; requests: { cpu: string } };
    assert(toMillicores(resources.requests.cpu) > 50, output);
    assert(toMillicores(resources.limits.cpu) > 100, output);
    assertEquals(after[2], "0", "the container was not restarted");
    assertMatch(output, /^kedify_agent_pra_scale_decisions_total\{.*direction="up".*\} [1-9]/m, output);
  },
});

/** The section's commands, but for the cluster's end, and its beginning on another's cluster. */
async function readCommands(): Promise<string> {
  const page = await Deno.readTextFile(new URL("../README.md", import.meta.url));
  const blocks = listSteps(getSection(page, "podfit from source")).map(({ command }) => command);
  assertEquals(blocks.length, 5, "blocks of the section");
  assert(blocks[0]?.includes(OWN_CLUSTER), "the first block starts the cluster");
  return (isOwnCluster() ? blocks : blocks.slice(1)).join("\n").split("\n").filter((line) =>
    !line.includes("cluster:down")
  )
    .join("\n");
}

function toMillicores(quantity: string): number {
  return quantity.endsWith("m") ? Number(quantity.slice(0, -1)) : Number(quantity) * 1000;
}
