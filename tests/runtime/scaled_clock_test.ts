import { assertEquals, assertThrows } from "#assert";
import { scaleClock } from "../../lib/runtime/clock.ts";
import { VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";

Deno.test("scaleClock() lets an hour pass in a minute, for times and waits alike", async () => {
  const real = new VirtualClock();
  const fast = scaleClock(real, 60);
  const done: string[] = [];
  fast.sleep(3_600_000).then(() => done.push("slept"));
  using timeout = fast.timeout(3_600_000);
  await real.advance(59_000);
  assertEquals([done, timeout.signal.aborted, fast.now() - VIRTUAL_START_AT, fast.monotonic()], [
    [],
    false,
    3_540_000,
    3_540_000,
  ]);
  await real.advance(1000);
  assertEquals([done, timeout.signal.aborted, fast.now() - VIRTUAL_START_AT], [["slept"], true, 3_600_000]);
});

Deno.test("scaleClock() begins at the time of the clock it scales", async () => {
  const real = new VirtualClock();
  await real.advance(5000);
  const slow = scaleClock(real, 0.5);
  assertEquals([slow.now(), slow.monotonic()], [VIRTUAL_START_AT + 5000, 0]);
  await real.advance(1000);
  assertEquals([slow.now(), slow.monotonic()], [VIRTUAL_START_AT + 5500, 500]);
});

Deno.test("scaleClock() takes no speed that is no speed", () => {
  for (const speed of [0, -1, NaN, Infinity]) assertThrows(() => scaleClock(new VirtualClock(), speed), RangeError);
});
