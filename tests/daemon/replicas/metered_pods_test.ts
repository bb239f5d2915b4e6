/**
 * Pods whose usage is read for replicas, and what is kept of them.
 * Clauses: R20.
 */
import { assertEquals } from "#assert";
import { MeteredPods } from "../../../lib/daemon/replicas/target_pods.ts";
import { type PodSet, SelectorIndex } from "../../../lib/daemon/cluster/selector_index.ts";
import { findPodMetric } from "../../../lib/horizontal/pod_metrics.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { parseSelectorText } from "../../../lib/units/selector.ts";
import type { PodFacts } from "../../../lib/model/pod.ts";
import { pod, point, SECOND, START } from "../../support/builders.ts";

function open(pods: readonly PodFacts[]) {
  const read = new Map<string, string>();
  const urgent = new Set<string>();
  const metered: MeteredPods = new MeteredPods({
    nodes: {
      meter({ uid, nodeName }, { isUrgent }) {
        if (nodeName !== null) read.set(uid, nodeName);
        if (isUrgent) urgent.add(uid);
        else urgent.delete(uid);
      },
      unmeter: ({ uid }) => void read.delete(uid),
    },
    getCapacity: () => ({ cpuMillicores: null, memoryBytes: null }),
  });
  const sets = new SelectorIndex({
    listPods: () => pods,
    onMoved: (set, before, after) => metered.move(set, before, after),
  });
  const parsed = parseSelectorText("app=web", "");
  if (!parsed.ok) throw new Error("no selector");
  const held = sets.acquire("shop", parsed.selector, "x");
  return { read, urgent, metered, sets, held };
}

function web(uid: string, fields: Partial<PodFacts> = {}): PodFacts {
  return pod({ uid, namespace: "shop", labels: { app: "web" }, nodeName: "node-1", ...fields });
}

Deno.test("want() has usage of the set's pods read, of those that come later too, until nobody wants it (R20)", () => {
  const { read, metered, sets, held } = open([web("a")]);
  assertEquals([...read.keys()], []);
  const [one, other] = [metered.acquire(held.set, "x"), metered.acquire(held.set, "y")];
  sets.move(null, web("b"));
  assertEquals([...read.keys()], ["a", "b"]);
  one[Symbol.dispose]();
  assertEquals([...read.keys()], ["a", "b"]);
  other[Symbol.dispose]();
  assertEquals([...read.keys()], []);
});

Deno.test("a pod is read on the node that it comes to, and no more once it is finished or has left the set (R20)", () => {
  const { read, metered, sets, held } = open([]);
  using _wanted = metered.acquire(held.set, "x");
  const [unbound, bound, done] = [web("a", { nodeName: null }), web("a"), web("a", { finished: true })];
  sets.move(null, unbound);
  assertEquals([...read], []);
  sets.move(unbound, bound);
  assertEquals([...read], [["a", "node-1"]]);
  sets.move(bound, done);
  assertEquals([...read], []);
  sets.move(null, web("b"));
  sets.move(web("b"), web("b", { labels: {} }));
  assertEquals([...read], []);
});

Deno.test("a pod is urgent as long as it is for one of its targets (R20)", () => {
  const { urgent, metered, sets, held } = open([web("a"), web("both", { labels: { app: "web", tier: "front" } })]);
  const parsed = parseSelectorText("tier=front", "");
  if (!parsed.ok) throw new Error("no selector");
  const other = sets.acquire("shop", parsed.selector, "y");
  const one = metered.acquire(held.set, "x");
  assertEquals([...urgent], ["a", "both"], "until it is known");
  metered.setUrgent(held.set, "x", false);
  assertEquals([...urgent], []);
  const two = metered.acquire(other.set, "y");
  assertEquals([...urgent], ["both"]);
  sets.move(null, web("late"));
  assertEquals([...urgent], ["both"]);
  metered.setUrgent(held.set, "x", true);
  assertEquals([...urgent].toSorted(), ["a", "both", "late"]);
  metered.setUrgent(held.set, "stranger", true);
  one[Symbol.dispose]();
  assertEquals(urgent.has("both"), true);
  metered.setUrgent(other.set, "y", false);
  assertEquals(urgent.has("both"), false);
  two[Symbol.dispose]();
});

