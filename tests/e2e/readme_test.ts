/** Does the README alone lead from nothing to a resize, its reason, replicas, and back to nothing? Every command as written. */
import { assertEquals, assertMatch } from "#assert";
import { listSteps } from "../../tools/docs/commands.ts";
import { kubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { waitForNothingLeft } from "./support/release.ts";
import { getOutput, KIND, runPage } from "./support/shell.ts";

const DEFINITIONS = [
  "podresourceautoscalers.keda.kedify.io",
  ...["scaledobjects", "triggerauthentications", "clustertriggerauthentications"].map((name) => `${name}.keda.sh`),
];

scenario("C54 the README's commands install podfit, resize, explain, set replicas, and leave nothing", {
  // Its podfit looks after all namespaces, and its definitions are new.
  needs: { alone: true, podfitImage: true, cgroups: true, kubelet: "signed", freeMillicores: 800, pods: 8 },
  realOnly: "podfit runs in a pod of its image",
  async run() {
    // Scenarios find them there; a new user does not.
    await kubectl(["delete", "crd", "--ignore-not-found", ...DEFINITIONS], { timeoutMs: 120_000 });
    const steps = await runPage({
      page: "README.md",
      steps: listSteps(await Deno.readTextFile(new URL("../../README.md", import.meta.url))),
      functions: [KIND],
      // A minute of it is for people.
      change: (command) => command.replace(/ task demo$/, " task demo --seconds 2"),
      atEnd: [
        "rm -f podfit.tar",
        "kubectl delete --ignore-not-found --wait=false -f deploy/quickstart.yaml",
        "helm uninstall podfit --namespace podfit --ignore-not-found --wait",
        "kubectl delete --ignore-not-found namespace podfit",
      ],
    });
    assertMatch(getOutput(steps, "kubectl get pra"), /^hello +hello /m);
    assertMatch(
      getOutput(steps, "kubectl podfit explain"),
      /^hello-\S+ has [^]*\nIt has this size because podfit changed cpu\.\S+ /,
    );
    assertMatch(getOutput(steps, "kubectl get deployment hello"), /^hello +2\/2 /m);
    await waitForNothingLeft({ name: "podfit", namespace: "podfit" });
    assertEquals(await kubectl(["get", "crd", "--ignore-not-found", ...DEFINITIONS]), "");
  },
});
