/** When are the kubelets of many nodes asked (C20)? */
import { assert, assertEquals } from "#assert";
import { VirtualClock } from "../support/virtual_clock.ts";
import { watchKubelets } from "../../lib/usage/kubelet/watch.ts";

function open() {
  const clock = new VirtualClock();
  const asked: { readonly node: string; readonly at: number }[] = [];
  const fetchSummary = ({ name }: { readonly name: string }) => {
    asked.push({ node: name, at: clock.monotonic() });
    return Promise.resolve({ kind: "summary", bytes: EMPTY, clockOffsetMs: 0 } as const);
  };
  const watchUsage = watchKubelets({ fetchSummary }, { clock, random: () => 0.3 });
  const ending = new AbortController();
  const ended: Promise<void>[] = [];
  const leaving = new Map<string, AbortController>();
  async function run(name: string, interval: () => number): Promise<void> {
    const node = { name, getAddress: () => ADDRESS };
    const left = new AbortController();
    leaving.set(name, left);
    const signal = AbortSignal.any([ending.signal, left.signal]);
    const options = { interval, isTracked: () => true, pods: () => [], signal };
    for await (const reading of watchUsage(node, options)) assertEquals(reading.kind, "usage");
  }
  return {
    clock,
    asked,
    watch: (name: string, interval: () => number) => void ended.push(run(name, interval)),
    leave: (name: string) => leaving.get(name)?.abort(),
    /** Times of the node's polls, ms. */
    timesOf: (node: string) => asked.filter((one) => one.node === node).map(({ at }) => at),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all(ended);
      assertEquals(clock.pending, 0);
    },
  };
}

Deno.test("watchKubelets() asks all nodes soon, in groups, and then groups of 16 spread over the whole interval (C20)", async () => {
  await using run = open();
  for (let index = 0; index < 1024; index++) run.watch(`node-${index}`, () => 15_000);
  await run.clock.advance(4_100);
  const firstOfNodes = new Map(run.asked.toReversed().map(({ node, at }) => [node, at]));
  const first = Map.groupBy(firstOfNodes.values().toArray().toSorted((a, b) => a - b), (at) => at);
  assertEquals([...first].slice(0, 2).map(([at, group]) => [at, group.length]), [[43.75, 16], [106.25, 16]]);
  assertEquals(first.size, 64);
  await run.clock.advance(25_900);
  const since = run.clock.monotonic();
  await run.clock.advance(14_999);
  const groups = Map.groupBy(run.asked.filter(({ at }) => at > since), ({ at }) => at);
  assertEquals([...groups.values()].map(({ length }) => length), Array.from({ length: 64 }, () => 16));
  const times = [...groups.keys()];
  assertEquals(new Set(times.slice(1).map((at, index) => at - (times[index] ?? NaN))), new Set([15_000 / 64]));
});

Deno.test("watchKubelets() asks the few nodes of a small cluster at moments that are far from each other (C20)", async () => {
  await using run = open();
  for (let index = 0; index < 6; index++) run.watch(`node-${index}`, () => 15_000);
  await run.clock.advance(60_000);
  const phases = Array.from({ length: 6 }, (_, index) => (run.timesOf(`node-${index}`).at(-1) ?? NaN) % 15_000)
    .toSorted((a, b) => a - b);
  const gaps = phases.map((phase, index) =>
    (index === 5 ? (phases[0] ?? NaN) + 15_000 : phases[index + 1] ?? NaN) - phase
  );
  assert(Math.max(...gaps) <= 3_750, `polls at ${phases.join(", ")} ms`);
});

Deno.test("watchKubelets() keeps a node's place in the interval when the interval becomes shorter and longer (C20)", async () => {
  await using run = open();
  let intervalMs = 15_000;
  for (let index = 0; index < 64; index++) run.watch(`node-${index}`, () => intervalMs);
  await run.clock.advance(60_000);
  const before = run.timesOf("node-7").at(-1) ?? NaN;
  intervalMs = 5_000;
  await run.clock.advance(60_000);
  const [one = NaN, next = NaN] = run.timesOf("node-7").slice(-2);
  assertEquals(next - one, 5_000);
  intervalMs = 15_000;
  await run.clock.advance(60_000);
  assertEquals(((run.timesOf("node-7").at(-1) ?? NaN) - before) % 15_000, 0);
});

Deno.test("watchKubelets() keeps its groups of equal size when nodes are replaced one by one (C20)", async () => {
  await using run = open();
  for (let index = 0; index < 256; index++) run.watch(`node-${index}`, () => 15_000);
  await run.clock.advance(30_000);
  for (let index = 0; index < 256; index++) {
    run.leave(`node-${index}`);
    await run.clock.advance(1);
    run.watch(`new-${index}`, () => 15_000);
    await run.clock.advance(1);
  }
  await run.clock.advance(30_000);
  const since = run.clock.monotonic();
  await run.clock.advance(14_999);
  const groups = Map.groupBy(run.asked.filter(({ at }) => at > since), ({ at }) => at);
  assertEquals([...groups.values()].map(({ length }) => length), Array.from({ length: 16 }, () => 16));
});

const EMPTY = new TextEncoder().encode('{"pods":[]}');
const ADDRESS = { addresses: [{ type: "InternalIP", address: "10.0.0.1" }], port: 10250, maxPods: 110 };
