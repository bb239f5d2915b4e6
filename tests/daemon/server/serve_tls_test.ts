/** What the listener puts up with when it speaks HTTPS: the same as without, and handshakes that come to nothing. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { openCertificate } from "../../../lib/daemon/server/certificate.ts";
import type { Handler } from "../../../lib/daemon/server/routes.ts";
import { serve, type ServeOptions, type Server } from "../../../lib/daemon/server/serve.ts";
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";
import { type CertificateFiles, createIssued, mountCertificate } from "../../support/certificate_files.ts";
import { readAll, send } from "../../support/raw_connection.ts";

const LOCAL = { hostname: "127.0.0.1", port: 0 };
const REQUEST = "GET /healthz HTTP/1.1\r\nHost: podfit\r\n\r\n";
const answerOk: Handler = () => new Response("ok\n");
const [one, other] = await Promise.all([createIssued("one"), createIssued("other")]);

interface Running extends AsyncDisposable {
  readonly server: Server;
  readonly files: CertificateFiles;
  /** By which the files are read again. */
  readonly clock: VirtualClock;
}

async function start(handler: Handler, options: Partial<ServeOptions> = {}): Promise<Running> {
  await using building = new AsyncDisposableStack();
  const files = building.use(await mountCertificate(one));
  const clock = new VirtualClock();
  const ignore = () => {};
  const readIdentity = await openCertificate({ ...files, clock, onRenewed: ignore, onRefused: ignore });
  const server = building.use(serve(handler, { ...LOCAL, ...options, readIdentity }));
  const built = building.move();
  return { server, files, clock, [Symbol.asyncDispose]: () => built.disposeAsync() };
}

Deno.test("listServed() speaks HTTPS with the given certificate, and to nobody who speaks HTTP", async () => {
  const page = "x".repeat(5_000_000);
  await using running = await start(() => new Response(page));
  assertEquals(await ask(running), `200 ${page.length}`);
  await assertRejects(() => ask(running, other.caCert), Error);
  using plain = await connectTo(running);
  await send(plain, REQUEST);
  assertEquals((await readAll(plain)).includes("HTTP/1.1"), false);
  assertEquals(await ask(running), `200 ${page.length}`);
});

Deno.test("listServed() gives the answer also to a client that has said that it sends no more", async () => {
  await using running = await start(answerOk);
  using client = await connectTls(running);
  await send(client, REQUEST);
  await client.closeWrite();
  assertStringIncludes(await readAll(client), "ok");
});

Deno.test("listServed() refuses TLS 1.1", async () => {
  await using running = await start(answerOk);
  const hellos = [["0302", false], ["0303", true]] as const;
  for (const [version, isTaken] of hellos) {
    using client = await connectTo(running);
    await client.write(clientHello(version));
    const buffer = new Uint8Array(1024);
    const count = await client.read(buffer).catch(() => null);
    assertEquals(count !== null && buffer[0] === HANDSHAKE, isTaken, version);
  }
});

Deno.test("listServed() closes a connection whose handshake does not end, and one whose request does not come then", async () => {
  await using running = await start(answerOk, { headMs: 50 });
  for (const text of ["", "\u0016", "\u0016\u0003\u0001\u0001\u0000"]) {
    using client = await connectTo(running);
    await send(client, text);
    assertEquals(await readAll(client), "", JSON.stringify(text));
  }
  using client = await connectTls(running);
  await send(client, REQUEST.slice(0, 20));
  assertEquals(await readAll(client), "");
});

Deno.test("listServed() counts those in a handshake among its connections: the oldest goes", async () => {
  await using running = await start(answerOk, { mostConnections: 3, headMs: 3_600_000 });
  const clients = await Promise.all(Array.from({ length: 20 }, () => connectTo(running)));
  assertEquals(await ask(running), "200 3");
  await Promise.all(clients.slice(0, 17).map(readAll));
  for (const client of clients) client.close();
});

Deno.test("listServed() ends at once while handshakes are under way", async () => {
  const running = await start(answerOk, { headMs: 3_600_000, drainMs: 3_600_000 });
  using client = await connectTo(running);
  await client.write(clientHello("0303"));
  await client.read(new Uint8Array(1024));
  await running[Symbol.asyncDispose]();
  await readAll(client);
});

Deno.test("listServed() closes who connects while the certificate is read, when its time is up or the server ends", async () => {
  await using files = await mountCertificate(one);
  const ignore = () => {};
  const options = { ...files, clock: new VirtualClock(), onRenewed: ignore, onRefused: ignore };
  const identity = await (await openCertificate(options))();
  for (const headMs of [20, 3_600_000]) {
    const { promise: reading, resolve: tellReading } = Promise.withResolvers<void>();
    const { promise, resolve: release } = Promise.withResolvers<typeof identity>();
    const readIdentity = () => (tellReading(), promise);
    const server = serve(answerOk, { ...LOCAL, headMs, drainMs: 3_600_000, readIdentity });
    using client = await Deno.connect({ hostname: server.hostname, port: server.port });
    await reading;
    if (headMs > 1_000) await server[Symbol.asyncDispose]();
    assertEquals(await readAll(client), "");
    release(identity);
    await settleEventLoop();
    await server[Symbol.asyncDispose]();
  }
});

