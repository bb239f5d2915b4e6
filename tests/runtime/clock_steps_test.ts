import { assertEquals } from "#assert";
import { watchClockSteps } from "../../lib/runtime/clock.ts";

Deno.test("watchClockSteps() gives each step of the wall clock once, beside the time that passes", () => {
  const time = { now: 1_000_000, monotonic: 50 };
  const take = watchClockSteps({ now: () => time.now, monotonic: () => time.monotonic });
  const pass = (ms: number, stepMs = 0) => {
    time.now += ms + stepMs;
    time.monotonic += ms;
    return take();
  };
  assertEquals([pass(60_000), pass(0, 7_200_000), pass(1000), pass(500.4, -7_200_000), take()], [
    0,
    7_200_000,
    0,
    -7_200_000,
    0,
  ]);
});

Deno.test("watchClockSteps() adds up what a clock is slewed by", () => {
  const time = { now: 0, monotonic: 0 };
  const take = watchClockSteps({ now: () => time.now, monotonic: () => time.monotonic });
  const steps = Array.from({ length: 6 }, () => {
    time.now += 1000;
    return take();
  });
  assertEquals(steps.filter((step) => step !== 0), [5000]);
});

Deno.test("watchClockSteps() looks at how much time has passed once a second at most, and at once when the wall clock steps back", () => {
  let [now, looks] = [0, 0];
  const take = watchClockSteps({ now: () => now, monotonic: () => (looks++, 0) });
  const countLooks = (at: number) => {
    const before = looks;
    now = at;
    take();
    return looks - before;
  };
  assertEquals([0, 999, 1000, 1001, 1999, 1500, 1499].map(countLooks), [0, 0, 1, 0, 0, 0, 0]);
  assertEquals([-1, 998, 999].map(countLooks), [1, 0, 1]);
});
