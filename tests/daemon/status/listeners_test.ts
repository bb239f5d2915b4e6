/** Errors of namespaces without autoscalers. */
import { assertEquals } from "#assert";
import { deployment } from "../../e2e/support/workloads.ts";
import { refuse } from "../../support/api_server.ts";
import { CPU_50, ReplicasRun, scaledObject } from "../../support/replicas_run.ts";

Deno.test("a status of a ScaledObject that cannot be written counts as an error until its namespace has no object (C52)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { replicas: 1, containers: [{ requests: { cpu: "50m" }, cpuMillicores: 30 }] }),
    scaledObject("web", [CPU_50], { spec: { minReplicaCount: 1 } }),
  ], {
    answer: ({ method, url }) =>
      method === "PATCH" && url.includes("/scaledobjects/web/status") ? refuse(403, { message: "no" }) : null,
  });
  const listErrors = () => run.podfit.series("kedify_agent_pra_error_total{");
  await run.advance(5);
  for (let second = 0; second < 10; second++) {
    await run.advance(1);
    const errors = (await listErrors()).map((line) => line.replace(/\d+$/, "N"));
    assertEquals(errors, ['kedify_agent_pra_error_total{namespace="default",reason="StatusWrite"} N']);
  }
  await run.cluster.delete("scaledobjects/web");
  await run.advance(5);
  assertEquals(await listErrors(), []);
});
