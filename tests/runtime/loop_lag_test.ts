import { assert, assertEquals, assertRejects } from "#assert";
import { systemClock } from "../../lib/runtime/clock.ts";
import { LoopLag } from "../../lib/runtime/event_loop.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

Deno.test("LoopLag.takeMs() gives the longest block since it was last asked", async () => {
  const lag = new LoopLag(systemClock);
  const sleeping = lag.clock.sleep(20);
  const untilMs = systemClock.monotonic() + 120;
  while (systemClock.monotonic() < untilMs);
  await sleeping;
  const blockedMs = lag.takeMaxMs();
  assert(blockedMs >= 90, `120 ms of block, of which a sleep of 20 ms saw ${blockedMs}`);
  assertEquals(lag.takeMaxMs(), 0);
});

Deno.test("LoopLag sees no block while the loop turns", async () => {
  const clock = new VirtualClock();
  const lag = new LoopLag(clock);
  const sleeping = lag.clock.sleep(10_000);
  await clock.advance(10_000);
  await sleeping;
  assertEquals([lag.takeMaxMs(), lag.clock.monotonic(), lag.clock.now()], [0, clock.monotonic(), clock.now()]);
});

Deno.test("LoopLag takes a sleep until a time that has passed for no block", async () => {
  const clock = new VirtualClock();
  const lag = new LoopLag(clock);
  const sleeping = lag.clock.sleep(-10_000);
  await clock.advance(0);
  await sleeping;
  assertEquals(lag.takeMaxMs(), 0);
});

Deno.test("a sleep that LoopLag watches ends with its signal, and leaves no timer", async () => {
  const clock = new VirtualClock();
  const lag = new LoopLag(clock);
  const controller = new AbortController();
  const sleeping = assertRejects(() => lag.clock.sleep(10_000, controller.signal), Error, "enough");
  controller.abort(new Error("enough"));
  await sleeping;
  assertEquals([lag.takeMaxMs(), clock.pending], [0, 0]);
});
