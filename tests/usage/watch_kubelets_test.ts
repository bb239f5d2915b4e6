/** When are the kubelets of many nodes asked (C20)? */
import { assert, assertEquals } from "#assert";
import { VirtualClock } from "../support/virtual_clock.ts";
import { watchKubelets } from "../../lib/usage/kubelet/watch.ts";

Deno.test("watchKubelets() asks nodes in groups, spread over the interval, and one that comes later falls in with them (C20)", async () => {
  const clock = new VirtualClock();
  const asked: { readonly node: string; readonly at: number }[] = [];
  const fetchSummary = ({ name }: { readonly name: string }) => {
    asked.push({ node: name, at: clock.monotonic() });
    return Promise.resolve({ kind: "summary", bytes: EMPTY, clockOffsetMs: 0 } as const);
  };
  const watchUsage = watchKubelets({ fetchSummary }, { clock, random: () => 0.3 });
  const ending = new AbortController();
  const ended: Promise<void>[] = [];
  async function watch(name: string): Promise<void> {
    const node = { name, getAddress: () => ADDRESS };
    const options = { interval: () => 15_000, isTracked: () => true, pods: () => [], signal: ending.signal };
    for await (const reading of watchUsage(node, options)) assertEquals(reading.kind, "usage");
  }
  for (let index = 0; index < 100; index++) ended.push(watch(`node-${index}`));
  await clock.advance(14_999);
  const groups = Map.groupBy(asked, ({ at }) => at);
  assertEquals([...groups].map(([at, group]) => [at, group.length]), [
    [43.75, 16],
    [106.25, 16],
    [168.75, 16],
    [231.25, 16],
    [293.75, 16],
    [356.25, 16],
    [418.75, 4],
  ]);
  await clock.advance(7_000);
  ended.push(watch("late"));
  await clock.advance(40_000);
  const late = asked.filter(({ node }) => node === "late").map(({ at }) => at);
  assertEquals(late.map((at, index) => at - (late[index - 1] ?? at)), [0, 15_000, 15_000]);
  assert(late.every((at) => at % 62.5 === 43.75), `polls of the late node at ${late.join(", ")} ms`);
  ending.abort();
  await Promise.all(ended);
  assertEquals(clock.pending, 0);
});

const EMPTY = new TextEncoder().encode('{"pods":[]}');
const ADDRESS = { addresses: [{ type: "InternalIP", address: "10.0.0.1" }], port: 10250, maxPods: 110 };
