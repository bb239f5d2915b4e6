/**
 * The pods that selectors list, updated pod by pod.
 * Clauses: R30, R78.
 */
import { assert, assertEquals } from "#assert";
import { SelectorIndex } from "../../../lib/daemon/cluster/selector_index.ts";
import { matches, parseSelectorText, type Selector } from "../../../lib/units/selector.ts";
import type { PodFacts } from "../../../lib/model/pod.ts";
import { pod } from "../../support/builders.ts";
import fc from "fast-check";

function selector(text: string): Selector {
  const parsed = parseSelectorText(text, "");
  assert(parsed.ok);
  return parsed.selector;
}

function labelled(uid: string, labels: Readonly<Record<string, string>>): PodFacts {
  return pod({ uid, namespace: "shop", labels });
}

Deno.test("hold() lists the pods there are, and follows those that come, change and go (R30)", () => {
  const all = [labelled("a", { app: "web" }), labelled("b", { app: "db" })];
  const sets = new SelectorIndex({ listPods: () => all });
  using held = sets.acquire("shop", selector("app=web"), "object");
  const listed = () => [...held.set.pods.keys()].sort();
  assertEquals(listed(), ["a"]);
  sets.move(null, labelled("c", { app: "web" }));
  sets.move(labelled("b", { app: "db" }), labelled("b", { app: "web" }));
  assertEquals(listed(), ["a", "b", "c"]);
  sets.move(labelled("a", { app: "web" }), labelled("a", {}));
  sets.move(labelled("c", { app: "web" }), null);
  assertEquals(listed(), ["b"]);
});

Deno.test("hold() shares a set of the same words, knows its holders, and ends it with the last of them (R78)", () => {
  const sets = new SelectorIndex({ listPods: () => [labelled("a", { app: "web" })] });
  const [one, other] = [
    sets.acquire("shop", selector("app=web"), "x"),
    sets.acquire("shop", selector("app in (web)"), "y"),
  ];
  assertEquals([one.set === other.set, [...one.set.holders]], [true, ["x", "y"]]);
  one[Symbol.dispose]();
  assertEquals(sets.setsOf("a").map(({ holders }) => [...holders]), [["y"]]);
  other[Symbol.dispose]();
  assertEquals(sets.setsOf("a"), []);
});

const TEXTS = ["app=a", "app in (a,b)", "app!=a", "tier", "!tier", "app=a,tier=x", "tier notin (x)", ""];
const labels = fc.record({ app: fc.constantFrom("a", "b", "c"), tier: fc.constantFrom("x", "y") }, {
  requiredKeys: [],
});

Deno.test("sets are what asking every pod would give, whatever moves in whatever order (R30, R78)", () => {
  const step = fc.oneof(
    fc.record({ uid: fc.constantFrom("1", "2", "3", "4"), labels }),
    fc.record({ uid: fc.constantFrom("1", "2", "3", "4"), labels: fc.constant(null) }),
    fc.record({ hold: fc.nat(TEXTS.length - 1) }),
    fc.record({ drop: fc.nat(TEXTS.length - 1) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const pods = new Map<string, PodFacts>();
      const sets = new SelectorIndex({ listPods: () => pods.values() });
      const held = new Map<number, ReturnType<SelectorIndex["acquire"]>>();
      for (const one of steps) {
        if ("hold" in one && !held.has(one.hold)) {
          held.set(one.hold, sets.acquire("shop", selector(TEXTS[one.hold] ?? ""), null));
        }
        if ("drop" in one) {
          held.get(one.drop)?.[Symbol.dispose]();
          held.delete(one.drop);
        }
        if ("uid" in one) {
          const before = pods.get(one.uid) ?? null;
          const after = one.labels === null ? null : labelled(one.uid, one.labels as Record<string, string>);
          if (after === null) pods.delete(one.uid);
          else pods.set(one.uid, after);
          sets.move(before, after);
        }
        for (const { set } of held.values()) {
          const expected = [...pods.values()].filter((pod) => matches(set.selector, pod.labels)).map(({ uid }) => uid);
          assertEquals([...set.pods.keys()].sort(), expected.sort());
        }
        for (const uid of pods.keys()) {
          const expected = [...held.values()].filter(({ set }) => set.pods.has(uid)).map(({ set }) => set);
          assertEquals(new Set(sets.setsOf(uid)), new Set(expected));
        }
      }
    }),
    { numRuns: 200 },
  );
});
