/** How podfit listens for HTTP, and how it stops to. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import type { Handler } from "../../../lib/daemon/http/handler.ts";
import { serve } from "../../../lib/daemon/http/serve.ts";

const LOCAL = { hostname: "127.0.0.1", port: 0 };
const answerOk: Handler = () => new Response("ok\n");

Deno.test("serve() answers on the address that it returns, until disposed", async () => {
  let url = "";
  {
    await using server = serve(answerOk, LOCAL);
    assert(server.port > 0);
    url = `http://${server.hostname}:${server.port}/healthz`;
    const response = await fetch(url);
    assertEquals([response.status, await response.text()], [200, "ok\n"]);
  }
  await assertRejects(() => fetch(url), TypeError);
});

Deno.test("serve() says in one line that an address is in use or is none", async () => {
  await using first = serve(answerOk, LOCAL);
  const inUse = assertThrows(() => serve(answerOk, { hostname: "127.0.0.1", port: first.port }), Error);
  assertEquals(inUse.message, `Cannot listen on "127.0.0.1:${first.port}": the address is in use`);
  const foreign = assertThrows(() => serve(answerOk, { hostname: "192.0.2.1", port: 0 }), Error);
  assertStringIncludes(foreign.message, 'Cannot listen on "192.0.2.1:0": ');
  assertEquals(foreign.message.includes("\n"), false);
});

Deno.test("serve() stops listening when aborted, and an answer under way is still given", async () => {
  const controller = new AbortController();
  const { promise: asked, resolve: tellAsked } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const slow: Handler = async () => {
    tellAsked();
    await released;
    return new Response("late");
  };
  await using server = serve(slow, { ...LOCAL, signal: controller.signal });
  const url = `http://127.0.0.1:${server.port}/`;
  const answer = fetch(url);
  await asked;
  controller.abort();
  await assertRejects(() => fetch(url), TypeError);
  release();
  assertEquals(await (await answer).text(), "late");
  assertThrows(() => serve(slow, { ...LOCAL, signal: controller.signal }), DOMException);
});

Deno.test("serve() waits for an answer that does not come for its time and no longer", async () => {
  const { promise: asked, resolve: tellAsked } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const stuck: Handler = async () => {
    tellAsked();
    await released;
    return new Response("late");
  };
  const server = serve(stuck, { ...LOCAL, drainMs: 5 });
  const answer = fetch(`http://127.0.0.1:${server.port}/`);
  await asked;
  await server[Symbol.asyncDispose]();
  release();
  assertEquals(await (await answer).text(), "late");
});
