/** How old lists are, beyond what whole-daemon stories show (C51). */
import { assertEquals } from "#assert";
import { ListFreshness, STALE_MS, type WatchedList } from "../../../lib/daemon/cluster/freshness.ts";

const PODS: WatchedList = { resource: "pods", namespace: null, path: "/api/v1/pods" };
const SHOP: WatchedList = { resource: "deployments", namespace: "shop", path: "/shop/deployments" };
const CART: WatchedList = { resource: "deployments", namespace: "cart", path: "/cart/deployments" };
const QUOTAS: WatchedList = { resource: "resourcequotas", namespace: null, path: "/quotas", isOptional: true };

function open() {
  const time = { ms: 0 };
  const words: string[] = [];
  const ages: ReadonlyMap<string, number>[] = [];
  const contacts = new ListFreshness({
    lists: [PODS, SHOP, CART, QUOTAS],
    clock: { monotonic: () => time.ms, sleep: () => new Promise(() => {}) },
    log: { info: (message, fields) => words.push(`${message} ${fields?.path} ${fields?.ageSeconds}`) },
    metrics: { setListAges: (all) => ages.push(all) },
    onTrouble: (trouble) => {
      if (trouble.kind === "failure") {
        words.push(`${trouble.level} ${trouble.fields.path} ${trouble.fields.ageSeconds}`);
      }
    },
  });
  return { time, words, ages, contacts };
}

Deno.test("Contacts tells a list that has not come from one that is too old, each in its namespace (C51)", () => {
  const { time, contacts } = open();
  assertEquals(contacts.unlisted, [PODS.path, SHOP.path, CART.path]);
  for (const list of [PODS, SHOP]) contacts.recordSync(list);
  const read = () =>
    [["pods", "shop"], ["deployments", "shop"], ["deployments", "cart"], ["daemonsets", "shop"]].map(([one, space]) => [
      contacts.isListed(one ?? "", space ?? ""),
      contacts.isKnown(one ?? "", space ?? ""),
    ]);
  assertEquals(read(), [[true, true], [true, true], [false, false], [true, true]]);
  time.ms += STALE_MS - 1;
  contacts.recordChange(PODS);
  time.ms += 1;
  assertEquals(read(), [[true, true], [true, false], [false, false], [true, true]]);
  assertEquals([contacts.unlisted, contacts.stale], [[CART.path], [{ path: SHOP.path, ageSeconds: 300 }]]);
});

Deno.test("Contacts knows at once, and tells once, that the process was stopped for too long (C51)", () => {
  const { time, words, contacts } = open();
  contacts.recordSync(PODS);
  time.ms += 3_600_000;
  // What was sent before it was stopped comes first.
  contacts.recordChange(PODS);
  assertEquals([contacts.isKnown("pods", "shop"), contacts.isKnown("pods", "shop")], [false, false]);
  assertEquals(words, ["warn /api/v1/pods 3600"]);
  contacts.recordSync(PODS);
  assertEquals([contacts.isKnown("pods", "shop"), contacts.stale], [true, []]);
  assertEquals(words, ["warn /api/v1/pods 3600", "List is fresh again /api/v1/pods 3600"]);
});

Deno.test("Contacts waits for no optional list, and has no age of one that is forbidden (C51)", () => {
  const { time, words, ages, contacts } = open();
  for (const list of [PODS, SHOP, QUOTAS]) contacts.recordSync(list);
  time.ms += 2000;
  contacts.recordSync(CART);
  void contacts.run(new AbortController().signal);
  assertEquals([...ages[0] ?? []], [["pods", 2], ["deployments", 2], ["resourcequotas", 2]], "the oldest of several");
  time.ms += 2 * STALE_MS;
  for (const list of [PODS, SHOP, CART]) contacts.recordSync(list);
  assertEquals([contacts.stale, contacts.unlisted, words.filter((word) => word.includes("quotas"))], [[], [], []]);
  contacts.forget(QUOTAS);
  void contacts.run(new AbortController().signal);
  assertEquals([...ages[1] ?? []].map(([resource]) => resource), ["pods", "deployments"]);
});

Deno.test("Contacts counts the age of a list that has never come from the start, unless the list is optional (C51)", () => {
  const { time, ages, contacts } = open();
  time.ms += 100_000;
  contacts.recordSync(PODS);
  contacts.recordSync(SHOP);
  time.ms += 250_000;
  void contacts.run(new AbortController().signal);
  assertEquals([...ages[0] ?? []], [["pods", 250], ["deployments", 350]], "of one namespace alone");
});

Deno.test("isRecent() is true for 75 s after a contact, and never for a list that is missing, stale or not watched (R30)", () => {
  const { time, contacts } = open();
  assertEquals(contacts.isRecent("deployments", "shop"), false, "not listed");
  contacts.recordSync(SHOP);
  time.ms += 74_999;
  assertEquals(contacts.isRecent("deployments", "shop"), true);
  assertEquals(contacts.isRecent("deployments", "cart"), false, "another namespace");
  assertEquals(contacts.isRecent("statefulsets", "shop"), false, "not watched");
  time.ms += 1;
  assertEquals(contacts.isRecent("deployments", "shop"), false);
  contacts.recordChange(SHOP);
  assertEquals(contacts.isRecent("deployments", "shop"), true);
  time.ms += STALE_MS;
  contacts.recordChange(SHOP);
  assertEquals(contacts.isRecent("deployments", "shop"), false, "events before it may be missing");
});
