/**
 * The account of restarts: which pods of a workload are down or about to restart, and what budgets leave.
 * Clauses: L70, L71.
 */
import { assertEquals } from "#assert";
import { ClusterCache } from "../../../lib/daemon/cluster/cache.ts";
import { type BudgetFacts, Disruptions, parseDisruptionBudget } from "../../../lib/daemon/cluster/disruptions.ts";
import { parsePod } from "../../../lib/daemon/cluster/parse_pod.ts";
import type { PodFacts } from "../../../lib/model/pod.ts";
import type { Answer } from "../../../lib/model/resize_request.ts";
import { container, pod, request, restartsOn, SIZE } from "../../support/builders.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const UNREADY = { ready: { status: "False", at: 0 } } as const;
const LARGER = { ...SIZE, "cpu.requests": 150 };
const ACCEPTED: Answer = { kind: "accepted", generation: 2 };

/** Pods of one Deployment whose cpu changes by a restart, seen through the cache as in the daemon. */
class Book {
  readonly clock = new VirtualClock();
  isKnown = true;
  readonly disruptions: Disruptions;
  readonly cache: ClusterCache;
  readonly #pods = new Map<string, PodFacts>();

  constructor({ seesAll = true } = {}) {
    this.cache = new ClusterCache({
      requiresAnnotation: false,
      onChanged() {},
      onDropped() {},
      onFailed(_, error) {
        throw error;
      },
      onMoved: (before, after) => this.disruptions.movePod(before, after),
      onMovedInSet: (set, before, after) => this.disruptions.moveInSet(set, before, after),
    });
    this.disruptions = new Disruptions({
      clock: this.clock,
      podSets: this.cache.podSets,
      seesAll,
      areBudgetsKnown: () => this.isKnown,
    });
  }

  put(uid: string, facts: Partial<PodFacts> = {}, one: Parameters<typeof container>[0] = {}): PodFacts {
    const after = pod({
      uid,
      name: uid,
      workload: "Deployment/web",
      labels: { app: "web" },
      containers: [container({ restartsOn: restartsOn("cpu"), instance: `run-1 of ${uid}`, ...one })],
      ...facts,
    });
    this.#pods.set(uid, after);
    this.cache.setPod(after);
    return after;
  }

  get(uid: string): PodFacts {
    const found = this.#pods.get(uid);
    if (found === undefined) throw new Error(`Cannot get pod "${uid}": it was not put`);
    return found;
  }

  /** `2 of 3 (b)`: how many others are unavailable, and which one is named. */
  read(uid: string): string {
    const found = this.disruptions.find(this.get(uid));
    return found === undefined ? "none" : `${found.unavailable} of ${found.pods} (${found.example})`;
  }

  allowed(uid: string): readonly string[] | null | undefined {
    return this.disruptions.find(this.get(uid))?.budgets?.map(({ name, allowed }) => `${name} ${allowed}`);
  }

  /** podfit sends a request for a larger size of the pod. */
  send(uid: string): void {
    this.disruptions.reserve(this.get(uid), request({ uid }));
  }

  settle(uid: string, answer: Answer): void {
    this.disruptions.settle(this.get(uid), request({ uid }), answer);
  }
}

function threePods(): Book {
  const book = new Book();
  for (const uid of ["a", "b", "c"]) book.put(uid);
  return book;
}

Deno.test("Disruptions counts the other pods of a workload that are not Ready (L70)", () => {
  const book = threePods();
  assertEquals(["a", "b", "c"].map((uid) => book.read(uid)), Array(3).fill("0 of 3 (null)"));
  book.put("b", UNREADY);
  assertEquals(["a", "b", "c"].map((uid) => book.read(uid)), ["1 of 3 (b)", "0 of 3 (null)", "1 of 3 (b)"]);
  book.put("b");
  book.cache.removePod(book.get("c"));
  assertEquals(book.read("a"), "0 of 2 (null)");
});

Deno.test("Disruptions keeps workloads and namespaces apart, and a pod without a controller is alone (L70)", () => {
  const book = threePods();
  book.put("d", { ...UNREADY, workload: "Deployment/other" });
  book.put("e", { ...UNREADY, namespace: "elsewhere" });
  const { workload: _, ...bare } = pod({ uid: "f", containers: [container({ restartsOn: restartsOn("cpu") })] });
  assertEquals(book.read("a"), "0 of 3 (null)");
  assertEquals(book.disruptions.find(bare), { pods: 1, unavailable: 0, example: null, budgets: [] });
});

Deno.test("Disruptions has nothing to say of pods that no resize restarts (L70)", () => {
  const book = new Book();
  book.put("a", {}, { restartsOn: { cpu: false, memory: false } });
  assertEquals(book.read("a"), "none");
});

Deno.test("Disruptions counts a pod that ends where its controller waits for the end (L70)", () => {
  for (const [workload, expected] of [["StatefulSet/db", "1 of 2 (b)"], ["Deployment/web", "0 of 1 (null)"]]) {
    const book = new Book();
    book.put("a", { workload: workload ?? "" });
    book.put("b", { workload: workload ?? "", deleting: true });
    assertEquals(book.read("a"), expected, workload);
    book.put("b", { workload: workload ?? "", finished: true });
    assertEquals(book.read("a"), "0 of 1 (null)", workload);
  }
});

