/**
 * The README's installation, command by command, in one shell as an operator would type it: podfit works, is upgraded, and
 * leaves nothing. Two names are others: that of a registry, which the cluster of tests/cluster has none of, and the shell
 * brings the archive to the nodes.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { kubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { readBlocks, runInShell } from "./support/readme.ts";
import { waitForNothingLeft } from "./support/release.ts";

const NEEDS = { alone: true, podfitImage: true, cgroups: true, freeMillicores: 300, pods: 4 } as const;
const DEFINITION = "podresourceautoscalers.keda.kedify.io";
const AT_END = [
  "rm -f podfit.tar",
  "kubectl delete --ignore-not-found --wait=false -f deploy/quickstart.yaml",
  "helm uninstall podfit --namespace podfit --ignore-not-found --wait",
  "kubectl delete --ignore-not-found namespace podfit",
].map((command) => `${command} || true`).join("; ");

scenario("C54 the README's installation, command by command, ends in a resize and leaves nothing", {
  needs: { ...NEEDS, kubelet: "signed" },
  realOnly: "podfit runs in a pod of its image",
  async run() {
    const [image, install, works, upgrade, uninstall, nodeLocal, selfSigned, ...others] = await readBlocks("Install");
    assertEquals(others, []);
    // Scenarios find the definition there; an operator does not.
    await kubectl(["delete", "crd", DEFINITION]);
    const commands = [
      ...[image, IMPORT, install, works, selfSigned, upgrade, uninstall],
      ...[nodeLocal, ROLLED_OUT, uninstall?.replace(/.*quickstart.*\n/, "")],
    ];
    assert(commands.every((block) => block !== undefined));
    const script = commands.join("\n").replaceAll("registry.example/podfit", "localhost/podfit");
    const { code, output } = await runInShell(script, { atEnd: AT_END });
    assertEquals(code, 0, output);
    assertMatch(
      output,
      /^hello +hello +1 +\d\S* +\d+Mi +(True|False) +True +\S+ +(apply +)?balanced +false +([A-Z]\w+ +)?cpu\..* +\d+s$/m,
      output,
    );
    assertStringIncludes(output, "Scaled up container");
    assertMatch(output, /daemon set "podfit" successfully rolled out/);
    await waitForNothingLeft({ name: "podfit", namespace: "podfit" });
    assertEquals(await kubectl(["get", "crd", DEFINITION, "--ignore-not-found"]), "");
  },
});

const IMPORT = 'for socket in $(dirname "$KUBECONFIG")/containerd*/containerd.sock; do ' +
  "ctr -a $socket -n k8s.io images import podfit.tar; done";
const ROLLED_OUT = "kubectl rollout status daemonset/podfit --namespace podfit --timeout 60s";
