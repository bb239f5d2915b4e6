import { assertEquals, assertRejects } from "#assert";
import { AnswerCache } from "../../lib/runtime/cache.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** A cache of numbers that counts what it asks. */
function open(maxEntries = 3) {
  const clock = new VirtualClock();
  const cache = new AnswerCache<number>({ clock, maxEntries });
  const asked: string[] = [];
  const get = (key: string, keepMs = 1000) => cache.get(key, () => Promise.resolve({ value: asked.push(key), keepMs }));
  return { clock, cache, asked, get };
}

Deno.test("AnswerCache asks once while an answer is valid, and again from its end on", async () => {
  const { clock, cache, asked, get } = open();
  assertEquals([await get("a"), await get("a"), cache.isValid("a")], [1, 1, true]);
  await clock.advance(1000);
  assertEquals([cache.isValid("a"), cache.last("a"), asked.length], [false, 1, 1]);
  assertEquals([await get("a"), asked.length], [2, 2]);
});

Deno.test("AnswerCache gives concurrent callers one answer, and does not keep a failure", async () => {
  const { cache, asked, get } = open();
  const failing = Promise.withResolvers<{ value: number; keepMs: number }>();
  const both = [cache.get("a", () => failing.promise), get("a")];
  failing.reject(new Error("busy"));
  for (const one of both) await assertRejects(() => one, Error, "busy");
  assertEquals([asked.length, cache.last("a")], [0, undefined]);
  assertEquals(await Promise.all([get("a"), get("a")]), [1, 1]);
});

Deno.test("AnswerCache drops what is no longer valid before what is, however long that was not used", async () => {
  const { clock, cache, get } = open();
  await get("long", 60_000);
  await get("short", 10);
  await get("shorter", 5);
  await clock.advance(20);
  await get("new");
  assertEquals([cache.last("shorter"), cache.last("short"), cache.last("long")], [undefined, 2, 1]);
});

Deno.test("AnswerCache drops the valid answer that was not used for the longest time", async () => {
  const { cache, get } = open();
  for (const key of ["a", "b", "c"]) await get(key, Infinity);
  cache.last("a");
  await get("d", Infinity);
  await get("e", Infinity);
  assertEquals(["a", "b", "c", "d", "e"].map((key) => cache.last(key) !== undefined), [true, false, false, true, true]);
});
