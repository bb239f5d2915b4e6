import { assert, assertEquals, assertRejects } from "#assert";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Credential } from "../../lib/kube/config/credential.ts";
import { HttpTransport } from "../../lib/kube/http_transport.ts";
import type { ServerConfig } from "../../lib/kube/config/load.ts";
import { readTls, serveMutualTls, serveTls } from "../support/tls.ts";

const ANONYMOUS: Credential = { authorization: null, clientCertificate: null };

function createTransport(config: Partial<ServerConfig> & { readonly origin: string }): HttpTransport {
  return new HttpTransport({
    source: "a test",
    namespace: "default",
    caCerts: [readTls("ca.crt")],
    proxyUrl: null,
    getCredential: () => Promise.resolve(ANONYMOUS),
    ...config,
  }, { userAgent: "podfit/test" });
}

function serveText(text: string): { origin: string } & AsyncDisposable {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => new Response(text));
  return { origin: `http://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Opens the tunnel that one client asks for. */
function startProxy(): { readonly port: number; readonly asked: Promise<string> } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return { port: listener.addr.port, asked: tunnelOnce(listener) };
}

async function tunnelOnce(listener: Deno.TcpListener): Promise<string> {
  const client = await listener.accept();
  listener.close();
  const buffer = new Uint8Array(4096);
  const asked = new TextDecoder().decode(buffer.subarray(0, await client.read(buffer) ?? 0));
  const port = Number(/^CONNECT 127\.0\.0\.1:(\d+) /.exec(asked)?.[1]);
  const server = await Deno.connect({ hostname: "127.0.0.1", port });
  await client.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
  await Promise.allSettled([client.readable.pipeTo(server.writable), server.readable.pipeTo(client.writable)]);
  return asked;
}

/** A stream that says one line and then nothing. */
function quietStream(): Response {
  return new Response(
    new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("first\n")) }),
  );
}

/** A port on which nobody listens. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

Deno.test("HttpTransport explains an unknown authority and keeps the cause", async () => {
  await using server = serveTls(() => new Response("ok"));
  using transport = createTransport({ origin: server.origin, caCerts: [readTls("other-ca.crt")] });
  const error = await assertRejects(() => transport.send(new Request(server.origin)));
  assert(error instanceof Error && error.cause instanceof TypeError);
  assertEquals(
    error.message,
    `Cannot reach API server "${server.origin}": its certificate is signed by an unknown authority; ` +
      "check certificate-authority of the cluster in the kubeconfig",
  );
});

Deno.test("HttpTransport explains a refused connection", async () => {
  const origin = `https://127.0.0.1:${freePort()}`;
  using transport = createTransport({ origin });
  await assertRejects(() => transport.send(new Request(origin)), Error, `"${origin}": connection refused`);
});

Deno.test("HttpTransport explains https to an http server, and http to an https server", async () => {
  await using plain = serveText("ok");
  await using tls = serveTls(() => new Response("ok"));
  for (const origin of [plain.origin.replace("http:", "https:"), tls.origin.replace("https:", "http:")]) {
    using transport = createTransport({ origin });
    await assertRejects(() => transport.send(new Request(origin)), Error, "one side speaks http");
  }
});

Deno.test("HttpTransport waits no longer than the request's signal for a credential", async () => {
  let isRefused = false;
  let timeout = new AbortController();
  await using server = serveTls(() => new Response("no", { status: 401 }));
  using transport = createTransport({
    origin: server.origin,
    getCredential: (rejected) => {
      if (rejected === null && isRefused) return Promise.resolve(ANONYMOUS);
      queueMicrotask(() => timeout.abort(new DOMException("Timed out", "TimeoutError")));
      return new Promise(() => {});
    },
  });
  const send = () => {
    timeout = new AbortController();
    return transport.send(new Request(server.origin, { signal: timeout.signal }));
  };
  const message = `Cannot send to API server "${server.origin}": no credential in time from a test`;
  await assertRejects(send, Error, message);
  isRefused = true;
  await assertRejects(send, Error, message);
  const ended = () => transport.send(new Request(server.origin, { signal: AbortSignal.abort(new Error("ended")) }));
  isRefused = false;
  await assertRejects(ended, Error, "ended");
});