Deno.test("findUser() visits only sets that ScaledObjects meter, however many other selectors the pod has", () => {
  const { metered, held } = open([web("a")]);
  let reads = 0;
  const others = Array.from({ length: 500 }, (_, index): PodSet => ({
    namespace: "shop",
    selector: held.set.selector,
    get pods() {
      return (reads++, new Map([["a", web("a")]]));
    },
    get holders() {
      return (reads++, new Set([`hpa-${index}`]));
    },
  }));
  for (const set of others) metered.move(set, null, web("a"));
  const listUsers = (uid: string) => {
    const users: string[] = [];
    metered.findUser(uid, (user) => (users.push(user), null));
    return users;
  };
  assertEquals(listUsers("a"), []);
  const [one, other] = [metered.acquire(held.set, "x"), metered.acquire(held.set, "y")];
  assertEquals([listUsers("a"), listUsers("b"), reads], [["x", "y"], [], 0]);
  assertEquals(metered.findUser("a", (user) => user === "y" ? 7 : null), 7);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  assertEquals(listUsers("a"), ["y"]);
  other[Symbol.dispose]();
  assertEquals(listUsers("a"), []);
});

Deno.test("note() keeps the rates of wanted pods and forgets them with the pod (R20)", () => {
  const { metered, sets, held } = open([web("a")]);
  const wanted = metered.acquire(held.set, "x");
  metered.recordReading({ kind: "failed", node: "node-1", readAt: 0, reason: "timeout", message: "" });
  assertEquals(metered.get("a").rates, null);
  const usage = { usageBytes: null, points: [] };
  metered.recordReading({
    kind: "usage",
    node: "node-1",
    readAt: 0,
    clockOffsetMs: 0,
    pods: new Map([["a", usage], ["stranger", usage]]),
    skipped: 0,
    durationMs: 1,
  });
  assertEquals([metered.get("a").rates, metered.get("stranger").rates], [{ containers: {} }, null]);
  sets.move(web("a"), null);
  assertEquals(metered.get("a"), { rates: null, recorded: null });
  wanted[Symbol.dispose]();
});

for (const byMs of [7_200_000, -7_200_000]) {
  Deno.test(`a wall clock that is set ${byMs > 0 ? "forward" : "back"} by two hours makes no pod miss its usage (R23)`, async () => {
    const clock = new VirtualClock();
    const pods = [web("a"), web("b")];
    const { metered, held } = open(pods);
    using _wanted = metered.acquire(held.set, "x");
    let taken = 0;
    const measure = async (uids: readonly string[]) => {
      await clock.advance(15 * SECOND);
      // The clock of the node does not step.
      const sample = point({ at: START + ++taken * 15 * SECOND, counterNs: 1e9 + taken * 3e9 });
      metered.recordReading({
        kind: "usage",
        node: "node-1",
        readAt: clock.steady(),
        clockOffsetMs: 0,
        pods: new Map(uids.map((uid) => [uid, { usageBytes: null, points: [sample] }])),
        skipped: 0,
        durationMs: 1,
      });
    };
    const read = () =>
      pods.map((pod) => {
        const { rates } = metered.get(pod.uid);
        return findPodMetric(rates, { pod, type: "cpu", container: null, now: clock.steady() })?.milli ?? null;
      });
    await measure(["a", "b"]);
    await measure(["a", "b"]);
    clock.setNow(clock.now() + byMs);
    assertEquals(read(), [200n, 200n], "before the next poll");
    await measure(["a"]);
    assertEquals(read(), [200n, 200n], "after it");
    await measure(["a"]);
    await measure(["a"]);
    await measure(["a"]);
    assertEquals(read(), [200n, null], "60 s of silence are 60 s, whatever the clock says");
    clock.setNow(clock.now() - byMs);
    await measure(["a"]);
    assertEquals(read(), [200n, null], "a poll that is the first to see the clock set");
  });
}
