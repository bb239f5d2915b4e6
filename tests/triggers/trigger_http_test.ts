/** Triggers against servers on 127.0.0.1: what only the wire can show. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";
import { systemClock } from "../../lib/runtime/clock.ts";
import { createAskTrigger } from "../../lib/triggers/http_trigger.ts";
import { createEgress } from "../../lib/triggers/egress.ts";
import { createTriggerClient } from "../../lib/triggers/http_client.ts";
import type { AnswerWork, HttpTriggerSource, TriggerAnswer, TriggerParameters } from "../../lib/triggers/value.ts";
import { parseHostRule } from "../../lib/units/address.ts";
import { readTls, serveRawTls, serveTls, type TestServer } from "../support/tls.ts";
import { apiSource, externalTrigger, prometheusSource } from "../support/triggers.ts";

const VECTOR = '{"data":{"result":[{"value":[0,"42.5"]}]}}';
const CA = readTls("ca.crt");

Deno.test("a trigger is asked over plain HTTP, with its parameters and headers (R14)", async () => {
  const seen: string[] = [];
  await using server = serve((request) => {
    seen.push(`${request.method} ${new URL(request.url).searchParams.get("query")} ${request.headers.get("x-scope")}`);
    return new Response(VECTOR);
  });
  const source = prometheusSource({
    serverAddress: server.origin,
    query: 'a{b="é + c"}',
    customHeaders: [["X-Scope", "é"]],
  });
  assertEquals(await ask(source), { kind: "value", value: 42.5, isEmpty: false });
  // Headers are bytes, which a server reads as it likes; these are UTF-8 as Go would send it.
  assertEquals(seen, ['GET a{b="é + c"} Ã©']);
});

for (const how of ["plain HTTP", "unsafeSsl", "ca"] as const) {
  Deno.test(`a token is asked for by a POST, over ${how} as the trigger itself (R100)`, async () => {
    const seen: string[] = [];
    const handler = async (request: Request) => {
      const { pathname } = new URL(request.url);
      seen.push(`${request.method} ${pathname} ${request.headers.get("authorization")} ${await request.text()}`);
      return pathname === "/token" ? Response.json({ access_token: "t0ken" }) : new Response(VECTOR);
    };
    await using server = how === "plain HTTP" ? serve(handler) : serveTls(handler);
    const credentials = {
      oauthTokenURI: `${server.origin}/token`,
      clientID: "me",
      ...(how === "ca" && { ca: CA }),
    };
    const source = prometheusSource({
      serverAddress: server.origin,
      authModes: ["oauth"],
      isTlsUnverified: how === "unsafeSsl",
    });
    assertEquals(await ask(source, credentials), { kind: "value", value: 42.5, isEmpty: false });
    assertEquals(seen, [
      "POST /token null grant_type=client_credentials&client_id=me",
      "GET /api/v1/query Bearer t0ken ",
    ]);
  });
}

Deno.test("a trigger's certificate is verified by the ca of its authentication, and by no other (R14, R16)", async () => {
  await using server = serveTls(() => new Response(VECTOR));
  const source = prometheusSource({ serverAddress: server.origin, authModes: ["bearer"] });
  assertEquals((await ask(source, { token: "t", ca: CA })).kind, "value");
  const shown = await message(source, { token: "t" });
  assertStringIncludes(shown, "its certificate is signed by an unknown authority; give parameter ca");
  assertStringIncludes(
    await message(source, { token: "t", ca: readTls("other-ca.crt") }),
    "its certificate is signed by an unknown authority",
  );
  const broken = "-----BEGIN CERTIFICATE-----\nCANARY\n-----END CERTIFICATE-----";
  assertStringIncludes(await message(source, { token: "t", ca: broken }), "parameter ca, cannot be used");
});

Deno.test("a trigger's certificate is verified by an operator's authorities where it gives none (R14)", async () => {
  await using server = serveTls(() => new Response(VECTOR));
  assertEquals((await ask(prometheusSource({ serverAddress: server.origin }), {}, [CA])).kind, "value");
});

Deno.test("a trigger's certificate is not looked at where it says unsafeSsl, and only there (R13, R14)", async () => {
  await using server = serveTls(() => new Response('{"queue":{"length":3}}'));
  const source = apiSource({ url: `${server.origin}/x`, authModes: ["bearer"] });
  assertEquals((await ask({ ...source, isTlsUnverified: true }, { token: "t" })).kind, "value");
  assertEquals((await ask(source, { token: "t" })).kind, "failed");
});

for (const isTlsUnverified of [false, true]) {
  const how = isTlsUnverified ? "by unsafeSsl" : "verified";

  Deno.test(`a trigger reads 128 KiB and no more of an endless answer, ${how} (R15)`, async () => {
    let sentBytes = 0;
    const piece = new Uint8Array(2 ** 16).fill(32);
    await using server = serveTls(() =>
      new Response(new ReadableStream({ pull: (stream) => (sentBytes += piece.length, stream.enqueue(piece)) }))
    );
    assertStringIncludes(
      await message(safeOrNot(server, isTlsUnverified), { ca: CA }),
      "the answer has more than 128 KiB; ask for less, or raise podfit's --max-trigger-answer",
    );
    assert(sentBytes < 8 * 2 ** 20, `${sentBytes} bytes were sent`);
  });

  Deno.test(`a trigger follows redirects of its own host with its credentials, 5 of them and no more, ${how} (R15)`, async () => {
    const seen: string[] = [];
    await using server = serveTls((request) => {
      const { pathname, searchParams } = new URL(request.url);
      seen.push(request.headers.get("authorization") ?? "none");
      const rest = Number(searchParams.get("rest") ?? "5");
      const to = pathname === "/endless/api/v1/query" ? request.url : `/next?rest=${rest - 1}`;
      return rest === 0 ? new Response(VECTOR) : new Response(null, { status: 307, headers: { location: to } });
    });
    const source = { ...safeOrNot(server, isTlsUnverified), authModes: ["bearer"] as const };
    assertEquals((await ask(source, { token: "t", ca: CA })).kind, "value");
    assertEquals(seen, Array(6).fill("Bearer t"));
    seen.length = 0;
    const endless = { ...source, serverAddress: `${server.origin}/endless` };
    assertStringIncludes(await message(endless, { token: "t", ca: CA }), "it redirects more than 5 times");
    assertEquals(seen.length, 6);
  });
}

Deno.test("a trigger that answers more than 128 KiB fails, and one that answers just that does not (R15)", async () => {
  await using server = serve((request) => {
    const bytes = request.url.includes("/more/") ? 2 ** 17 + 1 : 2 ** 17;
    return new Response(VECTOR.padEnd(bytes));
  });
  assertEquals((await ask(prometheusSource({ serverAddress: server.origin }))).kind, "value");
  const shown = await message(prometheusSource({ serverAddress: `${server.origin}/more` }));
  assertStringIncludes(shown, "the answer has more than 128 KiB; ask for less, or raise podfit's --max-trigger-answer");
});

Deno.test("createAskTrigger() takes answers up to the operator's limit, and has each parsed in its turn and counted (R15)", async () => {
  await using server = serve(() => new Response(VECTOR.padEnd(2 ** 20)));
  using client = createTriggerClient({ findDestination: allowLoopback() });
  const asking = createAskTrigger({
    clock: new VirtualClock(),
    send: client.send,
    version: "1.2.3",
    maxAnswerBytes: 2 ** 20,
  });
  const seen: unknown[] = [];
  const work: AnswerWork = {
    run: (job) => {
      seen.push("parses");
      return Promise.resolve(job());
    },
    countBytes: (bytes) => void seen.push(bytes),
  };
  const source = prometheusSource({ serverAddress: server.origin });
  const signal = new AbortController().signal;
  const query = { credentials: {}, now: VIRTUAL_START_AT, signal, work };
  assertEquals((await asking(externalTrigger(source), query)).kind, "value");
  assertEquals(seen, [2 ** 20, "parses"]);
});

Deno.test("a redirect to another host carries no credential, nor does one back (R15)", async () => {
  const seen: string[] = [];
  const note = (where: string, { headers }: Request) => {
    const own = ["authorization", "x-api-key", "x-own"].filter((name) => headers.has(name));
    seen.push(`${where} ${own.join(" ")}`.trim());
  };
  let home = "";
  await using other = serve((request) => {
    note("other", request);
    return Response.redirect(`${home}/end`, 302);
  });
  await using server = serve((request) => {
    note("home", request);
    return request.url.endsWith("/end") ? new Response(VECTOR) : Response.redirect(`${other.origin}/x`, 302);
  });
  home = server.origin;
  const source = prometheusSource({ serverAddress: home, customHeaders: [["X-Own", "v"]], authModes: ["bearer"] });
  assertEquals((await ask(source, { token: "t" })).kind, "value");
  assertEquals(seen, ["home authorization x-own", "other", "home"]);
  seen.length = 0;
  await ask(apiSource({ url: home.replace("//", "//u:p@"), authModes: ["apiKey"], apiKey: "k" }));
  assertEquals(seen, ["home authorization x-api-key", "other", "home"]);
});

Deno.test("a redirect to a link-local, unspecified or multicast address is not followed (R13, R14)", async () => {
  for (const host of ["169.254.169.254", "0xA9FEA9FE", "[::ffff:a9fe:a9fe]", "[fe80::1]", "0", "[::]", "224.0.0.1"]) {
    let requests = 0;
    await using server = serve(() => {
      requests++;
      return new Response(null, { status: 302, headers: { location: `http://${host}/latest` } });
    });
    const shown = await message(apiSource({ url: server.origin }));
    assert(/it redirects \(302\) to (a|the) [a-z-]+ address, which is not asked/.test(shown), shown);
    assertEquals(requests, 1);
  }
});

Deno.test("a redirect that would bring credentials in its URL to another host is not followed (R15)", async () => {
  let requests = 0;
  await using other = serve(() => {
    requests++;
    return new Response(VECTOR);
  });
  const targets = [
    (url: URL) => url.search,
    () => "?t=my-secret-key",
    () => "my%2Dsecret%2Dkey/",
    () => "?x=my-secret-key",
  ];
  for (const toTarget of targets) {
    await using server = serve((request) =>
      Response.redirect(`${other.origin}/${toTarget(new URL(request.url))}`, 302)
    );
    const source = apiSource({ url: server.origin, authModes: ["apiKey"], apiKey: "my-secret-key", method: "query" });
    const shown = await message(source);
    assertStringIncludes(shown, "it redirects to another host with the credentials in the URL");
    assert(!shown.includes("secret-key"), shown);
  }
  await using short = serve((request) => Response.redirect(`${other.origin}/${new URL(request.url).search}`, 302));
  const source = apiSource({ url: short.origin, authModes: ["apiKey"], apiKey: "k", method: "query" });
  assertStringIncludes(await message(source), "with the credentials in the URL");
  assertEquals(requests, 0);
});

Deno.test("a redirect to nowhere, or to no http, is no answer (R15)", async () => {
  for (const location of [null, "file:///etc/passwd", "http://["]) {
    await using server = serve(() =>
      new Response(null, { status: 302, headers: location === null ? {} : { location } })
    );
    assertStringIncludes(
      await message(apiSource({ url: server.origin })),
      "it redirects (302) to something that is not an http or https URL",
    );
  }
});

Deno.test("a trigger says which way there was no answer (R13)", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const closed = `127.0.0.1:${listener.addr.port}`;
  listener.close();
  assertStringIncludes(await message(apiSource({ url: `http://${closed}` })), "connection refused; is it running");
  assertStringIncludes(
    await message(apiSource({ url: `https://${closed}`, isTlsUnverified: true })),
    "connection refused",
  );
  await using tls = serveTls(() => new Response());
  const plain = tls.origin.replace("https:", "http:");
  assertEquals((await ask(apiSource({ url: plain }))).kind, "failed");
  await using server = serve(() => new Response());
  const secure = server.origin.replace("http:", "https:");
  assertStringIncludes(await message(apiSource({ url: secure })), "one side speaks http and the other https");
  assertEquals((await ask(apiSource({ url: secure, isTlsUnverified: true }))).kind, "failed");
});

Deno.test("a trigger that is not verified outlives answers that are none (R13)", async () => {
  for (
    const answer of [
      "",
      "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
      "\0\0",
      "HTTP/1.1 999 A\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
    ]
  ) {
    await using server = serveRawTls(answer);
    const source = apiSource({ url: server.origin, isTlsUnverified: true, timeoutMs: 300 });
    assertEquals((await ask(source, {}, [], systemClock)).kind, "failed", JSON.stringify(answer));
  }
});

function safeOrNot(server: TestServer, isTlsUnverified: boolean) {
  return prometheusSource({ serverAddress: server.origin, isTlsUnverified });
}

function serve(handler: (request: Request) => Response | Promise<Response>): TestServer {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, handler);
  return { origin: `http://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

function allowLoopback() {
  const allow = ["127.0.0.0/8", "localhost"].map(parseHostRule).filter((rule) => rule !== null);
  return createEgress({ allow, deny: [], own: [], apiServer: null, monotonic: () => 0 });
}

/** Its clock stands still, unless a test needs one that runs. */
async function ask(
  source: HttpTriggerSource,
  credentials: TriggerParameters = {},
  caCerts: readonly string[] = [],
  clock: Pick<VirtualClock, "timeout" | "monotonic"> = new VirtualClock(),
): Promise<TriggerAnswer> {
  using client = createTriggerClient({ caCerts, findDestination: allowLoopback() });
  const asking = createAskTrigger({ clock, send: client.send, version: "1.2.3" });
  return await asking(externalTrigger(source), {
    credentials,
    now: VIRTUAL_START_AT,
    signal: new AbortController().signal,
  });
}

async function message(source: HttpTriggerSource, credentials: TriggerParameters = {}): Promise<string> {
  const answer = await ask(source, credentials);
  assert(answer.kind === "failed", JSON.stringify(answer));
  return answer.message;
}
