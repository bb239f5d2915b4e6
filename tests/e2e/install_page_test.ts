/** Do the commands of the pages about installation and upgrade do what they say, and leave nothing? */
import { assertEquals, assertMatch } from "#assert";
import { listSteps, type Step } from "../../tools/docs/commands.ts";
import { getSection } from "../../tools/docs/markdown.ts";
import { kubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { waitForNothingLeft } from "./support/release.ts";
import { KIND, runPage, withoutRegistry } from "./support/shell.ts";

const DEFINITION = "podresourceautoscalers.keda.kedify.io";

scenario("C54 each way to install, upgrade, roll back and uninstall works as the pages say, and leaves nothing", {
  needs: { alone: true, podfitImage: true, cgroups: true, kubelet: "signed", freeMillicores: 300, pods: 4 },
  realOnly: "podfit runs in a pod of its image",
  async run() {
    // Scenarios find the definition there; an operator does not.
    await kubectl(["delete", "crd", DEFINITION, "--ignore-not-found"], { timeoutMs: 120_000 });
    const [install, upgrade] = await Promise.all(["docs/install.md", "docs/upgrade.md"].map(readDoc));
    const of = (page = "", title = "") => listSteps(getSection(page, title));
    // Its sections are of other modes.
    const [helm = "", nodeLocal = ""] = getSection(install ?? "", "Helm").split("### Node-local");
    const steps = await runPage({
      page: "docs/install.md",
      steps: [
        ...of(install, "The image"),
        ...[load("podfit.tar")],
        ...listSteps(helm),
        ...of(install, "Check the installation"),
        ...of(install, "Kubelet certificates"),
        ...of(upgrade, "Upgrade"),
        ...of(upgrade, "Check"),
        ...of(upgrade, "Roll back"),
        ...of(install, "Uninstall"),
        ...listSteps(nodeLocal.split("### Sidecar")[0] ?? ""),
        ...[run("kubectl --namespace podfit rollout status daemonset/podfit --timeout 60s")],
        ...of(install, "Uninstall"),
        ...of(install, "Plain YAML"),
        ...[run("kubectl delete --filename deploy/install.yaml")],
      ],
      functions: [KIND],
      change: withoutRegistry,
      atEnd: [
        "rm -f podfit.tar",
        "helm uninstall podfit --namespace podfit --ignore-not-found --wait",
        "kubectl delete --ignore-not-found --filename deploy/install.yaml",
        "kubectl delete --ignore-not-found namespace podfit",
      ],
    });
    const output = steps.flatMap(({ shown }) => shown).join("\n");
    assertMatch(output, /deployment "podfit" successfully rolled out/);
    assertMatch(output, /daemon set "podfit" successfully rolled out/);
    assertMatch(output, /Rollback was a success/);
    await waitForNothingLeft({ name: "podfit", namespace: "podfit" });
    assertEquals(await kubectl(["get", "crd", DEFINITION, "--ignore-not-found"]), "");
  },
});

function run(command: string): Step {
  return { command, shown: [] };
}

function load(archive: string): Step {
  return run(`kind load image-archive ${archive}`);
}

function readDoc(path: string): Promise<string> {
  return Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
}
