/**
 * The pods of HPA targets, which a ScaledObject must not share.
 * Clauses: R78.
 */
import { assert, assertEquals } from "#assert";
import type { HpaFacts } from "../../../lib/daemon/cluster/parse_objects.ts";
import { parseHpa } from "../../../lib/daemon/cluster/parse_objects.ts";
import { HpaPodSets, SelectorIndex } from "../../../lib/daemon/cluster/selector_index.ts";
import { parseSelectorText, type Selector } from "../../../lib/units/selector.ts";
import { pod } from "../../support/builders.ts";
import { hpa } from "../../support/replicas_run.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

function selector(text: string): Selector {
  const parsed = parseSelectorText(text, "");
  assert(parsed.ok);
  return parsed.selector;
}

function open() {
  const clock = new VirtualClock();
  const sets = new SelectorIndex({
    listPods: () => ["web", "api"].map((app) => pod({ uid: app, namespace: "default", labels: { app } })),
  });
  const hpas: HpaFacts[] = [];
  const target: { selector: Selector | null } = { selector: selector("app=web") };
  const counts = { lists: 0, objects: 1 };
  const listHpas = () => {
    counts.lists++;
    return hpas;
  };
  const objects = { listHpas, hasObjects: () => counts.objects > 0 };
  const pods = new HpaPodSets({ clock, objects, sets, findSelector: () => target.selector });
  const holders = (uid: string) => sets.setsOf(uid).flatMap((set) => [...set.holders]);
  const refresh = async () => {
    await clock.advance(15_000);
    pods.refresh("default");
  };
  return { clock, pods, hpas, target, counts, holders, refresh };
}

const OTHER = parseHpa(hpa("other", { metadata: { uid: "hpa-1" } }));

Deno.test("an HPA has the pods of its target as it is now, also when the target came back with another selector (R78)", async () => {
  const { hpas, target, holders, refresh } = open();
  hpas.push(OTHER);
  await refresh();
  assertEquals([holders("web"), holders("api")], [["hpa-1"], []]);
  target.selector = selector("app=api");
  await refresh();
  assertEquals([holders("web"), holders("api")], [[], ["hpa-1"]], "the selector has changed");
  target.selector = null;
  await refresh();
  assertEquals([holders("web"), holders("api")], [[], []], "the target is gone");
  target.selector = selector("app=web");
  await refresh();
  assertEquals([holders("web"), holders("api")], [["hpa-1"], []], "the target is back");
  hpas.splice(0);
  await refresh();
  assertEquals([holders("web"), holders("api")], [[], []], "the HPA is gone");
});

Deno.test("the HPAs of a namespace are listed at most every 15 s, and a namespace that has none left is forgotten (R78)", async () => {
  const { pods, hpas, counts, refresh, clock } = open();
  hpas.push(OTHER);
  await refresh();
  pods.refresh("default");
  assertEquals(counts.lists, 1);
  hpas.splice(0);
  await refresh();
  hpas.push(OTHER);
  await clock.advance(1);
  pods.refresh("default");
  assertEquals(counts.lists, 3, "nothing is kept of the last refresh of a namespace without HPAs");
});

Deno.test("no HPA keeps its pods once its namespace has no ScaledObject any more (R78)", async () => {
  const { pods, hpas, counts, holders, refresh } = open();
  hpas.push(OTHER);
  await refresh();
  counts.objects = 0;
  pods.refresh("default");
  assertEquals(holders("web"), []);
});
