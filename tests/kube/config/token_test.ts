/** A token that no header can hold is refused where it is read, and nothing that podfit says shows one. */
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "#assert";
import fc from "fast-check";
import { createGivenCredential } from "../../../lib/kube/config/credential_sources.ts";
import { parseToken } from "../../../lib/kube/config/credential.ts";
import { HttpTransport } from "../../../lib/kube/http_transport.ts";
import { getErrorMessage, toApiError, toNetworkError } from "../../../lib/kube/errors.ts";
import { keepSecret } from "../../../lib/runtime/secrets.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { openDirectSource } from "../../../lib/usage/kubelet/fetch_summary.ts";

const SECRET = "s3cret-of-podfit";
const BAD = ["\nSECRET-b", "\u0001x", "é", "日本", "\u0000x", " and more", "\r\nX-Other: 1", "\u007f", "\u2028x"]
  .map((end) => SECRET + end);

const fail = (why: string) => new Error(`Cannot use it: ${why}`);

Deno.test("parseToken() gives the token without the line end of its file", () => {
  for (const text of [SECRET, `${SECRET}\n`, `${SECRET}\r\n`, ` ${SECRET} \n\n`]) {
    assertEquals(parseToken(text, fail), SECRET);
  }
});

Deno.test("parseToken() refuses what no header can hold, in words without a part of it", () => {
  for (const token of BAD) {
    const { message } = assertThrows(
      () => parseToken(token, fail),
      Error,
      "Cannot use it: it has a space, a line break",
    );
    assertEquals([message.includes("s3cret"), message.includes("SECRET-b")], [false, false]);
  }
  assertThrows(() => parseToken(" \n", fail), Error, "it is empty");
});

Deno.test("parseToken() gives a token that a header can hold, or throws, for any text", () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.base64String());
  fc.assert(fc.property(text, (text) => {
    let token: string;
    try {
      token = parseToken(text, fail);
    } catch (error) {
      assertMatch(String(error), /^Error: Cannot use it: it (is empty|has a space)/);
      return;
    }
    assertEquals(new Headers({ authorization: `Bearer ${token}` }).get("authorization"), `Bearer ${token}`);
  }));
});

Deno.test("createGivenCredential() keeps the old token when a file is renewed with one that is no good", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, `${SECRET}\n`);
    const time = { now: 0 };
    const authorization = { kind: "tokenFile", path } as const;
    const read = createGivenCredential({ kind: "given", authorization, certificate: null }, { now: () => time.now });
    const good = await read(null);
    assertEquals(good.authorization, { kind: "bearer", token: SECRET });
    await Deno.writeTextFile(path, "another-s3cret\nand-a-second-line");
    time.now = 60_000;
    assertEquals(await read(null), good);
    const error = await assertRejects(() => read(good), Error, `Cannot use token file "${path}": it has a space`);
    assert(!error.message.includes("s3cret"), error.message);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("createGivenCredential() refuses a kubeconfig's own token that no header can hold", async () => {
  const authorization = { kind: "token", token: `${SECRET}\nx` } as const;
  const read = createGivenCredential({ kind: "given", authorization, certificate: null }, { now: () => 0 });
  const error = await assertRejects(() => read(null), Error, "Cannot use the token of the kubeconfig: it has a space");
  assert(!error.message.includes("s3cret"), error.message);
});

Deno.test("neither a request nor a poll shows a token that no header can hold", async () => {
  const origin = "https://127.0.0.1:1";
  // None that was read before, and is replaced in messages for that.
  for (const token of BAD.map((bad) => `fresh-${bad.replace(SECRET, "s3cret")}`)) {
    const credential = { authorization: { kind: "bearer", token }, clientCertificate: null } as const;
    using http = new HttpTransport({
      source: "a test",
      origin,
      namespace: "default",
      caCerts: [],
      proxyUrl: null,
      getCredential: () => Promise.resolve(credential),
    }, { userAgent: "podfit/test" });
    const error = await assertRejects(() => http.send(new Request(origin)));
    assertEquals(show(error).includes("s3cret"), false, show(error));
    const server = {
      origin,
      caCerts: [],
      transport: () => Promise.reject(new Error("not this way")),
      getCredential: () => Promise.resolve(credential),
      namespace: "default",
      source: "a test",
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    for (const insecureTls of [false, true]) {
      using source = openDirectSource(server, { clock: systemClock, insecureTls });
      const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
      const node = { name: "n", addresses, port: 1, maxPods: null };
      const answer = await source.fetchSummary(node, new AbortController().signal);
      assertEquals(answer.kind, "failed");
      assertEquals(JSON.stringify(answer).includes("s3cret"), false, JSON.stringify(answer));
    }
  }
});

Deno.test("a secret that a server repeats is in no error of podfit", () => {
  keepSecret("echoed-t0ken");
  const echo = "no way with Bearer echoed-t0ken";
  const status = { kind: "Status", message: echo, details: { name: echo, causes: [{ message: echo, field: echo }] } };
  const errors = [
    toApiError(new Response(null, { status: 403 }), status),
    toApiError(new Response(null, { status: 500 }), echo),
    toApiError(new Response(null, { status: 500 }), { other: echo }),
    toNetworkError(new TypeError(echo), "https://a.example"),
  ];
  for (const error of errors) {
    const shown = JSON.stringify([error.message, "details" in error ? error.details : null]);
    assertEquals([shown.includes("echoed-t0ken"), shown.includes("Bearer ***")], [false, true], shown);
  }
  assertEquals(getErrorMessage(new Error(echo)), "no way with Bearer ***");
});

/** With all its causes. */
function show(error: unknown): string {
  return error instanceof Error ? `${error.stack}; ${show(error.cause)}` : String(error);
}
