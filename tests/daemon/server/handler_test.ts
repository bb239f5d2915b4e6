/** What each route answers, to whom, and how a long page is sent. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { createHandler, type Handler, healthRoutes, metricsRoutes } from "../../../lib/daemon/server/routes.ts";
import { serve } from "../../../lib/daemon/server/serve.ts";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import type { Access, CheckReader } from "../../../lib/daemon/server/reader_access.ts";
import type { CheckResult } from "../../../lib/daemon/health.ts";
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";

const LOCAL = { hostname: "127.0.0.1", port: 0 };
const OK: CheckResult = { ok: true, message: "ok" };

function handlerOf({ alive = OK, ready = OK }: { alive?: CheckResult; ready?: CheckResult }): Handler {
  const health = healthRoutes({ isAlive: () => alive, isReady: () => ready });
  return createHandler([health, metricsRoutes(createMetrics({ version: "1" }))]);
}

function pageHandler(render: () => Iterable<string>): Handler {
  return createHandler([metricsRoutes({ contentType: "text/plain; version=0.0.4; charset=utf-8", render })]);
}

async function ask(handler: Handler, path: string, method = "GET"): Promise<[number, string, Headers]> {
  const response = await handler(new Request(`http://podfit${path}`, { method }));
  return [response.status, await response.text(), response.headers];
}

Deno.test("createHandler() answers each path with its status", async () => {
  const handler = handlerOf({});
  const cases: readonly (readonly [string, string, number])[] = [
    ["GET", "/", 200],
    ["GET", "/healthz", 200],
    ["GET", "/readyz", 200],
    ["GET", "/metrics", 200],
    ["GET", "/metrics?name=x", 200],
    ["GET", "/nothing", 404],
    ["POST", "/nothing", 404],
    ["GET", "/healthz/deeper", 404],
    ["HEAD", "/", 200],
    ["HEAD", "/healthz", 200],
    ["HEAD", "/metrics", 200],
    ["POST", "/metrics", 405],
    ["PUT", "/", 405],
    ["DELETE", "/healthz", 405],
    ["OPTIONS", "/readyz", 405],
  ];
  for (const [method, path, status] of cases) {
    const [actual, body, headers] = await ask(handler, path, method);
    assertEquals(actual, status, `${method} ${path}`);
    if (method === "HEAD") assertEquals(body, "");
    if (status === 405) assertEquals(headers.get("allow"), "GET, HEAD");
  }
});

Deno.test("/healthz and /readyz answer 503 with a few words, each for its own verdict, and name nothing", async () => {
  const bad: CheckResult = {
    ok: false,
    message: 'Lease "podfit/podfit": held by "podfit-1"',
    reason: "lists are stale",
  };
  const bare: CheckResult = { ok: false, message: 'the loop of node "n1" is stuck' };
  const standby: CheckResult = { ok: true, message: 'standby: "podfit-1" leads', reason: "standby" };
  const cases: readonly (readonly [string, Parameters<typeof handlerOf>[0], number, string])[] = [
    ["/readyz", { ready: bad }, 503, "not ready: lists are stale\n"],
    ["/readyz", { ready: bare }, 503, "not ready\n"],
    ["/readyz", { ready: standby }, 200, "standby\n"],
    ["/healthz", { ready: bad }, 200, "ok\n"],
    ["/healthz", { alive: bare }, 503, "not alive\n"],
    ["/readyz", { alive: bad }, 200, "ok\n"],
  ];
  for (const [path, verdicts, status, body] of cases) {
    const handler = handlerOf(verdicts);
    assertEquals((await ask(handler, path)).slice(0, 2), [status, body]);
    assertEquals((await ask(handler, path, "HEAD")).slice(0, 2), [status, ""]);
  }
});

Deno.test("/readyz gives names to a reader with the right to /metrics alone, and asks nobody about a probe", async () => {
  const ready: CheckResult = { ok: true, message: 'standby: "podfit-1" leads', reason: "standby" };
  const seen: unknown[] = [];
  const checkReader: CheckReader = (authorization, path) => {
    seen.push([authorization, path]);
    return Promise.resolve(authorization === "Bearer good" ? { kind: "allowed" } : { kind: "unknownReader" });
  };
  const handler = createHandler([healthRoutes({ isAlive: () => OK, isReady: () => ready }, checkReader)]);
  const read = async (headers: Record<string, string>) =>
    await (await handler(new Request("http://podfit/readyz", { headers }))).text();
  assertEquals(await read({}), "standby\n");
  assertEquals(seen, []);
  assertEquals(await read({ authorization: "Bearer bad" }), "standby\n");
  assertEquals(await read({ authorization: "Bearer good" }), 'standby: "podfit-1" leads\n');
  assertEquals(seen, [["Bearer bad", "/metrics"], ["Bearer good", "/metrics"]]);
});

Deno.test("/metrics is the Prometheus text format", async () => {
  const [, body, headers] = await ask(handlerOf({}), "/metrics");
  assertStringIncludes(headers.get("content-type") ?? "", "text/plain; version=0.0.4");
  assertStringIncludes(body, "# TYPE kedify_agent_pra_total gauge\n");
  assert(body.endsWith("\n"));
});

Deno.test("/metrics is never made for a HEAD, nor before it is read", async () => {
  let made = 0;
  const page = function* () {
    made++;
    yield "a 1\n";
  };
  const handler = pageHandler(page);
  assertEquals((await ask(handler, "/metrics", "HEAD")).slice(0, 2), [200, ""]);
  assertEquals(made, 0);
  assertEquals((await ask(handler, "/metrics"))[1], "a 1\n");
  assertEquals(made, 1);
});

Deno.test("/metrics lets the event loop turn between two pieces that take 2 ms, and answers several readers at once", async () => {
  let turns = 0;
  const turnsAt: number[] = [];
  const page = function* () {
    for (let piece = 0; piece < 10; piece++) {
      turnsAt.push(turns);
      for (const endsAt = performance.now() + 2; performance.now() < endsAt;);
      yield `a{b="${piece}"} 1\n`;
    }
  };
  const handler = pageHandler(page);
  const timer = setInterval(() => turns++, 0);
  const [, alone] = await ask(handler, "/metrics");
  assertEquals(new Set(turnsAt).size, 10, turnsAt.join());
  const pages = await Promise.all([1, 2, 3].map(() => ask(handler, "/metrics")));
  clearInterval(timer);
  assertEquals(alone.split("\n").length, 11);
  assertEquals(pages.map(([, text]) => text), [alone, alone, alone]);
});

Deno.test("/metrics pauses by the clock that it is given, after pieces that take 2 ms", async () => {
  for (const [pieceMs, pauses] of [[0, 0], [1, 4], [2, 9]] as const) {
    let nowMs = 0;
    let slept = 0;
    const clock = {
      monotonic: () => nowMs,
      sleep: () => Promise.resolve(void slept++),
      timeout: (ms: number) => new VirtualClock().timeout(ms),
    };
    const page = function* () {
      for (let piece = 0; piece < 10; piece++) {
        yield "a 1\n";
        nowMs += pieceMs;
      }
    };
    await ask(createHandler([metricsRoutes({ contentType: "text/plain", render: page }, { clock })]), "/metrics");
    assertEquals(slept, pauses, `${pieceMs}`);
  }
});

Deno.test("/metrics stops to make a page whose reader has gone, and is there for the next", async () => {
  const { promise: ended, resolve: tellEnded } = Promise.withResolvers<number>();
  const page = function* () {
    let pieces = 0;
    try {
      for (; pieces < 10_000; pieces++) yield `${"#".repeat(2 ** 16)}\n`;
    } finally {
      tellEnded(pieces);
    }
  };
  await using server = serve(pageHandler(page), LOCAL);
  const url = `http://127.0.0.1:${server.port}/metrics`;
  const reader = (await fetch(url)).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  assert(await ended < 1_000);
  const head = await fetch(url, { method: "HEAD" });
  assertEquals([head.status, await head.text()], [200, ""]);
});

Deno.test("/metrics breaks off a page that cannot be ended: half of it must not look whole", async () => {
  const page = function* () {
    yield "a 1\n";
    throw new Error("no registry");
  };
  const response = await pageHandler(page)(new Request("http://podfit/metrics"));
  assertEquals(response.status, 200);
  await assertRejects(() => response.text(), Error, "no registry");
});

Deno.test("/metrics is compressed for those who take gzip, and the same page", async () => {
  const handler = pageHandler(() => ["a 1\n", `b ${"2".repeat(9999)}\n`]);
  const cases: Readonly<Record<string, string | null>> = {
    "gzip": "gzip",
    "deflate, gzip;q=0.5": "gzip",
    "gzip;q=0": null,
    "identity": null,
    "br": null,
  };
  for (const [accepted, encoding] of Object.entries(cases)) {
    const request = new Request("http://podfit/metrics", { headers: { "accept-encoding": accepted } });
    const response = await handler(request);
    assertEquals(response.headers.get("content-encoding"), encoding, accepted);
    assertEquals(response.headers.get("vary"), "Accept-Encoding");
    assertStringIncludes(response.headers.get("content-type") ?? "", "text/plain; version=0.0.4");
    const body = encoding === null ? response.body : response.body?.pipeThrough(new DecompressionStream("gzip"));
    assertEquals(await new Response(body).text(), `a 1\nb ${"2".repeat(9999)}\n`);
  }
});

Deno.test("/ lists the routes of every group, and no others", async () => {
  const [, body, headers] = await ask(handlerOf({}), "/");
  assertEquals(body.split("\n"), [
    "podfit",
    "",
    "/healthz  is the process alive",
    "/readyz   is it ready to work",
    "/metrics  its metrics, for Prometheus",
    "",
  ]);
  assertStringIncludes(headers.get("content-type") ?? "", "text/plain");
  const [, other] = await ask(pageHandler(() => []), "/");
  assertEquals(other, "podfit\n\n/metrics  its metrics, for Prometheus\n");
});

Deno.test("a failure inside becomes a 500 that says why", async () => {
  const broken = () => {
    throw new Error("no registry");
  };
  const health = healthRoutes({ isAlive: broken, isReady: broken });
  const handler = createHandler([health, metricsRoutes({ contentType: "x", render: broken })]);
  for (const path of ["/metrics", "/healthz", "/readyz"]) {
    assertEquals((await ask(handler, path)).slice(0, 2), [500, "Cannot answer: no registry\n"]);
  }
});

Deno.test("/metrics is made for so many readers at once; the next waits for 10 s, and is told to come later", async () => {
  const clock = new VirtualClock();
  const page = function* () {
    yield "a 1\n";
    yield "b 2\n";
  };
  const routes = metricsRoutes({ contentType: "text/plain", render: page }, { clock, maxPages: 4 });
  const handler = createHandler([routes]);
  const get = () => handler(new Request("http://podfit/metrics"));
  const [first, second] = [await get(), await get()];
  const refused = ask(handler, "/metrics");
  await clock.advance(10_000);
  const [status, text, headers] = await refused;
  assertEquals([status, text, headers.get("retry-after")], [503, "Too many readers at once\n", "5"]);
  assertEquals((await ask(handler, "/metrics", "HEAD"))[0], 200);
  const waiting = ask(handler, "/metrics");
  await settleEventLoop();
  assertEquals(await first.text(), "a 1\nb 2\n");
  assertEquals((await waiting).slice(0, 2), [200, "a 1\nb 2\n"]);
  // One that has not begun to read, and one that has.
  await second.body?.cancel();
  const reader = (await get()).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  for (let time = 0; time < 5; time++) assertEquals((await ask(handler, "/metrics"))[1], "a 1\nb 2\n");
  assertEquals(clock.pending, 0);
});

/** A short page, for readers of several addresses. */
function openPages() {
  const clock = new VirtualClock();
  const page = function* () {
    yield "a 1\n";
  };
  const handler = createHandler([metricsRoutes({ contentType: "text/plain", render: page }, { clock })]);
  const get = (address: string) => handler(new Request("http://podfit/metrics"), { address });
  return { clock, get };
}

