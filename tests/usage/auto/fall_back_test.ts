/** Which of two sources reads a node, and when that changes (C54). */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import * as fc from "fast-check";
import type { FailureReason, PodUsage, Reading } from "../../../lib/api/usage.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { createAutoSource } from "../../../lib/usage/auto.ts";
import { readAtInterval, type UsagePod, type WatchUsage } from "../../../lib/usage/source.ts";

const MINUTE = 60_000;
const POD: UsagePod = {
  uid: "uid-1",
  namespace: "default",
  name: "web",
  qosClass: null,
  containers: [{ name: "main", instance: "containerd://1", runningAt: 1 }],
};

Deno.test("the better source alone is read for as long as it gives usage", async () => {
  await using run = start({});
  await run.clock.advance(10 * MINUTE);
  assertEquals([run.served(), run.reads.other], ["better x41", 0]);
  assertEquals(run.readings[0]?.served, { source: "better", because: null });
});

Deno.test("three failed readings in a row bring in the other source, and single ones do not (C54)", async () => {
  let minute = 0;
  await using run = start({ better: () => minute === 0 ? run.reads.better % 3 === 0 ? "ok" : "http" : "http" });
  await run.clock.advance(MINUTE);
  assertEquals([run.served(), run.reads.other], ["better x5", 0]);
  minute = 1;
  await run.clock.advance(MINUTE);
  const [first] = run.readings.filter(({ served }) => served?.source === "other");
  assertEquals(first?.kind, "usage");
  assertEquals(first?.served?.because, "Cannot read better: http");
});

for (const reason of ["tls", "unauthorized", "forbidden"] as const) {
  Deno.test(`one reading that failed for ${reason} is enough, as it does not heal by itself`, async () => {
    await using run = start({ better: () => reason });
    await run.clock.advance(20_000);
    assertEquals(run.served(), "better x1, other x2");
  });
}

Deno.test("a source is not left for one that has no usage either, and what fails says so of both (C54)", async () => {
  await using run = start({ better: () => "http", other: () => "forbidden" });
  await run.clock.advance(5 * MINUTE);
  assertEquals(new Set(run.readings.map(({ served }) => served?.source)), new Set(["better"]));
  const last = run.readings.at(-1);
  assertEquals(last?.kind === "failed" && last.message, "Cannot read better: http; Cannot read other: forbidden");
  // No more often than metrics-server looks.
  assert(run.reads.other >= 18 && run.reads.other <= 20, `${run.reads.other} reads`);
});

Deno.test("a list without the node's containers is no usage to fall back to (C54)", async () => {
  await using run = start({ better: () => "unreachable", other: () => "empty" });
  await run.clock.advance(5 * MINUTE);
  assertEquals(new Set(run.readings.map(({ served }) => served?.source)), new Set(["better"]));
  const last = run.readings.at(-1);
  assertStringIncludes(last?.kind === "failed" ? last.message : "", "it has none of the node's containers");
});

Deno.test("a pod that the other source does not know yet is read by it within one poll of when it does (C54)", async () => {
  await using run = start({ better: () => "tls", other: (clock) => clock.monotonic() < 40_000 ? "empty" : "ok" });
  await run.clock.advance(MINUTE);
  const first = run.readings.find(({ kind }) => kind === "usage");
  assertEquals(first?.served?.source, "other");
  assertEquals(run.readAt.other.filter((at) => at >= 40_000).at(0), 45_000);
});

Deno.test("a node without running containers may have no usage, and that is no failure", async () => {
  await using run = start({ better: () => "empty", pods: [{ ...POD, containers: [] }] });
  await run.clock.advance(5 * MINUTE);
  assertEquals([run.served(), run.reads.other], ["better x21", 0]);
});

Deno.test("the better source comes back after three readings in a row, which it is asked for in the background (C54)", async () => {
  let isDown = true;
  await using run = start({ better: () => isDown ? "http" : "ok" });
  await run.clock.advance(MINUTE);
  const before = run.reads.better;
  isDown = false;
  await run.clock.advance(3 * MINUTE);
  assertEquals(run.readings.at(-1)?.served, { source: "better", because: null });
  const back = run.readings.findLastIndex(({ served }) => served?.source === "other") + 1;
  // Two readings in the background, the third is given.
  assertEquals(run.reads.better - before, run.readings.length - back + 2);
  assert(run.readings.slice(3).every(({ kind }) => kind === "usage"));
  const others = run.reads.other;
  await run.clock.advance(10 * MINUTE);
  assertEquals(run.reads.other, others);
});

