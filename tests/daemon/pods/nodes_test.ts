/** How often a node's kubelet is asked, and when (C20). */
import { assert, assertEquals } from "#assert";
import type { NodeFacts } from "../../../lib/daemon/cluster/facts.ts";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import { NodePoller, type NodePollerOptions } from "../../../lib/daemon/pods/poller.ts";
import { FailureLog } from "../../../lib/daemon/health.ts";
import { UsageHealth } from "../../../lib/daemon/pods/usage_health.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { untilAborted } from "../../../lib/runtime/tasks.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { autoscalerObject, podObject } from "../../support/api_objects.ts";
import { pod, policy } from "../../support/builders.ts";
import { Run } from "../../support/daemon_run.ts";

const CAPACITY = { cpuMillicores: 8_000, memoryBytes: null };
const NODE: NodeFacts = {
  name: "node1",
  addresses: [],
  port: 10250,
  maxPods: 110,
  capacity: CAPACITY,
  allocatable: CAPACITY,
  kubeletVersion: null,
  memoryPressure: false,
};
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

Deno.test("a node's watch ends when its loop fails, and the loop watches anew (C20)", async () => {
  const clock = new VirtualClock();
  const signals: AbortSignal[] = [];
  let [failures, ended] = [1, 0];
  await using nodes = createNodes({
    clock,
    async *watchUsage({ name: node, getAddress }, { signal }) {
      assertEquals(getAddress(), { addresses: null, port: 0, maxPods: null });
      signals.push(signal);
      try {
        while (!signal.aborted) {
          const common = { kind: "usage", node, readAt: clock.now(), clockOffsetMs: 0, skipped: 0 } as const;
          yield { ...common, durationMs: 0, pods: new Map() };
          await clock.sleep(1000, signal).catch(() => {});
        }
      } finally {
        ended++;
      }
    },
    controller: {
      evaluate() {
        if (failures-- > 0) throw new Error("broken");
      },
    },
  });
  nodes.put({ pod: pod(), autoscalers: [policy()] });
  await clock.advance(5000);
  assertEquals(signals.map(({ aborted }) => aborted), [true, false]);
  assertEquals(ended, 1, "the source knows that nobody takes a reading any more");
});

Deno.test("a loop that is stuck is started again while other loops turn, and not where all are stuck", async () => {
  const clock = new VirtualClock();
  const opened: string[] = [];
  const hanging = new Set(["node1"]);
  // Calls without a timeout: they end with the test.
  const end = Promise.withResolvers<void>();
  await using nodes = createNodes({
    clock,
    async *watchUsage({ name: node }, { signal }) {
      opened.push(node);
      while (!signal.aborted) {
        const common = { kind: "usage", node, readAt: clock.now(), clockOffsetMs: 0, skipped: 0 } as const;
        yield { ...common, durationMs: 0, pods: new Map() };
        await clock.sleep(10_000, signal).catch(() => {});
        if (hanging.has(node)) await end.promise;
      }
    },
  });
  const autoscalers = [policy({ pollIntervalMs: 10_000 })];
  for (const name of ["node1", "node2"]) nodes.put({ pod: pod({ uid: name, nodeName: name }), autoscalers });
  await clock.advance(69_000);
  nodes.restartStuck();
  assertEquals([nodes.listStuck(), opened], [[], ["node1", "node2"]]);
  await clock.advance(2_000);
  assertEquals(nodes.listStuck(), ["node1"]);
  hanging.clear();
  nodes.restartStuck();
  nodes.restartStuck();
  await clock.advance(1_000);
  assertEquals([nodes.listStuck(), opened], [[], ["node1", "node2", "node1"]]);
  for (const name of ["node1", "node2"]) hanging.add(name);
  await clock.advance(85_000);
  nodes.restartStuck();
  await clock.advance(1_000);
  assertEquals([nodes.listStuck(), opened.length], [["node1", "node2"], 3]);
  end.resolve();
});

