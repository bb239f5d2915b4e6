/** To which addresses triggers go: what only a resolver of the test's own and servers on several addresses can show. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "#assert";
import { createServer } from "node:https";
import { createIsNodeAddress } from "../../lib/daemon/replicas/manager.ts";
import { createAskTrigger } from "../../lib/triggers/http_trigger.ts";
import { createEgress, EgressDenied, type FindDestination, type ResolveHost } from "../../lib/triggers/egress.ts";
import { createTriggerClient } from "../../lib/triggers/http_client.ts";
import type { HttpTriggerSource, TriggerAnswer, TriggerParameters } from "../../lib/triggers/value.ts";
import { type HostRule, parseHostRule } from "../../lib/units/address.ts";
import { readTls, serveTls } from "../support/tls.ts";
import { apiSource, externalTrigger } from "../support/triggers.ts";
import { VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";

const CA = readTls("ca.crt");
const ANSWER = '{"queue":{"length":3}}';

function rules(...texts: readonly string[]): readonly HostRule[] {
  return texts.map((text) => {
    const rule = parseHostRule(text);
    if (rule === null) throw new Error(`"${text}" is a rule`);
    return rule;
  });
}

interface EgressCase {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly own?: readonly string[];
  readonly apiServer?: string | null;
  readonly resolve?: ResolveHost;
  readonly monotonic?: () => number;
}

/** By default each name leads to 10.96.0.7. */
function egress({ allow = [], deny = [], own = [], apiServer = null, ...rest }: EgressCase = {}): FindDestination {
  const { resolve = () => Promise.resolve(["10.96.0.7"]), monotonic = () => 0 } = rest;
  return createEgress({ allow: rules(...allow), deny: rules(...deny), own, apiServer, resolve, monotonic });
}

async function find(address: string, options: EgressCase = {}, nodes: readonly string[] = []): Promise<string> {
  try {
    const found = await egress(options)(new URL(address), (one) => nodes.includes(one));
    return found.addresses.join();
  } catch (error) {
    if (error instanceof EgressDenied) return error.message;
    throw error;
  }
}

Deno.test("triggers ask Services of the cluster and other networks by default (R13)", async () => {
  assertEquals(await find("http://prometheus.monitoring.svc:9090"), "10.96.0.7");
  for (const address of ["10.96.0.9", "192.168.1.1", "8.8.8.8", "100.64.0.1"]) {
    assertEquals(await find(`http://${address}`), address);
  }
  assertEquals(await find("http://[fd00::1]:80"), "fd00::1");
});

Deno.test("triggers do not ask this machine, podfit's own pod, the API server or nodes, by address or by name (R13)", async () => {
  const options = { own: ["10.1.0.5", "fd00::5"], apiServer: "10.96.0.1" };
  const nodes = ["10.0.0.11"];
  const denied = ["127.0.0.1", "::1", "127.9.9.9", "10.1.0.5", "fd00:0::5", "::ffff:10.1.0.5", "10.96.0.1"];
  for (const address of [...denied, "10.0.0.11", "64:ff9b::10.96.0.1", "255.255.255.255"]) {
    const url = address.includes(":") ? `http://[${address}]:8080` : `http://${address}:8080`;
    const refusal = "is podfit itself, the API server or a node, which is not asked";
    assertStringIncludes(await find(url, options, nodes), refusal, address);
    const resolve = () => Promise.resolve([address]);
    assertStringIncludes(await find("https://innocent.example", { ...options, resolve }, nodes), refusal, address);
  }
});

Deno.test("triggers never ask link-local addresses and metadata services, whatever is allowed (R13)", async () => {
  const allow = ["169.254.0.0/16", "innocent.example", "100.100.100.200", "::/0"];
  for (const address of ["169.254.169.254", "100.100.100.200", "64:ff9b::a9fe:a9fe", "fe80::1%eth0", "0.0.0.0"]) {
    const resolve = () => Promise.resolve([address]);
    assertStringIncludes(await find("http://innocent.example", { allow, resolve }), "which is not asked", address);
  }
});

