/** What does a head have to look like to be a request? */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { parseRequestHead } from "../../../lib/daemon/server/serve.ts";

Deno.test("parseRequestHead() reads method, path, query and headers, whatever name the server was reached by", () => {
  const heads = [
    "GET /metrics?name=a HTTP/1.1\r\nHost: 10.0.0.1:8080\r\naccept-encoding: gzip",
    "GET http://podfit.example:8080/metrics?name=a HTTP/1.1\r\nHost: x\r\nAccept-Encoding:gzip",
    "GET /metrics?name=a HTTP/1.0\r\nAccept-Encoding: gzip",
  ];
  for (const text of heads) {
    const head = parseRequestHead(text);
    assert(head.kind === "request", text);
    const { pathname, search } = new URL(head.request.url);
    assertEquals([head.request.method, pathname, search], ["GET", "/metrics", "?name=a"], text);
    assertEquals([head.request.headers.get("accept-encoding"), head.isHttp10], ["gzip", text.includes("1.0")], text);
  }
});

Deno.test("parseRequestHead() refuses what is no request", () => {
  const cases: readonly (readonly [text: string, status: number])[] = [
    ["", 400],
    ["GET", 400],
    ["GET /", 400],
    ["GET / x HTTP/1.1", 400],
    ["get / HTTP/1.1", 400],
    ["GET / HTTP/1.1\r\nno colon", 400],
    ["GET / HTTP/1.1\r\n: no name", 400],
    ["GET / HTTP/1.1\r\na: 1\r\n folded", 400],
    ["GET / HTTP/1.1\r\na: \u0000", 400],
    ["GET http://[ HTTP/1.1", 400],
    ["CONNECT podfit:80 HTTP/1.1", 400],
    ["TRACE / HTTP/1.1", 400],
    ["PRI * HTTP/2.0", 505],
    ["\u0016\u0003\u0001\u0002", 400],
  ];
  for (const [text, status] of cases) assertEquals(parseRequestHead(text), { kind: "refused", status }, text);
});

Deno.test("parseRequestHead() gives a request or a refusal for any text", () => {
  const line = fc.oneof(fc.string(), fc.constantFrom("GET / HTTP/1.1", "a: b", "Host: x", "\r\n"));
  fc.assert(fc.property(fc.array(line), (lines) => {
    const head = parseRequestHead(lines.join("\r\n"));
    assert(head.kind === "request" || head.status >= 400);
  }));
});
