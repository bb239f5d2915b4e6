/** How often a node's kubelet is asked, and when (C20). */
import { assert, assertEquals } from "@std/assert";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import { Nodes } from "../../../lib/daemon/polling/nodes.ts";
import { UsageHealth } from "../../../lib/daemon/polling/usage_health.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { VirtualClock } from "../../../lib/runtime/virtual_clock.ts";
import { autoscalerObject, podObject } from "../../support/api_objects.ts";
import { pod, policy } from "../../support/builders.ts";
import { Run } from "../../support/daemon_run.ts";

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

Deno.test("nodes are asked in groups, spread over the interval, and one that comes later falls in with them (C20)", async () => {
  const clock = new VirtualClock();
  const asked: { readonly node: string; readonly at: number }[] = [];
  await using nodes = new Nodes({
    clock,
    random: () => 0.3,
    log: createLog({ level: "error", format: "json", clock, write() {} }),
    metrics: createMetrics({ version: "test" }),
    onTrouble() {},
    fetchSummary({ name }) {
      asked.push({ node: name, at: clock.monotonic() });
      return Promise.resolve({ kind: "summary", text: '{"pods":[]}', clockOffsetMs: 0 });
    },
    evaluator: { evaluate: () => Promise.resolve() },
    facts: new Map(),
    areListed: () => true,
    health: new UsageHealth({ readState: () => null, now: () => clock.now() }),
  });
  const contenders = [policy({ pollIntervalMs: 15_000 })];
  const put = (node: string) => nodes.put({ pod: pod({ uid: node, nodeName: node }), contenders });
  for (let index = 0; index < 100; index++) put(`node-${index}`);
  await clock.advance(14_999);
  const groups = Map.groupBy(asked, ({ at }) => at);
  assertEquals([...groups].map(([at, group]) => [at, group.length]), [[350, 32], [850, 32], [1350, 32], [1850, 4]]);
  await clock.advance(7_000);
  put("late");
  await clock.advance(40_000);
  const late = asked.filter(({ node }) => node === "late").map(({ at }) => at);
  assertEquals(late.map((at, index) => at - (late[index - 1] ?? at)), [0, 15_000, 15_000]);
  assert(late.every((at) => at % 500 === 350), `polls of the late node at ${late.join(", ")} ms`);
});
