/** Kept connections to servers that answer, close and say what a test has them say, over TLS on 127.0.0.1. */
import { assert, assertEquals, assertRejects } from "#assert";
import { readBytes, readText } from "../../lib/kube/body.ts";
import type { StatusAnswer } from "../../lib/kube/https.ts";
import { BufferPool } from "../../lib/runtime/buffers.ts";
import { type Clock, systemClock } from "../../lib/runtime/clock.ts";
import { BadAnswer } from "../../lib/usage/kubelet/answer_parser.ts";
import { HttpsConnections } from "../../lib/usage/kubelet/https_connection.ts";
import { createAuthority } from "../support/embedded/certificates.ts";
import { readTls } from "../support/tls.ts";
import { settleEventLoop, VirtualClock } from "../support/virtual_clock.ts";

const NEVER = new AbortController().signal;
const EMPTY = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const TIMED_OUT = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/** A request as the server saw it. */
interface Seen {
  /** Counted from 0. */
  readonly connection: number;
  readonly head: string;
}

/** What the server sends back. */
interface Line {
  readonly send: (text: string | Uint8Array) => Promise<void>;
  /** Closes the connection. */
  readonly close: () => void;
}

interface ScriptedServer extends AsyncDisposable {
  readonly origin: string;
  readonly seen: readonly Seen[];
  /** How many connections are open at the server's end. */
  readonly open: () => number;
}

interface ServerOptions {
  readonly hostname?: string;
  readonly pem?: { readonly cert: string; readonly key: string };
}

/** Calls `answer` for each request. */
function serve(
  answer: (request: Seen, line: Line) => Promise<void> | void,
  options: ServerOptions = {},
): ScriptedServer {
  const { hostname = "127.0.0.1", pem = { cert: readTls("server.crt"), key: readTls("server.key") } } = options;
  const listener = Deno.listenTls({ port: 0, hostname, ...pem });
  const seen: Seen[] = [];
  const open = new Set<Deno.TlsConn>();
  let count = 0;
  async function converse(conn: Deno.TlsConn, connection: number): Promise<void> {
    const buffer = new Uint8Array(4096);
    const line: Line = {
      async send(text) {
        for (let rest = toBytes(text); rest.length > 0;) rest = rest.subarray(await conn.write(rest));
      },
      close: () => conn[Symbol.dispose](),
    };
    for (let bytes; (bytes = await conn.read(buffer)) !== null;) {
      const request = { connection, head: new TextDecoder().decode(buffer.subarray(0, bytes)) };
      seen.push(request);
      await answer(request, line);
    }
  }
  const talks: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const conn of listener) {
      open.add(conn);
      const end = () => {
        open.delete(conn);
        conn[Symbol.dispose]();
      };
      talks.push(converse(conn, count++).catch(() => {}).finally(end));
    }
  })();
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    origin: `https://${host}:${listener.addr.port}`,
    seen,
    open: () => open.size,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const conn of open) conn[Symbol.dispose]();
      await accepting.catch(() => {});
      await Promise.all(talks);
    },
  };
}

/** A port whose first connection reaches the server only when the gate opens. The others reach it at once. */
function serveGate({ origin }: { readonly origin: string }) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const gate = Promise.withResolvers<void>();
  const ends: Deno.Conn[] = [];
  let waiting = 0;
  async function pass(conn: Deno.Conn, isFirst: boolean): Promise<void> {
    ends.push(conn);
    if (isFirst) {
      waiting = 1;
      await gate.promise;
    }
    const other = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(origin).port) });
    ends.push(other);
    const pipe = (from: Deno.Conn, to: Deno.Conn) => from.readable.pipeTo(to.writable).catch(() => {});
    await Promise.all([pipe(conn, other), pipe(other, conn)]);
  }
  const passing: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const conn of listener) passing.push(pass(conn, passing.length === 0).catch(() => {}));
  })();
  return {
    origin: `https://127.0.0.1:${listener.addr.port}`,
    waiting: () => waiting,
    open: () => gate.resolve(),
    async [Symbol.asyncDispose]() {
      listener.close();
      gate.resolve();
      await accepting.catch(() => {});
      for (const conn of ends) conn[Symbol.dispose]();
      await Promise.all(passing);
    },
  };
}

