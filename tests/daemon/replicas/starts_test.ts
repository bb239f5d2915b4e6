/**
 * When objects start that appear at the same time.
 * Clauses: R7.
 */
import { assert, assertEquals } from "#assert";
import { createStartDelays } from "../../../lib/daemon/replicas/manager.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

Deno.test("an object that appears by itself begins at once", async () => {
  const clock = new VirtualClock();
  const readWait = createStartDelays(clock);
  assertEquals(readWait(), 0);
  await clock.advance(1_000);
  assertEquals(readWait(), 0);
});

Deno.test("objects that appear together begin one after the other, all within the period of ticks (R7)", () => {
  const readWait = createStartDelays(new VirtualClock());
  const waits = Array.from({ length: 4_000 }, readWait);
  assertEquals(waits.slice(0, 3), [0, 10, 20]);
  assert(waits.every((ms) => ms >= 0 && ms < 15_000));
  const begun = new Map<number, number>();
  for (const ms of waits) begun.set(ms, (begun.get(ms) ?? 0) + 1);
  assertEquals([...begun.values()].toSorted().at(-1), 3);
});
