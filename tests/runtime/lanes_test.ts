/** Who is next: lanes take turns, urgent items go first but do not stop the others, and shares leave a place free. */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { Lanes } from "../../lib/runtime/lanes.ts";
import { Semaphore } from "../../lib/runtime/limits.ts";

function takeAll(lanes: Lanes<string>): string[] {
  const taken: string[] = [];
  for (let next = lanes.take(); next !== null; next = lanes.take()) taken.push(next.item);
  return taken;
}

Deno.test("Lanes.take() gives lanes their turns, each in order of arrival", () => {
  const lanes = new Lanes<string>();
  for (const item of ["a1", "a2", "a3"]) lanes.add("a", item);
  lanes.add("b", "b1");
  lanes.add("c", "c1");
  assertEquals(lanes.count(), 5);
  assertEquals(takeAll(lanes), ["a1", "b1", "c1", "a2", "a3"]);
  assertEquals([lanes.count(), lanes.count("a"), lanes.take()], [0, 0, null]);
});

Deno.test("Lanes.take() lets urgent items go first, lane by lane, but after three in a row one that is not urgent", () => {
  const lanes = new Lanes<string>();
  lanes.add("calm", "calm");
  for (let index = 0; index < 6; index++) lanes.add("loud", `loud${index}`, { isUrgent: true });
  lanes.add("other", "other", { isUrgent: true });
  assertEquals(takeAll(lanes), ["loud0", "other", "loud1", "calm", "loud2", "loud3", "loud4", "loud5"]);
});

Deno.test("Lanes.remove() and replace() find an item wherever it waits", () => {
  const lanes = new Lanes<string>();
  lanes.add("a", "a1");
  lanes.add("a", "a2", { isUrgent: true });
  lanes.add("a", "a3");
  assertEquals(lanes.findSurplus(), { lane: "a", item: "a3", count: 2 });
  assertEquals(lanes.findSurplus({ isUrgent: true }), { lane: "a", item: "a2", count: 1 });
  lanes.replace("a", "a2", "new");
  assertEquals([lanes.remove("a", "a1"), lanes.remove("a", "a1"), lanes.remove("b", "a3")], [true, false, false]);
  assertEquals(takeAll(lanes), ["new", "a3"]);
  assertEquals(lanes.findSurplus(), null);
});

Deno.test("a lane holds at most max / (lanes + 1) slots or four, so that a new lane gets one at once", async () => {
  const limit = new Semaphore(64, { isShared: true });
  const held: Disposable[] = [];
  const ask = (lane: string) => void limit.acquire(undefined, { lane }).then((slot) => held.push(slot));
  for (let index = 0; index < 100; index++) ask("tarpit");
  await settle();
  assertEquals(held.length, 32, "alone it holds half");
  for (let index = 0; index < 100; index++) ask("second");
  await settle();
  assertEquals(held.length, 32 + 21);
  ask("victim");
  await settle();
  assertEquals(held.length, 32 + 21 + 1);
  // What the first lane holds above its share is not taken away, but not given again either.
  held.shift()?.[Symbol.dispose]();
  await settle();
  assertEquals(held.length, 32 + 21);
});

Deno.test("tryAcquire() gives a lane its share at most, and counts what it gave (R50)", () => {
  const limit = new Semaphore(64, { isShared: true });
  for (let index = 0; index < 32; index++) assert(limit.tryAcquire("tarpit") !== null, `${index}`);
  assertEquals(limit.tryAcquire("tarpit"), null);
  const other = limit.tryAcquire("other");
  assert(other !== null);
  other[Symbol.dispose]();
});

Deno.test("whatever lanes do, none holds more than its share when it gets a slot, and none waits while it may have one", async () => {
  const step = fc.record({
    lane: fc.nat(20),
    isUrgent: fc.boolean(),
    act: fc.constantFrom("ask", "ask", "free", "leave"),
  });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 200 }), async (max, steps) => {
      const limit = new Semaphore(max, { isShared: true });
      const held = new Map<string, Disposable[]>();
      const waiting: { readonly lane: string; readonly leaving: AbortController }[] = [];
      const getHeld = (lane: string) => held.get(lane) ?? [];
      const total = () => [...held.values()].reduce((sum, { length }) => sum + length, 0);
      const countLanes = () => {
        const busy = [...held].filter(([, slots]) => slots.length > 0).map(([lane]) => lane);
        return new Set([...busy, ...waiting.map(({ lane }) => lane)]).size;
      };
      for (const { lane: number, isUrgent, act } of steps) {
        const lane = `${number}`;
        if (act === "ask") {
          const asked = { lane, leaving: new AbortController() };
          waiting.push(asked);
          const lanes = countLanes();
          void limit.acquire(asked.leaving.signal, { lane, isUrgent }).then((slot) => {
            waiting.splice(waiting.indexOf(asked), 1);
            held.set(lane, [...getHeld(lane), slot]);
            assert(getHeld(lane).length <= Math.max(4, Math.floor(max / (Math.min(lanes, countLanes()) + 1))));
          }, () => {});
        } else if (act === "free") getHeld(lane).pop()?.[Symbol.dispose]();
        else {
          const index = waiting.findIndex((one) => one.lane === lane);
          const [left] = index < 0 ? [] : waiting.splice(index, 1);
          left?.leaving.abort();
        }
        await settle();
        assert(total() <= max);
        const share = Math.max(4, Math.floor(max / (countLanes() + 1)));
        const isStarved = waiting.some(({ lane }) => getHeld(lane).length < share);
        assert(!isStarved || total() === max, `${total()} of ${max} slots are held, and a lane below its share waits`);
      }
    }),
    { numRuns: 150 },
  );
});

/** Lets what is ready run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await null;
}