Deno.test("a burst of changed pods is not looked through again for each of them", async () => {
  const clock = new VirtualClock();
  let looks = 0;
  await using nodes = createNodes({
    clock,
    async *watchUsage(_node, { signal, interval }) {
      assertEquals(interval(), 15_000);
      await clock.sleep(60_000, signal).catch(() => {});
      yield* [];
    },
  });
  const contenders = [policy({ pollIntervalMs: 15_000 })];
  for (let count = 0; count < 200; count++) {
    nodes.put({
      pod: pod({ uid: `pod-${count}` }),
      get autoscalers() {
        looks++;
        return contenders;
      },
    });
  }
  await clock.advance(1000);
  assert(looks <= 2 * 200, `${looks} looks at 200 pods`);
});

Deno.test("a node that is gone for a day is told of once, and then summed up once an hour with all its failures", async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    format: "json",
    clock,
    write(line) {
      const { message, times, more } = JSON.parse(line);
      lines.push([message, times, more].filter((part) => part !== undefined).join(" "));
    },
  });
  const troubles = new FailureLog({ log, clock });
  await using nodes = createNodes({
    clock,
    onTrouble: troubles.report,
    async *watchUsage({ name: node }, { signal }) {
      for (let isFirst = true; !signal.aborted; isFirst = false) {
        if (!isFirst) await clock.sleep(15_000, signal).catch(() => {});
        yield { kind: "failed", node, readAt: clock.now(), reason: "timeout", message: "Cannot read usage of node" };
      }
    },
  });
  nodes.put({ pod: pod(), autoscalers: [policy()] });
  for (let minute = 0; minute < 24 * 60; minute++) {
    await clock.advance(60_000);
    troubles.sweep();
  }
  const [first, ...sums] = lines;
  assertEquals([first, sums.length], ["Cannot read usage of node", 2 + 23]);
  assertEquals(sums.at(-1)?.split(" ").at(-1), "240");
});

Deno.test("a reading that says a node is not listed is no failure once it is, and is one where nodes are listed without it", async () => {
  const clock = new VirtualClock();
  const facts = new Map([[NODE.name, NODE]]);
  for (const [known, expected] of [[facts, []], [new Map(), ["not listed"]]] as const) {
    const told: string[] = [];
    await using nodes = createNodes({
      clock,
      facts: known,
      onTrouble: (trouble) => void (trouble.kind === "failure" && told.push(trouble.message)),
      async *watchUsage({ name: node }, { signal }) {
        yield { kind: "failed", node, readAt: clock.now(), reason: "unlisted", message: "not listed" };
        await clock.sleep(60_000, signal).catch(() => {});
      },
    });
    nodes.put({ pod: pod({ nodeName: NODE.name }), autoscalers: [policy()] });
    await clock.advance(1_000);
    assertEquals<readonly string[]>(told, expected);
  }
});

Deno.test("a node whose pods become urgent is read as soon as that asks for (R20)", async () => {
  const clock = new VirtualClock();
  const intervals: number[] = [];
  await using nodes = createNodes({
    clock,
    // deno-lint-ignore require-yield
    async *watchUsage(_node, { signal, interval, onShorterInterval = () => {} }) {
      onShorterInterval(() => intervals.push(interval()));
      await untilAborted(signal);
    },
  });
  const one = pod({ nodeName: NODE.name });
  nodes.meter(one, { isUrgent: false });
  await clock.advance(1);
  nodes.meter(one, { isUrgent: true });
  nodes.meter(one, { isUrgent: true });
  nodes.meter(one, { isUrgent: false });
  assertEquals(intervals, [5_000]);
});

/** Of which nothing is known but that they are listed, and whose readings nobody evaluates. */
function createNodes(
  options: Pick<NodePollerOptions, "clock" | "watchUsage"> & Partial<NodePollerOptions>,
): NodePoller {
  const { clock } = options;
  return new NodePoller({
    random: () => 0,
    log: createLog({ level: "error", format: "json", clock, write() {} }),
    metrics: createMetrics({ version: "test" }),
    onTrouble() {},
    controller: { evaluate() {} },
    facts: new Map(),
    areListed: () => true,
    health: new UsageHealth({ readStanding: () => null, clock }),
    ...options,
  });
}
