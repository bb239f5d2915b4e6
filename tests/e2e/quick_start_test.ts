/**
 * The README's quick start, command by command, in one shell as a newcomer would type it. Only the last command, which
 * takes the cluster down, is left out: other scenarios need it.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { scenario } from "./support/needs.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const TIMEOUT_MS = 6 * 60_000;
const OWN_CLUSTER = "task --quiet cluster:up";

scenario("the README's quick start ends in a visible resize", {
  // Its podfit looks after all namespaces.
  needs: { alone: true, images: "load", kubelet: "signed", freeMillicores: 200, pods: 1 },
  realOnly: "its commands start a cluster and podfit as processes of their own",
  async run() {
    const commands = readCommands(await Deno.readTextFile(`${ROOT}README.md`));
    const { code, output } = await runInShell(commands);
    assertEquals(code, 0, output);
    assertMatch(output, /^hello +True +True +(true|false) +false +\d+s +cpu\./m, output);
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

/** The lines of the section's sh blocks, but for the cluster's end, and its beginning on another's cluster. */
function readCommands(readme: string): string {
  const section = readme.split("## Quick start")[1]?.split("\n## ")[0] ?? "";
  const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  assertEquals(blocks.length, 5, "blocks of the quick start");
  const isOwn = (Deno.env.get("KUBECONFIG") ?? "").includes("podfit-cluster");
  assert(blocks[0]?.includes(OWN_CLUSTER), "the first block starts the cluster");
  return (isOwn ? blocks : blocks.slice(1)).join("").split("\n").filter((line) => !line.includes("cluster:down"))
    .join("\n");
}

async function runInShell(commands: string): Promise<{ code: number; output: string }> {
  // Job control, as in a terminal: `kill %1` means podfit. Whatever happens, no job outlives the shell.
  const script = `set -em\ntrap 'kill $(jobs -p) 2>/dev/null || true; kubectl delete --ignore-not-found --wait=false ` +
    `-f deploy/quickstart.yaml' EXIT\n${commands}`;
  const child = new Deno.Command("bash", {
    args: ["-c", script],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).spawn();
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, output: `${decoder.decode(stdout)}\n--- stderr ---\n${decoder.decode(stderr)}` };
}

function toMillicores(quantity: string): number {
  return quantity.endsWith("m") ? Number(quantity.slice(0, -1)) : Number(quantity) * 1000;
}
