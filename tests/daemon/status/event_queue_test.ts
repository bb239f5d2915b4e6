import { assertEquals } from "#assert";
import type { NoticeName } from "../../../lib/model/reasons.ts";
import { EventQueue } from "../../../lib/daemon/events/recorder.ts";
import type { QueuedEvent } from "../../../lib/daemon/events/writer.ts";

function newEvent(
  message: string,
  { namespace = "shop", name = "ScaleUp" as NoticeName, key = null as string | null } = {},
) {
  const autoscaler = { namespace, name: "web", uid: `uid-${namespace}` };
  const notice = { autoscaler: autoscaler.uid, name, message };
  return { notice, context: { autoscaler }, at: 0, name: message, key, times: 1 } satisfies QueuedEvent;
}

function takeAll(queue: EventQueue): string[] {
  const taken: string[] = [];
  for (let one = queue.take(); one !== null; one = queue.take()) taken.push(`${one.notice.message} x${one.times}`);
  return taken;
}

Deno.test("EventQueue.take() gives namespaces their turns, each in order of arrival", () => {
  const queue = new EventQueue({ max: 100, maxAlike: 100 });
  for (const message of ["a1", "a2", "a3"]) queue.put(newEvent(message, { namespace: "a" }));
  queue.put(newEvent("b1", { namespace: "b" }));
  queue.put(newEvent("c1", { namespace: "c" }));
  assertEquals(takeAll(queue), ["a1 x1", "b1 x1", "c1 x1", "a2 x1", "a3 x1"]);
});

Deno.test("EventQueue.put() counts what is counted on one Event where it waits", () => {
  const queue = new EventQueue({ max: 100, maxAlike: 100 });
  for (const message of ["no", "no", "no"]) queue.put(newEvent(message, { key: "no" }));
  assertEquals(takeAll(queue), ["no x3"]);
  queue.put(newEvent("no", { key: "no" }));
  assertEquals(takeAll(queue), ["no x1"], "those that were taken count no more");
});

Deno.test("EventQueue.put() makes one of those alike that are too many, with the newest message, and loses none", () => {
  const queue = new EventQueue({ max: 100, maxAlike: 2 });
  for (const message of ["1", "2", "3", "4"]) assertEquals(queue.put(newEvent(message)), null);
  queue.put(newEvent("down", { name: "ScaleDown" }));
  assertEquals(takeAll(queue), ["1 x1", "2 x1", "(combined from similar events): 4 x2", "down x1"]);
  queue.put(newEvent("5"));
  assertEquals(takeAll(queue), ["5 x1"]);
});

Deno.test("EventQueue.put() drops where most wait when it is full, so that a burst pushes out no other namespace", () => {
  const queue = new EventQueue({ max: 4, maxAlike: 100 });
  const names: readonly NoticeName[] = ["ScaleUp", "ScaleDown", "Inherited", "OOMKilled", "Limited"];
  const dropped = names.map((name) => queue.put(newEvent(name, { namespace: "burst", name }))?.notice.message);
  assertEquals(dropped, [undefined, undefined, undefined, undefined, "Limited"]);
  assertEquals(queue.put(newEvent("quiet", { namespace: "quiet" }))?.notice.message, "OOMKilled");
  assertEquals(takeAll(queue), ["ScaleUp x1", "quiet x1", "ScaleDown x1", "Inherited x1"]);
});

Deno.test("EventQueue.put() combines rather than drops when it is full", () => {
  const queue = new EventQueue({ max: 3, maxAlike: 100 });
  for (let index = 0; index < 3; index++) queue.put(newEvent(`first ${index}`));
  const dropped = Array.from({ length: 50 }, (_, index) => queue.put(newEvent(`later ${index}`)));
  assertEquals(dropped.filter((one) => one !== null), []);
  assertEquals(takeAll(queue).at(-1), "(combined from similar events): later 49 x50");
});