Deno.test("/metrics makes two pages at a time for one address, and leaves one for another", async () => {
  const { clock, get } = openPages();
  const pages = [await get("10.0.0.1"), await get("10.0.0.1")];
  const third = get("10.0.0.1");
  pages.push(await get("10.0.0.2"));
  const fifth = get("10.0.0.2");
  await clock.advance(10_000);
  assertEquals([(await third).status, (await fifth).status], [503, 503]);
  pages.push(await get("10.0.0.3"));
  assertEquals(pages.map(({ status }) => status), [200, 200, 200, 200]);
  for (const { body } of pages) await body?.cancel();
});

Deno.test("/metrics makes four pages at a time by default, and no fifth", async () => {
  const { clock, get } = openPages();
  const pages = [await get("10.0.0.1"), await get("10.0.0.1"), await get("10.0.0.2"), await get("10.0.0.3")];
  assertEquals(pages.map(({ status }) => status), [200, 200, 200, 200]);
  const fifth = get("10.0.0.3");
  await clock.advance(10_000);
  assertEquals((await fifth).status, 503);
  for (const { body } of pages) await body?.cancel();
});

Deno.test("/metrics gives the place of the slowest page to an address that has none, once that page is 5 s old", async () => {
  const clock = new VirtualClock();
  let ended = 0;
  const page = function* () {
    try {
      for (let piece = 0; piece < 8; piece++) yield `a{b="${piece}"} 1\n`;
    } finally {
      ended++;
    }
  };
  const handler = createHandler([metricsRoutes({ contentType: "text/plain", render: page }, { clock })]);
  const get = (address: string) => handler(new Request("http://podfit/metrics"), { address });
  const readers = await Promise.all([4, 2, 1, 3].map(async (pieces, index) => {
    const reader = (await get(`10.0.0.${index}`)).body?.getReader();
    for (let read = 0; read < pieces; read++) await reader?.read();
    return reader;
  }));
  await clock.advance(2_000);
  const waiting = Promise.resolve(get("10.0.0.9"));
  let isOpen = false;
  void waiting.then(() => isOpen = true);
  await clock.advance(2_000);
  assertEquals([isOpen, ended], [false, 0]);
  await clock.advance(1_000);
  assertEquals([isOpen, ended], [true, 1]);
  const whileTimePasses = async <T>(work: Promise<T>): Promise<T> => {
    let isDone = false;
    void work.catch(() => {}).finally(() => isDone = true);
    while (!isDone) await clock.advance(1);
    return await work;
  };
  const countLines = async (response: Response) => (await whileTimePasses(response.text())).split("\n").length - 1;
  assertEquals(await countLines(await waiting), 8);
  const dropped = async () => await readers[2]?.read();
  await assertRejects(() => whileTimePasses(dropped()), Error, "its reader is slow, and others wait");
  // One that comes while a place is free takes nobody's, and the others read their pages to the end.
  assertEquals(await countLines(await get("10.0.0.8")), 8);
  for (const [index, left] of [[0, 4], [1, 6], [3, 5]] as const) {
    const reader = readers[index];
    let pieces = 0;
    for (; reader !== undefined && !(await whileTimePasses(reader.read())).done; pieces++);
    assertEquals(pieces, left);
  }
  assertEquals([clock.pending, ended], [0, 6]);
});

