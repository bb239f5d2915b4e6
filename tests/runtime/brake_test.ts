import { assertEquals, assertRejects } from "#assert";
import { CircuitBreaker } from "../../lib/runtime/backoff.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** A server that is asked by all as often as they may, and is busy for the first `busyMs`. */
async function ask({ waitMs, busyMs, forMs }: { waitMs: number | null; busyMs: number; forMs: number }) {
  const clock = new VirtualClock();
  const brake = new CircuitBreaker({ clock, random: () => 0.99 });
  const askedMs: number[] = [];
  const ending = new AbortController();
  const clients = Array.from({ length: 20 }, async () => {
    while (!ending.signal.aborted) {
      using pass = await brake.acquire(ending.signal).catch(() => null);
      if (pass === null) return;
      askedMs.push(clock.monotonic());
      await clock.sleep(10, ending.signal).catch(() => {});
      pass.report(clock.monotonic() < busyMs ? { waitMs } : null);
      await clock.sleep(1_000, ending.signal).catch(() => {});
    }
  });
  await clock.advance(forMs);
  ending.abort();
  await Promise.all(clients);
  return { askedMs, pending: clock.pending };
}

Deno.test("Brake.pass() lets one ask for all while the server is busy, with growing waits, however short it says", async () => {
  for (const waitMs of [null, 1_000, 5_000, 20_000]) {
    const { askedMs, pending } = await ask({ waitMs, busyMs: 120_000, forMs: 120_000 });
    const waves = askedMs.slice(20);
    assertEquals(waves.length <= 8, true, `${waitMs} ms: ${waves.join()}`);
    const gaps = waves.slice(1).map((at, index) => at - (waves[index] ?? 0));
    assertEquals(gaps.every((gap) => gap >= (waitMs ?? 0)), true, gaps.join());
    assertEquals(pending, 0);
  }
});

Deno.test("Brake.pass() lets all go on, in order, when the one that asks is served", async () => {
  const { askedMs } = await ask({ waitMs: 5_000, busyMs: 4_000, forMs: 6_000 });
  assertEquals(askedMs.slice(20, 22), [5_010, 5_020]);
  assertEquals(askedMs.filter((at) => at === 5_020).length, 19);
});

Deno.test("Brake holds all for a minute at most, and begins with short waits again after a calm one", async () => {
  const clock = new VirtualClock();
  const brake = new CircuitBreaker({ clock, random: () => 0.99 });
  /** How long it holds after such an answer, in whole seconds. */
  async function readHold(waitMs: number | null): Promise<number> {
    brake.tryAcquire()?.report({ waitMs });
    for (let seconds = 0;; seconds++) {
      const pass = brake.tryAcquire();
      pass?.[Symbol.dispose]();
      if (pass !== null) return seconds;
      await clock.advance(1_000);
    }
  }
  assertEquals([await readHold(3_600_000), await readHold(null), await readHold(null)], [60, 2, 4]);
  brake.tryAcquire()?.report(null);
  await clock.advance(61_000);
  assertEquals(await readHold(null), 1);
});

Deno.test("Brake asks again where the one that asked for all gave up without an answer", async () => {
  const clock = new VirtualClock();
  const brake = new CircuitBreaker({ clock, random: () => 0 });
  const first = brake.tryAcquire();
  first?.report({ waitMs: 1_000 });
  await clock.advance(1_000);
  const probe = brake.tryAcquire();
  assertEquals(brake.tryAcquire(), null);
  let isNext = false;
  const next = brake.acquire(new AbortController().signal).then(() => isNext = true);
  await clock.advance(1_000);
  assertEquals(isNext, false);
  probe?.[Symbol.dispose]();
  await next;
  assertEquals([isNext, clock.pending], [true, 0]);
});

Deno.test("Brake.pass() rejects when its signal aborts, and leaves no timer behind", async () => {
  const clock = new VirtualClock();
  const brake = new CircuitBreaker({ clock, random: () => 0 });
  brake.tryAcquire()?.report({ waitMs: 60_000 });
  const controller = new AbortController();
  const waiting = assertRejects(() => brake.acquire(controller.signal), Error, "enough");
  await clock.advance(10);
  controller.abort(new Error("enough"));
  await waiting;
  assertEquals(clock.pending, 0);
});
