import { assertEquals } from "#assert";
import { type RunTask, TaskSet } from "../../lib/runtime/tasks.ts";
import { settleEventLoop, VirtualClock } from "../support/virtual_clock.ts";

interface Stage extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly tasks: TaskSet;
  readonly said: string[];
}

/** Random is 1, so a back-off lasts its whole ceiling: 1 s, 2 s, 4 s, 4 s. */
function stage(): Stage {
  const clock = new VirtualClock();
  const said: string[] = [];
  const tasks = new TaskSet({
    clock,
    random: () => 1,
    onError: (key, error) => said.push(`${key} failed: ${(error as Error).message}`),
    baseMs: 1000,
    maxMs: 4000,
  });
  return { clock, tasks, said, [Symbol.asyncDispose]: () => tasks[Symbol.asyncDispose]() };
}

/** Runs until aborted, and then takes `endMs` to end. */
function player({ clock, said }: Stage, { name, endMs = 0 }: { name: string; endMs?: number }): RunTask {
  return async (signal) => {
    said.push(`${name} starts`);
    await clock.sleep(1e9, signal).catch(() => {});
    if (endMs > 0) await clock.sleep(endMs);
    said.push(`${name} ends`);
  };
}

Deno.test("TaskSet starts a key once, stops it alone and leaves the others", async () => {
  await using at = stage();
  for (const name of ["a", "b", "b"]) at.tasks.start(name, player(at, { name }));
  await settleEventLoop();
  assertEquals(at.said, ["a starts", "b starts"]);
  at.tasks.stop("a");
  at.tasks.stop("unknown");
  at.tasks.start("c", player(at, { name: "c" }));
  await settleEventLoop();
  assertEquals(at.said.slice(2).sort(), ["a ends", "c starts"]);
  assertEquals(at.tasks.size, 2);
});

Deno.test("TaskSet starts a key that was stopped and started again only after its old task ended", async () => {
  await using at = stage();
  at.tasks.start("a", player(at, { name: "old", endMs: 500 }));
  await settleEventLoop();
  at.tasks.stop("a");
  at.tasks.start("a", player(at, { name: "unlucky" }));
  at.tasks.stop("a");
  at.tasks.start("a", player(at, { name: "new" }));
  await at.clock.advance(499);
  assertEquals(at.said, ["old starts"]);
  await at.clock.advance(1);
  assertEquals(at.said, ["old starts", "old ends", "new starts"]);
});

Deno.test("TaskSet reports a task that throws and starts it again with a growing wait", async () => {
  await using at = stage();
  const startedMs: number[] = [];
  const fails: RunTask = () => {
    startedMs.push(at.clock.monotonic());
    throw new Error(`broken ${startedMs.length}`);
  };
  at.tasks.start("a", fails);
  at.tasks.start("b", player(at, { name: "b" }));
  await at.clock.advance(11_000);
  assertEquals(startedMs, [0, 1000, 3000, 7000, 11_000]);
  assertEquals(at.said.slice(0, 3), ["a failed: broken 1", "b starts", "a failed: broken 2"]);
  await at.tasks[Symbol.asyncDispose]();
  assertEquals(at.clock.pending, 0);
});

Deno.test("TaskSet forgets earlier failures once a task ran for longer than the longest wait", async () => {
  await using at = stage();
  const startedMs: number[] = [];
  const lives: RunTask = async (signal) => {
    startedMs.push(at.clock.monotonic());
    await at.clock.sleep(startedMs.length === 3 ? 5000 : 0, signal);
    throw new Error("broken");
  };
  at.tasks.start("a", lives);
  await at.clock.advance(9000);
  assertEquals(startedMs, [0, 1000, 3000, 9000], "third run: 5 s, then 1 s of wait again");
});

Deno.test("TaskSet starts a task that returned by itself again, unreported", async () => {
  await using at = stage();
  let starts = 0;
  at.tasks.start("a", () => Promise.resolve(void starts++));
  await at.clock.advance(999);
  assertEquals(starts, 1);
  await at.clock.advance(1);
  assertEquals([starts, at.said], [2, []]);
});

Deno.test("TaskSet takes what an aborted task throws for the abort", async () => {
  const at = stage();
  at.tasks.start("a", (signal) => at.clock.sleep(1e9, signal));
  await settleEventLoop();
  await at.tasks[Symbol.asyncDispose]();
  assertEquals(at.said, []);
  assertEquals(at.clock.pending, 0);
});

Deno.test("TaskSet disposal waits for every task, also those already ending, and nothing starts after it", async () => {
  const at = stage();
  at.tasks.start("a", player(at, { name: "a", endMs: 700 }));
  at.tasks.start("b", player(at, { name: "b", endMs: 300 }));
  await settleEventLoop();
  at.tasks.stop("a");
  let isDisposed = false;
  const disposal = at.tasks[Symbol.asyncDispose]().then(() => isDisposed = true);
  await at.clock.advance(699);
  assertEquals(isDisposed, false);
  await at.clock.advance(1);
  await disposal;
  at.tasks.start("c", player(at, { name: "c" }));
  await settleEventLoop();
  assertEquals(at.said, ["a starts", "b starts", "b ends", "a ends"]);
});