Deno.test("/metrics gives back its place when a page breaks off", async () => {
  const page = function* () {
    yield "a 1\n";
    throw new Error("no registry");
  };
  const routes = metricsRoutes({ contentType: "text/plain", render: page }, { maxPages: 1 });
  const handler = createHandler([routes]);
  for (let time = 0; time < 3; time++) {
    const response = await handler(new Request("http://podfit/metrics"));
    await assertRejects(() => response.text(), Error, "no registry");
  }
});

Deno.test("/metrics over the network makes few pages for many who stop to read, and one for who comes after them", async () => {
  const clock = new VirtualClock();
  let made = 0;
  const page = function* () {
    made++;
    for (let piece = 0; piece < 300; piece++) yield `${"#".repeat(2 ** 16)}\n`;
  };
  const routes = metricsRoutes({ contentType: "text/plain", render: page }, { clock });
  await using server = serve(createHandler([routes]), LOCAL);
  const statuses: string[] = [];
  const clients = await Promise.all(Array.from({ length: 20 }, async () => {
    const client = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
    await client.write(new TextEncoder().encode("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
    const buffer = new Uint8Array("HTTP/1.1 200".length);
    void client.read(buffer).then(() => statuses.push(new TextDecoder().decode(buffer).slice(-3)));
    return client;
  }));
  while (statuses.length < clients.length) await clock.advance(1_000);
  assertEquals([made, statuses.sort()], [2, ["200", "200", ...Array.from({ length: 18 }, () => "503")]]);
  for (const client of clients) client.close();
  const response = await fetch(`http://127.0.0.1:${server.port}/metrics`);
  assertEquals([response.status, (await response.text()).length], [200, 300 * (2 ** 16 + 1)]);
});

Deno.test("/metrics answers as the reader's access is, and the other routes answer everybody", async () => {
  const cases: readonly (readonly [Access, number, string])[] = [
    [{ kind: "allowed" }, 200, "a 1\n"],
    [{ kind: "unknownReader" }, 401, "Unauthorized: send a bearer token of this cluster\n"],
    [
      { kind: "denied", user: "alice" },
      403,
      'Forbidden: user "alice" may not read this; grant the verb "get" on the nonResourceURL "/metrics"\n',
    ],
    [{ kind: "unanswered", why: "it is down" }, 503, "Cannot check the right of the reader: it is down\n"],
    [{ kind: "rightMissing", why: "none" }, 500, "Cannot check the right of the reader: none\n"],
  ];
  for (const [access, status, body] of cases) {
    const seen: (string | null)[] = [];
    const checkReader = (authorization: string | null) => {
      seen.push(authorization);
      return Promise.resolve(access);
    };
    const routes = metricsRoutes({ contentType: "text/plain", render: () => ["a 1\n"] }, { checkReader });
    const handler = createHandler([healthRoutes({ isAlive: () => OK, isReady: () => OK }), routes]);
    const headers = { authorization: "Bearer x" };
    const response = await handler(new Request("http://podfit/metrics", { headers }));
    assertEquals([response.status, await response.text()], [status, body]);
    assertEquals(response.headers.get("www-authenticate"), status === 401 ? 'Bearer realm="podfit"' : null);
    assertEquals((await ask(handler, "/metrics", "HEAD"))[0], status);
    assertEquals(seen, ["Bearer x", null]);
    for (const path of ["/", "/healthz", "/readyz"]) assertEquals((await ask(handler, path))[0], 200);
    assertEquals(seen.length, 2);
  }
});
