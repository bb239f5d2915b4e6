import { assert, assertEquals, assertRejects } from "#assert";
import { Alarm, type Clock, computeWallAheadMs, systemClock, timeoutError } from "../../lib/runtime/clock.ts";
import { settleEventLoop, VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";

/** The sanitizers prove "leaves no timer behind" for the real clock: an hour's sleep that leaked would fail its test. */
const HOUR_MS = 3_600_000;
const clocks: readonly (readonly [string, Clock])[] = [["systemClock", systemClock], [
  "VirtualClock",
  new VirtualClock(),
]];

for (const [name, clock] of clocks) {
  Deno.test(`${name}.sleep() rejects with the signal's reason when aborted before or during the sleep`, async () => {
    const reason = new Error("shutting down");
    const controller = new AbortController();
    const sleeping = clock.sleep(HOUR_MS, controller.signal);
    controller.abort(reason);
    assertEquals(await assertRejects(() => sleeping), reason);
    assertEquals(await assertRejects(() => clock.sleep(HOUR_MS, controller.signal)), reason);
  });

  Deno.test(`${name}.timeout() stays silent when disposed`, () => {
    const timeout = clock.timeout(HOUR_MS);
    timeout[Symbol.dispose]();
    assertEquals(timeout.signal.aborted, false);
  });
}

Deno.test("systemClock.sleep() wakes after its time, and timeout() aborts with a TimeoutError", async () => {
  const startMs = systemClock.monotonic();
  using timeout = systemClock.timeout(2);
  await systemClock.sleep(5, new AbortController().signal);
  assert(systemClock.monotonic() - startMs >= 4);
  assertEquals(timeout.signal.aborted, true);
  assertEquals((timeout.signal.reason as DOMException).name, "TimeoutError");
  assertEquals((timeout.signal.reason as DOMException).message, "Timed out after 2 ms");
});

Deno.test("systemClock.sleep() does not fire at once when asked for more than a timer holds", async () => {
  const controller = new AbortController();
  let isAwake = false;
  const sleeping = systemClock.sleep(2 ** 32, controller.signal).then(() => isAwake = true, () => {});
  await systemClock.sleep(5);
  controller.abort();
  await sleeping;
  assertEquals(isAwake, false);
});

Deno.test("VirtualClock.advance() wakes sleepers in due order, also those who sleep again", async () => {
  const clock = new VirtualClock();
  const woken: string[] = [];
  async function nap(name: string, napsMs: readonly number[]): Promise<void> {
    for (const ms of napsMs) {
      await clock.sleep(ms);
      await Promise.resolve();
      woken.push(`${name}@${clock.monotonic()}`);
    }
  }
  const naps = [nap("slow", [30]), nap("quick", [10, 10, 20]), nap("late", [40])];
  await clock.advance(39);
  assertEquals(woken, ["quick@10", "quick@20", "slow@30"]);
  assertEquals([clock.now() - VIRTUAL_START_AT, clock.monotonic(), clock.pending], [39, 39, 2]);
  await clock.advance(1);
  assertEquals(woken.slice(3), ["late@40", "quick@40"]);
  await Promise.all(naps);
});

Deno.test("VirtualClock.timeout() aborts when its time has come and leaves nothing pending", async () => {
  const clock = new VirtualClock();
  using timeout = clock.timeout(100);
  await clock.advance(99);
  assertEquals(timeout.signal.aborted, false);
  await clock.advance(1);
  assertEquals((timeout.signal.reason as DOMException).name, "TimeoutError");
  assertEquals(clock.pending, 0);
});

Deno.test("VirtualClock.setNow() steps the wall clock alone", async () => {
  const clock = new VirtualClock();
  let isAwake = false;
  const sleeping = clock.sleep(50).then(() => isAwake = true);
  clock.setNow(VIRTUAL_START_AT - HOUR_MS);
  await settleEventLoop();
  assertEquals([clock.now(), clock.steady(), clock.monotonic(), isAwake], [
    VIRTUAL_START_AT - HOUR_MS,
    VIRTUAL_START_AT,
    0,
    false,
  ]);
  await clock.advance(50);
  await sleeping;
  assertEquals(clock.now(), VIRTUAL_START_AT - HOUR_MS + 50);
});

Deno.test("systemClock.steady() is the wall time while nobody sets the wall clock, in whole milliseconds", () => {
  const steadyAt = systemClock.steady();
  assert(Math.abs(steadyAt - systemClock.now()) < 1000, `${steadyAt} is not ${systemClock.now()}`);
  assertEquals(Number.isInteger(steadyAt), true);
});

Deno.test("computeWallAheadMs() is how far the wall clock was set since the start, in whole seconds", () => {
  const table = [
    { now: 5_000, steady: 5_000, expected: 0 },
    { now: 5_000, steady: 5_400, expected: 0 },
    { now: 7_205_000, steady: 5_001, expected: 7_200_000 },
    { now: 5_000, steady: 7_204_999, expected: -7_200_000 },
  ];
  for (const { now, steady, expected } of table) {
    assertEquals(computeWallAheadMs({ now: () => now, steady: () => steady }), expected);
  }
});

Deno.test("VirtualClock.advance() fails rather than hangs on an endless loop of zero sleeps", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  async function spin(): Promise<void> {
    while (true) await clock.sleep(0, stop.signal);
  }
  const spinning = spin().catch(() => {});
  await assertRejects(() => clock.advance(1), Error, "endless loop");
  stop.abort();
  await spinning;
});

