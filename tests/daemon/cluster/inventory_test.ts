import { assert, assertEquals, assertNotEquals } from "#assert";
import type { PodFacts } from "../../../lib/model/pod.ts";
import type { Autoscaler } from "../../../lib/model/autoscaler.ts";
import type { AutoscalerFacts, WorkloadFacts } from "../../../lib/daemon/cluster/facts.ts";
import { ClusterCache } from "../../../lib/daemon/cluster/cache.ts";
import type { WorkloadScope } from "../../../lib/daemon/cluster/tables.ts";
import { parseSelector, type Selector } from "../../../lib/units/selector.ts";
import { container, pod, policy } from "../../support/builders.ts";
import { toAutoscalerFacts } from "../../support/status_sources.ts";

class Book {
  readonly told: string[] = [];
  /** Of the contenders that were last told of. */
  priorities: readonly number[] = [];
  readonly inventory: ClusterCache;

  constructor({ requiresAnnotation = false, maxContenders = 16 } = {}) {
    this.inventory = new ClusterCache({
      requiresAnnotation,
      maxContenders,
      onChanged: ({ pod, autoscalers }) => {
        this.told.push(`${pod.name}: ${autoscalers.map(({ name }) => name).join(" ")}`);
        this.priorities = autoscalers.map(({ priority }) => priority);
      },
      onDropped: ({ name }) => this.told.push(`${name} dropped`),
      onFailed(_, error) {
        throw error;
      },
    });
  }

  /** What was told since last asked. */
  take(): string[] {
    return this.told.splice(0);
  }
}

function autoscaler(overrides: Partial<Autoscaler> = {}): AutoscalerFacts {
  return toAutoscalerFacts(policy(overrides));
}

function selector(app: string): Selector {
  const parsed = parseSelector({ matchLabels: { app } }, "spec.selector");
  if (!parsed.ok) throw new Error("Cannot parse the test's selector");
  return parsed.selector;
}

function workload(overrides: Partial<WorkloadFacts> = {}): WorkloadFacts {
  return { kind: "deployment", namespace: "shop", name: "web", selector: selector("web"), problems: [], ...overrides };
}

function webPod(overrides: Partial<PodFacts> = {}): PodFacts {
  return pod({ labels: { app: "web" }, ...overrides });
}

/** An autoscaler "web", its workload, and its pod, told of in any order. */
function filled(): Book {
  const book = new Book();
  book.inventory.setAutoscaler(autoscaler());
  book.inventory.setWorkload(workload());
  book.inventory.setPod(webPod());
  book.take();
  return book;
}

