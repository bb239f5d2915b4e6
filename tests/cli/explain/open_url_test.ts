/** A podfit's records by its address, over real HTTP: what comes, and what people read where nothing does. */
import { assertEquals, assertMatch, assertRejects } from "#assert";
import { DebugError, fetchLatest } from "../../../lib/cli/connection/records.ts";
import { openUrl } from "../../../lib/cli/connection/podfits.ts";
import { answerDebug } from "../../support/debug_server.ts";
import { ExplainRun } from "../../support/explain_run.ts";
import { explainFromSources } from "../../../lib/cli/explain/explain.ts";

const { signal } = new AbortController();

function serve(answer: (request: Request) => Response) {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
}

function read(url: string, token: string | null = null) {
  return fetchLatest([openUrl({ url, token })], { namespace: "shop" }, { signal });
}

Deno.test("explain by --url says the same as by the records themselves", async () => {
  await using run = await ExplainRun.start();
  await run.advance(60);
  await using server = serve(answerDebug(run.lines.all()));
  const source = openUrl({ url: `http://127.0.0.1:${server.addr.port}`, token: null });
  const options = { namespace: "default", signal, now: () => run.run.clock.now() };
  assertEquals(await explainFromSources([source], { kind: "pod", name: "web" }, options), run.explain());
  const unknown = explainFromSources([source], { kind: "pod", name: "other" }, options);
  assertMatch((await assertRejects(() => unknown, DebugError)).message, /^Nothing is known of pod "default\/other"/);
});

Deno.test("--url sends the token of --token-file, and a listener that wants one says so", async () => {
  await using server = serve((request) =>
    request.headers.get("authorization") === "Bearer secret"
      ? answerDebug([])(request)
      : new Response("no", { status: 401 })
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  assertEquals(await read(url, "secret"), { lines: [], warnings: [] });
  assertEquals(
    (await assertRejects(() => read(url), DebugError)).message,
    `Cannot read records of "${url}": it requires the token of a reader (--metrics-auth), and answered 401; ` +
      "give --token-file",
  );
});

Deno.test("--url of a listener that answers the API server alone prints what the listener says", async () => {
  const says = "Forbidden: records are read through the API server; use podfit explain, top or record without --url";
  await using server = serve(() => new Response(`${says}\n`, { status: 403 }));
  const url = `http://127.0.0.1:${server.addr.port}`;
  assertEquals(
    (await assertRejects(() => read(url), DebugError)).message,
    `Cannot read records of "${url}": ${says}`,
  );
});

Deno.test("explain says nothing of a deleted pod whose name another one has", async () => {
  await using run = await ExplainRun.start();
  await run.advance(60);
  const lines = run.lines.all();
  const earlier = lines.map((line) => ({ ...line, uid: "deleted" }));
  await using server = serve(answerDebug([...earlier, ...lines]));
  const source = openUrl({ url: `http://127.0.0.1:${server.addr.port}`, token: null });
  const options = { namespace: "default", signal, now: () => run.run.clock.now() };
  assertEquals(await explainFromSources([source], { kind: "pod", name: "web" }, options), run.explain());
});

Deno.test("--url of podfit's other listener and of nothing say what to do", async () => {
  await using server = serve(() => new Response("404 Not Found", { status: 404 }));
  const url = `http://127.0.0.1:${server.addr.port}`;
  assertMatch(
    (await assertRejects(() => read(url), DebugError)).message,
    /name the address of --debug-listen, not that of --listen$/,
  );
  const gone = serve(() => new Response());
  await gone.shutdown();
  const nobody = `http://127.0.0.1:${gone.addr.port}`;
  assertMatch(
    (await assertRejects(() => read(nobody), DebugError)).message,
    /^Cannot reach podfit at .*; is it --debug-listen's address\?$/,
  );
});

Deno.test("records of another version, and cut off ones, are refused by name", async () => {
  const bodies = [
    [
      '{"kind":"pod","namespace":"shop","name":"a","uid":"u","count":1,"since":0,"record":{"version":1}}\n',
      /of version 1: this podfit reads version 2/,
    ],
    [
      '{"kind":"scaledObject","namespace":"shop","name":"a","uid":"u","count":1,"since":0,"record":{"version":9}}\n',
      /of version 9: this podfit reads version 1/,
    ],
    ['{"kind":"pod","rec\n', /it may be cut off/],
  ] as const;
  for (const [body, message] of bodies) {
    await using server = serve(() => new Response(body));
    const failure = await assertRejects(() => read(`http://127.0.0.1:${server.addr.port}`), DebugError);
    assertMatch(failure.message, message);
  }
});