Deno.test("Disruptions counts a restart from the request until the pod runs anew and is Ready (L70)", () => {
  const book = threePods();
  book.send("a");
  assertEquals([book.read("a"), book.read("b")], ["0 of 3 (null)", "1 of 3 (a)"]);
  book.settle("a", ACCEPTED);
  assertEquals(book.read("b"), "1 of 3 (a)", "accepted, and not shown yet");
  book.put("a", { generation: 2 }, { spec: LARGER, reported: SIZE });
  assertEquals(book.read("b"), "1 of 3 (a)", "the kubelet has yet to apply it");
  book.put("a", { generation: 2 }, { spec: LARGER });
  assertEquals(book.read("b"), "1 of 3 (a)", "it is reported, and the old instance still runs");
  book.put("a", { generation: 2, ...UNREADY }, { spec: LARGER, instance: null });
  assertEquals(book.read("b"), "1 of 3 (a)", "it starts");
  book.put("a", { generation: 2 }, { spec: LARGER, instance: "run-2 of a" });
  assertEquals(book.read("b"), "0 of 3 (null)");
});

Deno.test("Disruptions counts a pod once that is about to restart and not Ready (L70)", () => {
  const book = threePods();
  book.send("a");
  book.put("a", UNREADY);
  assertEquals(book.read("b"), "1 of 3 (a)");
});

for (const kind of ["withdrawn", "conflict", "gone"] as const) {
  Deno.test(`Disruptions forgets a restart whose request was answered with ${kind} (L70)`, () => {
    const book = threePods();
    book.send("a");
    book.settle("a", { kind });
    assertEquals(book.read("b"), "0 of 3 (null)");
  });
}

Deno.test("Disruptions waits a minute for a restart that may not come, and no longer (L70)", async () => {
  for (const answer of [ACCEPTED, { kind: "unconfirmed", message: "" }] satisfies Answer[]) {
    const book = threePods();
    book.send("a");
    await book.clock.advance(300_000);
    assertEquals(book.read("b"), "1 of 3 (a)", "the request still waits for its permit");
    book.settle("a", answer);
    book.put("a", { generation: 2 }, { spec: LARGER });
    await book.clock.advance(59_999);
    assertEquals(book.read("b"), "1 of 3 (a)");
    await book.clock.advance(1);
    assertEquals(book.read("b"), "0 of 3 (null)");
  }
});

Deno.test("Disruptions counts what it finds at its start: sizes that the kubelet has yet to apply (L70)", () => {
  const book = new Book();
  book.put("a");
  book.put("b", { generation: 2 }, { spec: LARGER, reported: SIZE });
  assertEquals(book.read("a"), "1 of 2 (b)");
});

Deno.test("Disruptions forgets a restart with its pod, and counts no request that restarts nothing (L70)", () => {
  const book = threePods();
  book.send("a");
  book.cache.removePod(book.get("a"));
  assertEquals(book.read("b"), "0 of 2 (null)");
  book.disruptions.reserve(book.get("b"), request({ uid: "b", changes: ["memory.requests"] }));
  book.disruptions.reserve(book.get("b"), request({ uid: "b", action: "revert" }));
  assertEquals(book.read("c"), "0 of 2 (null)");
});

Deno.test("Disruptions does not count where it sees only a part of the pods (L70)", () => {
  const book = new Book({ seesAll: false });
  book.put("a");
  assertEquals(book.read("a"), "0 of null (null)");
});

function budget(facts: Partial<BudgetFacts> = {}): BudgetFacts {
  const selector = parseDisruptionBudget({ spec: { selector: { matchLabels: { app: "web" } } } }).selector;
  return { uid: "1", namespace: "shop", name: "web", selector, allowed: 1, desiredHealthy: 2, ...facts };
}

Deno.test("a PodDisruptionBudget allows what its status says, less what it does not show yet (L71)", () => {
  const book = threePods();
  assertEquals(book.allowed("a"), []);
  book.disruptions.setBudget(budget());
  assertEquals(book.allowed("a"), ["web 1"]);
  book.send("b");
  assertEquals([book.allowed("a"), book.allowed("b")], [["web 0"], ["web 1"]]);
  book.settle("b", { kind: "withdrawn" });
  assertEquals(book.allowed("a"), ["web 1"]);
  book.put("b", UNREADY);
  assertEquals(book.allowed("a"), ["web 0"], "the status is older than the pod");
  book.disruptions.setBudget(budget({ allowed: 0 }));
  book.put("b");
  assertEquals(book.allowed("a"), ["web 0"], "the pod is newer than the status");
  book.disruptions.setBudget(budget());
  assertEquals(book.allowed("a"), ["web 1"]);
});

