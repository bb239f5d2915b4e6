/** What leaves a process that leads no more, or is about to find out (C55)? */
import { abortable } from "../../../lib/runtime/tasks.ts";
import { assertEquals, assertRejects } from "#assert";
import { NotSent, requireLeadership } from "../../../lib/daemon/permits.ts";
import type { Transport } from "../../../lib/kube/transport.ts";

const URL_ = "http://api.test/api/v1/namespaces/a/pods/b/resize";

/** A transport that takes its time before it sends, and again before it answers. */
class Way {
  isLeading = true;
  readonly lost = new AbortController();
  readonly sent: string[] = [];
  asked = 0;
  preparing: Promise<void> = Promise.resolve();
  answering: Promise<void> = Promise.resolve();

  readonly send: Transport = requireLeadership(async (request, options) => {
    this.asked++;
    const text = await request.text();
    await this.preparing;
    options?.beforeSend?.();
    this.sent.push(text);
    await abortable(this.answering, request.signal);
    return new Response("ok");
  }, { isLeading: () => this.isLeading, lost: this.lost.signal });

  patch(signal?: AbortSignal): Promise<Response> {
    return this.send(new Request(URL_, { method: "PATCH", body: "x", ...(signal && { signal }) }));
  }
}

Deno.test("requireLeadership() lets everything through while it leads", async () => {
  const way = new Way();
  assertEquals([await (await way.patch()).text(), way.sent], ["ok", ["x"]]);
});

Deno.test("requireLeadership() prepares and sends nothing after it led (C55)", async () => {
  const way = new Way();
  way.isLeading = false;
  await assertRejects(() => way.patch(), NotSent, "no longer leads");
  assertEquals([way.asked, way.sent], [0, []]);
});

Deno.test("requireLeadership() sends nothing that was still being prepared when it ceased to lead (C55)", async () => {
  const way = new Way();
  const { promise, resolve } = Promise.withResolvers<void>();
  way.preparing = promise;
  const sending = way.patch();
  way.isLeading = false;
  resolve();
  await assertRejects(() => sending, NotSent, "no longer leads");
  assertEquals(way.sent, []);
});

Deno.test("requireLeadership() ends what is under way when leadership is lost, and when its own signal says so (C55)", async () => {
  const way = new Way();
  way.answering = new Promise(() => {});
  const sending = way.patch();
  await Promise.resolve();
  const own = new AbortController();
  const other = way.patch(own.signal);
  own.abort(new Error("not wanted"));
  await assertRejects(() => other, Error, "not wanted");
  way.lost.abort(new Error("lost"));
  await assertRejects(() => sending, Error, "lost");
});
