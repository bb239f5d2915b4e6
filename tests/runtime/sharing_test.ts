import { assert, assertEquals } from "#assert";
import { createDeduplicator } from "../../lib/runtime/buffers.ts";

Deno.test("createDeduplicator() gives the first of equal objects for all of them", () => {
  const share = createDeduplicator<readonly number[]>((one) => one.join("/"));
  const first = share([1, 2]);
  assert(share([1, 2]) === first);
  assertEquals(share([1, 3]), [1, 3]);
});

Deno.test("createDeduplicator() remembers nothing that has a long key", () => {
  const share = createDeduplicator<{ readonly text: string }>(({ text }) => text);
  const [kept, long] = [{ text: "x".repeat(1000) }, { text: "x".repeat(1001) }];
  share(kept);
  share(long);
  assert(share({ ...kept }) === kept);
  assert(share({ ...long }) !== long);
});

Deno.test("createDeduplicator() remembers so many and no more, and gives each its own all the same", () => {
  const share = createDeduplicator<{ readonly id: number }>(({ id }) => `${id}`, 2);
  const first = share({ id: 1 });
  share({ id: 2 });
  assert(share({ id: 1 }) === first);
  assertEquals(share({ id: 3 }), { id: 3 });
  const anew = share({ id: 1 });
  assert(anew !== first);
  assertEquals(anew, first);
});
