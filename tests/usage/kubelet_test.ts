import { assert, assertEquals, assertRejects } from "#assert";
import { createProxySource, openDirectSource } from "../../lib/usage/kubelet/fetch_summary.ts";
import { timeoutError } from "../../lib/runtime/clock.ts";
import { settleEventLoop, VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";
import {
  apiServer,
  assertFailed,
  fetchFrom,
  KUBELET_MODES,
  NODE,
  nodeAt,
  readSummaryText,
} from "../support/kubelet_source.ts";
import { readTls, serveTls } from "../support/tls.ts";

for (const { how, options: mode } of KUBELET_MODES) {
  Deno.test(`openDirectSource() fetches a summary ${how}, with the bearer token`, async () => {
    const seen: string[] = [];
    await using server = serveTls((request) => {
      seen.push(`${request.method} ${new URL(request.url).pathname}${new URL(request.url).search}`);
      seen.push(request.headers.get("authorization") ?? "");
      return new Response('{"pods":[]}', { headers: { date: new Date(VIRTUAL_START_AT).toUTCString() } });
    });
    const answer = await fetchFrom(server, mode);
    assertEquals(readSummaryText(answer), '{"pods":[]}');
    assertEquals(seen, ["GET /stats/summary?only_cpu_and_memory=true", "Bearer secret"]);
  });

  Deno.test(`openDirectSource() stops reading at its limit ${how}`, async () => {
    const flood = endless();
    await using server = serveTls(() => new Response(flood.body));
    const answer = await fetchFrom(server, { ...mode, limitBytes: 2 ** 20 });
    assertFailed(answer, "too_large", "the answer has more than 1048576 bytes");
    assert(flood.sentBytes() < 8 * 2 ** 20, `${flood.sentBytes()} bytes were sent`);
  });

  Deno.test(`openDirectSource() gives up at a timeout in the middle of a body ${how}`, async () => {
    await using server = serveTls(() => new Response(stalled()));
    const controller = new AbortController();
    const { clock, headersSeen } = headersClock();
    const answer = fetchFrom(server, { ...mode, clock, signal: controller.signal });
    await Promise.race([headersSeen, answer]);
    controller.abort(timeoutError(4500));
    assertFailed(await answer, "timeout", "timed out after 4500 ms");
  });

  Deno.test(`openDirectSource() throws an abort that is no timeout ${how}`, async () => {
    await using server = serveTls(() => new Response(stalled()));
    const controller = new AbortController();
    const { clock, headersSeen } = headersClock();
    const answer = fetchFrom(server, { ...mode, clock, signal: controller.signal });
    await Promise.race([headersSeen, answer]);
    controller.abort(new Error("shutting down"));
    await assertRejects(() => answer, Error, "shutting down");
  });

  Deno.test(`openDirectSource() follows no redirect, which could take the token elsewhere, ${how}`, async () => {
    let requests = 0;
    await using server = serveTls(() => {
      requests++;
      return new Response(null, { status: 307, headers: { location: "/elsewhere" } });
    });
    assertFailed(await fetchFrom(server, mode), "http", "307");
    assertEquals(requests, 1);
  });

  Deno.test(`openDirectSource() says that nobody listens ${how}`, async () => {
    const server = serveTls(() => new Response());
    await server[Symbol.asyncDispose]();
    assertFailed(await fetchFrom(server, mode), "unreachable", /refused/i);
  });
}

Deno.test("openDirectSource() names the way out of a certificate of another CA (C54)", async () => {
  await using server = serveTls(() => new Response());
  const message = `the kubelet of node "n1" serves a certificate not signed by the cluster's CA: give its CA with ` +
    "--kubelet-ca, or accept any with --kubelet-insecure-tls";
  assertFailed(await fetchFrom(server, { clusterCa: [] }), "tls", message);
  assertFailed(
    await fetchFrom(server, { getCaCerts: () => Promise.resolve([]) }),
    "tls",
    "not signed by the CA of --kubelet-ca",
  );
});

Deno.test("openDirectSource() trusts the CA it is given instead of the cluster's", async () => {
  await using server = serveTls(() => new Response("{}"));
  assertEquals(
    (await fetchFrom(server, { clusterCa: [], getCaCerts: () => Promise.resolve([readTls("ca.crt")]) })).kind,
    "summary",
  );
});

Deno.test("openDirectSource() names the way out of a certificate for another host", async () => {
  await using server = serveTls(() => new Response());
  // The same socket under an address that the certificate doesn't have.
  const answer = await fetchFrom(server, { host: "::ffff:127.0.0.1" });
  assertFailed(answer, "tls", `serves a certificate that is not for "::ffff:7f00:1"`);
});

const REFUSALS: readonly (readonly [status: number, body: string, reason: string, message: string])[] = [
  [401, "Unauthorized", "unauthorized", "turn on authentication.webhook"],
  [
    403,
    "Forbidden (user=u, verb=get, resource=nodes, subresource(s)=[stats])",
    "forbidden",
    `subresource(s)=[stats]); grant that user the verb "get" on "nodes/stats" in its ClusterRole`,
  ],
  [500, "internal\nerror\u0000", "http", ": 500 internal error"],
];

Deno.test("openDirectSource() says what a refusal by a kubelet asks for (C54)", async () => {
  for (const [status, body, reason, message] of REFUSALS) {
    await using server = serveTls(() => new Response(body, { status }));
    assertFailed(await fetchFrom(server, {}), reason, message);
  }
});

Deno.test("openDirectSource() says that the node is not known", async () => {
  const why =
    'Cannot read usage of node "n1" at its kubelet: the node is not known: it is not listed yet, or podfit may ' +
    "not list nodes";
  using source = openDirectSource(apiServer(), { clock: new VirtualClock() });
  const answer = await source.fetchSummary({ ...NODE, addresses: null }, new AbortController().signal);
  assertFailed(answer, "unlisted", why);
});

Deno.test("openDirectSource() waits no longer than its signal for a token", async () => {
  const server = { ...apiServer(), readCredential: () => new Promise<never>(() => {}) };
  using source = openDirectSource(server, { clock: new VirtualClock() });
  const fetchUntil = (reason: unknown) => {
    const controller = new AbortController();
    const answer = source.fetchSummary(NODE, controller.signal);
    controller.abort(reason);
    return answer;
  };
  assertFailed(await fetchUntil(timeoutError(4500)), "timeout", "timed out after 4500 ms");
  await assertRejects(() => fetchUntil(new Error("shutting down")), Error, "shutting down");
});

Deno.test("createProxySource() asks the API server, and names nodes/proxy when that is forbidden", async () => {
  const urls: string[] = [];
  const message = `nodes "n1" is forbidden: User "u" cannot get resource "nodes/proxy" in API group ""`;
  const server = apiServer((request) => {
    urls.push(request.url);
    return Promise.resolve(Response.json({ kind: "Status", message }, { status: 403 }));
  });
  const source = createProxySource(server, { clock: new VirtualClock() });
  const answer = await source.fetchSummary({ ...NODE, name: "n/1" }, new AbortController().signal);
  assertEquals(urls, ["https://127.0.0.1:6443/api/v1/nodes/n%2F1/proxy/stats/summary?only_cpu_and_memory=true"]);
  assertFailed(answer, "forbidden", `403 ${message}; grant that user the verb "get" on "nodes/proxy"`);
});

Deno.test("createProxySource() refuses 50 MB without reading them", async () => {
  const flood = endless();
  const headers = { "content-length": "50000000" };
  const source = createProxySource(apiServer(() => Promise.resolve(new Response(flood.body, { headers }))), {
    clock: new VirtualClock(),
  });
  assertFailed(await source.fetchSummary(NODE, new AbortController().signal), "too_large", "more than 3604480 bytes");
  assert(flood.sentBytes() < 2 ** 20, `${flood.sentBytes()} bytes were sent`);
});

const LIMITS: readonly (readonly [maxPods: number | null, limitBytes: number])[] = [
  [null, 3_604_480],
  [1, 2_097_152],
  [110, 3_604_480],
  [256, 8_388_608],
  // A node says itself how many it may have.
  [257, 8_388_608],
  [1e9, 8_388_608],
];
for (const [maxPods, limitBytes] of LIMITS) {
  Deno.test(`createProxySource() reads ${limitBytes} bytes at most of a node of ${maxPods ?? "an unknown number of"} pods`, async () => {
    const poll = async (bytes: number) => {
      const headers = { "content-length": String(bytes) };
      const transport = () => Promise.resolve(new Response("{}", { headers }));
      const source = createProxySource(apiServer(transport), { clock: new VirtualClock() });
      return await source.fetchSummary({ ...NODE, maxPods }, new AbortController().signal);
    };
    assertEquals((await poll(limitBytes)).kind, "summary");
    assertFailed(await poll(limitBytes + 1), "too_large", `the answer has more than ${limitBytes} bytes`);
  });
}

const OFFSETS: Record<string, { readonly date: string | null; readonly offsetMs: number }> = {
  "no Date": { date: null, offsetMs: 0 },
  "a Date that is none": { date: "yesterday", offsetMs: 0 },
  "the same time": { date: new Date(VIRTUAL_START_AT).toUTCString(), offsetMs: 0 },
  "a second behind": { date: new Date(VIRTUAL_START_AT - 1000).toUTCString(), offsetMs: 0 },
  "two seconds ahead": { date: new Date(VIRTUAL_START_AT + 2000).toUTCString(), offsetMs: 2000 },
  "an hour behind": { date: new Date(VIRTUAL_START_AT - 3_600_000).toUTCString(), offsetMs: -3_600_000 },
};

for (const [what, { date, offsetMs }] of Object.entries(OFFSETS)) {
  Deno.test(`createProxySource() reads the clock's offset from ${what}`, async () => {
    const response = new Response("{}", date === null ? {} : { headers: { date } });
    const source = createProxySource(apiServer(() => Promise.resolve(response)), { clock: new VirtualClock() });
    const answer = await source.fetchSummary(NODE, new AbortController().signal);
    assertEquals(answer.kind === "summary" && answer.clockOffsetMs, offsetMs);
  });
}

function endless() {
  let sentBytes = 0;
  const chunk = new Uint8Array(2 ** 16).fill(32);
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      sentBytes += chunk.length;
      controller.enqueue(chunk);
    },
  });
  return { body, sentBytes: () => sentBytes };
}

