import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { PrometheusSource } from "../../lib/model/scaled_object.ts";
import type { StatusAnswer } from "../../lib/kube/https.ts";
import { settleEventLoop, VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";
import { createAskTrigger } from "../../lib/triggers/http_trigger.ts";
import type { SendOptions, SendToTrigger } from "../../lib/triggers/http_client.ts";
import type { HttpTriggerSource, TriggerAnswer, TriggerParameters } from "../../lib/triggers/value.ts";
import { apiSource, externalTrigger, prometheusSource } from "../support/triggers.ts";

const VECTOR = '{"data":{"result":[{"value":[0,"42.5"]}]}}';

Deno.test("createAskTrigger() asks prometheus and metrics-api for their values (R13, R14)", async () => {
  const sent: string[] = [];
  const send = (url: URL, { headers }: SendOptions) => {
    sent.push(`${url.pathname} ${headers.get("user-agent")}`);
    return Promise.resolve(new Response(url.host === "api:8080" ? '{"queue":{"length":3}}' : VECTOR));
  };
  assertEquals(await ask(prometheusSource(), { send }), { kind: "value", value: 42.5, isEmpty: false });
  assertEquals(await ask(apiSource(), { send }), { kind: "value", value: 3, isEmpty: false });
  assertEquals(sent, ["/api/v1/query podfit/1.2.3", "/stats podfit/1.2.3"]);
});

Deno.test("createAskTrigger() tells an empty answer from one of 0, also where it is an error (R14, R93)", async () => {
  const send = answering('{"data":{"result":[]}}');
  assertEquals(await ask(prometheusSource(), { send }), { kind: "value", value: 0, isEmpty: true });
  const failed = await ask(prometheusSource({ ignoresNullValues: false }), { send });
  assertEquals([failed.kind, failed.isEmpty], ["failed", true]);
});

Deno.test("createAskTrigger() takes any 2xx of prometheus, and of metrics-api only 200 (R13, R14)", async () => {
  for (const status of [200, 201, 203, 299]) {
    assertEquals((await ask(prometheusSource(), { send: answering(VECTOR, status) })).kind, "value", `${status}`);
  }
  for (const status of [199, 300, 304, 400, 401, 404, 500, 503]) {
    assertStringIncludes(
      await message(prometheusSource(), { send: answering(VECTOR, status) }),
      `: it answered ${status}`,
    );
  }
  for (const status of [201, 203, 299, 404]) {
    assertStringIncludes(
      await message(apiSource(), { send: answering('{"queue":{"length":3}}', status) }),
      `: it answered ${status}`,
    );
  }
});

Deno.test("createAskTrigger() says what a status asks for, and reads nothing else of such an answer (R13)", async () => {
  const table: readonly (readonly [number, string])[] = [
    [401, "it answered 401; check authModes and the TriggerAuthentication"],
    [403, "it answered 403; check authModes and the TriggerAuthentication"],
    [404, "it answered 404; check the path of its address"],
    [422, "it answered 422; check what is asked for"],
    [503, "it answered 503; it is overloaded, ask less often"],
    [500, "it answered 500; look at that server's log"],
  ];
  for (const [status, cause] of table) {
    const shown = await message(prometheusSource(), { send: answering("CANARY", status) });
    assertEquals(shown, `Cannot read trigger "s0-prometheus" from "http://prometheus:9090/": ${cause}`);
  }
});

Deno.test("createAskTrigger() gives up after the trigger's timeout, while the server is silent or its body is (R15)", async () => {
  for (const send of [silent, stalled]) {
    const clock = new VirtualClock();
    let shown: string | null = null;
    const asking = message(prometheusSource({ timeoutMs: 3000 }), { send, clock }).then((given) => shown = given);
    await clock.advance(2999);
    assertEquals(shown, null);
    await clock.advance(1);
    assertStringIncludes(await asking, "no answer within 3 s; make it faster, or raise timeout");
    assertEquals(clock.pending, 0);
  }
});

Deno.test("createAskTrigger() has one timeout for all redirects of a question (R15)", async () => {
  const clock = new VirtualClock();
  const send = async (_: URL, { signal }: SendOptions) => {
    await clock.sleep(1000, signal);
    return new Response(null, { status: 302, headers: { location: "/again" } });
  };
  const asking = message(prometheusSource({ timeoutMs: 2500 }), { send, clock });
  await clock.advance(2500);
  assertStringIncludes(await asking, "no answer within 2.5 s");
});

Deno.test("createAskTrigger() resolves when it is stopped (R15)", async () => {
  const controller = new AbortController();
  const asking = message(prometheusSource(), { send: silent, signal: controller.signal });
  await settleEventLoop();
  controller.abort(new Error("shutting down"));
  assertStringIncludes(await asking, "stopped before it answered");
});

Deno.test("createAskTrigger() leaves out of a message the user, the query and what fetch says (R16)", async () => {
  const url = "http://CANARY:CANARY@api/stats?token=CANARY#CANARY";
  const send = () => Promise.reject(new TypeError("error sending request for url (http://api/?token=CANARY): CANARY"));
  assertEquals(
    await message(apiSource({ url }), { send }),
    'Cannot read trigger "s0-metrics-api" from "http://api/stats": the connection failed',
  );
  assertEquals(
    await message(apiSource({ url: "CANARY" }), { send }),
    'Cannot read trigger "s0-metrics-api" from its address: its address is not an http or https URL',
  );
});

/** Every way an answer can go wrong, with servers that repeat whatever they were told. */
Deno.test("createAskTrigger() shows no secret on any way (R16)", async () => {
  const credentials = {
    bearerToken: "CANARY-bearer",
    username: "CANARY-user",
    password: "CANARY-password",
    customAuthHeader: "X-CANARY-header",
    customAuthValue: "CANARY-value",
    apiKey: "CANARY-key",
    ca: "-----BEGIN CERTIFICATE-----CANARY",
  };
  const echo = (url: URL, headers: Headers) => `${url.href} ${JSON.stringify([...headers])}`;
  const ways: readonly SendToTrigger[] = [
    (url, { headers }) => Promise.resolve(new Response(echo(url, headers))),
    (url, { headers }) => Promise.resolve(new Response(JSON.stringify({ queue: { length: echo(url, headers) } }))),
    (url, { headers }) =>
      Promise.resolve(new Response(JSON.stringify({ status: "error", error: echo(url, headers) }), { status: 400 })),
    (url, { headers }) =>
      Promise.resolve(new Response(null, { status: 500, statusText: "CANARY", headers: { x: echo(url, headers) } })),
    (url) => Promise.resolve(redirectTo(`http://other/${url.search}`)),
    (url) => Promise.resolve(redirectTo(`CANARY:${url.search}`)),
    (url, { headers }) => Promise.reject(new Error(echo(url, headers), { cause: new Error(echo(url, headers)) })),
    (url, { headers }) => Promise.reject(new Error(`UnknownIssuer ${echo(url, headers)}`)),
    () => Promise.reject("CANARY"),
  ];
  const modes = [["bearer"], ["basic"], ["custom"], ["apiKey"], ["apiKey", "basic"]] as const;
  for (const authModes of modes) {
    for (const method of ["header", "query"] as const) {
      for (const send of ways) {
        const sources = [prometheusSource({ authModes, ignoresNullValues: false }), apiSource({ authModes, method })];
        for (const source of sources) {
          const shown = await message(source, { send, credentials });
          assert(!/CANARY|Q0FOQVJZ/.test(shown), shown);
        }
      }
    }
  }
});

interface Asking {
  readonly send: SendToTrigger;
  readonly clock?: Pick<VirtualClock, "timeout" | "monotonic">;
  readonly credentials?: TriggerParameters;
  readonly signal?: AbortSignal;
}

function ask(source: HttpTriggerSource, options: Asking): Promise<TriggerAnswer> {
  const { send, clock = new VirtualClock(), credentials = {}, signal = new AbortController().signal } = options;
  const asking = createAskTrigger({ clock, send, version: "1.2.3" });
  return asking(externalTrigger(source), { credentials, now: VIRTUAL_START_AT, signal });
}

async function message(source: HttpTriggerSource, options: Asking): Promise<string> {
  const answer = await ask(source, options);
  assert(answer.kind === "failed", JSON.stringify(answer));
  return answer.message;
}

/** No Response, which can't be made with such statuses. */
function answering(text: string, status = 200): SendToTrigger {
  return () => Promise.resolve({ status, statusText: "", headers: new Headers(), body: new Response(text).body });
}

function redirectTo(location: string): StatusAnswer {
  return new Response(null, { status: 302, headers: { location } });
}

function silent(_: URL, { signal }: SendOptions): Promise<StatusAnswer> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

function stalled(): Promise<StatusAnswer> {
  return Promise.resolve(
    new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array([123])) })),
  );
}

