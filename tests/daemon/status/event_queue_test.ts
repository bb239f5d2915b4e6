import { assertEquals } from "#assert";
import type { NoticeName } from "../../../lib/model/reasons.ts";
import { EventQueue } from "../../../lib/daemon/events/recorder.ts";
import type { QueuedEvent } from "../../../lib/daemon/events/writer.ts";

function newEvent(
  message: string,
  { namespace = "shop", name = "ScaleUp" as NoticeName, key = null as string | null, isOnPod = false } = {},
) {
  const autoscaler = { namespace, name: "web", uid: `uid-${namespace}` };
  const notice = { autoscaler: autoscaler.uid, name, message };
  return { notice, context: { autoscaler, isOnPod }, at: 0, name: message, key, times: 1 } satisfies QueuedEvent;
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

Deno.test("EventQueue.put() drops events on pods first when it is full, whatever their namespace (L58)", () => {
  const queue = new EventQueue({ max: 4, maxAlike: 100 });
  for (const message of ["p1", "p2"]) queue.put(newEvent(message, { namespace: "quiet", isOnPod: true }));
  const names: readonly NoticeName[] = ["ScaleUp", "ScaleDown", "Inherited", "OOMKilled", "Limited"];
  const dropped = names.map((name) => queue.put(newEvent(name, { namespace: "burst", name }))?.notice.message);
  assertEquals(dropped, [undefined, undefined, "p2", "p1", "Limited"]);
  assertEquals(queue.put(newEvent("p3", { namespace: "other", isOnPod: true }))?.notice.message, "p3");
  assertEquals(takeAll(queue), ["ScaleUp x1", "ScaleDown x1", "Inherited x1", "OOMKilled x1"]);
});

Deno.test("EventQueue.put() drops events on pods of the namespace that has most of them (L58)", () => {
  const queue = new EventQueue({ max: 4, maxAlike: 100 });
  const put = (message: string, namespace: string) =>
    queue.put(newEvent(message, { namespace, isOnPod: true }))?.notice.message;
  assertEquals(["b1", "b2", "b3", "b4"].map((message) => put(message, "burst")), Array(4).fill(undefined));
  assertEquals([put("b5", "burst"), put("q1", "quiet"), put("q2", "quiet"), put("q3", "quiet")], [
    "b5",
    "b4",
    "b3",
    "q3",
  ]);
  assertEquals(takeAll(queue), ["b1 x1", "q1 x1", "b2 x1", "q2 x1"]);
});

Deno.test("EventQueue.take() gives the events of autoscalers their turn before those on pods (L58)", () => {
  const queue = new EventQueue({ max: 100, maxAlike: 100 });
  for (const message of ["p1", "p2"]) queue.put(newEvent(message, { isOnPod: true }));
  for (const message of ["a1", "a2", "a3", "a4"]) queue.put(newEvent(message));
  assertEquals(takeAll(queue), ["a1 x1", "a2 x1", "a3 x1", "p1 x1", "a4 x1", "p2 x1"]);
});
