/** How much work may one namespace cause? */
import { assertEquals, assertRejects } from "#assert";
import { WorkBudget } from "../../lib/runtime/budget.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const LIMITS = { msPerSecond: 100, burstMs: 1_000, bytesPerSecond: 1_000, burstBytes: 10_000 };

function start() {
  const clock = new VirtualClock();
  const budget = new WorkBudget(clock, LIMITS);
  const leaving = new AbortController();
  const passed: string[] = [];
  const wait = (namespace: string) =>
    budget.wait(namespace, leaving.signal).then(() => passed.push(`${namespace}@${clock.monotonic()}`));
  return { clock, budget, leaving, passed, wait };
}

Deno.test("WorkBudget.wait() resolves at once within the budget, and else when the debt is paid, of time and of bytes", async () => {
  const { clock, budget, passed, wait } = start();
  budget.spend("time", { ms: 1_200 });
  budget.spend("bytes", { bytes: 13_000 });
  budget.spend("fits", { ms: 1_000, bytes: 10_000 });
  const all = [wait("time"), wait("bytes"), wait("fits"), wait("other")];
  await clock.advance(10_000);
  await Promise.all(all);
  assertEquals(passed, ["fits@0", "other@0", "time@2000", "bytes@3000"]);
  assertEquals(clock.pending, 0);
});

Deno.test("WorkBudget fills up to its burst and no further", async () => {
  const { clock, budget, passed, wait } = start();
  await wait("shop");
  await clock.advance(3_600_000);
  budget.spend("shop", { ms: 1_100 });
  const waiting = wait("shop");
  await clock.advance(1_000);
  await waiting;
  assertEquals(passed, ["shop@0", "shop@3601000"]);
});

Deno.test("WorkBudget says for a minute that work of a namespace had to wait", async () => {
  const { clock, budget, wait } = start();
  budget.spend("shop", { ms: 1_100 });
  assertEquals(budget.isDelayed("shop"), false, "nothing has waited yet");
  const waiting = wait("shop");
  assertEquals([budget.isDelayed("shop"), budget.isDelayed("other")], [true, false]);
  await clock.advance(1_000);
  await waiting;
  await clock.advance(58_000);
  assertEquals(budget.isDelayed("shop"), true);
  await clock.advance(2_000);
  assertEquals(budget.isDelayed("shop"), false);
});

Deno.test("WorkBudget.wait() rejects when the signal aborts, and leaves no timer behind", async () => {
  const { clock, budget, leaving, wait } = start();
  budget.spend("shop", { ms: 5_000 });
  const waiting = assertRejects(() => wait("shop"), Error, "enough");
  leaving.abort(new Error("enough"));
  await waiting;
  await assertRejects(() => wait("other"), Error, "enough");
  assertEquals(clock.pending, 0);
});

Deno.test("WorkBudget forgets namespaces that have used nothing for long, and none that is in debt", async () => {
  const { clock, budget, passed, wait } = start();
  budget.spend("debt", { ms: 101_000 });
  for (let index = 0; index < 2_000; index++) {
    budget.spend(`namespace-${index}`, { ms: 1 });
    if (index % 100 === 0) await clock.advance(10);
  }
  const waiting = wait("debt");
  await clock.advance(900_000);
  assertEquals(passed, []);
  await clock.advance(200_000);
  await waiting;
  assertEquals(passed.length, 1);
});