const OAUTH = { oauthTokenURI: "https://idp/token", clientID: "CANARY-id", clientSecret: "CANARY-secret" };

/** A trigger with OAuth whose queries share one clock and one function. `token` answers at the token endpoint. */
function oauthRun(token: (options: SendOptions) => Response | Promise<Response>, query = () => new Response(VECTOR)) {
  const clock = new VirtualClock();
  const sent: string[] = [];
  const send = async (url: URL, options: SendOptions) => {
    const { headers, body } = options;
    sent.push(`${url.host} ${headers.get("authorization")} ${body === undefined ? "GET" : "POST"}`);
    return url.host === "idp" ? await token(options) : query();
  };
  const asking = createAskTrigger({ clock, send, version: "1.2.3" });
  const run = async (credentials: TriggerParameters, own: Partial<PrometheusSource> = {}) => {
    const source = prometheusSource({ authModes: ["oauth"], ...own });
    const signal = new AbortController().signal;
    const answer = await asking(externalTrigger(source), { credentials, now: VIRTUAL_START_AT, signal });
    return answer.kind === "value" ? answer.value : answer.message;
  };
  return { clock, sent, run };
}

const BASIC = `idp Basic ${btoa("CANARY-id:CANARY-secret")} POST`;

Deno.test("createAskTrigger() gets a token first, and keeps it with the credentials until 10 s before its end (R100)", async () => {
  let tokens = 0;
  const { clock, sent, run } = oauthRun(() => Response.json({ access_token: `t${++tokens}`, expires_in: 60 }));
  const credentials = { ...OAUTH };
  const steps = async (
    seconds: number,
    given: TriggerParameters = credentials,
    own: Partial<PrometheusSource> = {},
  ) => {
    await clock.advance(seconds * 1000);
    sent.splice(0);
    assertEquals(await run(given, own), 42.5);
    return sent.splice(0);
  };
  assertEquals(await steps(0), [BASIC, "prometheus:9090 Bearer t1 GET"]);
  assertEquals(await steps(49.9), ["prometheus:9090 Bearer t1 GET"]);
  assertEquals(await steps(0.1), [BASIC, "prometheus:9090 Bearer t2 GET"]);
  assertEquals(await steps(0, { ...OAUTH }), [BASIC, "prometheus:9090 Bearer t3 GET"], "fetched again");
  assertEquals(await steps(0, credentials, { isTlsUnverified: true }), [BASIC, "prometheus:9090 Bearer t4 GET"]);
  const endless = oauthRun(() => Response.json({ access_token: "t" }));
  await endless.run(credentials);
  await endless.clock.advance(100 * 86_400_000);
  await endless.run(credentials);
  assertEquals(endless.sent.length, 3);
});

