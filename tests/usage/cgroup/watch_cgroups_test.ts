/** When are a node's cgroups read, and what of a node that is another (L61)? */
import { assert, assertEquals } from "#assert";
import type { Reading } from "../../../lib/api/usage.ts";
import { VIRTUAL_START_AT, VirtualClock } from "../../support/virtual_clock.ts";
import { watchCgroups } from "../../../lib/usage/cgroup/watch.ts";
import { ID, POD, toFiles, type Tree, treeV2, UID } from "../../support/cgroup_trees.ts";

const TREE = treeV2(`kubepods/burstable/pod${UID}`, ID);

Deno.test("watchCgroups() reads each second where the shortest interval is a second or less (L61)", async () => {
  for (const intervalMs of [1000, 100]) {
    await using run = start({ intervalMs });
    await run.clock.advance(2500);
    assertEquals(run.readings.map(({ readAt }) => readAt - VIRTUAL_START_AT), [0, 1000, 2000]);
    assertEquals(run.times(), [VIRTUAL_START_AT, VIRTUAL_START_AT + 1000, VIRTUAL_START_AT + 2000]);
  }
});

Deno.test("watchCgroups() reads no more often than anybody looks (L61)", async () => {
  await using run = start({ intervalMs: 5000 });
  await run.clock.advance(11_000);
  assertEquals(run.readings.map(({ readAt }) => readAt - VIRTUAL_START_AT), [0, 5000, 10_000]);
});

Deno.test("watchCgroups() gives usage by the node's own clock, which is podfit's (L61)", async () => {
  await using run = start({});
  await run.clock.advance(10);
  const [reading] = run.readings;
  assert(reading?.kind === "usage");
  assertEquals({ ...reading, pods: [...reading.pods.keys()], rows: reading.rows?.findPod(UID) }, {
    kind: "usage",
    node: "n1",
    readAt: VIRTUAL_START_AT,
    clockOffsetMs: 0,
    pods: [UID],
    rows: 0,
    skipped: 0,
    durationMs: 0,
  });
});

Deno.test("watchCgroups() dates points by a clock that nobody sets, which is podfit's own steady time (L61)", async () => {
  await using run = start({});
  await run.clock.advance(1500);
  run.clock.setNow(VIRTUAL_START_AT - 7_200_000);
  await run.clock.advance(1000);
  assertEquals(run.times(), [VIRTUAL_START_AT, VIRTUAL_START_AT + 1000, VIRTUAL_START_AT + 2000]);
  const last = run.readings.at(-1);
  assertEquals(last?.kind === "usage" ? last.clockOffsetMs : null, 0);
});

Deno.test("watchCgroups() says what is wrong with the mount, and reads on (L61)", async () => {
  const tree: Record<string, string> = {};
  await using run = start({ tree });
  await run.clock.advance(10);
  const [reading] = run.readings;
  assert(reading?.kind === "failed");
  assertEquals([reading.node, reading.reason], ["n1", "unreachable"]);
  assertEquals(
    reading.message,
    'Cannot read usage of node "n1" in the cgroups at "/host/cgroup": it holds no cgroups; mount /sys/fs/cgroup of the ' +
      "node there",
  );
  Object.assign(tree, TREE);
  await run.clock.advance(1000);
  assertEquals(run.readings.map(({ kind }) => kind), ["failed", "usage"]);
});

Deno.test("watchCgroups() knows usage of no other node (L61)", async () => {
  await using run = start({ node: "n2" });
  await run.clock.advance(10);
  const [reading] = run.readings;
  assert(reading?.kind === "failed");
  assertEquals(
    reading.message,
    'Cannot read usage of node "n2" in the cgroups at "/host/cgroup": they are those of node "n1"',
  );
});

interface Settings {
  readonly intervalMs?: number;
  readonly tree?: Tree;
  readonly node?: string;
}

function start({ intervalMs = 1000, tree = TREE, node = "n1" }: Settings) {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const readings: Reading[] = [];
  const watch = watchCgroups(toFiles(tree), { node: "n1", root: "/host/cgroup", clock });
  const ended = (async () => {
    const options = { interval: () => intervalMs, isTracked: () => true, pods: () => [POD], signal: ending.signal };
    const address = { name: node, getAddress: () => ({ addresses: null, port: 0, maxPods: null }) };
    for await (const reading of watch(address, options)) readings.push(reading);
  })();
  return {
    clock,
    readings,
    times: () => readings.flatMap((one) => one.kind === "usage" ? one.pods.get(UID)?.points[0]?.at ?? [] : []),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await ended;
      assertEquals(clock.pending, 0);
    },
  };
}
