import { assertEquals, assertRejects } from "#assert";
import { abortable } from "../../lib/runtime/tasks.ts";

Deno.test("abortable() gives what the promise gives", async () => {
  const { signal } = new AbortController();
  assertEquals(await abortable(Promise.resolve(7), signal), 7);
  await assertRejects(() => abortable(Promise.reject(new Error("no")), signal), Error, "no");
});

Deno.test("abortable() rejects with the signal's reason, before and while it waits, and leaves the promise alone", async () => {
  const ending = new AbortController();
  const shared = Promise.withResolvers<number>();
  const waiting = abortable(shared.promise, ending.signal);
  ending.abort(new Error("enough"));
  await assertRejects(() => waiting, Error, "enough");
  await assertRejects(() => abortable(shared.promise, ending.signal), Error, "enough");
  shared.resolve(7);
  assertEquals(await shared.promise, 7);
});