Deno.test("a pod keeps to each budget that selects it, and to no other (L71)", () => {
  const book = threePods();
  const other = parseDisruptionBudget({ spec: { selector: { matchLabels: { app: "other" } } } }).selector;
  const every = parseDisruptionBudget({ spec: { selector: {} } }).selector;
  for (
    const _ of book.disruptions.replaceBudgets(null, [
      budget(),
      budget({ uid: "2", name: "same", allowed: 0 }),
      budget({ uid: "3", name: "all", selector: every }),
      budget({ uid: "4", name: "other", selector: other, allowed: 0 }),
      budget({ uid: "5", name: "none", selector: null, allowed: 0 }),
      budget({ uid: "6", name: "away", namespace: "elsewhere", allowed: 0 }),
    ])
  );
  assertEquals(book.allowed("a")?.toSorted(), ["all 1", "same 0", "web 1"]);
  book.disruptions.setBudget(budget({ uid: "2", name: "same", selector: other, allowed: 0 }));
  assertEquals(book.allowed("a")?.toSorted(), ["all 1", "web 1"]);
  book.disruptions.removeBudget(budget());
  assertEquals(book.allowed("a"), ["all 1"]);
  for (const _ of book.disruptions.replaceBudgets("shop", []));
  assertEquals(book.allowed("a"), []);
  book.isKnown = false;
  assertEquals(book.allowed("a"), undefined);
});

Deno.test("a namespace with more than 500 budgets restarts nothing, and hurts no other (L71)", () => {
  const book = threePods();
  book.put("d", { namespace: "elsewhere" });
  const names = Array.from({ length: 501 }, (_, index) => String(index));
  for (const uid of names) {
    const { selector } = parseDisruptionBudget({ spec: { selector: { matchLabels: { app: "web", n: uid } } } });
    book.disruptions.setBudget(budget({ uid, name: uid, selector }));
  }
  assertEquals(book.allowed("a"), ["one of more than 500 in the namespace 0"]);
  assertEquals(book.allowed("d"), []);
  const last = parseDisruptionBudget({ spec: { selector: { matchLabels: { app: "web" } } } }).selector;
  book.disruptions.setBudget(budget({ uid: "500", name: "last", selector: last }));
  book.disruptions.removeBudget(budget({ uid: "0" }));
  assertEquals(book.allowed("a"), ["last 1"], "the one that was not kept is kept now");
});

Deno.test("parseDisruptionBudget() allows nothing while the status is older than the spec, or is missing (L71)", () => {
  const read = (status: unknown, generation = 2) =>
    parseDisruptionBudget({
      metadata: { uid: "1", namespace: "shop", name: "web", generation },
      spec: { selector: { matchLabels: { app: "web" } } },
      status,
    });
  const status = { disruptionsAllowed: 3, desiredHealthy: 7, observedGeneration: 2 };
  assertEquals([read(status).allowed, read(status).desiredHealthy], [3, 7]);
  assertEquals([read(status, 3).allowed, read(undefined).allowed, read({ disruptionsAllowed: "3" }).allowed], [
    0,
    0,
    0,
  ]);
});

Deno.test("parseDisruptionBudget() takes a selector that it cannot read for one of every pod (L71)", () => {
  const read = (selector: unknown) => parseDisruptionBudget({ spec: { selector } }).selector?.requirements;
  assertEquals([read({ matchLabels: 5 }), read({}), read(null), read(undefined)], [[], [], undefined, undefined]);
  for (const object of [null, 5, "text", { metadata: 1, spec: [], status: "" }]) {
    assertEquals(parseDisruptionBudget(object).allowed, 0);
  }
});

const OWNED: readonly [string, string, string, Record<string, string>, string][] = [
  ["a Deployment", "ReplicaSet", "web-abc", { "pod-template-hash": "abc" }, "Deployment/web"],
  ["a ReplicaSet of its own", "ReplicaSet", "web-abc", {}, "ReplicaSet/web-abc"],
  ["a ReplicaSet with another hash", "ReplicaSet", "web-abc", { "pod-template-hash": "def" }, "ReplicaSet/web-abc"],
  ["a StatefulSet", "StatefulSet", "db", { "controller-revision-hash": "db-1" }, "StatefulSet/db"],
];
for (const [sentence, kind, name, labels, expected] of OWNED) {
  Deno.test(`parsePod() names the workload of a pod of ${sentence} (L70)`, () => {
    const ownerReferences = [{ apiVersion: "apps/v1", kind, name, uid: "1", controller: true }];
    assertEquals(parsePod({ metadata: { ownerReferences, labels } }).workload, expected);
    assertEquals(parsePod({ metadata: { labels } }).workload, undefined);
  });
}

Deno.test("parseDisruptionBudget() keeps no selector of more than 8 KiB: the budget counts for every pod (L57, L71)", () => {
  const values = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(63, "x"));
  const countRequirements = (length: number) => {
    const matchExpressions = Array.from({ length }, (_, at) => ({ key: `k${at}`, operator: "In", values }));
    return parseDisruptionBudget({ spec: { selector: { matchExpressions } } }).selector?.requirements.length;
  };
  assertEquals([countRequirements(1), countRequirements(2)], [1, 0]);
});
