/** What a kubelet has to tell: the newest of each matter, in order, until it is taken. */
import { assertEquals } from "#assert";
import { WriteQueue, type WriteQueueOptions } from "../../../lib/embedded/kubelet/status_writer.ts";
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";

function open(options: Pick<WriteQueueOptions<number>, "send"> & Partial<WriteQueueOptions<number>>) {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  const outbox = new WriteQueue<number>({ clock, random: () => 1, onError: (error) => errors.push(error), ...options });
  const ending = new AbortController();
  const running = outbox.run(ending.signal);
  return {
    clock,
    errors,
    outbox,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
      assertEquals(clock.pending, 0);
    },
  };
}

Deno.test("an outbox sends the newest of what came while an older one was on its way", async () => {
  const sent: string[] = [];
  const gate = Promise.withResolvers<void>();
  await using box = open({
    async send(matter, key) {
      sent.push(`${key}${matter}`);
      if (matter === 1) await gate.promise;
    },
  });
  box.outbox.put("a", 1);
  await settleEventLoop();
  box.outbox.put("a", 2);
  box.outbox.put("a", 3);
  box.outbox.put("b", 4);
  await settleEventLoop();
  assertEquals(sent, ["a1", "b4"]);
  gate.resolve();
  await settleEventLoop();
  assertEquals(sent, ["a1", "b4", "a3"]);
  box.outbox.put("a", 5);
  await settleEventLoop();
  assertEquals(sent.at(-1), "a5");
});

Deno.test("an outbox tries again after growing waits, and gives up where it is told to", async () => {
  const triedAt: number[] = [];
  await using box = open({
    maxTries: 4,
    send() {
      triedAt.push(box.clock.monotonic());
      return Promise.reject(new Error("no"));
    },
  });
  box.outbox.put("a", 1);
  await box.clock.advance(60_000);
  assertEquals(triedAt, [0, 200, 600, 1400]);
  assertEquals(box.errors.length, 4);
});

Deno.test("an outbox keeps what could not be sent for its next run, and no more keys than it may", async () => {
  const clock = new VirtualClock();
  const sent: string[] = [];
  const outbox = new WriteQueue<number>({
    clock,
    random: () => 1,
    onError: () => {},
    maxKeys: 2,
    send: (_, key) => Promise.resolve(void sent.push(key)),
  });
  for (const key of ["a", "b", "c"]) outbox.put(key, 1);
  outbox.put("a", 2);
  outbox.forget("b");
  const ending = new AbortController();
  const running = outbox.run(ending.signal);
  await settleEventLoop();
  assertEquals(sent, ["a"]);
  ending.abort();
  await running;
});
