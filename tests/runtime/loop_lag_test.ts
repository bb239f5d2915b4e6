import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../lib/runtime/clock.ts";
import { LoopLag } from "../../lib/runtime/loop_lag.ts";
import { VirtualClock } from "../../lib/sim/virtual_clock.ts";

Deno.test("LoopLag.takeMs() gives the longest block since it was last asked", async () => {
  const controller = new AbortController();
  const lag = new LoopLag();
  const running = lag.run(systemClock, controller.signal).catch(() => {});
  const untilMs = systemClock.monotonic() + 120;
  while (systemClock.monotonic() < untilMs);
  await systemClock.sleep(1);
  const blockedMs = lag.takeMs();
  assert(blockedMs >= 60, `120 ms of block, a sleep of 50 ms: ${blockedMs}`);
  assertEquals(lag.takeMs(), 0);
  controller.abort();
  await running;
});

Deno.test("LoopLag sees no block while the loop turns", async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const lag = new LoopLag();
  const running = lag.run(clock, controller.signal).catch(() => {});
  await clock.advance(10_000);
  assertEquals(lag.takeMs(), 0);
  controller.abort();
  await running;
  assertEquals(clock.pending, 0);
});
