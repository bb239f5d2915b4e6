import { assertEquals } from "@std/assert";
import type { PodFacts } from "../../lib/core/pod_facts.ts";
import type { Policy } from "../../lib/core/policy.ts";
import type { AutoscalerFacts } from "../../lib/daemon/facts.ts";
import { Inventory, workloadKey } from "../../lib/daemon/inventory.ts";
import { parseSelector, type Selector } from "../../lib/units/selector.ts";
import { container, pod, policy } from "../support/builders.ts";

const WEB = workloadKey("deployment", "shop", "web");

class Book {
  readonly told: string[] = [];
  readonly inventory: Inventory;

  constructor({ requiresAnnotation = false } = {}) {
    this.inventory = new Inventory({
      requiresAnnotation,
      onChanged: ({ pod, contenders }) =>
        this.told.push(`${pod.name}: ${contenders.map(({ name }) => name).join(" ")}`),
      onDropped: ({ name }) => this.told.push(`${name} dropped`),
    });
  }

  /** What was told since last asked. */
  take(): string[] {
    return this.told.splice(0);
  }
}

function autoscaler(overrides: Partial<Policy> = {}): AutoscalerFacts {
  const one = policy(overrides);
  const { uid, namespace, name, generation } = one;
  return {
    uid,
    namespace,
    name,
    generation,
    resourceVersion: "1",
    policy: one,
    problems: [],
    warnings: [],
    status: {},
  };
}

function selector(app: string): Selector {
  const parsed = parseSelector({ matchLabels: { app } }, "spec.selector");
  if (!parsed.ok) throw new Error("Cannot parse the test's selector");
  return parsed.selector;
}

function webPod(overrides: Partial<PodFacts> = {}): PodFacts {
  return pod({ labels: { app: "web" }, ...overrides });
}

/** An autoscaler "web", its workload, and its pod, told of in any order. */
function filled(): Book {
  const book = new Book();
  book.inventory.setAutoscaler(autoscaler());
  book.inventory.setWorkload("shop", WEB, selector("web"));
  book.inventory.setPod(webPod());
  book.take();
  return book;
}

const STEPS: Record<string, (inventory: Inventory) => void> = {
  autoscaler: (inventory) => inventory.setAutoscaler(autoscaler()),
  workload: (inventory) => inventory.setWorkload("shop", WEB, selector("web")),
  pod: (inventory) => inventory.setPod(webPod()),
};

Deno.test("Inventory tracks a pod once its autoscaler, workload and itself are known, in any order (C10)", () => {
  const names = Object.keys(STEPS);
  const orders = names.flatMap((a) => names.flatMap((b) => names.map((c) => [a, b, c])));
  for (const order of orders.filter((one) => new Set(one).size === 3)) {
    const book = new Book();
    for (const name of order) STEPS[name]?.(book.inventory);
    assertEquals(book.take(), ["web-1: web"], order.join());
  }
});

const DISQUALIFIED: Record<string, Partial<PodFacts>> = {
  "it is being deleted": { deleting: true },
  "it has finished": { finished: true },
  "its labels match no longer": { labels: { app: "other" } },
  "it has no such container": { containers: [container({ name: "other" })] },
  "the container is a plain init container": { containers: [container({ kind: "init" })] },
  "it is a mirror": { mirror: true },
  "it is a Windows pod": { windows: true },
  "it is bound to no node": { nodeName: null },
};

Deno.test("Inventory drops a pod at once, and takes it back, when (C11)", async (t) => {
  for (const [name, facts] of Object.entries(DISQUALIFIED)) {
    await t.step(name, () => {
      const { inventory, ...book } = filled();
      inventory.setPod(webPod(facts));
      assertEquals(book.told.splice(0), ["web-1 dropped"]);
      inventory.setPod(webPod(facts));
      assertEquals(book.told.splice(0), [], "once");
      inventory.setPod(webPod());
      assertEquals(book.told.splice(0), ["web-1: web"]);
    });
  }
});

Deno.test("Inventory tells of a pod when its contenders change, and only then (C12, C13, C16)", () => {
  const book = filled();
  const { inventory } = book;
  inventory.setAutoscaler(autoscaler({ name: "api" }));
  assertEquals(book.take(), ["web-1: api web"], "sorted by name");
  inventory.setAutoscaler({ ...autoscaler({ name: "api" }), status: { scaling: true }, resourceVersion: "2" });
  assertEquals(book.take(), [], "a status write");
  inventory.setAutoscaler(autoscaler({ name: "api", generation: 2, priority: 3 }));
  assertEquals(book.take(), ["web-1: api web"], "a changed spec");
  inventory.setAutoscaler(autoscaler({ name: "api", generation: 3, paused: true }));
  assertEquals(book.take(), ["web-1: web"], "paused");
  inventory.setAutoscaler({ ...autoscaler({ generation: 2 }), policy: null });
  assertEquals(book.take(), ["web-1 dropped"], "invalid");
  inventory.setAutoscaler(autoscaler({ generation: 3 }));
  assertEquals(book.take(), ["web-1: web"], "healed");
  inventory.removeAutoscaler(autoscaler());
  assertEquals(book.take(), ["web-1 dropped"], "deleted");
});

Deno.test("Inventory has nothing to tell of a workload's status, or of one that no autoscaler targets", () => {
  const book = filled();
  book.inventory.setWorkload("shop", WEB, selector("web"));
  book.inventory.setWorkload("shop", workloadKey("deployment", "shop", "other"), selector("web"));
  book.inventory.setWorkload("shop", workloadKey("statefulset", "shop", "web"), selector("other"));
  assertEquals(book.take(), []);
});

Deno.test("Inventory keeps namespaces apart (C1)", () => {
  const book = filled();
  book.inventory.setPod(webPod({ uid: "pod-2", name: "web-2", namespace: "other" }));
  assertEquals(book.take(), []);
  assertEquals([...book.inventory.pods("other")].map(({ name }) => name), ["web-2"]);
  assertEquals([...book.inventory.pods(null)].length, 2);
});

Deno.test("Inventory drops nobody when a pod is removed that it did not track, or twice", () => {
  const book = filled();
  book.inventory.removePod({ uid: "pod-9", namespace: "shop" });
  book.inventory.removePod(webPod());
  book.inventory.removePod(webPod());
  assertEquals(book.take(), ["web-1 dropped"]);
  assertEquals([...book.inventory.pods(null)], []);
});

Deno.test("resolve() counts the pods that match, and those that have the container (C10, C15)", () => {
  const { inventory } = filled();
  inventory.setPod(webPod({ uid: "pod-2", name: "web-2", containers: [container({ name: "other" })] }));
  inventory.setPod(webPod({ uid: "pod-3", name: "web-3", finished: true }));
  const count = (facts: AutoscalerFacts) => {
    const { matched, tracked, isTargetMissing } = inventory.resolve(facts);
    return { matched, tracked: tracked.length, isTargetMissing };
  };
  assertEquals(count(autoscaler()), { matched: 2, tracked: 1, isTargetMissing: false });
  assertEquals(count(autoscaler({ paused: true })), { matched: 0, tracked: 0, isTargetMissing: false });
  assertEquals(count({ ...autoscaler(), policy: null }), { matched: 0, tracked: 0, isTargetMissing: false });
  const target = { kind: "daemonset", name: "web" } as const;
  assertEquals(count(autoscaler({ target })), { matched: 0, tracked: 0, isTargetMissing: true });
  const own = autoscaler({ target: null, selector: selector("web") });
  assertEquals(count(own), { matched: 2, tracked: 1, isTargetMissing: false });
});