Deno.test("a better source that stays away is tried after waits that grow from one minute to thirty (C54)", async () => {
  await using run = start({ better: () => "tls" });
  await run.clock.advance(4 * 60 * MINUTE);
  const gaps = run.readAt.better.map((at, index) => (at - (run.readAt.better[index - 1] ?? at)) / MINUTE).slice(1);
  assertEquals(gaps.map(Math.round).slice(0, 6), [1, 2, 4, 8, 16, 30]);
  assert(gaps.slice(5).every((gap) => Math.abs(gap - 30) < 1), gaps.join());
});

Deno.test("a better source that fails every other time does not come and go", async () => {
  for (const reason of ["http", "forbidden"] as const) {
    await using run = start({ better: () => run.reads.better % 2 === 0 ? "ok" : reason });
    await run.clock.advance(24 * 60 * MINUTE);
    assert(run.switches() <= 1, `${reason}: ${run.switches()} switches`);
    const useful = run.readings.filter(({ kind }) => kind === "usage").length;
    assert(useful >= run.readings.length / 2 - 1, `${useful} of ${run.readings.length}`);
  }
});

Deno.test("a better source that returns for minutes only is believed less each time", async () => {
  // Ten minutes well, ten minutes not.
  await using run = start({
    better: (clock) => Math.floor(clock.monotonic() / (10 * MINUTE)) % 2 === 0 ? "ok" : "http",
  });
  await run.clock.advance(24 * 60 * MINUTE);
  // It would be 144 if each return were believed.
  assert(run.switches() < 75, `${run.switches()} switches`);
});

Deno.test("when what stands in fails too, the better source is tried each 15 s, and one reading is enough (C54)", async () => {
  let state: "away" | "gone" | "back" = "away";
  await using run = start({
    better: () => state === "back" ? "ok" : "tls",
    other: () => state === "away" ? "ok" : "timeout",
  });
  await run.clock.advance(60 * MINUTE);
  state = "gone";
  await run.clock.advance(10 * MINUTE);
  const reads = run.reads.better;
  await run.clock.advance(10 * MINUTE);
  assert(run.reads.better - reads >= 38 && run.reads.better - reads <= 40, `${run.reads.better - reads} reads`);
  state = "back";
  await run.clock.advance(MINUTE / 2);
  assertEquals(run.readings.at(-1)?.served?.source, "better");
  const index = run.readings.findIndex(({ kind }, at) => at > 300 && kind === "usage");
  assertEquals(run.readings[index]?.served?.source, "better");
});

Deno.test("an interval that becomes shorter counts at once for the source that serves, also after a try of the other (C54)", async () => {
  let intervalMs = 15_000;
  await using run = start({ better: () => "tls", interval: () => intervalMs });
  await run.clock.advance(4 * MINUTE);
  assert(run.reads.better > 2, "it was tried and closed");
  const [since, last = 0] = [run.clock.monotonic(), run.readAt.other.at(-1)];
  await run.clock.advance(last + 6_000 - since);
  intervalMs = 5_000;
  run.readSooner();
  await run.clock.advance(0);
  assertEquals(run.readAt.other.at(-1), last + 6_000);
});

Deno.test("an interval that becomes shorter counts at once for a source that is tried (C54)", async () => {
  let intervalMs = 15_000;
  let isDown = true;
  await using run = start({ better: () => isDown ? "tls" : "ok", interval: () => intervalMs });
  await run.clock.advance(2 * MINUTE);
  isDown = false;
  while (run.readings.at(-1)?.served?.source === "other" && run.reads.better < 4) await run.clock.advance(1_000);
  const reads = run.reads.better;
  await run.clock.advance(5_000);
  assertEquals(run.reads.better, reads);
  intervalMs = 5_000;
  run.readSooner();
  await run.clock.advance(0);
  assertEquals(run.reads.better, reads + 1);
});

Deno.test("each node is judged by itself", async () => {
  await using run = start({ better: (_, node) => node === "n1" ? "tls" : "ok" }, ["n1", "n2"]);
  await run.clock.advance(2 * MINUTE);
  const of = (name: string) => run.readings.filter(({ node }) => node === name).map(({ served }) => served?.source);
  assertEquals([of("n1").at(-1), new Set(of("n2"))], ["other", new Set(["better"])]);
});