Deno.test("an operator allows and denies hosts and ranges, and denying counts more (R13)", async () => {
  const resolve = () => Promise.resolve(["127.0.0.1"]);
  assertEquals(await find("http://proxy:81", { allow: ["proxy"], resolve }), "127.0.0.1");
  assertEquals(await find("http://proxy:81", { allow: ["127.0.0.0/8"], resolve }), "127.0.0.1");
  assertStringIncludes(await find("http://proxy:82", { allow: ["proxy:81"], resolve }), "--trigger-allow");
  const denied = { allow: ["a.corp"], deny: ["*.corp", "10.0.0.0/8"] };
  assertStringIncludes(await find("http://a.corp", denied), "the operator of podfit denies");
  assertStringIncludes(await find("http://a.example", denied), "the operator of podfit denies");
  assertEquals(await find("http://192.168.0.1", denied), "192.168.0.1");
});

Deno.test("what an operator denies by the name of a Service holds for its endpoints (R13, R98)", async () => {
  const destination = egress({ deny: ["queue.shop.svc"] });
  const ask = (service: string) =>
    destination(new URL("http://10.1.2.3:8080/"), () => false, new URL(service)).then(({ addresses }) =>
      addresses.join()
    );
  assertEquals(await ask("http://other.shop.svc:8080/"), "10.1.2.3");
  const refused = await assertRejects(() => ask("http://queue.shop.svc:8080/"), EgressDenied);
  assertStringIncludes(refused.message, 'denies host "queue.shop.svc"');
});

