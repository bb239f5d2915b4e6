import { assertEquals, assertRejects, assertThrows } from "#assert";
import { Semaphore } from "../../lib/runtime/limits.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

Deno.test("Limit.acquire() lets in no more than its number, first come first served", async () => {
  const clock = new VirtualClock();
  const limit = new Semaphore(2);
  const done: string[] = [];
  let inside = 0;
  let mostInside = 0;
  async function visit(name: string, ms: number): Promise<void> {
    using _slot = await limit.acquire();
    mostInside = Math.max(mostInside, ++inside);
    await clock.sleep(ms);
    inside--;
    done.push(`${name}@${clock.monotonic()}`);
  }
  const visits = [visit("a", 10), visit("b", 30), visit("c", 10), visit("d", 10)];
  await clock.advance(30);
  await Promise.all(visits);
  assertEquals(done, ["a@10", "c@20", "b@30", "d@30"]);
  assertEquals(mostInside, 2);
});

Deno.test("Limit.acquire() leaves the queue when aborted, and the slot goes to the next", async () => {
  const limit = new Semaphore(1);
  const controller = new AbortController();
  const first = await limit.acquire();
  const impatient = limit.acquire(controller.signal);
  const patient = limit.acquire();
  controller.abort(new Error("enough"));
  await assertRejects(() => impatient, Error, "enough");
  await assertRejects(() => limit.acquire(controller.signal), Error, "enough");
  first[Symbol.dispose]();
  (await patient)[Symbol.dispose]();
});

Deno.test("Limit gives a slot back once, however often it is disposed", async () => {
  const limit = new Semaphore(1);
  const slot = await limit.acquire();
  slot[Symbol.dispose]();
  slot[Symbol.dispose]();
  await limit.acquire();
  let isInside = false;
  const waiting = limit.acquire().then(() => isInside = true);
  await Promise.race([waiting, new VirtualClock().advance(0)]);
  assertEquals(isInside, false);
});

Deno.test("Limit rejects a number below one", () => {
  assertThrows(() => new Semaphore(0), RangeError, 'Cannot limit to "0"');
  assertThrows(() => new Semaphore(NaN), RangeError, 'Cannot limit to "NaN"');
});
