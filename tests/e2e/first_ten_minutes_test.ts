/**
 * Does the quick start work for a new user who has the chart and podfit's image, and nothing else? podfit's own commands run in
 * pods of that image, by an account that has only the rights of docs/operate/rights.md.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { listSteps } from "../../tools/docs/commands.ts";
import { getSection } from "../../tools/docs/markdown.ts";
import { kubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { waitForNothingLeft } from "./support/release.ts";
import { getOutput, KIND, runPage } from "./support/shell.ts";

const DEFINITION = "podresourceautoscalers.keda.kedify.io";
/** podfit's command line, as a pod of its image. */
const PODFIT = `podfit() {
  kubectl run "cli-$RANDOM" --namespace podfit --image localhost/podfit:0.1.0 --restart Never --rm --attach --quiet \\
    --overrides '{"spec": {"serviceAccountName": "me"}}' -- "$@"
}`;

scenario("C54 the first ten minutes of a new user, with the chart and podfit's image alone", {
  // Its podfit looks after all namespaces, and its definition is new.
  needs: { alone: true, podfitImage: true, cgroups: true, kubelet: "signed", freeMillicores: 500, pods: 4 },
  realOnly: "podfit runs in a pod of its image",
  async run() {
    // Scenarios find the definition there; a new user does not.
    await kubectl(["delete", "crd", DEFINITION, "--ignore-not-found"], { timeoutMs: 120_000 });
    const page = listSteps(await readDoc("docs/start/quickstart.md"));
    const rights = listSteps(getSection(await readDoc("docs/operate/rights.md"), "Users who ask podfit"));
    const asks = page.findIndex(({ command }) => command.startsWith("podfit "));
    assert(rights.length > 0 && asks > 0);
    const steps = await runPage({
      page: "docs/start/quickstart.md",
      steps: [...page.slice(0, asks), ...rights, ...page.slice(asks)],
      functions: [KIND, PODFIT],
      atEnd: [
        "rm -f podfit.tar",
        "helm uninstall podfit --namespace podfit --ignore-not-found --wait",
        "kubectl delete --ignore-not-found clusterrolebinding podfit-me-view podfit-me-lint",
        "kubectl delete --ignore-not-found clusterrole podfit-lint",
        "kubectl delete --ignore-not-found namespace podfit",
      ],
    });
    const output = (start: string) => getOutput(steps, start);
    assertStringIncludes(output("helm install"), "proxy/set?cpu=300m");
    const grown = /"limits":\{"cpu":"(\d+)m".*\nrestarts: 0$/m.exec(output("kubectl get pod $POD"));
    assert(Number(grown?.[1]) > 100, output("kubectl get pod $POD"));
    assertMatch(
      output("kubectl get podresourceautoscalers"),
      /^podfit-sample +podfit-sample +1 +\d+m +\d+Mi +(True|False) +True /m,
    );
    assertMatch(output("kubectl describe"), /PodResourceAutoscalerScaleUp/);

    assertMatch(
      output("podfit explain"),
      /^podfit-sample-\S+ has [^]*\nIt has this size because podfit changed cpu\.\S+ /,
    );
    assertMatch(output("podfit top"), /^podfit-sample-\S+ +sample +\d/m);
    assertMatch(output("podfit lint"), /\b1 autoscaler: 0 errors/);
    for (const command of ["podfit explain", "podfit top", "podfit lint"]) {
      assert(!/podfit: Cannot|forbidden/.test(output(command)), output(command));
    }

    assertStringIncludes(output("helm uninstall"), DEFINITION);
    await waitForNothingLeft({ name: "podfit", namespace: "podfit" });
    assertEquals(await kubectl(["get", "crd", DEFINITION, "--ignore-not-found"]), "");
  },
});

function readDoc(path: string): Promise<string> {
  return Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
}
