/**
 * The pods that one ScaledObject holds, and when it lets them go.
 * Clauses: R20.
 */
import { assert, assertEquals } from "#assert";
import { SelectorIndex } from "../../../lib/daemon/cluster/selector_index.ts";
import { MeteredPods, TargetPods } from "../../../lib/daemon/replicas/target_pods.ts";
import { parseSelectorText, type Selector } from "../../../lib/units/selector.ts";
import { pod } from "../../support/builders.ts";
import { cpu, scaledObject } from "../../support/replicas_fold.ts";

function selector(text: string): Selector {
  const parsed = parseSelectorText(text, "");
  assert(parsed.ok);
  return parsed.selector;
}

function open({ nodes = 1 }: { readonly nodes?: number } = {}) {
  const read = new Set<string>();
  const urgent = new Set<string>();
  const metered = new MeteredPods({
    nodes: {
      meter({ uid }, { isUrgent }) {
        read.add(uid);
        if (isUrgent) urgent.add(uid);
        else urgent.delete(uid);
      },
      unmeter: ({ uid }) => void read.delete(uid),
    },
    getCapacity: () => ({ cpuMillicores: null, memoryBytes: null }),
  });
  const all = [
    ...["a", "b"].map((uid) => pod({ uid, namespace: "shop", labels: { app: uid }, nodeName: "node-1" })),
    ...Array.from(
      { length: nodes },
      (_, index) =>
        pod({ uid: `wide-${index}`, namespace: "shop", labels: { app: "wide" }, nodeName: `node-${index}` }),
    ),
  ];
  const sets = new SelectorIndex({
    listPods: () => all,
    onMoved: (set, before, after) => metered.move(set, before, after),
  });
  const pods = new TargetPods({ index: sets, metered, uid: "so-1" });
  const state = () => ({
    metered: [...read],
    held: ["a", "b"].flatMap((uid) => sets.setsOf(uid).flatMap(({ holders }) => [...holders])),
  });
  return { pods, state, urgent };
}

const OBJECT = scaledObject({ triggers: [cpu()] });

Deno.test("a target's pods are held and metered until the object ends, and those of its last selector alone (R20)", () => {
  const { pods, state } = open();
  pods.follow({ selector: selector("app=a"), object: OBJECT });
  assertEquals(state(), { metered: ["a"], held: ["so-1"] });
  pods.follow({ selector: selector("app=b"), object: OBJECT });
  assertEquals(state(), { metered: ["b"], held: ["so-1"] });
  pods[Symbol.dispose]();
  assertEquals(state(), { metered: [], held: [] });
});

Deno.test("a scale that is read while its object is deleted leaves nothing held (R20)", () => {
  const { pods, state } = open();
  pods[Symbol.dispose]();
  const set = pods.follow({ selector: selector("app=a"), object: OBJECT });
  assertEquals([set.namespace, pods.set, state()], ["shop", null, { metered: [], held: [] }]);
});

Deno.test("the pods of a target are urgent while it may grow, unless they are on many nodes (R20)", () => {
  for (const { nodes, isUrgent } of [{ nodes: 5, isUrgent: true }, { nodes: 6, isUrgent: false }]) {
    const { pods, urgent } = open({ nodes });
    pods.setPace({ mayGrow: false });
    pods.follow({ selector: selector("app=wide"), object: OBJECT });
    assertEquals(urgent.size, nodes, "until it is known");
    pods.setPace({ mayGrow: false });
    assertEquals(urgent.size, 0);
    pods.setPace({ mayGrow: true });
    assertEquals(urgent.size, isUrgent ? nodes : 0, `on ${nodes} nodes`);
  }
});