Deno.test("of several addresses of a name those are asked that may be, three at most (R13)", async () => {
  const resolve = () => Promise.resolve(["127.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]);
  assertEquals(await find("http://many", { resolve }), "10.0.0.1,10.0.0.2,10.0.0.3");
});

Deno.test("the API server's name counts with the addresses that it has (R13)", async () => {
  const resolve: ResolveHost = (host) => Promise.resolve([host === "api.cluster" ? "203.0.113.5" : "203.0.113.6"]);
  assertStringIncludes(await find("http://203.0.113.5", { apiServer: "api.cluster", resolve }), "the API server");
  assertEquals(await find("http://203.0.113.7", { apiServer: "api.cluster", resolve }), "203.0.113.7");
});

Deno.test("a name is looked up once in 10 s, and a look-up that fails is not kept (R13)", async () => {
  let now = 0;
  const seen: string[] = [];
  const resolve: ResolveHost = (host) => {
    seen.push(host);
    return host === "gone" ? Promise.reject(new Error("getaddrinfo ENOTFOUND")) : Promise.resolve(["10.0.0.1"]);
  };
  const look = egress({ resolve, monotonic: () => now });
  const ask = (host: string) => look(new URL(`http://${host}`), () => false);
  await Promise.all([ask("a"), ask("a"), ask("b")]);
  now = 9_999;
  await ask("a");
  assertEquals(seen, ["a", "b"]);
  now = 10_000;
  await ask("a");
  for (let times = 0; times < 2; times++) await assertRejects(() => ask("gone"), Error, "ENOTFOUND");
  assertEquals(seen, ["a", "b", "a", "gone", "gone"]);
  for (let index = 0; index < 3000; index++) await ask(`h${index}`);
  await ask("a");
  assertEquals(seen.at(-1), "a");
});

Deno.test("addresses of nodes are those that the cluster reports now (R13)", async () => {
  const clock = new VirtualClock();
  const nodes = new Map([["n1", { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] }]]);
  const isNodeAddress = createIsNodeAddress(nodes, clock);
  assert(isNodeAddress("10.0.0.1") && isNodeAddress("::ffff:10.0.0.1") && !isNodeAddress("10.0.0.2"));
  nodes.set("n2", {
    addresses: [{ type: "Hostname", address: "n2" }, { type: "InternalIP", address: "10.0.0.2" }],
  });
  await clock.advance(5000);
  assert(isNodeAddress("10.0.0.2"));
});

/** Answers and remembers from which host it was asked. */
function serveOn(hostname: string, port = 0) {
  const seen: string[] = [];
  const server = Deno.serve({ hostname, port, onListen() {} }, (request) => {
    seen.push(request.headers.get("host") ?? "");
    return new Response(ANSWER);
  });
  return { seen, port: server.addr.port, [Symbol.asyncDispose]: () => server.shutdown() };
}

async function ask(
  source: HttpTriggerSource,
  findDestination: FindDestination,
  credentials: TriggerParameters = {},
): Promise<TriggerAnswer> {
  using client = createTriggerClient({ findDestination });
  return await createAskTrigger({ clock: new VirtualClock(), send: client.send, version: "1" })(
    externalTrigger(source),
    { credentials, now: VIRTUAL_START_AT, signal: new AbortController().signal },
  );
}

for (const isTlsUnverified of [false, true]) {
  Deno.test(`a name that changes after its check leads nowhere else: unsafeSsl ${isTlsUnverified} (R13)`, async () => {
    await using good = serveOn("127.0.0.2");
    await using internal = serveOn("127.0.0.1", good.port);
    let now = 0;
    let looks = 0;
    // The second answer of the DNS, and all after it, lead to an address that is denied.
    const resolve = () => Promise.resolve(looks++ === 0 ? ["127.0.0.2"] : ["127.0.0.1"]);
    const look = egress({ allow: ["127.0.0.2"], resolve, monotonic: () => now });
    const source = apiSource({ url: `http://rebind.invalid:${good.port}/x`, isTlsUnverified });
    // No DNS of this machine knows the name: what connects by the name fails.
    for (let times = 0; times < 3; times++) assertEquals((await ask(source, look)).kind, "value");
    now = 60_000;
    const denied = await ask(source, look);
    assertStringIncludes(denied.kind === "failed" ? denied.message : "", "which is not asked");
    assertEquals([good.seen, internal.seen, looks], [Array(3).fill(`rebind.invalid:${good.port}`), [], 2]);
  });

  Deno.test(`a redirect to a name of a denied address is not followed: unsafeSsl ${isTlsUnverified} (R13, R15)`, async () => {
    await using internal = serveOn("127.0.0.1");
    const location = `http://inside.invalid:${internal.port}/`;
    await using server = serveTls(() => new Response(null, { status: 302, headers: { location } }));
    const port = new URL(server.origin).port;
    const resolve = () => Promise.resolve(["127.0.0.1"]);
    const look = egress({ allow: [`localhost:${port}`], resolve });
    const answer = await ask(apiSource({ url: `https://localhost:${port}`, isTlsUnverified }), look, { ca: CA });
    assertStringIncludes(answer.kind === "failed" ? answer.message : "", "which is not asked");
    assertEquals(internal.seen, []);
  });
}

Deno.test("a name that leads elsewhere after its check gets no request over https (R13, R14)", async () => {
  let requests = 0;
  await using server = serveTls(() => (requests++, new Response(ANSWER)));
  const url = `https://localhost:${new URL(server.origin).port}`;
  // The check gets a harmless address, and the system then resolves localhost to the server inside.
  const look = egress({ resolve: () => Promise.resolve(["10.0.0.1"]) });
  const inside = await ask(apiSource({ url }), look, { ca: readTls("other-ca.crt") });
  assertStringIncludes(inside.kind === "failed" ? inside.message : "", "its certificate is signed by an unknown");
  assertEquals(requests, 0);
});

Deno.test("a certificate is verified by the name of the URL (R14)", async () => {
  await using server = serveTls(() => new Response(ANSWER));
  const port = new URL(server.origin).port;
  const look = egress({
    allow: ["127.0.0.1", "localhost", "other.invalid"],
    resolve: () => Promise.resolve(["127.0.0.1"]),
  });
  assertEquals((await ask(apiSource({ url: `https://localhost:${port}` }), look, { ca: CA })).kind, "value");
  assertEquals((await ask(apiSource({ url: `https://127.0.0.1:${port}` }), look, { ca: CA })).kind, "value");
  const other = await ask(apiSource({ url: `https://[::ffff:127.0.0.1]:${port}` }), look, { ca: CA });
  assertStringIncludes(other.kind === "failed" ? other.message : "", "its certificate is not for this host");
});

Deno.test("the next address is asked where one does not answer (R13)", async () => {
  await using server = serveOn("127.0.0.2");
  const look = egress({ allow: ["127.0.0.0/8"], resolve: () => Promise.resolve(["127.0.0.3", "127.0.0.2"]) });
  assertEquals((await ask(apiSource({ url: `http://two.invalid:${server.port}` }), look)).kind, "value");
});

Deno.test("a failed connection has one message, whatever the port does, unless the operator has allowed the host (R16)", async () => {
  await using tls = serveTls(() => new Response(ANSWER));
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const connection of silent) connection.close();
  })();
  const closed = serveOn("127.0.0.1");
  await closed[Symbol.asyncDispose]();
  const ports = [closed.port, (silent.addr as Deno.NetAddr).port, Number(new URL(tls.origin).port)];
  const say = async (allow: readonly string[], port: number, scheme: string) => {
    const resolve = () => Promise.resolve(["127.0.0.1"]);
    const answer = await ask(
      apiSource({ url: `${scheme}://host.invalid:${port}/`, isTlsUnverified: scheme === "https" }),
      egress({ allow, resolve }),
    );
    return answer.kind === "failed" ? answer.message.split(": ").slice(-1)[0] ?? "" : "";
  };
  const hidden = new Set<string>();
  const shown = new Set<string>();
  for (const port of ports.slice(0, 2)) {
    for (const scheme of ["http", "https"]) {
      hidden.add(await say(["127.0.0.0/8"], port, scheme));
      shown.add(await say(["host.invalid"], port, scheme));
    }
  }
  hidden.add(await say(["127.0.0.0/8"], ports[2] ?? 0, "http"));
  assertEquals(hidden.size, 1, [...hidden].join("\n"));
  assertStringIncludes([...hidden][0] ?? "", "no HTTP server answers there");
  assert(shown.size > 1, [...shown].join("\n"));
  silent.close();
  await accepting.catch(() => {});
});

