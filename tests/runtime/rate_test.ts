import { assertEquals, assertRejects, assertThrows } from "#assert";
import { TokenBucket } from "../../lib/runtime/limits.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

Deno.test("Rate.take() lets a burst through at once, and then so many per second, in order of arrival", async () => {
  const clock = new VirtualClock();
  const rate = new TokenBucket({ clock, perSecond: 2, burst: 3 });
  const passed: string[] = [];
  const all = ["a", "b", "c", "d", "e"].map(async (name) => {
    await rate.take();
    passed.push(`${name}@${clock.monotonic()}`);
  });
  await clock.advance(1_000);
  await Promise.all(all);
  assertEquals(passed, ["a@0", "b@0", "c@0", "d@500", "e@1000"]);
  await clock.advance(60_000);
  await Promise.all([rate.take(), rate.take(), rate.take()]);
  assertEquals(clock.pending, 0, "the bucket is full again, and no timer stays behind");
});

Deno.test("Rate.take() leaves the queue when aborted, and leaves no timer behind", async () => {
  const clock = new VirtualClock();
  const rate = new TokenBucket({ clock, perSecond: 1, burst: 1 });
  await rate.take();
  const controller = new AbortController();
  const waiting = assertRejects(() => rate.take(controller.signal), Error, "enough");
  controller.abort(new Error("enough"));
  await waiting;
  await clock.advance(0);
  assertEquals(clock.pending, 0);
  await assertRejects(() => rate.take(controller.signal), Error, "enough");
});

Deno.test("Rate.drain() takes what was saved up", async () => {
  const clock = new VirtualClock();
  const rate = new TokenBucket({ clock, perSecond: 1, burst: 100 });
  rate.drain();
  let passedMs = -1;
  const taking = rate.take().then(() => passedMs = clock.monotonic());
  await clock.advance(1_000);
  await taking;
  assertEquals(passedMs, 1_000);
});

Deno.test("Rate rejects what would let nobody pass", () => {
  const clock = new VirtualClock();
  assertThrows(() => new TokenBucket({ clock, perSecond: 0, burst: 1 }), RangeError, '"0" per second');
  assertThrows(() => new TokenBucket({ clock, perSecond: 1, burst: 0.5 }), RangeError, 'burst of "0.5"');
});
