/** Whose turn it is to send a resize: how many at once, how many per second, and when it comes late. */
import { assertEquals } from "#assert";
import { createPermits, type ResizePermit } from "../../../lib/daemon/permits.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

function newDesk(pace = { perSecond: 100, burst: 200 }) {
  const clock = new VirtualClock();
  const takeTurn = createPermits({ clock, pace, random: () => 0 });
  const ending = new AbortController();
  const turns: { readonly turn: ResizePermit; readonly atMs: number }[] = [];
  const take = async ({ isUrgent = false, namespace = "shop" } = {}) => {
    const turn = await takeTurn(ending.signal, { namespace, isUrgent });
    if (turn !== null) turns.push({ turn, atMs: clock.monotonic() });
    return turn;
  };
  return { clock, ending, turns, take };
}

Deno.test("createPermits() gives one namespace 32 turns at once, and the next when one is given back", async () => {
  const { clock, turns, take, ending } = newDesk();
  const all = Array.from({ length: 33 }, () => take());
  await clock.advance(10);
  assertEquals(turns.length, 32);
  turns[0]?.turn[Symbol.dispose]();
  await clock.advance(10);
  assertEquals(turns.length, 33);
  ending.abort();
  assertEquals((await Promise.all(all)).filter((turn) => turn === null).length, 0);
});

Deno.test("createPermits() lets so many begin per second, and none is refused however long it waits", async () => {
  const { clock, turns, take } = newDesk({ perSecond: 10, burst: 5 });
  const all = Array.from({ length: 105 }, async () => {
    using _turn = await take();
  });
  await clock.advance(1_000);
  assertEquals(turns.length, 15);
  await clock.advance(9_000);
  await Promise.all(all);
  assertEquals([turns.length, turns.filter(({ turn }) => turn.isLate).length], [105, 50]);
  assertEquals(clock.pending, 0);
});

Deno.test("createPermits() gives no turn while the server is busy, and empties what was saved up", async () => {
  const { clock, turns, take } = newDesk({ perSecond: 1, burst: 100 });
  const first = await take();
  first?.report({ waitMs: 4_000 });
  first?.[Symbol.dispose]();
  const all = Array.from({ length: 3 }, async () => {
    using turn = await take();
    turn?.report(null);
  });
  await clock.advance(3_999);
  assertEquals(turns.length, 1);
  await clock.advance(10);
  await Promise.all(all);
  assertEquals(turns.map(({ atMs }) => atMs), [0, 4_000, 4_000, 4_000]);
});

Deno.test("createPermits() gives no turn to those who wait when the signal aborts, and leaves no timer behind", async () => {
  const { clock, take, ending } = newDesk({ perSecond: 1, burst: 1 });
  const all = [take(), take(), take()];
  await clock.advance(0);
  ending.abort();
  assertEquals((await Promise.all(all)).filter((turn) => turn === null).length, 2);
  await clock.advance(0);
  assertEquals(clock.pending, 0);
});

Deno.test("createPermits() gives an urgent one its turn before all who wait (L11)", async () => {
  const { clock, take } = newDesk({ perSecond: 10, burst: 1 });
  const order: string[] = [];
  const all = Array.from({ length: 60 }, async (_, index) => {
    using _turn = await take();
    order.push(`${index}`);
  });
  await clock.advance(500);
  all.push((async () => {
    using _turn = await take({ isUrgent: true });
    order.push("urgent");
  })());
  await clock.advance(10_000);
  await Promise.all(all);
  // Of the 32 who hold a slot already, one has to give it back.
  assertEquals(order.indexOf("urgent"), 7);
});

Deno.test("createPermits() lets the next go at once where a turn is given back", async () => {
  const { clock, turns, take } = newDesk({ perSecond: 1, burst: 1 });
  const all = Array.from({ length: 100 }, async () => {
    using turn = await take();
    turn?.refund();
  });
  await clock.advance(10);
  await Promise.all(all);
  assertEquals(turns.length, 100);
});

Deno.test("createPermits() gives namespaces their turns: 1,500 resizes of one do not delay the resize of another (C44)", async () => {
  const { clock, take, turns } = newDesk();
  const order: string[] = [];
  const send = async (namespace: string, isUrgent = false) => {
    using _turn = await take({ namespace, isUrgent });
    order.push(namespace);
    await clock.sleep(30);
  };
  const all = Array.from({ length: 1_500 }, () => send("hostile"));
  await clock.advance(5_000);
  const before = order.length;
  assertEquals(before < 1_500, true, "many still wait");
  all.push(send("victim"));
  await clock.advance(20);
  assertEquals(order.slice(before).includes("victim"), true, order.slice(before).join());
  assertEquals(order.indexOf("victim") - before <= 1, true, "at most one resize of the other goes before");
  await clock.advance(20_000);
  await Promise.all(all);
  assertEquals(turns.length, 1_501);
});

Deno.test("createPermits() lets OOM kills of one namespace stop neither those of another nor its other resizes (L11)", async () => {
  const { clock, take } = newDesk({ perSecond: 10, burst: 1 });
  const order: string[] = [];
  const send = async (namespace: string, isUrgent: boolean) => {
    using _turn = await take({ namespace, isUrgent });
    order.push(`${namespace}${isUrgent ? "!" : ""}`);
  };
  const all = Array.from({ length: 300 }, () => send("hostile", true));
  await clock.advance(1_000);
  const before = order.length;
  all.push(send("victim", true), send("victim", false));
  await clock.advance(600);
  const after = order.slice(before);
  assertEquals(after.slice(0, 2).includes("victim!"), true, after.join());
  assertEquals(after.slice(0, 5).includes("victim"), true, after.join());
  await clock.advance(40_000);
  await Promise.all(all);
});
