/** What is computed lets others go first. */
import { assertEquals, assertRejects } from "#assert";
import { getComputeQueue, queueCalls } from "../../lib/runtime/event_loop.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** A clock that moves by hand; each rest is noted, and ends when the test says so. */
function start() {
  let now = 0;
  const done: string[] = [];
  const rests: PromiseWithResolvers<void>[] = [];
  const sleep = (ms: number) => {
    assertEquals(ms, 0);
    const rest = Promise.withResolvers<void>();
    rests.push(rest);
    return rest.promise;
  };
  const spend = (ms: number) => void (now += ms);
  const compute = getComputeQueue({ monotonic: () => now, sleep });
  return {
    done,
    rests,
    spend,
    compute,
    take: (name: string, ms: number) =>
      compute(() => {
        spend(ms);
        done.push(name);
        return name;
      }),
    /** Ends the last rest; time that passed in it counts for nothing. */
    async wake() {
      now += 1_000;
      const rest = rests.at(-1);
      rest?.resolve();
      await settle();
    },
  };
}

/** Whatever needs no rest is done. */
async function settle(): Promise<void> {
  for (let hop = 0; hop < 1_000; hop++) await null;
}

Deno.test("getComputeQueue() does at once what nobody waits before, and gives what it gives", async () => {
  const { take, done, rests } = start();
  const given = take("a", 3);
  assertEquals(done, ["a"]);
  assertEquals(await given, "a");
  assertEquals(rests.length, 0);
});

Deno.test("getComputeQueue() rests after each 5 ms of work, and goes on in order", async () => {
  const { take, done, rests, wake } = start();
  const all = ["a", "b", "c", "d", "e", "f"].map((name) => take(name, 2));
  await settle();
  assertEquals([done.join(""), rests.length], ["abc", 1]);
  await wake();
  assertEquals([done.join(""), rests.length], ["abcdef", 2]);
  const late = take("g", 1);
  assertEquals(done.length, 6);
  await wake();
  assertEquals([await Promise.all([...all, late]), done.join("")], [[..."abcdefg"], "abcdefg"]);
});

Deno.test("getComputeQueue() counts what was done long ago, and no time in which nothing was done", async () => {
  const { take, rests, wake } = start();
  await take("a", 4);
  await settle();
  await wake();
  assertEquals(rests.length, 0);
  await take("b", 1);
  await settle();
  assertEquals(rests.length, 1);
});

Deno.test("getComputeQueue() counts what an answer sets off at once", async () => {
  const { take, spend, done, rests, wake } = start();
  const first = take("a", 1);
  const second = take("b", 1).then(() => spend(3));
  const third = take("c", 1);
  await settle();
  assertEquals([done.join(""), rests.length], ["ab", 1]);
  await wake();
  await Promise.all([first, second, third]);
  assertEquals(done.join(""), "abc");
});

Deno.test("getComputeQueue() counts what an answer sets off after a few promises, as a request that is sent", async () => {
  const { take, spend, done, rests, wake } = start();
  const first = take("a", 1);
  const second = take("b", 1).then(async () => {
    for (let hop = 0; hop < 20; hop++) await null;
    spend(3);
  });
  const third = take("c", 1);
  await settle();
  assertEquals([done.join(""), rests.length], ["ab", 1]);
  await wake();
  await Promise.all([first, second, third]);
});

Deno.test("queueCalls() makes a call when its turn comes, and gives its answer", async () => {
  const { compute, take, done, wake } = start();
  const call = queueCalls(compute, (name: string, ms: number) => {
    done.push(name);
    return Promise.resolve(`${name} ${ms}`);
  });
  const before = take("a", 5);
  const called = call("b", 7);
  await settle();
  assertEquals(done.join(""), "a");
  await wake();
  assertEquals([await called, await before, done.join("")], ["b 7", "a", "ab"]);
});

Deno.test("queueCalls() passes answers on in turns of their own, failures among them", async () => {
  const { compute, spend, done, rests, wake } = start();
  const answers = [1, 2, 3].map(() => Promise.withResolvers<string>());
  const call = queueCalls(compute, (index: number) => answers[index]?.promise ?? Promise.reject(new RangeError()));
  const note = (text: string) => {
    spend(3);
    done.push(text);
  };
  const calls = [0, 1, 2].map((index) => call(index).then(note, (error: Error) => note(error.message)));
  await settle();
  answers[0]?.resolve("a");
  answers[1]?.reject(new Error("b"));
  answers[2]?.resolve("c");
  await settle();
  assertEquals([done.join(""), rests.length], ["ab", 1]);
  await wake();
  await Promise.all(calls);
  assertEquals(done.join(""), "abc");
});

Deno.test("getComputeQueue() gives one queue to all who have the same clock, and another clock its own", () => {
  const clock = new VirtualClock();
  assertEquals(getComputeQueue(clock) === getComputeQueue(clock), true);
  assertEquals(getComputeQueue(clock) === getComputeQueue(new VirtualClock()), false);
});

Deno.test("getComputeQueue() passes on what a piece of work throws, and does the next", async () => {
  const compute = getComputeQueue(new VirtualClock());
  const broken = compute(() => {
    throw new RangeError("no number");
  });
  const next = compute(() => 2);
  await assertRejects(() => broken, RangeError, "no number");
  assertEquals(await next, 2);
});

Deno.test("getComputeQueue() gives lanes their turns: many long jobs of one namespace delay a job of others by one", async () => {
  const { compute, done, spend, wake } = start();
  const take = (name: string, lane?: string) => compute(() => (spend(10), void done.push(name)), lane);
  const all = Array.from({ length: 50 }, (_, index) => take(`h${index}`, "hostile"));
  await settle();
  all.push(take("victim", "victim"), take("node"));
  for (let rest = 0; rest < 4; rest++) await wake();
  assertEquals(done.slice(0, 5), ["h0", "h1", "victim", "node", "h2"]);
  for (let rest = 0; rest < 60; rest++) await wake();
  await Promise.all(all);
});