Deno.test("HttpTransport explains a timeout before the answer", async () => {
  const answer = Promise.withResolvers<Response>();
  await using server = serveTls(() => answer.promise);
  using transport = createTransport({ origin: server.origin });
  const signal = AbortSignal.timeout(20);
  await assertRejects(() => transport.send(new Request(server.origin, { signal })), Error, "no answer in time");
  answer.resolve(new Response("late"));
});

Deno.test("HttpTransport throws the reason of an abort as it is", async () => {
  const answer = Promise.withResolvers<Response>();
  await using server = serveTls(() => answer.promise);
  using transport = createTransport({ origin: server.origin });
  const controller = new AbortController();
  const sending = transport.send(new Request(server.origin, { signal: controller.signal }));
  const reason = new Error("shutting down");
  setTimeout(() => controller.abort(reason), 5);
  assertEquals(await assertRejects(() => sending), reason);
  answer.resolve(new Response("late"));
});

Deno.test("HttpTransport ends a quiet body when the request is aborted, also after a garbage collection", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  await using server = serveTls(quietStream);
  using transport = createTransport({ origin: server.origin });
  const controller = new AbortController();
  const lines = await readAfterGarbage(controller.signal);
  setTimeout(() => controller.abort(new Error("stopped")), 5);
  // Ends the test, not the read, when the body has become deaf.
  const giveUp = setTimeout(() => void lines.cancel(), 2000);
  await assertRejects(() => lines.read(), Error, "stopped");
  clearTimeout(giveUp);

  async function readAfterGarbage(signal: AbortSignal): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    const { body } = await transport.send(new Request(server.origin, { signal }));
    assert(body !== null);
    const reader = body.getReader();
    await reader.read();
    for (let round = 0; round < 3; round++) {
      await new Promise((resolve) => setTimeout(resolve));
      collectGarbage();
    }
    return reader;
  }
});

Deno.test("HttpTransport takes a new client certificate at once and lets a running watch go on", async () => {
  await using server = await serveMutualTls();
  const alice = { cert: readTls("client.crt"), key: readTls("client.key") };
  const bob = { cert: readTls("client-next.crt"), key: readTls("client-next.key") };
  let clientCertificate = alice;
  using transport = createTransport({
    origin: server.origin,
    getCredential: () => Promise.resolve({ authorization: null, clientCertificate }),
  });
  const watch = await transport.send(new Request(`${server.origin}/watch`));
  assert(watch.body !== null);
  const lines = watch.body.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await lines.read()).value, "alice\n");

  clientCertificate = bob;
  assertEquals(await (await transport.send(new Request(server.origin))).text(), "bob");
  server.more();
  assertEquals((await lines.read()).value, "more\n");
  await lines.cancel();
});

Deno.test("HttpTransport trusts a renewed CA at once, and a watch that is open goes on", async () => {
  await using server = await serveMutualTls();
  const [old, next] = [[readTls("ca.crt")], [readTls("ca.crt")]];
  const asked: boolean[] = [];
  let caCerts: readonly string[] = old;
  using transport = createTransport({
    origin: server.origin,
    caCerts: old,
    getCaCerts: (refusing) => {
      asked.push(refusing !== null);
      return Promise.resolve(caCerts);
    },
  });
  const watch = await transport.send(new Request(`${server.origin}/watch`));
  assert(watch.body !== null);
  const lines = watch.body.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await lines.read()).value, "anonymous\n");

  caCerts = next;
  assertEquals(await (await transport.send(new Request(server.origin))).text(), "anonymous");
  assert(transport.caCerts === next);
  server.more();
  assertEquals((await lines.read()).value, "more\n");
  await lines.cancel();
  assertEquals(asked, [false, false]);
});

Deno.test("HttpTransport reads the CA again when it refuses the server, and sends the request once more, once", async () => {
  const seen: string[] = [];
  await using server = serveTls(async (request) => {
    seen.push(`${request.method} ${await request.text()}`);
    return new Response("ok");
  });
  const [old, wrong, right] = [[readTls("other-ca.crt")], [readTls("other-ca.crt")], [readTls("ca.crt")]];
  const coming: (readonly string[])[] = [right];
  let caCerts: readonly string[] = old;
  using transport = createTransport({
    origin: server.origin,
    caCerts: old,
    getCaCerts: (refusing) => Promise.resolve(refusing === null ? caCerts : caCerts = coming.shift() ?? caCerts),
  });
  const send = () => transport.send(new Request(server.origin, { method: "PATCH", body: "{}" }));
  assertEquals(await (await send()).text(), "ok");
  assertEquals(seen, ["PATCH {}"]);
  caCerts = old;
  coming.push(wrong, right);
  await assertRejects(send, Error, "signed by an unknown authority");
  assertEquals(coming, [right]);
});