Deno.test("a timeout of a fast clock has whole milliseconds in its words", () => {
  assertEquals(timeoutError(10_000 / 60).message, "Timed out after 167 ms");
});

Deno.test("alarms of the same time share a timer, and the last one that is cancelled ends it", async () => {
  const clock = new VirtualClock();
  const rung: string[] = [];
  const alarms = ["a", "b", "c"].map((name) => new Alarm(clock, () => rung.push(`${name}@${clock.monotonic()}`)));
  const [a, b, c] = alarms;
  a?.set(10.3);
  b?.set(10.3);
  c?.set(12);
  assertEquals(clock.pending, 2);
  await clock.advance(10);
  assertEquals(rung, []);
  await clock.advance(1);
  assertEquals([rung, clock.pending], [["a@10.3", "b@10.3"], 1]);
  c?.cancel();
  assertEquals(clock.pending, 0);
  a?.set(1_010, 100);
  b?.set(1_090, 100);
  assertEquals(clock.pending, 1);
  a?.cancel();
  assertEquals(clock.pending, 1);
  // Another time takes the place of the first.
  b?.set(2_000);
  await clock.advance(5_000);
  assertEquals([rung.slice(2), clock.pending], [["b@2000"], 0]);
});

Deno.test("an alarm may be set again, and others cancelled, while a group of them rings", async () => {
  const clock = new VirtualClock();
  const rung: string[] = [];
  const last = new Alarm(clock, () => rung.push("last"));
  const first: Alarm = new Alarm(clock, () => {
    rung.push(`first@${clock.monotonic()}`);
    last.cancel();
    if (rung.length < 3) first.set(clock.monotonic() + 5);
  });
  first.set(5);
  last.set(5);
  await clock.advance(100);
  assertEquals([rung, clock.pending], [["first@5", "first@10", "first@15"], 0]);
});

Deno.test("an alarm of the system's clock does not ring before its time", async () => {
  for (let round = 0; round < 20; round++) {
    const dueMs = systemClock.monotonic() + 1 + round / 7;
    const atMs = await new Promise<number>((resolve) => {
      new Alarm(systemClock, () => resolve(systemClock.monotonic())).set(dueMs);
    });
    assert(atMs >= dueMs, `${atMs} is before ${dueMs}`);
  }
});
