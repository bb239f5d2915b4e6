import { assertEquals, assertStringIncludes } from "#assert";
import { describeNetworkError, getErrorMessage, oneLine, toNetworkError } from "../../lib/kube/errors.ts";

/** What Deno 2.9.6 was seen to say in `error.cause.message`, after "error sending request for url (...): ". */
const seen: readonly [words: string, includes: string][] = [
  ["client error (Connect): tcp connect error: Connection refused (os error 111)", "connection refused"],
  ["client error (Connect): dns error: failed to lookup address information: Name or service not known", "(DNS)"],
  ["client error (Connect): dns error: failed to lookup address information: Temporary failure in name", "(DNS)"],
  ["client error (Connect): invalid peer certificate: UnknownIssuer", "check certificate-authority of the cluster"],
  ["client error (Connect): invalid peer certificate: BadSignature", "another authority of the same name"],
  [
    'client error (Connect): invalid peer certificate: certificate not valid for name "127.0.0.2"; certificate is ' +
    'only valid for IpAddress(127.0.0.1) or DnsName("localhost")',
    "not for this host",
  ],
  ["invalid peer certificate: certificate expired: verification time 1795182777 (UNIX), but", "has expired"],
  ["invalid peer certificate: certificate not valid yet: verification time 1795182777 (UNIX), but", "not valid yet"],
  [
    "client error (Connect): invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))",
    "CA certificate as its own",
  ],
  ["received fatal alert: CertificateRequired", "asks for a client certificate"],
  ["client error (Connect): received corrupt message of type InvalidContentType", "one side speaks http"],
  ["client error (SendRequest): invalid HTTP version parsed", "one side speaks http"],
  ["client error (SendRequest): connection closed before message completed", "without an answer"],
  ["peer closed connection without sending TLS close_notify: https://docs.rs/rustls", "without an answer"],
  ["client error (Connect): tls handshake eof", "during the TLS handshake"],
];
for (const [words, includes] of seen) {
  Deno.test(`describeNetworkError() explains "${words.slice(0, 90)}"`, () => {
    assertStringIncludes(describeNetworkError(new TypeError("fetch failed", { cause: new Error(words) })), includes);
  });
}

Deno.test("describeNetworkError() passes on the innermost words that it does not know", () => {
  const error = new TypeError("fetch failed", { cause: new Error("a new kind of failure") });
  assertEquals(describeNetworkError(error), "a new kind of failure");
  assertEquals(describeNetworkError("text"), "text");
});

Deno.test("toNetworkError() names the server and keeps the cause", () => {
  const cause = new DOMException("Timed out after 5 ms", "TimeoutError");
  const error = toNetworkError(cause, "https://10.0.0.1:6443");
  assertEquals([error.message, error.cause], [
    'Cannot reach API server "https://10.0.0.1:6443": no answer in time',
    cause,
  ]);
});

Deno.test("getErrorMessage() says what fetch means, on one line", () => {
  const words = "error sending request for url (https://a/b): client error (Connect): tcp connect error:\nrefused";
  const fetchFailed = new TypeError("fetch failed", { cause: new Error(words) });
  assertEquals(getErrorMessage(fetchFailed), "tcp connect error: refused");
  assertEquals(getErrorMessage(new Error("Cannot reach it", { cause: fetchFailed })), "Cannot reach it");
  assertEquals(getErrorMessage("text"), "text");
});

Deno.test("oneLine() leaves nothing that breaks a line, hides a text or turns it round", () => {
  assertEquals(oneLine(" a\n\u2028b\u0007c "), "a b c");
  assertEquals(oneLine("a\u202eb\u200bc"), "a\ufffdb\ufffdc");
  assertEquals(oneLine(`${"x".repeat(499)}\u{1f600}`), `${"x".repeat(499)}\ufffd`, "a half of a character");
});