function toBytes(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? Uint8Array.from(text, (character) => character.charCodeAt(0)) : text;
}

function connections(clock: Pick<Clock, "monotonic" | "sleep"> = new VirtualClock(), ca = readTls("ca.crt")) {
  return new HttpsConnections({ caCerts: [ca], clock });
}

interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly path?: string;
}

function ask(
  client: HttpsConnections,
  { origin }: ScriptedServer,
  { headers = {}, signal = NEVER, path = "/" }: Ask = {},
) {
  return client.get(`${origin}${path}`, { headers, signal });
}

async function text(answer: StatusAnswer | Promise<StatusAnswer>, signal = NEVER): Promise<string> {
  return await readText(await answer, { limitBytes: 10_000_000, signal });
}

/** Waits for what real sockets do. */
async function until(isSo: () => boolean, what: string): Promise<void> {
  for (let turn = 0; turn < 5000 && !isSo(); turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  assert(isSo(), what);
}

Deno.test("HttpsConnections sends what it is given and no more, over one connection", async () => {
  await using server = serve((_, { send }) => send(EMPTY));
  using client = connections();
  for (let round = 0; round < 3; round++) {
    assertEquals(await text(ask(client, server, { path: "/a?b=c", headers: { authorization: "Bearer t" } })), "{}");
  }
  const head = `GET /a?b=c HTTP/1.1\r\nhost: ${new URL(server.origin).host}\r\nuser-agent: podfit\r\n` +
    "accept-encoding: identity\r\nauthorization: Bearer t\r\n\r\n";
  assertEquals(server.seen, [0, 0, 0].map((connection) => ({ connection, head })));
});

Deno.test("HttpsConnections sends what is asked now, and not what a kept connection was asked last", async () => {
  await using server = serve((_, { send }) => send(EMPTY));
  using client = connections();
  const first = { authorization: "Bearer 1" };
  const asked = [
    { path: "/a", headers: first },
    { path: "/a", headers: first },
    { path: "/b", headers: first },
    { path: "/b", headers: { authorization: "Bearer 2" } },
  ];
  for (const one of asked) await text(ask(client, server, one));
  const lines = server.seen.map(({ connection, head }) => [
    connection,
    /^GET (\S+)/.exec(head)?.[1],
    /authorization: (.*)\r/.exec(head)?.[1],
  ]);
  assertEquals(lines, [[0, "/a", "Bearer 1"], [0, "/a", "Bearer 1"], [0, "/b", "Bearer 1"], [0, "/b", "Bearer 2"]]);
});

Deno.test("HttpsConnections sends no header that is more than one line, and does not quote it", async () => {
  await using server = serve((_, { send }) => send(EMPTY));
  using client = connections();
  for (const value of ["secret\r\nx: 1", "secret\n", "secr\u00e9t", "\0secret"]) {
    const error = await assertRejects(() => ask(client, server, { headers: { authorization: value } }), Error);
    assertEquals(error.message, 'Cannot send header "authorization"');
  }
  assertEquals(server.seen, []);
});

/** Around the sizes of a TLS record, of the memory of an answer, and of a body's first memory. */
const SIZES = [0, 1, 100, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 300_000];

for (const framing of ["a length", "chunks"]) {
  Deno.test(`HttpsConnections reads bodies of all sizes with ${framing}, into memory that is used again`, async () => {
    const bodies = SIZES.map((size) => Uint8Array.from({ length: size }, (_, at) => (at * 7 + size) & 255));
    await using server = serve(async ({ head }, { send }) => {
      const body = bodies[Number(/^GET \/(\d+)/.exec(head)?.[1])] ?? new Uint8Array();
      if (framing === "a length") {
        return await send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`).then(() => send(body));
      }
      await send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (let at = 0; at < body.length; at += 5000) {
        const chunk = body.subarray(at, at + 5000);
        await send(`${chunk.length.toString(16)}\r\n`);
        await send(chunk);
        await send("\r\n");
      }
      await send("0\r\n\r\n");
    });
    using client = connections();
    const buffers = new BufferPool();
    for (let round = 0; round < 2; round++) {
      for (const [index, body] of bodies.entries()) {
        const answer = await ask(client, server, { path: `/${index}` });
        const buffer = await readBytes(answer, { limitBytes: 300_000, signal: NEVER, buffers });
        assertEquals(buffer.length, body.length);
        assert(buffer.bytes().every((byte, at) => byte === body[at]));
        buffers.release(buffer);
      }
    }
    assertEquals(new Set(server.seen.map(({ connection }) => connection)).size, 1);
  });
}

Deno.test("HttpsConnections reads an answer that arrives byte by byte", async () => {
  await using server = serve(async (_, { send }) => {
    for (const byte of "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n") await send(byte);
  });
  using client = connections();
  assertEquals([await text(ask(client, server)), await text(ask(client, server))], ["{}", "{}"]);
  assertEquals(server.seen.map(({ connection }) => connection), [0, 0]);
});

Deno.test("HttpsConnections asks again on a new connection if the server has closed the kept one", async () => {
  const how: Readonly<Record<string, (line: Line) => Promise<void> | void>> = {
    "with the answer": ({ close }) => close(),
    "without an answer": () => {},
    "with a status that belongs to no request": ({ send }) => send(TIMED_OUT),
    "with something that is no answer": ({ send }) => send("\r\n\r\n"),
  };
  for (const [name, end] of Object.entries(how)) {
    await using server = serve(async ({ connection }, line) => {
      const isSecond = server.seen.filter((one) => one.connection === connection).length === 2;
      if (isSecond) return name === "with the answer" ? undefined : line.close();
      await line.send(EMPTY);
      await end(line);
    });
    using client = connections();
    assertEquals(await text(ask(client, server)), "{}", name);
    if (name === "with the answer") await until(() => server.open() === 0, "it is closed");
    assertEquals(await text(ask(client, server)), "{}", name);
    assertEquals(server.seen.at(-1)?.connection, 1, name);
    assert(server.seen.length <= 3, `${name}: ${server.seen.length} requests`);
  }
});

Deno.test("HttpsConnections closes an idle connection on which the server sends without being asked", async () => {
  for (const stray of ["x", TIMED_OUT, `${EMPTY}${EMPTY}`]) {
    const { promise: isIdle, resolve } = Promise.withResolvers<void>();
    await using server = serve(async ({ connection }, { send }) => {
      await send(EMPTY);
      if (connection > 0) return;
      await isIdle;
      await send(stray);
    });
    using client = connections();
    assertEquals(await text(ask(client, server)), "{}");
    assertEquals(server.open(), 1);
    resolve();
    await until(() => server.open() === 0, "the client has closed it");
    assertEquals(await text(ask(client, server)), "{}");
    assertEquals(server.seen.map(({ connection }) => connection), [0, 1]);
  }
});

Deno.test("HttpsConnections asks once more at most, and on a new connection not at all", async () => {
  await using server = serve(async (_, { send, close }) => {
    if (server.seen.length === 1) await send(EMPTY);
    else close();
  });
  using client = connections();
  assertEquals(await text(ask(client, server)), "{}");
  await assertRejects(() => ask(client, server), Error);
  assertEquals(server.seen.map(({ connection }) => connection), [0, 0, 1]);
  await assertRejects(() => ask(client, server), Error);
  assertEquals(server.seen.map(({ connection }) => connection), [0, 0, 1, 2]);
});

Deno.test("HttpsConnections keeps no connection whose answer was not read to its end, or that has more to say", async () => {
  const answers: Readonly<Record<string, string>> = {
    "closes": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
    "HTTP/1.0": "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "two answers": EMPTY + EMPTY,
    "a body of a status without one": "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n{}",
    "a long body": `HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n${"x".repeat(300_000)}`,
    "a silent body": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
  };
  for (const [name, answer] of Object.entries(answers)) {
    await using server = serve((_, { send }) => send(answer));
    using client = connections();
    for (let round = 0; round < 2; round++) {
      const { body } = await ask(client, server);
      if (name.endsWith("long body") || name.startsWith("a silent")) await body?.cancel();
      else if (body !== null) {
        await text(Promise.resolve({ status: 200, statusText: "", headers: new Headers(), body }));
      }
    }
    assertEquals(server.seen.map(({ connection }) => connection), [0, 1], name);
    await until(() => server.open() === 0, `${name}: ${server.open()} connections are open`);
  }
});

Deno.test("HttpsConnections takes a body for cut off if the connection ends early, after giving what has arrived", async () => {
  const cuts = ["Content-Length: 9", "Transfer-Encoding: chunked"];
  for (const framing of cuts) {
    await using server = serve(async (_, { send, close }) => {
      await send(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n${framing.startsWith("T") ? "9\r\n" : ""}{}`);
      close();
    });
    using client = connections();
    const { body } = await ask(client, server);
    assert(body !== null && "fill" in body);
    const memory = new Uint8Array(10);
    assertEquals(await body.fill(memory), 2);
    await assertRejects(() => body.fill(memory), BadAnswer, "closed the connection before the answer ended");
    await assertRejects(() => body.fill(memory), BadAnswer, "closed the connection before the answer ended");
  }
});

for (
  const [when, first] of [["the head", ""], ["the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"]] as const
) {
  Deno.test(`HttpsConnections ends with its signal while it waits for ${when}, and closes the connection`, async () => {
    await using server = serve((_, { send }) => send(first));
    using client = connections();
    const controller = new AbortController();
    const reading = text(ask(client, server, { signal: controller.signal }), controller.signal);
    await until(() => server.seen.length === 1, "it was asked");
    await settleEventLoop();
    controller.abort(new Error("shutting down"));
    await assertRejects(() => reading, Error, "shutting down");
    await until(() => server.open() === 0, "the connection is closed");
  });
}

Deno.test("HttpsConnections fails a body with its own signal too, when the reader has another one", async () => {
  await using server = serve((_, { send }) => send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"));
  using client = connections();
  const controller = new AbortController();
  const { body } = await ask(client, server, { signal: controller.signal });
  assert(body !== null && "fill" in body);
  controller.abort(new Error("shutting down"));
  await assertRejects(() => body.fill(new Uint8Array(9)), Error, "shutting down");
});

/** A server on a thread of its own sends faster than the client reads. */
const FLOOD = `
  const chunks = new TextEncoder().encode("1\\r\\nx\\r\\n".repeat(20_000));
  const head = new TextEncoder().encode("HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n");
  addEventListener("message", async ({ data }) => {
    const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...data });
    postMessage(listener.addr.port);
    const conn = await listener.accept();
    await conn.read(new Uint8Array(4096));
    await conn.write(head);
    for (;;) for (let rest = chunks; rest.length > 0;) rest = rest.subarray(await conn.write(rest));
  });`;

Deno.test("HttpsConnections lets timers have their turn while a server sends millions of tiny chunks", async () => {
  const worker = new Worker(`data:application/javascript,${encodeURIComponent(FLOOD)}`, { type: "module" });
  try {
    const port = await new Promise((resolve) => {
      worker.addEventListener("message", ({ data }) => resolve(data));
      worker.addEventListener("error", (event) => event.preventDefault());
      worker.postMessage({ cert: readTls("server.crt"), key: readTls("server.key") });
    });
    using client = connections(systemClock);
    const controller = new AbortController();
    const { signal } = controller;
    const answer = await client.get(`https://127.0.0.1:${port}/`, { headers: {}, signal });
    // The body would end the request at its limit, after some hundred ms.
    setTimeout(() => controller.abort(new Error("too slow")), 20);
    await assertRejects(() => text(answer, signal), Error, "too slow");
  } finally {
    worker.terminate();
  }
});

Deno.test("HttpsConnections ends with its signal before and within the handshake of TLS", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using client = connections();
  const url = `https://127.0.0.1:${listener.addr.port}/`;
  await assertRejects(
    () => client.get(url, { headers: {}, signal: AbortSignal.abort(new Error("too late")) }),
    Error,
    "too late",
  );
  const controller = new AbortController();
  assert(client.canGet(url));
  const asking = client.get(url, { headers: {}, signal: controller.signal });
  const conn = await listener.accept();
  assert((await conn.read(new Uint8Array(4096)) ?? 0) > 0);
  controller.abort(new Error("shutting down"));
  await assertRejects(() => asking, Error, "shutting down");
  // Deno closes the socket at the end of the handshake, so there must not be a second one.
  assert(!client.canGet(url));
  assert(client.canGet("https://127.0.0.1:1/"));
  conn.close();
  await until(() => client.canGet(url), "the handshake has ended");
});

Deno.test("HttpsConnections keeps a connection whose handshake ends after its request", async () => {
  await using server = serve((_, { send }) => send(EMPTY));
  await using gate = serveGate(server);
  using client = connections();
  const controller = new AbortController();
  const asking = client.get(`${gate.origin}/`, { headers: {}, signal: controller.signal });
  await until(() => gate.waiting() === 1, "it is connected");
  controller.abort(new Error("too slow"));
  await assertRejects(() => asking, Error, "too slow");
  gate.open();
  await until(() => client.canGet(gate.origin), "the handshake has ended");
  assertEquals(await text(client.get(`${gate.origin}/`, { headers: {}, signal: NEVER })), "{}");
  assertEquals(server.seen.map(({ connection }) => connection), [0]);
});

Deno.test("HttpsConnections closes a connection that was idle for 90 s, and leaves no timer behind", async () => {
  const clock = new VirtualClock();
  await using server = serve((_, { send }) => send(EMPTY));
  using client = connections(clock);
  await text(ask(client, server));
  await clock.advance(60_000);
  await text(ask(client, server));
  await clock.advance(89_999);
  assertEquals([server.open(), clock.pending], [1, 1]);
  await clock.advance(1);
  await until(() => server.open() === 0, "the connection is closed");
  assertEquals(clock.pending, 0);
  await text(ask(client, server));
  assertEquals(server.seen.map(({ connection }) => connection), [0, 0, 1]);
});

Deno.test("HttpsConnections closes idle connections at its disposal, and others at the end of their answer", async () => {
  const clock = new VirtualClock();
  const { promise: isFree, resolve } = Promise.withResolvers<void>();
  await using server = serve(async ({ head }, { send }) => {
    if (head.startsWith("GET /slow")) await isFree;
    await send(EMPTY);
  });
  const client = connections(clock);
  const slow = text(ask(client, server, { path: "/slow" }));
  await until(() => server.seen.length === 1, "it was asked");
  await text(ask(client, server));
  assertEquals(server.open(), 2);
  client[Symbol.dispose]();
  await until(() => server.open() === 1, "one connection is closed");
  resolve();
  assertEquals(await slow, "{}");
  await until(() => server.open() === 0, "both connections are closed");
  assertEquals(clock.pending, 0);
});

Deno.test("HttpsConnections keeps one connection of those that served a server at the same time", async () => {
  await using server = serve((_, { send }) => send(EMPTY));
  using client = connections();
  assertEquals(await Promise.all([1, 2, 3].map(() => text(ask(client, server)))), ["{}", "{}", "{}"]);
  await until(() => server.open() === 1, "one connection is open");
});

Deno.test("HttpsConnections verifies an IPv6 address like a name", async () => {
  const authority = await createAuthority("an authority");
  await using server = serve((_, { send }) => send(EMPTY), { hostname: "::1", pem: await authority.issue("kubelet") });
  using client = connections(new VirtualClock(), authority.caCert);
  assertEquals(await text(ask(client, server)), "{}");
  assert(server.seen[0]?.head.includes(`host: ${new URL(server.origin).host}\r\n`));
  using other = connections();
  await assertRejects(() => ask(other, server), Error, "invalid peer certificate");
  await using elsewhere = serve((_, { send }) => send(EMPTY), {
    hostname: "127.0.0.2",
    pem: await authority.issue("kubelet"),
  });
  await assertRejects(() => ask(client, elsewhere), Error, "not valid for name");
  assertEquals([server.seen.length, elsewhere.seen.length], [1, 0]);
});

Deno.test("HttpsConnections says that the server closed the connection during the handshake", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  using client = connections();
  const asking = client.get(`https://127.0.0.1:${listener.addr.port}/`, { headers: {}, signal: NEVER });
  const conn = await listener.accept();
  await conn.read(new Uint8Array(4096));
  conn.close();
  await assertRejects(() => asking, Error, "tls handshake eof");
});
