/** How often a node's kubelet is asked (C20). */
import { assertEquals } from "@std/assert";
import { autoscalerObject, podObject } from "../support/api_objects.ts";
import { Run } from "../support/daemon_run.ts";

const READS = 'podfit_kubelet_reads_total{result="ok"}';

Deno.test("a node is polled as often as its most frequent autoscaler wants, once for all its pods (C20)", async () => {
  const slow = autoscalerObject({ name: "slow", policy: { pollInterval: "20s" } });
  await using run = new Run({ pods: [podObject(), podObject({ name: "web-2" })], autoscalers: [slow] });
  await run.advance(41);
  assertEquals(await run.series(READS), [`${READS} 3`]);
  run.api.put("podresourceautoscalers", autoscalerObject({ name: "quick", policy: { pollInterval: "10s" } }));
  await run.advance(40);
  assertEquals(await run.series(READS), [`${READS} 7`]);
  run.api.remove("podresourceautoscalers", "quick");
  await run.advance(40);
  assertEquals(await run.series(READS), [`${READS} 9`]);
});
