import { assert, assertEquals, assertMatch } from "#assert";
import type { NoticeName } from "../../../lib/model/reasons.ts";
import type { FailureReport } from "../../../lib/daemon/health.ts";
import type { EventContext } from "../../../lib/daemon/events/writer.ts";
import { EventRecorder } from "../../../lib/daemon/events/recorder.ts";
import { createClient } from "../../../lib/kube/client.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { refuse, TestApiServer } from "../../support/api_server.ts";
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";

const WEB = { namespace: "shop", name: "web", uid: "uid-web" };
const POD = { namespace: "shop", name: "web-1", uid: "uid-web-1" };

class Desk implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly api = new TestApiServer(this.clock);
  readonly results: string[] = [];
  readonly troubles: FailureReport[] = [];
  readonly recorder: EventRecorder;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;

  constructor() {
    this.recorder = new EventRecorder({
      client: createClient(this.api),
      clock: this.clock,
      random: () => 0,
      log: createLog({ level: "error", format: "json", write: () => {} }),
      metrics: { eventPublished: (result) => this.results.push(result) },
      onNotice() {},
      onTrouble: (trouble) => this.troubles.push(trouble),
      instance: "test",
    });
    this.#running = this.recorder.run(this.#closing.signal);
  }

  publish(name: NoticeName, message = "text", autoscaler: EventContext["autoscaler"] = WEB): void {
    this.recorder.publish({ name, message }, { autoscaler, pod: POD });
  }

  publishOnPod(name: NoticeName, message = "text", pod = POD): void {
    this.recorder.publish({ name, message }, { autoscaler: WEB, pod, isOnPod: true });
  }

  get events(): string[] {
    return this.api.list("events").map(({ reason, message, count }) =>
      `${reason.replace("PodResourceAutoscaler", "")} ${message} x${count}`
    );
  }

  async close(withinMs = 60_000): Promise<void> {
    this.#closing.abort();
    await this.clock.advance(withinMs);
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

Deno.test("publish() writes an Event of core/v1 on the autoscaler with the pod as related object (C50)", async () => {
  await using desk = new Desk();
  desk.publish("ScaleUp", "Scaled up");
  await settleEventLoop();
  const [{ metadata, ...event }] = desk.api.list("events");
  assertMatch(metadata.name, /^web\.[0-9a-f]+$/);
  assertEquals(event, {
    apiVersion: "v1",
    kind: "Event",
    involvedObject: {
      apiVersion: "keda.kedify.io/v1alpha1",
      kind: "PodResourceAutoscaler",
      ...WEB,
    },
    related: { apiVersion: "v1", kind: "Pod", ...POD },
    reason: "PodResourceAutoscalerScaleUp",
    message: "Scaled up",
    type: "Normal",
    source: { component: "podfit" },
    reportingComponent: "podfit",
    reportingInstance: "test",
    firstTimestamp: "2026-11-20T11:00:00Z",
    lastTimestamp: "2026-11-20T11:00:00Z",
    count: 1,
    eventTime: null,
  });
});

Deno.test("publish() writes an Event on the pod with the autoscaler as related object (L58)", async () => {
  await using desk = new Desk();
  desk.publishOnPod("ScaleUp", "Scaled up");
  await settleEventLoop();
  const [{ metadata, involvedObject, related, reason, count }] = desk.api.list("events");
  assertMatch(metadata.name, /^web-1\.[0-9a-f]+$/);
  assertEquals(involvedObject, { apiVersion: "v1", kind: "Pod", ...POD });
  assertEquals(related, { apiVersion: "keda.kedify.io/v1alpha1", kind: "PodResourceAutoscaler", ...WEB });
  assertEquals([reason, count], ["PodResourceAutoscalerScaleUp", 1]);
});

Deno.test("publish() limits the events of each pod alone, and its autoscaler's do not count (L58)", async () => {
  await using desk = new Desk();
  for (let i = 0; i < 40; i++) desk.publishOnPod("ScaleUp", `up ${i}`);
  desk.publishOnPod("ScaleUp", "of another", { ...POD, name: "web-2", uid: "uid-web-2" });
  for (let i = 0; i < 25; i++) desk.publish("ScaleFailed", `no ${i}`);
  await settleEventLoop(200);
  const of = (kind: string) => desk.api.list("events").filter(({ involvedObject }) => involvedObject.kind === kind);
  assertEquals([of("Pod").length, of("PodResourceAutoscaler").length], [26, 25]);
  assertEquals(desk.results.filter((one) => one === "rate_limited").length, 15);
});

Deno.test("publish() writes an Event on a ScaledObject under KEDA's name, one for each rescale (R92)", async () => {
  await using desk = new Desk();
  const autoscaler = { ...WEB, kind: "ScaledObject" } as const;
  const rescale = { name: "SuccessfulRescale", message: "New size: 2" } as const;
  const failure = { name: "KEDAScalerFailed", message: "no answer" } as const;
  for (const notice of [rescale, failure, rescale, failure]) desk.recorder.publish(notice, { autoscaler });
  await settleEventLoop();
  const events = desk.api.list("events").map(({ involvedObject, type, reason, count }) => ({
    ...involvedObject,
    said: `${type} ${reason} x${count}`,
  }));
  const about = { apiVersion: "keda.sh/v1alpha1", kind: "ScaledObject", ...WEB };
  assertEquals(events.map(({ said }) => said).sort(), [
    "Normal SuccessfulRescale x1",
    "Normal SuccessfulRescale x1",
    "Warning KEDAScalerFailed x2",
  ]);
  assertEquals(events.map(({ said: _, ...one }) => one), [about, about, about]);
});

Deno.test("publish() counts what is told again, and gives each action an Event of its own (C50)", async () => {
  await using desk = new Desk();
  for (const name of ["ScaleFailed", "ScaleUp", "ScaleFailed", "ScaleUp"] as const) {
    desk.publish(name);
    await desk.clock.advance(2000);
  }
  desk.publish("ScaleFailed", "another");
  await settleEventLoop();
  assertEquals(desk.events, ["ScaleFailed text x2", "ScaleUp text x1", "ScaleUp text x1", "ScaleFailed another x1"]);
  const { firstTimestamp, lastTimestamp } = desk.api.list("events")[0];
  assertEquals([firstTimestamp, lastTimestamp], ["2026-11-20T11:00:00Z", "2026-11-20T11:00:04Z"]);
});

Deno.test("publish() writes a counted Event anew when it has expired meanwhile", async () => {
  await using desk = new Desk();
  desk.publish("ScaleFailed");
  await settleEventLoop();
  const { metadata } = desk.api.list("events")[0];
  desk.api.remove("events", metadata.name);
  desk.publish("ScaleFailed");
  await settleEventLoop();
  assertEquals(desk.events, ["ScaleFailed text x1"]);
});

Deno.test("publish() lets 25 through at once per autoscaler, then one each five minutes; actions always (C50)", async () => {
  await using desk = new Desk();
  for (let i = 0; i < 40; i++) desk.publish("ScaleFailed", `no ${i}`);
  for (let i = 0; i < 30; i++) desk.publish("ScaleUp", `up ${i}`);
  desk.publish("ScaleFailed", "of another", { ...WEB, name: "other", uid: "uid-other" });
  await settleEventLoop(200);
  const count = (word: string) => desk.events.filter((one) => one.startsWith(word)).length;
  assertEquals([count("ScaleFailed"), count("ScaleUp")], [26, 30]);
  assertEquals(desk.results.filter((one) => one === "rate_limited").length, 15);
  await desk.clock.advance(300_000);
  for (let i = 0; i < 2; i++) desk.publish("ScaleFailed", `later ${i}`);
  await settleEventLoop();
  assertEquals(count("ScaleFailed"), 27);
});

Deno.test("run() tries four times with growing waits, and not at all again what the server refuses for good", async () => {
  await using desk = new Desk();
  let code = 503;
  desk.api.intercept = () => refuse(code, { message: "no" });
  desk.publish("ScaleUp");
  await settleEventLoop();
  assertEquals([desk.api.calls.length, desk.results], [1, []]);
  await desk.clock.advance(10_000);
  assertEquals([desk.api.calls.length, desk.results], [4, ["failed"]]);
  code = 403;
  desk.publish("ScaleUp");
  await desk.clock.advance(10_000);
  assertEquals([desk.api.calls.length, desk.results], [5, ["failed", "failed"]]);
});

Deno.test("an Event that is written ends no failure of another kind of object with the same name", async () => {
  await using desk = new Desk();
  desk.api.intercept = ({ body }) =>
    body.involvedObject.kind === "ScaledObject" ? refuse(403, { message: "no" }) : null;
  desk.publish("ScaleFailed", "text", { ...WEB, kind: "ScaledObject", uid: "uid-object" });
  desk.publish("ScaleFailed");
  await desk.clock.advance(10_000);
  const subjects = desk.troubles.map((one) =>
    one.kind === "recovered" ? one.subject : one.kind === "failure" && one.topic?.subject
  );
  assertEquals(subjects.sort(), ["ScaledObject shop/web", "shop/web"]);
});

Deno.test("run() creates one Event for one action when the answer to it was lost", async () => {
  await using desk = new Desk();
  let isFirst = true;
  desk.api.intercept = async (call) => {
    if (!isFirst) return null;
    isFirst = false;
    desk.api.put("events", call.body);
    return await Promise.reject(new TypeError("connection reset"));
  };
  desk.publish("ScaleUp");
  await desk.clock.advance(5000);
  assertEquals([desk.events, desk.results], [["ScaleUp text x1"], ["ok"]]);
});

Deno.test("run() writes what is queued when it is ended", async () => {
  const desk = new Desk();
  for (let i = 0; i < 3; i++) desk.publish("ScaleUp", `up ${i}`);
  await desk.close();
  assertEquals(desk.events, ["ScaleUp up 0 x1", "ScaleUp up 1 x1", "ScaleUp up 2 x1"]);
  assertEquals(desk.clock.pending, 0);
});

Deno.test("run() ends within its time however much is queued and whatever the server does", async () => {
  const desk = new Desk();
  desk.api.intercept = () => new Promise(() => {});
  for (let i = 0; i < 100; i++) desk.publish("ScaleUp", `up ${i}`);
  await settleEventLoop();
  await desk.close(15_000);
  assertEquals(desk.results.length, 100, "the one under way has 10 s, all others 5 s");
  assertEquals(desk.clock.pending, 0);
});

Deno.test("publish() shortens a message, and names an Event as the API allows whatever the autoscaler's name", async () => {
  await using desk = new Desk();
  const name = `${"a".repeat(218)}-.b`;
  desk.publish("ScaleUp", "🚀".repeat(600), { ...WEB, name });
  await settleEventLoop();
  const [event] = desk.api.list("events");
  assert(event.message.length <= 1024 && event.message.isWellFormed() && event.message.endsWith("…"));
  assertMatch(event.metadata.name, /^a{218}\.[0-9a-f]+$/);
});

Deno.test("publish() loses no event of a burst, and writes several at once (C50)", async () => {
  await using desk = new Desk();
  desk.api.intercept = async ({ method }) => {
    if (method === "POST") await desk.clock.sleep(20);
    return null;
  };
  for (let i = 0; i < 3000; i++) desk.publish("ScaleUp", `up ${i}`);
  await desk.clock.advance(2_000);
  assertEquals(desk.results.filter((one) => one === "ok").length, 3000);
  const counts = desk.api.list("events").map(({ count }) => count);
  assertEquals(counts.reduce((sum, count) => sum + count, 0), 3000, "those that are too many alike count on one Event");
  assertEquals(counts.length < 300, true, `${counts.length}`);
});

Deno.test("publish() drops with a word when nothing can be written for long, and counts what it drops", async () => {
  await using desk = new Desk();
  desk.api.intercept = () => new Promise(() => {});
  for (let i = 0; i < 12_000; i++) {
    desk.publish("ScaleUp", "up", { namespace: "shop", name: `web-${i}`, uid: `uid-${i}` });
  }
  await settleEventLoop();
  assertEquals(desk.results.filter((one) => one === "dropped").length, 12_000 - 5_000);
  const told = desk.troubles.flatMap((one) => one.kind === "failure" ? [one.topic?.reason] : []);
  assertEquals([...new Set(told)], ["Dropped"]);
});

Deno.test("publish() counts the same event on one Event though several are written at once (C50)", async () => {
  await using desk = new Desk();
  desk.api.intercept = async ({ method }) => {
    if (method !== "GET") await desk.clock.sleep(20);
    return null;
  };
  for (let i = 0; i < 10; i++) {
    desk.publish("ScaleFailed");
    await desk.clock.advance(7);
  }
  await desk.clock.advance(1_000);
  assertEquals(desk.events, ["ScaleFailed text x10"]);
});

Deno.test("run() writes no event while the server is busy, and all of them after that (C44)", async () => {
  await using desk = new Desk();
  desk.api.intercept = () => new Response("busy", { status: 429, headers: { "retry-after": "5" } });
  desk.publish("ScaleUp", "first");
  await settleEventLoop();
  desk.api.intercept = () => null;
  for (let i = 0; i < 9; i++) desk.publish("ScaleUp", `up ${i}`);
  await desk.clock.advance(4_990);
  assertEquals([desk.api.calls.length, desk.results.length], [1, 0]);
  await desk.clock.advance(20);
  assertEquals([desk.api.calls.length, desk.results.length], [11, 10]);
});

Deno.test("run() writes the events of others while EventRateLimit refuses those of one namespace (C44, C50)", async () => {
  await using desk = new Desk();
  desk.api.put("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "other", uid: "uid-other" } });
  // The text of Kubernetes 1.36.3.
  const message = "Too many requests: limit reached on type Namespace for key shop";
  desk.api.intercept = ({ path }) =>
    path.includes("/namespaces/shop/events") ? refuse(429, { reason: "TooManyRequests", message }) : null;
  desk.publish("ScaleUp", "refused");
  await settleEventLoop();
  desk.publish("ScaleUp", "others", { namespace: "other", name: "web", uid: "uid-other" });
  await settleEventLoop();
  assertEquals(desk.events, ["ScaleUp others x1"]);
});

Deno.test("publish() keeps writers free for other namespaces while one's events get no answer", async () => {
  await using desk = new Desk();
  desk.api.put("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "other", uid: "uid-other" } });
  desk.api.intercept = ({ path }) => path.includes("/namespaces/shop/events") ? new Promise(() => {}) : null;
  for (let index = 0; index < 40; index++) desk.publish("ScaleUp", `hostile ${index}`);
  await settleEventLoop();
  desk.publish("ScaleUp", "victim", { namespace: "other", name: "web", uid: "uid-other" });
  await settleEventLoop();
  assertEquals(desk.events, ["ScaleUp victim x1"]);
});
