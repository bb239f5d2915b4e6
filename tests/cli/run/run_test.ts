/** What does the program do that was started, without a cluster: disabled, asked for its version or its help? */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { runPodfit, serveApi, startPodfit, writeKubeconfig } from "../../support/podfit_process.ts";

Deno.test("podfit --version prints the version of deno.json", async () => {
  const { version } = JSON.parse(await Deno.readTextFile(new URL("../../../deno.json", import.meta.url)));
  const { code, stdout, complaints, log } = await runPodfit({ args: ["--version"] });
  assertEquals([code, stdout, complaints, log], [0, `${version}\n`, [], []]);
});

Deno.test("podfit --help goes to stdout and is no error", async () => {
  const { code, stdout, complaints, log } = await runPodfit({ args: ["--help"] });
  assertEquals([code, complaints, log], [0, [], []]);
  assertStringIncludes(stdout, "PODFIT_NAMESPACE");
});

Deno.test("podfit without PRA_ENABLED asks nobody, answers health and metrics and says how to enable (C14)", async () => {
  await using server = serveApi(() => new Response("", { status: 500 }));
  await using kubeconfig = await writeKubeconfig(server.origin);
  for (const env of [{}, { PRA_ENABLED: "false" }]) {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      await using podfit = await startPodfit({ args: ["--kubeconfig", kubeconfig.path], env });
      const answers: (readonly [number, string])[] = [];
      for (const path of ["/healthz", "/readyz", "/metrics"]) {
        const response = await fetch(podfit.origin + path);
        answers.push([response.status, (await response.text()).split("\n")[0] ?? ""]);
      }
      const disabled = [200, "disabled: PRA_ENABLED is not true"] as const;
      assertEquals(answers.slice(0, 2), [disabled, disabled]);
      assertEquals(answers[2]?.[0], 200);
      const { code, stdout, complaints, log } = await podfit.end(signal);
      assertEquals([code, stdout, complaints], [0, "", []]);
      assertEquals(log.map(({ level, message }) => `${level} ${message}`), [
        "INFO Starting",
        "WARN podfit is disabled and does nothing: set PRA_ENABLED=true to enable it",
        "INFO Listening",
        "INFO Stopping",
        "INFO Stopped",
      ]);
    }
  }
  assertEquals(server.asked, []);
});