Deno.test("createAskTrigger() tries the client's secret in the form where the header is refused (R100)", async () => {
  const { sent, run } = oauthRun(({ headers, body = "" }) =>
    headers.has("authorization")
      ? new Response("", { status: 401 })
      : Response.json({ access_token: new URLSearchParams(body).get("client_secret") })
  );
  assertEquals(await run(OAUTH), 42.5);
  assertEquals(sent, [BASIC, "idp null POST", "prometheus:9090 Bearer CANARY-secret GET"]);
});

Deno.test("createAskTrigger() says why there is no token, and asks the server nothing then (R16, R100)", async () => {
  const cases: readonly (readonly [string, Parameters<typeof oauthRun>[0], questions: number])[] = [
    ["oauthTokenURI answered 401; check clientID, clientSecret and scopes", () => new Response("", { status: 401 }), 2],
    ["the answer of oauthTokenURI has no access_token", () => Response.json({ error: "CANARY" }), 1],
    ["oauthTokenURI: it redirects, and credentials are not sent on", () => Response.redirect("https://idp/CANARY"), 1],
    ["oauthTokenURI: the connection failed", () => Promise.reject(new Error("CANARY")), 1],
    [
      "oauthTokenURI: the answer has more than 128 KiB; ask for less, or raise podfit's --max-trigger-answer",
      () => new Response("CANARY".repeat(30_000)),
      1,
    ],
  ];
  for (const [cause, token, questions] of cases) {
    const { sent, run } = oauthRun(token);
    const shown = await run(OAUTH);
    const address = 'Cannot read trigger "s0-prometheus" from "http://prometheus:9090/"';
    assertEquals([shown, sent.length], [`${address}: there is no token for it: ${cause}`, questions]);
  }
  const broken = oauthRun(() => Response.json({ access_token: "CANARY\n" }));
  assertStringIncludes(String(await broken.run(OAUTH)), "a header cannot be sent");
});

Deno.test("createAskTrigger() has one timeout for the token and the question (R15, R100)", async () => {
  const { clock, run } = oauthRun(({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)));
  const asking = run(OAUTH, { timeoutMs: 2000 });
  await clock.advance(2000);
  assertStringIncludes(String(await asking), "no answer within 2 s");
});

Deno.test("createAskTrigger() sends no token to another host by a redirect (R15, R100)", async () => {
  const seen: (string | null)[] = [];
  const send = (url: URL, { headers }: SendOptions) => {
    if (url.host === "idp") return Promise.resolve(Response.json({ access_token: "t0ken" }));
    seen.push(headers.get("authorization"));
    return Promise.resolve(url.host === "other" ? new Response(VECTOR) : redirectTo("http://other/"));
  };
  const answer = await ask(prometheusSource({ authModes: ["oauth"] }), { send, credentials: OAUTH });
  assertEquals([answer.kind, seen], ["value", ["Bearer t0ken", null]]);
});
