/** One answer in HTTP/1.1, in whatever pieces it arrives, and bytes that are none. */
import { assert, assertEquals, assertThrows } from "#assert";
import * as fc from "fast-check";
import { BadAnswer } from "../../lib/usage/kubelet/answer_parser.ts";
import {
  checkParsed,
  cuts,
  feedAnswer,
  octets,
  spoiltAnswer,
  takes,
  toBytes,
  writtenAnswer,
} from "../support/http_answers.ts";

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** Each one ends where it should: two bytes follow it that belong to nothing. */
const WHOLE: Readonly<Record<string, { readonly answer: string; readonly body: string; readonly isKept: boolean }>> = {
  "a length": { answer: `${OK}Content-Length: 2\r\n\r\n{}`, body: "{}", isKept: true },
  "a length of nothing": { answer: `${OK}Content-Length: 0\r\n\r\n`, body: "", isKept: true },
  "chunks": { answer: `${CHUNKED}2\r\n{"\r\n00000003\r\na":\r\n2\r\n1}\r\n0\r\n\r\n`, body: '{"a":1}', isKept: true },
  "chunks with extensions": { answer: `${CHUNKED}2;a=b\r\n{}\r\n0 ; c\r\n\r\n`, body: "{}", isKept: true },
  "trailers": { answer: `${CHUNKED}2\r\n{}\r\n0\r\nx: 1\r\ny: 2\r\n\r\n`, body: "{}", isKept: true },
  "hints before it": {
    answer:
      `HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 2\r\n\r\n{}`,
    body: "{}",
    isKept: true,
  },
  "an end of the connection": {
    answer: `${OK}Content-Length: 2\r\nConnection: x, Close\r\n\r\n{}`,
    body: "{}",
    isKept: false,
  },
  "HTTP/1.0": { answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", body: "{}", isKept: false },
  "HTTP/1.0 that goes on": {
    answer: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
    body: "{}",
    isKept: true,
  },
  "a status without a body": { answer: "HTTP/1.1 204 No Content\r\n\r\n", body: "", isKept: false },
  "a switch of protocols": { answer: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", body: "", isKept: false },
};

for (const [name, { answer, body, isKept }] of Object.entries(WHOLE)) {
  Deno.test(`AnswerParser reads ${name}, in one piece and byte by byte, and nothing beyond`, () => {
    const everywhere = Array.from({ length: answer.length + 2 }, (_, at) => at);
    for (const cuts of [[], everywhere]) {
      for (const takes of [1, 5000]) {
        const { unread, ...parsed } = feedAnswer(toBytes(`${answer}HT`), { cuts, takes });
        assertEquals([parsed.body, unread], [body, 2]);
        assertEquals(feedAnswer(toBytes(answer), { cuts, takes }).isReusable, isKept);
        if (cuts.length === 0) assertEquals(parsed.isReusable, false, "bytes follow it");
      }
    }
  });
}

Deno.test("AnswerParser reads a body without a length until the connection closes", () => {
  const { body, isReusable } = feedAnswer(toBytes(`${OK}\r\n${"x".repeat(40_000)}`));
  assertEquals([body.length, isReusable], [40_000, false]);
});

Deno.test("AnswerParser gives headers by their names, those of one name together", () => {
  const { head } = feedAnswer(
    toBytes("HTTP/1.1 418 I'm a caf\u00e9\r\nDate:  now \r\nX-a: 1\r\nx-A:2\r\nContent-Length: 0\r\n\r\n"),
  );
  assertEquals([head.status, head.statusText], [418, "I'm a caf\u00e9"]);
  assertEquals([head.headers.get("date"), head.headers.get("x-a"), head.headers.get("location")], [
    "now",
    "1, 2",
    undefined,
  ]);
});

const LONG = "x".repeat(20_000);

/** What is no answer, or one that two readers may read in two ways, or more than a kubelet would say. */
const REFUSED: readonly (readonly [name: string, answer: string, words: string])[] = [
  ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "is not HTTP/1.1"],
  ["HTTP/2", "HTTP/2 200\r\n\r\n", "is not HTTP/1.1"],
  ["an empty line first", `\r\n${OK}\r\n`, "is not HTTP/1.1"],
  ["HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n", "malformed status line"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "malformed status line"],
  ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n", "malformed status line"],
  ["a reason with a control character", "HTTP/1.1 200 O\u0001K\r\n\r\n", "malformed status line"],
  ["a bare LF", `HTTP/1.1 200 OK\nx: 1\r\n\r\n`, "malformed status line"],
  ["a bare CR", `${OK}x: a\rb\r\n\r\n`, "malformed header"],
  ["a header without a colon", `${OK}x\r\n\r\n`, "malformed header"],
  ["a header without a name", `${OK}: 1\r\n\r\n`, "malformed header"],
  ["a space before the colon", `${OK}Content-Length : 2\r\n\r\n{}`, "malformed header"],
  ["a folded header", `${OK}x: 1\r\n 2\r\n\r\n`, "malformed header"],
  ["a NUL in a header", `${OK}x: \0\r\n\r\n`, "malformed header"],
  ["101 headers", `${OK}${"x: 1\r\n".repeat(101)}\r\n`, "more than 100 headers"],
  ["long headers", `${OK}x: ${LONG}\r\n\r\n`, "more than 16384 bytes of headers"],
  ["a flood of hints", `${"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000)}`, "more than 16384 bytes of headers"],
  [
    "a length and chunks",
    `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    "both content-length and transfer-encoding",
  ],
  ["two lengths", `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, "content-length that is not one number"],
  ["the same length twice", `${OK}Content-Length: 2, 2\r\n\r\n{}`, "content-length that is not one number"],
  ["a signed length", `${OK}Content-Length: +2\r\n\r\n{}`, "content-length that is not one number"],
  ["an endless length", `${OK}Content-Length: 9999999999999999\r\n\r\n{}`, "content-length that is not one number"],
  ["an unknown coding", `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`, "transfer-encoding other than chunked"],
  ["chunks twice", `${OK}Transfer-Encoding: chunked, chunked\r\n\r\n`, "transfer-encoding other than chunked"],
  [
    "chunks in HTTP/1.0",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "transfer-encoding other than chunked",
  ],
  ["gzip", `${OK}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`, "is compressed"],
  ["no size of a chunk", `${CHUNKED}\r\n{}\r\n`, "malformed chunk size"],
  ["a size that is no number", `${CHUNKED}ZZZ\r\nhello\r\n`, "malformed chunk size"],
  ["a signed size", `${CHUNKED}-2\r\n{}\r\n`, "malformed chunk size"],
  ["a size of nine digits", `${CHUNKED}000000002\r\n{}\r\n`, "malformed chunk size"],
  ["a chunk that is longer than it says", `${CHUNKED}1\r\n{}\r\n`, "a chunk that does not end where it should"],
  ["a chunk that ends in LF", `${CHUNKED}2\r\n{}\n0\r\n\r\n`, "a chunk that does not end where it should"],
  ["a trailer that ends in LF", `${CHUNKED}0\r\nx: 1\n\r\n`, "a line between chunks that does not end in CRLF"],
  ["a size that ends in a space", `${CHUNKED}2 \r\n{}\r\n`, "malformed chunk size"],
  ["a size that ends in CR", `${CHUNKED}2\r{}\r\n`, "malformed chunk size"],
  ["a size that ends in LF", `${CHUNKED}2\n{}\r\n`, "a line between chunks that does not end in CRLF"],
  ["a chunk with more after it", `${CHUNKED}2\r\n{}3\r\n0\r\n\r\n`, "a chunk that does not end where it should"],
  ["a long extension", `${CHUNKED}2;${LONG}\r\n{}\r\n`, "a line of more than 4096 bytes between chunks"],
  ["a long extension without an end", `${CHUNKED}2;${LONG}`, "a line of more than 4096 bytes between chunks"],
  [
    "many extensions",
    `${CHUNKED}${`1;${"x".repeat(1000)}\r\n{\r\n`.repeat(20)}`,
    "more than 16384 bytes of chunk extensions",
  ],
  [
    "many trailers",
    `${CHUNKED}0\r\n${`x: ${"x".repeat(1000)}\r\n`.repeat(20)}\r\n`,
    "more than 16384 bytes of trailers",
  ],
  ["a trailer that is none", `${CHUNKED}0\r\nx\r\n\r\n`, "malformed header"],
  ["nothing", "", "closed the connection before the answer ended"],
  ["half a head", `${OK}x: 1\r\n`, "closed the connection before the answer ended"],
  ["hints alone", "HTTP/1.1 100 Continue\r\n\r\n", "closed the connection before the answer ended"],
  ["half a body", `${OK}Content-Length: 3\r\n\r\n{}`, "closed the connection before the answer ended"],
  ["half a chunk", `${CHUNKED}3\r\n{}`, "closed the connection before the answer ended"],
  ["chunks without the last one", `${CHUNKED}2\r\n{}\r\n`, "closed the connection before the answer ended"],
];

for (const [name, answer, words] of REFUSED) {
  Deno.test(`AnswerParser refuses ${name}, in one piece and byte by byte`, () => {
    const everywhere = Array.from({ length: answer.length }, (_, at) => at);
    for (const cuts of [[], everywhere]) assertThrows(() => feedAnswer(toBytes(answer), { cuts }), BadAnswer, words);
  });
}

Deno.test("AnswerParser reads what was written, however it is cut into pieces, and nothing beyond", () => {
  fc.assert(
    fc.property(
      writtenAnswer,
      octets,
      cuts,
      takes,
      ({ answer, status, headers, body, endsByClosing }, after, cuts, takes) => {
        const parsed = feedAnswer(toBytes(endsByClosing ? answer : answer + after), { cuts, takes });
        assertEquals([parsed.head.status, parsed.body, parsed.unread], [
          status,
          body,
          endsByClosing ? 0 : after.length,
        ]);
        for (const [one, text] of headers) assertEquals(parsed.head.headers.get(one), text);
        if (endsByClosing || after === "") assertEquals(parsed.isReusable, !endsByClosing);
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("AnswerParser ends in an answer or a BadAnswer for any bytes, and makes no more of them than there are", () => {
  let refused = 0;
  const property = fc.property(spoiltAnswer, ({ text, cuts, takes }) => {
    try {
      checkParsed(feedAnswer(toBytes(text), { cuts, takes }), text);
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error;
      refused++;
    }
  });
  fc.assert(property, { numRuns: 3000 });
  assert(refused > 500, `${refused} were refused`);
});