Deno.test("unsafeSsl leaves no connection open, however many servers are asked (R13)", async () => {
  const open = new Set<unknown>();
  let connections = 0;
  const servers = await Promise.all(Array.from({ length: 12 }, async () => {
    const server = createServer(
      { cert: readTls("server.crt"), key: readTls("server.key"), keepAliveTimeout: 600_000 },
      (
        _,
        response,
      ) => response.end(ANSWER),
    );
    server.on("secureConnection", (socket) => {
      connections++;
      open.add(socket);
      socket.on("close", () => open.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return server;
  }));
  using client = createTriggerClient({ findDestination: egress({ allow: ["127.0.0.1"] }) });
  const asking = createAskTrigger({ clock: new VirtualClock(), send: client.send, version: "1" });
  for (let round = 0; round < 2; round++) {
    for (const server of servers) {
      const { port } = server.address() as { port: number };
      const source = apiSource({ url: `https://127.0.0.1:${port}/`, isTlsUnverified: true });
      const signal = new AbortController().signal;
      const answer = await asking(externalTrigger(source), { credentials: {}, now: VIRTUAL_START_AT, signal });
      assertEquals(answer.kind, "value");
    }
  }
  for (let turn = 0; turn < 1000 && open.size > 0; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  assertEquals([connections, open.size], [24, 0]);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});

Deno.test("many authorities of one namespace do not close the connections of another (R16)", async () => {
  const pem = { cert: readTls("server.crt"), key: readTls("server.key") };
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, ...pem },
    (_, { remoteAddr }) => new Response(`{"queue":{"length":${(remoteAddr as Deno.NetAddr).port}}}`),
  );
  using client = createTriggerClient({ findDestination: egress({ allow: ["127.0.0.1"] }) });
  const asking = createAskTrigger({ clock: new VirtualClock(), send: client.send, version: "1" });
  /** The port from which podfit has asked: the same one for the same connection. */
  const askFrom = async (namespace: string, ca: string) => {
    const answer = await asking(externalTrigger(apiSource({ url: `https://127.0.0.1:${server.addr.port}/` })), {
      credentials: { ca },
      now: VIRTUAL_START_AT,
      signal: new AbortController().signal,
      namespace,
    });
    return answer.kind === "value" ? answer.value : -1;
  };
  const kept = await askFrom("victim", CA);
  const own = await askFrom("hostile", `# 0\n${CA}`);
  for (let index = 1; index <= 140; index++) assert(await askFrom("hostile", `# ${index}\n${CA}`) > 0);
  assertEquals(await askFrom("victim", CA), kept);
  assert(await askFrom("hostile", `# 0\n${CA}`) !== own);
});