const STEPS: Record<string, (inventory: ClusterCache) => void> = {
  autoscaler: (inventory) => inventory.setAutoscaler(autoscaler()),
  workload: (inventory) => inventory.setWorkload(workload()),
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

/** The first one is that of the autoscaler. */
function toContainers(total: number): PodFacts["containers"] {
  return Array.from({ length: total }, (_, index) => container(index === 0 ? {} : { name: `c-${index}` }));
}

const DISQUALIFIED: Record<string, Partial<PodFacts>> = {
  "it is being deleted": { deleting: true },
  "it has finished": { finished: true },
  "its labels match no longer": { labels: { app: "other" } },
  "it has no such container": { containers: [container({ name: "other" })] },
  "the container is a plain init container": { containers: [container({ kind: "init" })] },
  "it is a mirror": { mirror: true },
  "it is a Windows pod": { windows: true },
  "it is bound to no node": { nodeName: null },
  "it has more than 100 containers": { containers: toContainers(101) },
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

Deno.test("Inventory tracks a pod with 100 containers, and counts the pods that have more (C11)", () => {
  const { inventory } = filled();
  const counts = () => {
    const { matched, oversized, tracked } = inventory.resolve(autoscaler());
    return { matched, oversized, tracked: tracked.size };
  };
  inventory.setPod(webPod({ containers: toContainers(100) }));
  assertEquals(counts(), { matched: 1, oversized: 0, tracked: 1 });
  const large = webPod({ uid: "pod-2", name: "web-2", containers: toContainers(101) });
  inventory.setPod(large);
  assertEquals(counts(), { matched: 1, oversized: 1, tracked: 1 });
  inventory.setPod({ ...large, finished: true });
  assertEquals(counts(), { matched: 1, oversized: 0, tracked: 1 });
  inventory.setPod(large);
  inventory.removePod(large);
  assertEquals(counts(), { matched: 1, oversized: 0, tracked: 1 });
});

Deno.test("Inventory tells of a pod when its contenders change, and only then (C12, C13, C16)", () => {
  const book = filled();
  const { inventory } = book;
  inventory.setAutoscaler(autoscaler({ name: "api" }));
  assertEquals(book.take(), ["web-1: api web"], "sorted by name");
  inventory.setAutoscaler({ ...autoscaler({ name: "api" }), status: { scaling: true }, resourceVersion: "2" });
  assertEquals(book.take(), [], "a status write");
  inventory.setAutoscaler(autoscaler({ name: "api", generation: 2, priority: 3 }));
  assertEquals([book.take(), book.priorities], [["web-1: api web"], [3, 0]], "a changed spec");
  inventory.setAutoscaler(autoscaler({ name: "api", generation: 3, paused: true }));
  assertEquals(book.take(), ["web-1: web"], "paused");
  inventory.setAutoscaler({ ...autoscaler({ generation: 2 }), autoscaler: null });
  assertEquals(book.take(), ["web-1 dropped"], "invalid");
  inventory.setAutoscaler(autoscaler({ generation: 3 }));
  assertEquals(book.take(), ["web-1: web"], "healed");
  inventory.removeAutoscaler(autoscaler());
  assertEquals(book.take(), ["web-1 dropped"], "deleted");
});

Deno.test("Inventory has nothing to tell of a workload's status, or of one that no autoscaler targets", () => {
  const book = filled();
  book.inventory.setWorkload(workload());
  book.inventory.setWorkload(workload({ name: "other" }));
  book.inventory.setWorkload(workload({ kind: "statefulset", selector: selector("other") }));
  assertEquals(book.take(), []);
});

Deno.test("Inventory takes the workload of the kind that the target names (C10)", () => {
  const book = new Book();
  book.inventory.setAutoscaler(autoscaler());
  book.inventory.setPod(webPod());
  book.inventory.setWorkload(workload({ kind: "statefulset" }));
  assertEquals(book.take(), []);
  book.inventory.setWorkload(workload());
  assertEquals(book.take(), ["web-1: web"]);
});

Deno.test("Inventory keeps namespaces apart (C1)", () => {
  const book = filled();
  book.inventory.setPod(webPod({ uid: "pod-2", name: "web-2", namespace: "other" }));
  assertEquals(book.take(), []);
  assertEquals([...book.inventory.listPods("other")].map(({ name }) => name), ["web-2"]);
  assertEquals([...book.inventory.listPods(null)].length, 2);
});

Deno.test("Inventory drops nobody when a pod is removed that it did not track, or twice", () => {
  const book = filled();
  book.inventory.removePod({ uid: "pod-9", namespace: "shop" });
  book.inventory.removePod(webPod());
  book.inventory.removePod(webPod());
  assertEquals(book.take(), ["web-1 dropped"]);
  assertEquals([...book.inventory.listPods(null)], []);
});

Deno.test("resolveDirection() counts the pods that match, and those that have the container (C10, C15)", () => {
  const { inventory } = filled();
  inventory.setPod(webPod({ uid: "pod-2", name: "web-2", containers: [container({ name: "other" })] }));
  inventory.setPod(webPod({ uid: "pod-3", name: "web-3", finished: true }));
  let generation = 1;
  const count = (facts: AutoscalerFacts) => {
    inventory.setAutoscaler({ ...facts, generation: ++generation });
    const { matched, tracked, isTargetMissing } = inventory.resolve(facts);
    return { matched, tracked: tracked.size, isTargetMissing };
  };
  assertEquals(count(autoscaler()), { matched: 2, tracked: 1, isTargetMissing: false });
  assertEquals(count(autoscaler({ paused: true })), { matched: 0, tracked: 0, isTargetMissing: false });
  assertEquals(count({ ...autoscaler(), autoscaler: null }), { matched: 0, tracked: 0, isTargetMissing: false });
  const target = { kind: "daemonset", name: "web" } as const;
  assertEquals(count(autoscaler({ target })), { matched: 0, tracked: 0, isTargetMissing: true });
  const own = autoscaler({ target: null, selector: selector("web") });
  assertEquals(count(own), { matched: 2, tracked: 1, isTargetMissing: false });
  inventory.setPod(webPod({ uid: "pod-2", name: "web-2", labels: {} }));
  inventory.removePod(webPod());
  const { matched, tracked } = inventory.resolve(own);
  assertEquals([matched, tracked.size], [0, 0], "pods come and go");
});

Deno.test("replaceWorkloads() takes the list for all there is of its kind, and tells of each pod once", () => {
  const book = filled();
  const { inventory } = book;
  const target = { kind: "deployment", name: "api" } as const;
  inventory.setAutoscaler(autoscaler({ name: "api", target }));
  const replace = (scope: WorkloadScope, all: readonly WorkloadFacts[]) => {
    for (const _ of inventory.replaceWorkloads(scope, all));
  };
  replace({ kind: "daemonset", namespace: null }, []);
  assertEquals(book.take(), []);
  replace({ kind: "deployment", namespace: "shop" }, [workload(), workload({ name: "api" })]);
  assertEquals(book.take(), ["web-1: api web"]);
  replace({ kind: "deployment", namespace: null }, [workload({ name: "api" })]);
  assertEquals(book.take(), ["web-1: api"]);
});

/** Counts how often a pod's labels are looked at: what matching costs, whatever the machine. */
Deno.test("Inventory matches each pod once for all autoscalers of one selector, and no pod in a sweep", () => {
  const { inventory } = new Book();
  let looks = 0;
  const labels = { app: "web" };
  const counted = {
    get labels() {
      looks++;
      return labels;
    },
  };
  for (let i = 0; i < 50; i++) {
    inventory.setPod(Object.defineProperties(pod({ uid: `pod-${i}` }), Object.getOwnPropertyDescriptors(counted)));
  }
  const all = Array.from(
    { length: 20 },
    (_, i) => autoscaler({ name: `web-${i}`, target: null, selector: selector("web") }),
  );
  for (const one of all) inventory.setAutoscaler(one);
  assertEquals(looks, 50);
  for (const one of inventory.listAutoscalers()) assertEquals(inventory.resolve(one).matched, 50);
  assertEquals(looks, 50);
});

/** Evaluations of selectors for a pod that is added, changed in its status, changed in its labels and removed. */
function countEvaluations(otherAutoscalers: number): number {
  let evaluations = 0;
  const counted = (app: string): Selector => {
    const { requirements, source } = selector(app);
    return {
      source,
      get requirements() {
        evaluations++;
        return requirements;
      },
    };
  };
  const others = Array.from({ length: otherAutoscalers }, (_, i) => `other-${i}`);
  const { inventory, ...book } = new Book();
  for (const app of ["web", ...others]) {
    inventory.setAutoscaler(autoscaler({ name: app, uid: app, key: app, target: null, selector: counted(app) }));
  }
  evaluations = 0;
  inventory.setPod(webPod());
  inventory.setPod(webPod({ phase: "Running" }));
  inventory.setPod(webPod({ labels: { app: "web", tier: "back" } }));
  inventory.removePod(webPod());
  assertEquals(book.told, ["web-1: web", "web-1: web", "web-1: web", "web-1 dropped"]);
  return evaluations;
}

Deno.test("Inventory evaluates no selector of autoscalers for other pods, however many there are", () => {
  assertEquals(countEvaluations(0), 3);
  assertEquals(countEvaluations(1_000), 3);
});

Deno.test("replacePods() leaves pods of an equal resourceVersion as they are, and takes in what differs", () => {
  const book = new Book();
  const { inventory } = book;
  inventory.setAutoscaler(autoscaler());
  inventory.setWorkload(workload());
  const listed = (uid: string, overrides: Partial<PodFacts> = {}) =>
    webPod({ uid, name: uid, resourceVersion: "7", generation: 2, ...overrides });
  const replace = (namespace: string | null, all: readonly PodFacts[]) => [...inventory.replacePods(namespace, all, 0)];
  replace(null, ["a", "b", "c", "d", "e"].map((uid) => listed(uid)));
  assertEquals(book.take(), ["a: web", "b: web", "c: web", "d: web", "e: web"]);
  const before = inventory.trackedPods.get("a");
  replace(null, [
    listed("a"),
    listed("b", { resourceVersion: "8" }),
    listed("c", { generation: 1 }),
    listed("e"),
    listed("f"),
  ]);
  assertEquals(book.take(), ["d dropped", "b: web", "c dropped", "c: web", "f: web"]);
  assert(inventory.trackedPods.get("a") === before, "the same object: requests for it stay current");
  replace("other", []);
  replace("shop", [listed("a"), listed("f")]);
  assertEquals(book.take(), ["b dropped", "e dropped", "c dropped"]);
});

Deno.test("expectResize() forgets a pod once a newer version or a newer list shows it without the resize (C16)", () => {
  const book = new Book();
  const { inventory } = book;
  inventory.setAutoscaler(autoscaler());
  inventory.setWorkload(workload());
  const shown = (resourceVersion: string, generation: number) => webPod({ resourceVersion, generation });
  const list = (pod: PodFacts, begunMs: number) => [...inventory.replacePods(null, [pod], begunMs)];
  inventory.setPod(shown("7", 1));
  inventory.expectResize(shown("7", 1), { generation: 2, atMs: 1_000 });
  book.take();
  list(shown("7", 1), 1_000);
  assertEquals(book.take(), [], "the list may be older than the resize");
  list(shown("7", 1), 1_001);
  assertEquals(book.take(), ["web-1 dropped", "web-1: web"]);
  list(shown("7", 1), 2_000);
  assertEquals(book.take(), [], "it is forgotten once");

  inventory.expectResize(shown("7", 1), { generation: 2, atMs: 3_000 });
  inventory.setPod(shown("9", 1));
  assertEquals(book.take(), ["web-1 dropped", "web-1: web"]);
  inventory.expectResize(shown("7", 1), { generation: 2, atMs: 4_000 });
  assertEquals(book.take(), ["web-1 dropped", "web-1: web"], "the answer is later than the watch");

  inventory.expectResize(shown("9", 1), { generation: 2, atMs: 5_000 });
  inventory.setPod(shown("10", 2));
  inventory.setPod(shown("11", 2));
  inventory.expectResize(shown("9", 1), { generation: 2, atMs: 6_000 });
  list(shown("11", 2), 7_000);
  assertEquals(book.take(), ["web-1: web", "web-1: web"], "the watch shows the resize");
});

Deno.test("Inventory counts the pods of a selector that others follow too, whoever was first", () => {
  const { inventory } = filled();
  const matched = (one: AutoscalerFacts) => inventory.resolve(one).matched;
  const [first, second] = ["first", "second"].map((uid) =>
    autoscaler({ uid, name: uid, key: uid, target: null, selector: selector("late") })
  );
  if (first === undefined || second === undefined) throw new Error("Two autoscalers were made");
  const follower = inventory.podSets.acquire("shop", selector("late"), "object");
  inventory.setPod(webPod({ uid: "late", labels: { app: "late" } }));
  inventory.setPod(webPod({ uid: "done", labels: { app: "late" }, finished: true }));
  inventory.setAutoscaler(first);
  inventory.setAutoscaler(second);
  assertEquals([matched(first), matched(second), follower.set.pods.size], [1, 1, 2]);
  inventory.removeAutoscaler(first);
  inventory.setPod(webPod({ uid: "done", labels: { app: "late" } }));
  assertEquals([matched(first), matched(second)], [0, 2]);
  follower[Symbol.dispose]();
  inventory.removePod({ namespace: "shop", uid: "late" });
  assertEquals([matched(second), inventory.podSets.setsOf("done").length], [1, 1]);
  inventory.removeAutoscaler(second);
  assertEquals(inventory.podSets.setsOf("done"), [], "no selector is kept that is not in use");
});

const EVERY = { containerName: "*", isWildcard: true };
const TWO = [container({ name: "main" }), container({ name: "proxy", kind: "sidecar" as const })];

/** The keys of the contenders of the pod, as they stand. */
function keysOf({ inventory }: Book): readonly string[] {
  return inventory.trackedPods.get("pod-1")?.autoscalers.map(({ key }) => key) ?? [];
}

Deno.test("Inventory makes * one contender per container and sidecar, none for init containers and excluded (L50)", () => {
  const book = filled();
  book.inventory.setPod(webPod({ containers: [...TWO, container({ name: "setup", kind: "init" })] }));
  book.inventory.setAutoscaler(autoscaler({ ...EVERY, generation: 2 }));
  const contenders = book.inventory.trackedPods.get("pod-1")?.autoscalers ?? [];
  assertEquals(contenders.map(({ uid, containerName, key, isWildcard }) => [uid, containerName, key, isWildcard]), [
    ["uid-of-web", "main", "uid-of-web/main", true],
    ["uid-of-web", "proxy", "uid-of-web/proxy", true],
  ]);
  book.inventory.setAutoscaler(autoscaler({ ...EVERY, excludeContainers: ["main"], generation: 3 }));
  assertEquals(keysOf(book), ["uid-of-web/proxy"]);
  book.inventory.setAutoscaler(autoscaler({ ...EVERY, excludeContainers: ["main", "proxy"], generation: 4 }));
  assertEquals([keysOf(book), book.inventory.trackedPods.size], [[], 0]);
});

Deno.test("Inventory tells of no change while the contenders of * are the same, and of a container more (L50)", () => {
  const book = new Book();
  book.inventory.setAutoscaler(autoscaler(EVERY));
  book.inventory.setWorkload(workload());
  const [first, second] = [webPod({ containers: TWO }), webPod({ uid: "pod-2", name: "web-2", containers: TWO })];
  book.inventory.setPod(first);
  book.inventory.setPod(second);
  book.take();
  book.inventory.setPod(first);
  book.inventory.setAutoscaler(autoscaler(EVERY));
  assertEquals(book.take(), []);
  const [one, other] = [...book.inventory.trackedPods.values()].map(({ autoscalers }) => autoscalers);
  assertEquals(one?.every((contender, index) => contender === other?.[index]), true);
  book.inventory.setPod(webPod({ containers: [...TWO, container({ name: "log" })] }));
  assertEquals([book.take(), keysOf(book).length], [["web-1: web web web"], 3]);
});

Deno.test("Inventory sorts the contenders of a pod by name, those of * by container (L50)", () => {
  const book = filled();
  book.inventory.setPod(webPod({ containers: [...TWO].reverse() }));
  book.inventory.setAutoscaler(autoscaler({ ...EVERY, name: "all" }));
  assertEquals(keysOf(book), ["uid-of-all/main", "uid-of-all/proxy", "uid-of-web"]);
});

Deno.test("Inventory gives * the rules of a changed spec (L50)", () => {
  const book = filled();
  for (const generation of [2, 3]) {
    book.inventory.setAutoscaler(autoscaler({ ...EVERY, generation, pollIntervalMs: generation * 1000 }));
    const [contender] = book.inventory.trackedPods.get("pod-1")?.autoscalers ?? [];
    assertEquals([contender?.generation, contender?.pollIntervalMs], [generation, generation * 1000]);
  }
});

Deno.test("Inventory asks so many autoscalers of one container, those of the highest rank (C12)", () => {
  const book = new Book({ maxContenders: 2 });
  const { inventory } = book;
  inventory.setPod(webPod({ containers: [container(), container({ name: "aux" })] }));
  const own = { target: null, selector: selector("web") };
  const all = [
    autoscaler({ ...own, name: "z", uid: "z", key: "z", priority: 9 }),
    autoscaler({ ...own, name: "every", uid: "every", key: "every", containerName: "*", isWildcard: true }),
    autoscaler({ ...own, name: "b", uid: "b", key: "b" }),
    autoscaler({ ...own, name: "a", uid: "a", key: "a" }),
  ];
  for (const one of all) inventory.setAutoscaler(one);
  assertEquals(book.take().at(-1), "web-1: a every z", "a and z of main, every of aux");
  const crowded = () => all.map((one) => inventory.resolve(one).countCrowdedOut());
  assertEquals(crowded(), [0, 0, 1, 0]);
  inventory.removeAutoscaler(all[3] ?? autoscaler());
  assertEquals([book.take(), crowded()], [["web-1: b every z"], [0, 0, 0, 0]], "it takes the place that is free");
  inventory.setAutoscaler(all[3] ?? autoscaler());
  inventory.removePod(webPod());
  assertEquals(crowded(), [0, 0, 0, 0]);
});

Deno.test("Inventory sees another spec of the same generation, as after a restore of etcd, and one that comes back (C16)", () => {
  const book = filled();
  let before = 1;
  for (const pollIntervalMs of [1000, 2000, 1000]) {
    for (let time = 0; time < 2; time++) book.inventory.setAutoscaler(autoscaler({ pollIntervalMs }));
    const [contender] = book.inventory.trackedPods.get("pod-1")?.autoscalers ?? [];
    assertEquals([contender?.pollIntervalMs, book.take()], [pollIntervalMs, ["web-1: web"]]);
    assertNotEquals(contender?.generation, before, "what is remembered of the spec before is not of this one");
    before = contender?.generation ?? 0;
  }
  book.inventory.setAutoscaler(autoscaler({ pollIntervalMs: 1000, generation: 2 }));
  assertEquals(book.take(), ["web-1: web"], "changed, and changed back");
});