/** Sends a few bytes and then nothing. */
function stalled(): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("{")) });
}

/** The clock is asked when the headers have come. */
function headersClock() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const steady = () => {
    resolve();
    return VIRTUAL_START_AT;
  };
  const timeout = (ms: number) => new VirtualClock().timeout(ms);
  return {
    clock: { steady, monotonic: () => 0, sleep: () => Promise.resolve(), timeout },
    headersSeen: promise.then(() => settleEventLoop()),
  };
}

Deno.test("openDirectSource() asks through fetch while a kubelet does not end a handshake, so that no sockets add up", async () => {
  const agents: (string | null)[] = [];
  await using server = serveTls((request) => {
    agents.push(request.headers.get("user-agent"));
    return new Response("{}");
  });
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const node = nodeAt("127.0.0.1", listener.addr.port);
  using source = openDirectSource({ ...apiServer(), caCerts: [readTls("ca.crt")] }, { clock: new VirtualClock() });
  const controller = new AbortController();
  const first = source.fetchSummary(node, controller.signal);
  using _stuck = await listener.accept();
  controller.abort(timeoutError(4500));
  assertFailed(await first, "timeout", "timed out after 4500 ms");
  // The next connections lead to a kubelet that is well again.
  const second = source.fetchSummary(node, new AbortController().signal);
  using passed = await listener.accept();
  using other = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(server.origin).port) });
  const piping = [passed.readable.pipeTo(other.writable), other.readable.pipeTo(passed.writable)];
  assertEquals(readSummaryText(await second), "{}");
  assertEquals(agents.map((agent) => agent?.split("/")[0]), ["Deno"]);
  source[Symbol.dispose]();
  await Promise.allSettled(piping);
});

Deno.test("openDirectSource() trusts a CA of kubelets that was renewed, and the cluster's of the moment", async () => {
  await using server = serveTls(() => new Response("{}"));
  const [old, renewed] = [[readTls("other-ca.crt")], [readTls("ca.crt")]];
  const node = { ...NODE, port: Number(new URL(server.origin).port) };
  for (const isOwn of [true, false]) {
    let caCerts = old;
    const cluster = {
      ...apiServer(),
      get caCerts() {
        return caCerts;
      },
    };
    const options = { clock: new VirtualClock(), ...(isOwn ? { readCaCerts: () => Promise.resolve(caCerts) } : {}) };
    using source = openDirectSource(cluster, options);
    const ask = async () => (await source.fetchSummary(node, new AbortController().signal)).kind;
    assertEquals(await ask(), "failed");
    caCerts = renewed;
    assertEquals(await ask(), "summary");
  }
});
