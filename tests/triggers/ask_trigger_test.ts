import { assert, assertEquals, assertStringIncludes } from "#assert";
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
  readonly clock?: Pick<VirtualClock, "timeout">;
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
