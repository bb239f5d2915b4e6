import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { Reading } from "../../lib/api/usage.ts";
import type { FetchSummary } from "../../lib/usage/kubelet/fetch_summary.ts";
import { pollKubelet, type PollOptions } from "../../lib/usage/kubelet/watch.ts";
import { VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";

const ADDRESS = { addresses: [{ type: "InternalIP", address: "10.0.0.1" }], port: 10250, maxPods: 110 };
const NODE = { name: "n1", getAddress: () => ADDRESS };
const UID = "274067a2-453d-46ad-a8ad-3c566e52304f";
const RECORDED = Deno.readFileSync(new URL("../testdata/summary/cadvisor.json", import.meta.url));

Deno.test("pollKubelet() reads tracked pods once per interval, after its first delay (C20)", async () => {
  await using run = start({ firstMs: 3000, isTracked: (uid) => uid === UID });
  await run.clock.advance(2999);
  assertEquals(run.polledAt, []);
  await run.clock.advance(1 + 20_000);
  assertEquals(run.polledAt, [3000, 13_000, 23_000]);
  const reading = run.readings[0];
  assert(reading?.kind === "usage");
  assertEquals([...reading.pods.keys()], [UID]);
  assertEquals(reading.rows?.findPod(UID), 0);
  assertEquals({ ...reading, pods: null, rows: null }, {
    kind: "usage",
    node: "n1",
    readAt: VIRTUAL_START_AT + 3000,
    clockOffsetMs: 0,
    pods: null,
    rows: null,
    skipped: 0,
    durationMs: 0,
  });
});

Deno.test("pollKubelet() keeps its beat while a poll takes its time, and tells how long", async () => {
  await using run = start({}, { during: (clock) => clock.sleep(700) });
  await run.clock.advance(20_700);
  assertEquals(run.polledAt, [0, 10_000, 20_000]);
  assertEquals(run.readings.map((reading) => reading.kind === "usage" && reading.durationMs), [700, 700, 700]);
});

Deno.test("pollKubelet() makes up for no missed cycle: one poll at once, then the next a cycle later", async () => {
  await using run = start({}, { after: (clock) => clock.sleep(clock.monotonic() === 0 ? 35_000 : 0) });
  await run.clock.advance(60_000);
  assertEquals(run.polledAt.map((at) => Math.round(at / 1000)), [0, 35, 45, 55]);
});

const LATE = [
  { lateMs: 4_000, expected: [0, 14_000, 20_000, 30_000] },
  { lateMs: 6_000, expected: [0, 16_000, 26_000, 36_000] },
];

Deno.test("pollKubelet() keeps its beat after a cycle that was late by less than half of it, as in a busy process (C20)", async () => {
  for (const { lateMs, expected } of LATE) {
    await using run = start({}, { after: (clock) => clock.sleep(clock.monotonic() === 0 ? 10_000 + lateMs : 0) });
    await run.clock.advance(36_000);
    assertEquals(run.polledAt.slice(0, 4), expected);
  }
});

Deno.test("pollKubelet() follows an interval that changes while it waits", async () => {
  let intervalMs = 60_000;
  await using run = start({ interval: () => intervalMs });
  await run.clock.advance(12_000);
  intervalMs = 15_000;
  await run.clock.advance(18_000);
  assertEquals(run.polledAt, [0, 15_000, 30_000]);
});

Deno.test("pollKubelet() polls as soon as a shorter interval asks for, if it is told of it, and else at the next poll (R20)", async () => {
  for (
    const { isTold, expected } of [{ isTold: true, expected: [0, 7_000] }, { isTold: false, expected: [0, 15_000] }]
  ) {
    let intervalMs = 15_000;
    let tell = () => {};
    await using run = start({ interval: () => intervalMs, onShorterInterval: (call) => tell = call });
    await run.clock.advance(7_000);
    intervalMs = 5_000;
    if (isTold) tell();
    await run.clock.advance(8_000);
    assertEquals(run.polledAt.slice(0, 2), expected);
  }
});

Deno.test("pollKubelet() polls no more than once a second, whatever is asked for", async () => {
  for (const asked of [0, -1, NaN, 10]) {
    await using run = start({ interval: () => asked });
    await run.clock.advance(2000);
    assertEquals(run.polledAt, [0, 1000, 2000]);
  }
});

for (const intervalMs of [60_000, 5_000, 1_000]) {
  Deno.test(`pollKubelet() gives a poll 10 s, also at an interval of ${intervalMs} ms, and polls again after it`, async () => {
    await using run = start({
      interval: () => intervalMs,
      fetchSummary: (_, signal) =>
        new Promise((resolve) =>
          signal.addEventListener(
            "abort",
            () => resolve({ kind: "failed", reason: "timeout", message: signal.reason.message }),
          )
        ),
    });
    await run.clock.advance(9_999);
    assertEquals(run.readings, []);
    await run.clock.advance(1);
    const message = "Timed out after 10000 ms";
    assertEquals(run.readings, [{
      kind: "failed",
      node: "n1",
      readAt: VIRTUAL_START_AT + 10_000,
      reason: "timeout",
      message,
    }]);
  });
}

Deno.test("pollKubelet() tells of a failure and polls on at the same pace", async () => {
  const answers = [
    () => Promise.reject(new Error("broken")),
    () => Promise.resolve({ kind: "summary" as const, bytes: new TextEncoder().encode("<html>"), clockOffsetMs: 0 }),
    () => Promise.resolve({ kind: "failed" as const, reason: "forbidden" as const, message: "no" }),
  ];
  await using run = start({ fetchSummary: () => answers.shift()?.() ?? summary() });
  await run.clock.advance(30_000);
  assertEquals(run.readings.map((reading) => reading.kind === "failed" ? reading.reason : reading.kind), [
    "unreachable",
    "malformed",
    "forbidden",
    "usage",
  ]);
  const [broken, malformed] = run.readings;
  assertStringIncludes(broken?.kind === "failed" ? broken.message : "", `node "n1": broken`);
  assertStringIncludes(malformed?.kind === "failed" ? malformed.message : "", `node "n1": Cannot parse`);
});

Deno.test("pollKubelet() judges times from the far future by the node's clock, as its Date tells it", async () => {
  const time = new Date(VIRTUAL_START_AT + 86_400_000).toISOString();
  const usage = { cpu: { time, usageCoreNanoSeconds: 1 }, memory: { workingSetBytes: 1 } };
  const pods = [{ podRef: { uid: UID }, containers: [{ name: "main", startTime: time, ...usage }] }];
  const bytes = new TextEncoder().encode(JSON.stringify({ pods }));
  for (const [clockOffsetMs, skipped] of [[0, 1], [86_400_000, 0]] as const) {
    await using run = start({ fetchSummary: () => Promise.resolve({ kind: "summary", bytes, clockOffsetMs }) });
    await run.clock.advance(0);
    const reading = run.readings[0];
    assertEquals(reading?.kind === "usage" && reading.skipped, skipped);
  }
});

Deno.test("pollKubelet() ends without an error or a timer when its signal aborts", async () => {
  const waiting = start({});
  await waiting.clock.advance(1000);
  assertEquals(waiting.polledAt, [0]);
  await waiting[Symbol.asyncDispose]();
  assertEquals(waiting.clock.pending, 0);

  const polling = start({ fetchSummary: (_, signal) => new Promise((_, reject) => rejectOnAbort(signal, reject)) });
  await polling.clock.advance(1000);
  assertEquals(polling.polledAt, [0]);
  await polling[Symbol.asyncDispose]();
  assertEquals(polling.readings, []);
  assertEquals(polling.clock.pending, 0);
});

function rejectOnAbort(signal: AbortSignal, reject: (reason: unknown) => void): void {
  signal.addEventListener("abort", () => reject(signal.reason));
}

function summary() {
  return Promise.resolve({ kind: "summary" as const, bytes: RECORDED, clockOffsetMs: 0 });
}

interface Script {
  /** What a poll waits for. */
  readonly during: (clock: VirtualClock) => Promise<void>;
  /** What the consumer does with a reading. */
  readonly after: (clock: VirtualClock) => Promise<void>;
}

function idle(): Promise<void> {
  return Promise.resolve();
}

/** Watches in the background, each 10 s. */
function start(overrides: Partial<PollOptions>, { during = idle, after = idle }: Partial<Script> = {}) {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const readings: Reading[] = [];
  const polledAt: number[] = [];
  const fetchRecorded: FetchSummary = async () => {
    await during(clock);
    return await summary();
  };
  const { fetchSummary = fetchRecorded } = overrides;
  const options: PollOptions = {
    clock,
    interval: () => 10_000,
    isTracked: () => true,
    pods: () => [],
    signal: controller.signal,
    ...overrides,
    fetchSummary(node, signal) {
      polledAt.push(clock.monotonic());
      return fetchSummary(node, signal);
    },
  };
  const ended = (async () => {
    for await (const reading of pollKubelet(NODE, options)) {
      readings.push(reading);
      await after(clock);
    }
  })();
  return {
    clock,
    readings,
    polledAt,
    async [Symbol.asyncDispose]() {
      controller.abort();
      await ended;
    },
  };
}
