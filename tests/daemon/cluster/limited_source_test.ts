/** Which objects of a limited kind wait to be fetched, because they begin to count (L57). */
import { assertEquals } from "#assert";
import { createLimitedSource } from "../../../lib/daemon/cluster/limited_source.ts";
import { ObjectLimits } from "../../../lib/daemon/cluster/object_limits.ts";
import type { Problem } from "../../../lib/units/untrusted.ts";

interface Facts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly problems: readonly Problem[];
}

const KIB = 1024;

/** Objects of one namespace, which keeps 20 KiB of them. */
function open() {
  const known = new Map<string, Facts>();
  const source = createLimitedSource<Facts>({
    kind: "PodResourceAutoscaler",
    resource: "podresourceautoscalers",
    namespace: null,
    path: "/podresourceautoscalers",
    counted: new ObjectLimits({ maxAutoscalers: 100, maxScaledObjects: 100, maxBytes: 20 * KIB }),
    parse: (object) => ({ ...(object as { readonly metadata: Facts }).metadata, problems: [] }),
    refuse: (facts, problems) => ({ ...facts, problems }),
    find: ({ uid }) => known.get(uid) ?? null,
    list: () => known.values(),
    set: (facts) => void known.set(facts.uid, facts),
    remove: ({ uid }) => void known.delete(uid),
  });
  const toSeen = (name: string, day: number, kib: number) => {
    const creationTimestamp = `2026-01-0${day}T00:00:00Z`;
    const metadata = { uid: `uid-${name}`, namespace: "shop", name, creationTimestamp };
    return source.project({ metadata, spec: { text: "x".repeat(kib * KIB) } });
  };
  return {
    waiting: source.waiting,
    put: (name: string, day: number, kib: number) => source.set(toSeen(name, day, kib)),
    remove: (name: string) => source.remove(toSeen(name, 1, 1)),
  };
}

Deno.test("an object that begins and ceases to count again and again waits once, and only while it counts (L57)", () => {
  const { waiting, put, remove } = open();
  put("old", 1, 1);
  for (const name of ["a", "b", "c"]) put(name, 2, 1);
  for (let edits = 0; edits < 10; edits++) {
    put("old", 1, 19);
    assertEquals(waiting.count, 0, "their bytes do not fit");
    put("old", 1, 1);
    assertEquals(waiting.count, 3);
  }
  remove("a");
  put("b", 2, 2);
  assertEquals(waiting.count, 1, "one is deleted, and one has come with its spec");
  assertEquals([waiting.take()?.name, waiting.take()], ["c", null]);
});