Deno.test("listServed() goes on after every handshake that is none", async () => {
  await using running = await start(answerOk, { headMs: 100 });
  const hello = clientHello("0303");
  const random = (count: number) => crypto.getRandomValues(new Uint8Array(count));
  const attacks = Array.from({ length: 200 }, async (_, index) => {
    using client = await connectTo(running);
    const bent = hello.slice();
    bent[index % bent.length] = 255 - (bent[index % bent.length] ?? 0);
    const bytes = [random(1 + index), hello.subarray(0, index % hello.length), bent, ALERT][index % 4] ?? hello;
    await client.write(bytes).catch(() => {});
    await client.write(random(100)).catch(() => {});
    if (index % 3 === 0) return;
    await readAll(client);
  });
  await Promise.all(attacks);
  assertEquals(await ask(running), "200 3");
});

Deno.test("listServed() closes a connection over TLS whose reader has stopped, and makes no more for it than there is room for", async () => {
  let pieces = 0;
  const { promise: cancelled, resolve: tellCancelled } = Promise.withResolvers<void>();
  const body = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        pieces++;
        controller.enqueue(new Uint8Array(2 ** 16));
      },
      cancel: () => tellCancelled(),
    });
  await using running = await start(() => new Response(body()), { stallMs: 100 });
  using client = await connectTls(running);
  await send(client, REQUEST);
  await cancelled;
  assert(pieces > 0 && pieces < 1_000, `${pieces} pieces of 64 kB for a reader that takes none`);
});

Deno.test("listServed() shows a new certificate to whoever connects after the swap; who is connected stays, nobody is refused", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: asked, resolve: tellAsked } = Promise.withResolvers<void>();
  const handler: Handler = async ({ url }) => {
    if (!url.endsWith("/slow")) return new Response("ok\n");
    tellAsked();
    await released;
    return new Response("late\n");
  };
  await using running = await start(handler);
  using slow = await connectTls(running);
  await send(slow, REQUEST.replace("/healthz", "/slow"));
  await asked;
  const trust = [one.caCert, other.caCert];
  let isOver = false;
  const askers = Array.from({ length: 4 }, async () => {
    const answers = new Set<string>();
    while (!isOver) answers.add(await ask(running, ...trust));
    return [...answers];
  });
  for (let turn = 0; turn < 10; turn++) {
    await running.files.swap(turn % 2 === 0 ? other : one);
    await running.clock.advance(10_000);
    await ask(running, ...trust);
    assertEquals(await ask(running, (turn % 2 === 0 ? other : one).caCert), "200 3");
    await assertRejects(() => ask(running, (turn % 2 === 0 ? one : other).caCert), Error);
  }
  isOver = true;
  assertEquals(new Set((await Promise.all(askers)).flat()), new Set(["200 3"]));
  release();
  assertStringIncludes(await readAll(slow), "late");
});

/** `status length` of the answer to one request on a connection of its own, trusting these authorities alone. */
async function ask({ server }: Running, ...caCerts: readonly string[]): Promise<string> {
  using client = Deno.createHttpClient({ caCerts: caCerts.length === 0 ? [one.caCert] : [...caCerts], http2: false });
  const response = await fetch(`https://127.0.0.1:${server.port}/healthz`, { client });
  return `${response.status} ${(await response.text()).length}`;
}

function connectTo({ server }: Running): Promise<Deno.TcpConn> {
  return Deno.connect({ hostname: server.hostname, port: server.port });
}

function connectTls({ server }: Running): Promise<Deno.TlsConn> {
  return Deno.connectTls({ hostname: "127.0.0.1", port: server.port, caCerts: [one.caCert] });
}

const HANDSHAKE = 22;
/** Fatal, "handshake failure". */
const ALERT = new Uint8Array([21, 3, 3, 0, 2, 2, 40]);

/** A ClientHello without extensions but for what ECDHE with ECDSA needs. `version`: the highest that it takes. */
function clientHello(version: "0302" | "0303"): Uint8Array<ArrayBuffer> {
  const extensions = "000a000400020017" + "000b00020100" + "000d000400020403";
  const ciphers = "c02bc009c013002f";
  const body = `${version}${"5a".repeat(32)}00${bytes16(ciphers)}${ciphers}0100${bytes16(extensions)}${extensions}`;
  const message = `0100${bytes16(body)}${body}`;
  return Uint8Array.fromHex(`160301${bytes16(message)}${message}`);
}

function bytes16(hex: string): string {
  return (hex.length / 2).toString(16).padStart(4, "0");
}