Deno.test("HttpTransport follows no redirect, which would take objects and answers elsewhere", async () => {
  let asked = 0;
  await using elsewhere = serveTls(() => new Response(`${++asked}`));
  await using server = serveTls(() => new Response("go", { status: 307, headers: { location: elsewhere.origin } }));
  using transport = createTransport({ origin: server.origin });
  for (const method of ["GET", "PATCH"]) {
    const response = await transport.send(new Request(server.origin, { method, body: method === "GET" ? null : "{}" }));
    assertEquals([response.status, await response.text()], [307, "go"]);
  }
  assertEquals(asked, 0);
});

Deno.test("HttpTransport lets a request end that was sent just before the certificate changed", async () => {
  await using server = await serveMutualTls();
  const alice = { cert: readTls("client.crt"), key: readTls("client.key") };
  const certificates = [alice, null];
  using transport = createTransport({
    origin: server.origin,
    getCredential: () => Promise.resolve({ authorization: null, clientCertificate: certificates.shift() ?? null }),
  });
  const sends = [1, 2].map(async () => (await transport.send(new Request(server.origin))).text());
  assertEquals(await Promise.all(sends), ["alice", "anonymous"]);
});

Deno.test("HttpTransport reports why a refused credential cannot be replaced", async () => {
  await using server = serveTls(() => new Response("no", { status: 401 }));
  using transport = createTransport({
    origin: server.origin,
    getCredential: (rejected) =>
      rejected === null ? Promise.resolve(ANONYMOUS) : Promise.reject(new Error("plugin failed")),
  });
  await assertRejects(() => transport.send(new Request(server.origin)), Error, "plugin failed");
});

Deno.test("HttpTransport keeps an Authorization header that the request brings", async () => {
  await using server = serveTls(({ headers }) => new Response(headers.get("Authorization")));
  using transport = createTransport({
    origin: server.origin,
    getCredential: () => Promise.resolve({ authorization: { kind: "bearer", token: "mine" }, clientCertificate: null }),
  });
  const request = new Request(server.origin, { headers: { Authorization: "Bearer other" } });
  assertEquals(await (await transport.send(request)).text(), "Bearer other");
});

Deno.test("HttpTransport tunnels through the proxy with its password", async () => {
  await using server = serveTls(() => new Response("through the tunnel"));
  const proxy = startProxy();
  {
    using transport = createTransport({ origin: server.origin, proxyUrl: `http://a:b%20c@127.0.0.1:${proxy.port}` });
    assertEquals(await (await transport.send(new Request(server.origin))).text(), "through the tunnel");
  }
  const [connect, ...headers] = (await proxy.asked).split("\r\n");
  assertEquals(connect, `CONNECT ${new URL(server.origin).host} HTTP/1.1`);
  assert(
    headers.some((header) => header.toLowerCase() === `proxy-authorization: basic ${btoa("a:b c")}`.toLowerCase()),
  );
});

Deno.test("HttpTransport sends nothing more when it is closed", async () => {
  const transport = createTransport({ origin: "https://10.0.0.1:6443" });
  transport[Symbol.dispose]();
  await assertRejects(
    () => transport.send(new Request("https://10.0.0.1:6443")),
    Error,
    'Cannot send to API server "https://10.0.0.1:6443": the connection is closed',
  );
});

Deno.test("HttpTransport asks right before each time that it sends, and sends nothing when that throws (C55)", async () => {
  let received = 0;
  await using server = serveTls(() => {
    received++;
    return new Response("no", { status: 401 });
  });
  let tokens = 0;
  using transport = createTransport({
    origin: server.origin,
    getCredential: () =>
      Promise.resolve(
        { authorization: { scheme: "Bearer", secret: `t${tokens++}` }, clientCertificate: null } as never,
      ),
  });
  const asked: string[] = [];
  const beforeSend = () => {
    asked.push(`${tokens} read, ${received} received`);
    if (received > 0) throw new Error("no more");
  };
  await assertRejects(() => transport.send(new Request(server.origin), { beforeSend }), Error, "no more");
  assertEquals([asked, received], [["1 read, 0 received", "2 read, 1 received"], 1]);
});
