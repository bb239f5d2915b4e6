/** How many objects, and how many bytes of them, count in one namespace. */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { type LimitedKind, type ObjectEntry, ObjectLimits } from "../../../lib/daemon/cluster/object_limits.ts";

const NO_BOUNDS = { maxAutoscalers: null, maxScaledObjects: null, maxBytes: null };

function entryOf(name: string, createdAt: number, of: Partial<ObjectEntry> = {}): ObjectEntry {
  const kind: LimitedKind = "PodResourceAutoscaler";
  const entry = { kind, namespace: "shop", name, createdAt, bytes: 100, ...of };
  return { uid: `${entry.kind}/${entry.namespace}/${name}`, ...entry };
}

/** The names that do not count, with the reason. */
function excessOf(limits: ObjectLimits, entries: readonly ObjectEntry[]): readonly string[] {
  return entries.flatMap((one) => {
    const problem = limits.find(one);
    return problem === null ? [] : [`${one.name} ${problem.reason}`];
  });
}

Deno.test("ObjectLimits counts the oldest objects of a namespace, of the same second by name (L57)", () => {
  const limits = new ObjectLimits({ ...NO_BOUNDS, maxAutoscalers: 2 });
  const all = [entryOf("new", 9), entryOf("b", 5), entryOf("a", 5), entryOf("old", 1)];
  const other = entryOf("other", 10, { namespace: "cart" });
  for (const one of [...all, other]) limits.put(one);
  assertEquals(excessOf(limits, [...all, other]), ["new TooMany", "b TooMany"]);
  const { message = "" } = limits.find(entryOf("new", 9)) ?? {};
  assert(message.includes('the oldest 2 PodResourceAutoscalers of namespace "shop" (--max-autoscalers-per-namespace)'));
});

Deno.test("ObjectLimits gives the same result in any order, and after any deletions (L57)", () => {
  const kinds: readonly LimitedKind[] = ["PodResourceAutoscaler", "ScaledObject", "TriggerAuthentication"];
  const object = fc.record({
    kind: fc.constantFrom(...kinds),
    createdAt: fc.integer({ min: 0, max: 4 }),
    bytes: fc.integer({ min: 1, max: 60 }),
    isDeleted: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(object, { maxLength: 30 }), fc.array(fc.nat(), { maxLength: 30 }), (objects, order) => {
      const bounds = { maxAutoscalers: 3, maxScaledObjects: 4, maxBytes: 150 };
      const entries = objects.map(({ isDeleted: _, ...of }, index) => entryOf(`n${index}`, of.createdAt, of));
      const kept = entries.filter((_, index) => objects[index]?.isDeleted === false);
      const [changed, fresh] = [new ObjectLimits(bounds), new ObjectLimits(bounds)];
      const shuffled = entries.map((one, index) => [order[index] ?? 0, one] as const).sort(([a], [b]) => a - b);
      const heard = new Map<string, boolean>();
      for (const kind of kinds) {
        changed.listen({ kind, namespace: null }, ({ uid }, problem) => heard.set(uid, problem === null));
      }
      for (const [, one] of shuffled) heard.set(one.uid, changed.put(one) === null);
      for (const one of entries) if (!kept.includes(one)) changed.remove(one);
      for (const one of kept) fresh.put(one);
      assertEquals(excessOf(changed, kept), excessOf(fresh, kept));
      for (const one of kept) assertEquals(heard.get(one.uid), changed.find(one) === null, "each change is reported");
      const counted = kept.filter((one) => changed.find(one) === null);
      assert(counted.reduce((sum, { bytes }) => sum + bytes, 0) <= 150);
      for (const [kind, max] of [[kinds[0], 3], [kinds[1], 4], [kinds[2], 4]]) {
        assert(counted.filter((one) => one.kind === kind).length <= Number(max));
      }
    }),
  );
});

Deno.test("ObjectLimits keeps the bytes of the oldest objects that fit, and of other namespaces all (L57)", () => {
  const limits = new ObjectLimits({ ...NO_BOUNDS, maxBytes: 1000 });
  const web = entryOf("web", 1, { bytes: 400 });
  const api = entryOf("api", 2, { kind: "ScaledObject", bytes: 500 });
  const key = entryOf("key", 3, { kind: "TriggerAuthentication", bytes: 200 });
  const other = entryOf("web", 9, { namespace: "cart", bytes: 900 });
  const changes: string[] = [];
  for (const kind of ["ScaledObject", "TriggerAuthentication"] as const) {
    limits.listen(
      { kind, namespace: "shop" },
      ({ name }, problem) => changes.push(`${name} ${problem?.reason ?? "counts"}`),
    );
  }
  for (const one of [key, api, web, other]) limits.put(one);
  assertEquals(excessOf(limits, [web, api, key, other]), ["key OverBudget"]);
  limits.put({ ...web, bytes: 800 });
  limits.put({ ...web, bytes: 100 });
  assertEquals(changes, ["key OverBudget", "api OverBudget", "api counts", "key counts"]);
  assertEquals([...limits.listLargest(1)], [["cart", 900]]);
  limits.remove(other);
  assertEquals([...limits.listLargest(20)], [["shop", 800]]);
});
