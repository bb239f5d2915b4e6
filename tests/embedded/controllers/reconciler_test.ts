/** The loop of a controller, and what it knows: once per cause, again after a failure, never on stale news. */
import { assertEquals } from "#assert";
import { Cache } from "../../../lib/embedded/controllers/cache.ts";
import { Reconciler } from "../../../lib/embedded/controllers/controllers.ts";
import type { Json } from "../../support/api_objects.ts";
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";

function start(reconcile: (key: string) => Promise<number | void>) {
  const clock = new VirtualClock();
  const reconciler = new Reconciler({ clock, random: () => 1, onError: () => {}, reconcile });
  const ending = new AbortController();
  const running = reconciler.run(ending.signal);
  return {
    clock,
    reconciler,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
      assertEquals(clock.pending, 0);
    },
  };
}

Deno.test("a key that is added often is reconciled once, and once more if it was added meanwhile", async () => {
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  await using loop = start(async (key) => {
    done.push(key);
    if (done.length === 1) await gate.promise;
  });
  for (const key of ["a", "a", "b", "a"]) loop.reconciler.add(key);
  await settleEventLoop();
  loop.reconciler.add("a");
  loop.reconciler.add("a");
  gate.resolve();
  await settleEventLoop();
  assertEquals(done, ["a", "b", "a"]);
});

Deno.test("a key is reconciled again when it asks, and after growing waits when it fails", async () => {
  const at: Record<string, number[]> = { again: [], broken: [] };
  await using loop = start((key) => {
    at[key]?.push(loop.clock.monotonic());
    if (key === "broken" && (at[key]?.length ?? 0) < 4) return Promise.reject(new Error("no"));
    return Promise.resolve(key === "again" ? 400 : undefined);
  });
  loop.reconciler.add("again");
  loop.reconciler.add("broken");
  await loop.clock.advance(1000);
  assertEquals(at, { again: [0, 400, 800], broken: [0, 100, 300, 700] });
});

Deno.test("a cache passes over news that is older than what was written, and of what is gone", () => {
  const told: string[] = [];
  const cache = new Cache({
    kinds: ["pods"],
    server: { origin: "http://none", transport: () => Promise.reject(new Error("nobody")) },
    clock: new VirtualClock(),
    random: () => 1,
    onError: () => {},
    onChange: (_, object: Json) => told.push(object.metadata.resourceVersion),
  });
  const pod = (resourceVersion: string, uid = "u1") => ({
    metadata: {
      name: "a",
      namespace: "x",
      uid,
      resourceVersion,
      ownerReferences: [{ controller: true, kind: "ReplicaSet", name: "web", uid: "owner" }],
    },
  });
  cache.put("pods", pod("7"));
  cache.put("pods", pod("5"));
  cache.put("pods", pod("9"));
  assertEquals(told, ["7", "9"]);
  assertEquals(cache.listOwned("pods", "owner").length, 1);
  cache.remove("pods", pod("9"));
  cache.put("pods", pod("10"));
  assertEquals([cache.get("pods", "x/a"), cache.listOwned("pods", "owner")], [null, []]);
  cache.put("pods", pod("11", "u2"));
  cache.remove("pods", pod("10"));
  assertEquals(cache.get("pods", "x/a")?.metadata, pod("11", "u2").metadata);
});