Deno.test("what was opened is put away when the watch ends, whichever source serves", async () => {
  for (const better of ["ok", "tls", "http"] as const) {
    const run = start({ better: () => better });
    await run.clock.advance(67_000);
    await run[Symbol.asyncDispose]();
    assertEquals([run.open(), run.clock.pending], [0, 0], better);
  }
});

Deno.test("whatever two sources do, one's readings come at a time, each once, and none are held back for long", async () => {
  const life = fc.array(fc.constantFrom<Told>("ok", "ok", "http", "tls", "empty"), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(life, life, async (betterLife, otherLife) => {
      const at = (told: readonly Told[], clock: VirtualClock) =>
        told[Math.floor(clock.monotonic() / MINUTE) % told.length];
      await using run = start({
        better: (clock) => at(betterLife, clock) ?? "ok",
        other: (clock) => at(otherLife, clock) ?? "ok",
      });
      await run.clock.advance(60 * MINUTE);
      assertEquals(new Set(run.readings).size, run.readings.length);
      assert(run.open() <= 2);
      let before = 0;
      for (const { readAt, served } of run.readings) {
        assert(readAt - before <= 31_000 || before === 0, `${readAt - before} ms without a reading`);
        assert(served !== undefined && (served.because === null) === (served.source === "better"));
        before = readAt;
      }
    }),
    { numRuns: 50 },
  );
});

/** What a source gives. */
type Told = "ok" | "empty" | FailureReason;
type Tell = (clock: VirtualClock, node: string) => Told;

const USAGE: PodUsage = { usageBytes: null, points: [] };

function start(
  { better = () => "ok", other = () => "ok", pods = [POD], interval = () => 15_000 }: {
    readonly better?: Tell;
    readonly other?: Tell;
    readonly pods?: readonly UsagePod[];
    readonly interval?: () => number;
  },
  nodes: readonly string[] = ["n1"],
) {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const readings: Reading[] = [];
  const reads = { better: 0, other: 0 };
  const readAt: Readonly<Record<keyof typeof reads, number[]>> = { better: [], other: [] };
  let open = 0;
  let readSooner = () => {};

  function watch(name: keyof typeof reads, tell: Tell): WatchUsage {
    return async function* ({ name: node }, options) {
      open++;
      try {
        yield* readAtInterval(() => {
          reads[name]++;
          readAt[name].push(clock.monotonic());
          const told = tell(clock, node);
          const common = { node, readAt: clock.now() };
          if (told !== "ok" && told !== "empty") {
            return { ...common, kind: "failed", reason: told, message: `Cannot read ${name}: ${told}` } as const;
          }
          const found = new Map(told === "ok" ? [[POD.uid, USAGE]] : []);
          return { ...common, kind: "usage", clockOffsetMs: 0, pods: found, skipped: 0, durationMs: 0 } as const;
        }, { ...options, clock });
      } finally {
        open--;
      }
    };
  }

  const watchUsage = createAutoSource(
    { name: "better", watchUsage: watch("better", better) },
    { name: "other", watchUsage: watch("other", other) },
    { clock, random: () => 0 },
  );
  const ended = nodes.map(async (name) => {
    const node = { name, getAddress: () => ({ addresses: null, port: 0, maxPods: null }) };
    const options = {
      interval,
      onShorterInterval: (call: () => void) => readSooner = call,
      isTracked: () => true,
      pods: () => pods,
      signal: ending.signal,
    };
    for await (const reading of watchUsage(node, options)) readings.push(reading);
  });
  const sources = () => readings.map(({ served }) => served?.source);
  return {
    clock,
    readings,
    reads,
    readAt,
    readSooner: () => readSooner(),
    open: () => open,
    switches: () => sources().filter((one, index, all) => index > 0 && one !== all[index - 1]).length,
    /** `better x3, other x2` */
    served() {
      const parts: [string, number][] = [];
      for (const one of sources()) {
        const last = parts.at(-1);
        if (last !== undefined && last[0] === one) last[1]++;
        else parts.push([one ?? "none", 1]);
      }
      return parts.map(([name, count]) => `${name} x${count}`).join(", ");
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all(ended);
      await clock.advance(0);
    },
  };
}
