/** How podfit listens for HTTP, how it stops to, and what it puts up with from the network meanwhile. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "#assert";
import type { Handler } from "../../../lib/daemon/server/routes.ts";
import { serve, type Server } from "../../../lib/daemon/server/serve.ts";
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";
import { readAll, send } from "../../support/raw_connection.ts";

const LOCAL = { hostname: "127.0.0.1", port: 0 };
const HALF = "GET /healthz HTTP/1.1\r\nHost: podfit\r\n";
const answerOk: Handler = () => new Response("ok\n");

Deno.test("listServed() answers on the address that it returns, until disposed", async () => {
  let url = "";
  {
    await using server = serve(answerOk, LOCAL);
    assert(server.port > 0);
    url = `http://${server.hostname}:${server.port}/healthz`;
    const response = await fetch(url);
    assertEquals([response.status, await response.text()], [200, "ok\n"]);
    assert(!Number.isNaN(Date.parse(response.headers.get("date") ?? "")));
  }
  await assertRejects(() => fetch(url), TypeError);
});

Deno.test("listServed() says in one line that an address is in use or is none", async () => {
  await using first = serve(answerOk, LOCAL);
  const inUse = assertThrows(() => serve(answerOk, { hostname: "127.0.0.1", port: first.port }), Error);
  assertEquals(inUse.message, `Cannot listen on "127.0.0.1:${first.port}": the address is in use`);
  const foreign = assertThrows(() => serve(answerOk, { hostname: "192.0.2.1", port: 0 }), Error);
  assertStringIncludes(foreign.message, 'Cannot listen on "192.0.2.1:0": ');
  assertEquals(foreign.message.includes("\n"), false);
});

Deno.test("listServed() stops listening when aborted, and an answer under way is still given", async () => {
  const controller = new AbortController();
  const slow = hold();
  await using server = serve(slow.handler, { ...LOCAL, signal: controller.signal });
  const url = `http://127.0.0.1:${server.port}/`;
  const answer = fetch(url);
  await slow.asked;
  controller.abort();
  await assertRejects(() => fetch(url), TypeError);
  slow.release();
  assertEquals(await (await answer).text(), "late");
  assertThrows(() => serve(slow.handler, { ...LOCAL, signal: controller.signal }), DOMException);
});

Deno.test("listServed() waits for an answer that does not come for its time and no longer", async () => {
  const stuck = hold();
  const server = serve(stuck.handler, { ...LOCAL, drainMs: 5 });
  const answer = assertRejects(() => fetch(`http://127.0.0.1:${server.port}/`), TypeError);
  await stuck.asked;
  await server[Symbol.asyncDispose]();
  await answer;
  stuck.release();
});

Deno.test("listServed() closes a connection whose request does not come, and ends at once while some are half-sent", async () => {
  {
    await using server = serve(answerOk, { ...LOCAL, headMs: 20 });
    for (const text of ["", "G", HALF]) {
      using client = await connectTo(server);
      await send(client, text);
      assertEquals(await readAll(client), "", text);
    }
  }
  const server = serve(answerOk, { ...LOCAL, headMs: 3_600_000, drainMs: 3_600_000 });
  using client = await connectTo(server);
  await send(client, HALF);
  assertEquals(await (await ask(server)).text(), "ok\n");
  await server[Symbol.asyncDispose]();
  assertEquals(await readAll(client), "");
});

Deno.test("listServed() closes a connection whose reader has stopped", async () => {
  let pieces = 0;
  const { promise: cancelled, resolve: tellCancelled } = Promise.withResolvers<void>();
  const endless: Handler = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          pieces++;
          controller.enqueue(new Uint8Array(2 ** 16));
        },
        cancel: () => tellCancelled(),
      }),
    );
  await using server = serve(endless, { ...LOCAL, answerMs: 100 });
  using client = await connectTo(server);
  await send(client, `${HALF}\r\n`);
  await cancelled;
  assert(pieces > 0 && pieces < 1_000, `${pieces} pieces of 64 kB for a reader that takes none`);
});

Deno.test("listServed() takes a new connection when it has its most: the oldest goes that has asked for nothing", async () => {
  const slow = hold();
  await using server = serve(slow.handler, { ...LOCAL, mostConnections: 3 });
  using answering = await connectTo(server);
  await send(answering, `${HALF}\r\n`);
  await slow.asked;
  using idle = await connectTo(server);
  await send(idle, HALF);
  using newer = await connectTo(server);
  await send(newer, HALF);
  using newest = await connectTo(server);
  assertEquals(await readAll(idle), "");
  slow.release();
  for (const client of [newer, newest]) await send(client, client === newer ? "\r\n" : `${HALF}\r\n`);
  for (const client of [answering, newer, newest]) assertStringIncludes(await readAll(client), "late");
});

Deno.test("listServed() keeps no more connections than its most, however many come, and answers the next", async () => {
  await using server = serve(answerOk, { ...LOCAL, mostConnections: 5 });
  const clients = await Promise.all(Array.from({ length: 40 }, () => connectTo(server)));
  for (const client of clients) await send(client, HALF).catch(() => {});
  assertEquals(await (await ask(server)).text(), "ok\n");
  const closed = clients.map((client) => readAll(client).then(() => true));
  // The newest have their place still, but for the one that the request above took.
  await Promise.all(closed.slice(0, 35));
  for (const client of clients) client.close();
});

Deno.test("listServed() keeps 100 connections by default: the oldest goes for the next", async () => {
  await using server = serve(answerOk, { ...LOCAL, headMs: 3_600_000 });
  const clients: Deno.Conn[] = [];
  const connect = async (count: number) => {
    for (let left = count; left > 0; left--) {
      const client = await connectTo(server);
      clients.push(client);
      await send(client, HALF);
    }
    // Its answer shows that all before it were accepted.
    assertEquals(await (await ask(server)).text(), "ok\n");
  };
  await connect(99);
  const [first, second] = clients;
  assert(first !== undefined && second !== undefined);
  await send(first, "\r\n");
  assertStringIncludes(await readAll(first), "ok");
  await connect(3);
  assertEquals(await readAll(second), "");
  for (const client of clients) client.close();
});

Deno.test("listServed() goes on when it cannot accept, after growing waits, and says so once a minute", async () => {
  const clock = new VirtualClock();
  const said: unknown[] = [];
  const outOfFiles = new Error("Too many open files (os error 24)");
  let failures = 4;
  const listen = (options: Deno.ListenOptions) => {
    const listener = Deno.listen({ ...options, transport: "tcp" });
    const accept = listener.accept.bind(listener);
    return Object.assign(listener, { accept: () => failures-- > 0 ? Promise.reject(outOfFiles) : accept() });
  };
  await using server = serve(answerOk, {
    ...LOCAL,
    clock,
    random: () => 0,
    onAcceptError: (error) => said.push(error),
    listen: listen as typeof Deno.listen,
  });
  await settleEventLoop();
  assertEquals([failures, said], [3, [outOfFiles]]);
  // 25, 50 and 100 ms between the tries.
  for (const [ms, left] of [[24, 3], [1, 2], [49, 2], [1, 1], [99, 1], [1, 0]] as const) {
    await clock.advance(ms);
    assertEquals(failures, left);
  }
  await clock.advance(200);
  assertEquals(await (await ask(server)).text(), "ok\n");
  assertEquals(said.length, 1);
  await clock.advance(60_000);
  // The next is waited for already.
  failures = 1;
  assertEquals(await (await ask(server)).text(), "ok\n");
  await settleEventLoop();
  assertEquals(said.length, 2);
});

Deno.test("listServed() answers what is no request with its status, and no method but GET with what was sent after it", async () => {
  await using server = serve((request) => new Response(request.method), LOCAL);
  const cases: readonly (readonly [text: string, status: string])[] = [
    ["nonsense\r\n\r\n", "400"],
    ["GET / HTTP/2.0\r\n\r\n", "505"],
    [`GET / HTTP/1.1\r\na: ${"x".repeat(20_000)}\r\n\r\n`, "431"],
    // More than the kernel holds for a reader that takes none.
    [`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n${"x".repeat(20_000_000)}`, "200"],
  ];
  for (const [text, status] of cases) {
    using client = await connectTo(server);
    await send(client, text);
    assertStringIncludes(await readAll(client), `HTTP/1.1 ${status} `, text.slice(0, 20));
  }
});

Deno.test("listServed() sends a client of HTTP/1.0 no chunks, and nobody who asks for HEAD a body", async () => {
  const body = "x".repeat(10);
  await using server = serve(({ method }) => new Response(method === "HEAD" ? null : body), LOCAL);
  const answers: string[] = [];
  for (const first of ["GET / HTTP/1.0", "GET / HTTP/1.1", "HEAD / HTTP/1.1"]) {
    using client = await connectTo(server);
    await send(client, `${first}\r\n\r\n`);
    answers.push((await readAll(client)).split("\r\n\r\n").slice(1).join("|"));
  }
  assertEquals(answers, [body, `a\r\n${body}\r\n0|`, ""]);
});

/** A handler whose answer, "late", is held back until it is released. */
function hold() {
  const { promise: asked, resolve: tellAsked } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const handler: Handler = async () => {
    tellAsked();
    await released;
    return new Response("late");
  };
  return { handler, asked, release };
}

function connectTo({ hostname, port }: Server): Promise<Deno.TcpConn> {
  return Deno.connect({ hostname, port });
}

function ask({ port }: Server): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/healthz`);
}
