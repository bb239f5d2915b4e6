/**
 * Does podfit work for a new user who has the chart and podfit's image, and nothing else? The commands run in one shell.
 * With PODFIT_TRANSCRIPT=true their output is written to docs/first-ten-minutes.txt.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { toScript, TRANSCRIPT } from "./support/first_ten_minutes.ts";
import { kubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { runInShell } from "./support/readme.ts";
import { waitForNothingLeft } from "./support/release.ts";

const DEFINITION = "podresourceautoscalers.keda.kedify.io";
const AT_END = [
  "helm uninstall podfit --namespace podfit --ignore-not-found --wait",
  "kubectl delete --ignore-not-found clusterrolebinding podfit-me-view podfit-me-lint",
  "kubectl delete --ignore-not-found clusterrole podfit-lint",
  "kubectl delete --ignore-not-found namespace podfit",
].map((command) => `${command} >/dev/null || true`).join("; ");

scenario("C54 the first ten minutes of a new user, with the chart and podfit's image alone", {
  // Its podfit looks after all namespaces, and its definition is new.
  needs: { alone: true, podfitImage: true, kubelet: "signed", freeMillicores: 500, pods: 4 },
  realOnly: "podfit runs in a pod of its image",
  async run() {
    // Scenarios find the definition there; a new user does not.
    await kubectl(["delete", "crd", DEFINITION, "--ignore-not-found"]);
    const { code, output: all } = await runInShell(toScript(), { atEnd: AT_END });
    const [output = ""] = all.split("\n--- stderr ---\n");
    assertEquals(code, 0, output);
    const answer = (start: string) => output.split("\n$ ").find((part) => part.startsWith(start)) ?? "";

    assertStringIncludes(answer("helm install"), "proxy/set?cpu=300m");
    assertMatch(answer("kubectl get podresourceautoscalers"), /^podfit-sample +/m);
    const grown = /"limits":\{"cpu":"(\d+)m".*\nrestarts: 0$/m.exec(answer("kubectl get pod $POD"));
    assert(Number(grown?.[1]) > 100, output);
    assertMatch(answer("kubectl describe"), /PodResourceAutoscalerScaleUp/);

    assertMatch(
      answer("podfit explain"),
      /^podfit-sample-\S+ has [^]*\nIt has this size because podfit changed cpu\.\S+ /m,
    );
    assertMatch(answer("podfit top"), /^podfit-sample-\S+ +sample +\d/m);
    assertMatch(answer("podfit lint"), /\b1 autoscaler: 0 errors/);
    for (const command of ["podfit explain", "podfit top", "podfit lint"]) {
      assert(!/podfit: Cannot|forbidden/.test(answer(command)), answer(command));
    }

    assertStringIncludes(answer("helm uninstall"), DEFINITION);
    await waitForNothingLeft({ name: "podfit", namespace: "podfit" });
    assertEquals(await kubectl(["get", "crd", DEFINITION, "--ignore-not-found"]), "");
    if (Deno.env.get("PODFIT_TRANSCRIPT") === "true") await Deno.writeTextFile(TRANSCRIPT, `${output.trim()}\n`);
  },
});
