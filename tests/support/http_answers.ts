/** Answers in HTTP/1.1 as text, one byte for each character: what is written, what is spoilt, and what a parser reads. */
import { assert } from "#assert";
import * as fc from "fast-check";
import { type AnswerHead, AnswerParser } from "../../lib/usage/kubelet/answer_parser.ts";

export interface ParsedAnswer {
  readonly head: AnswerHead;
  readonly body: string;
  readonly isReusable: boolean;
  /** What was left of the bytes. */
  readonly unread: number;
}

export interface FeedOptions {
  /** Where the bytes are cut into pieces. */
  readonly cuts?: readonly number[];
  /** How many bytes of the body are taken at a time. */
  readonly takes?: number;
}

/** Gives the bytes to a parser piece by piece, and then closes the connection. */
export function feedAnswer(bytes: Uint8Array, { cuts = [], takes = 5000 }: FeedOptions = {}): ParsedAnswer {
  const parser = new AnswerParser();
  const target = new Uint8Array(takes);
  let head: AnswerHead | null = null;
  let body = "";
  let steps = 0;
  const read = () => {
    head ??= parser.parseHead();
    if (head === null) return;
    for (let taken = takes; taken === takes;) {
      if (++steps > 2 * bytes.length + 100) throw new Error("it does not come to an end");
      taken = parser.takeBody(target, 0);
      body += latin1(target.subarray(0, taken));
    }
  };
  let at = 0;
  for (const end of [...cuts.filter((cut) => cut < bytes.length), bytes.length].sort((a, b) => a - b)) {
    while (at < end && !parser.isDone) {
      const free = parser.free();
      const count = Math.min(free.length, end - at);
      assert(count > 0, "there is no memory to receive into");
      free.set(bytes.subarray(at, at + count));
      parser.add(count);
      at += count;
      read();
    }
  }
  if (!parser.isDone) parser.end();
  if (head === null) throw new Error("it ended without a head");
  return { head, body, isReusable: parser.isReusable, unread: parser.unreadBytes + bytes.length - at };
}

export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

export function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

/** An answer with what it says. */
export interface WrittenAnswer {
  readonly answer: string;
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  readonly endsByClosing: boolean;
}

const name = fc.stringMatching(/^x-[a-z0-9!#$%&'*+.^_`|~-]{0,12}$/);
const value = fc.stringMatching(/^([!-~\xa1-\xff]([\t -~\xa1-\xff]{0,30}[!-~\xa1-\xff])?)?$/);
const field = fc.tuple(name, value);
export const octets = fc.uint8Array({ maxLength: 300 }).map(latin1);

export const writtenAnswer: fc.Arbitrary<WrittenAnswer> = fc.record({
  status: fc.integer({ min: 200, max: 999 }).filter((status) => status !== 204 && status !== 304),
  headers: fc.uniqueArray(field, { maxLength: 8, selector: ([one]) => one }),
  interims: fc.array(fc.constantFrom("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n"), {
    maxLength: 3,
  }),
  chunks: fc.array(fc.record({ data: octets, extension: fc.constantFrom("", ";a", ' ;a="b"') }), { maxLength: 8 }),
  trailers: fc.array(field, { maxLength: 3 }),
  framing: fc.constantFrom("length", "chunks", "close"),
}).map(({ status, headers, interims, chunks, trailers, framing }) => {
  const full = chunks.filter(({ data }) => data !== "");
  const body = full.map(({ data }) => data).join("");
  const lines = ([one, text]: readonly [string, string]) => `${one}: ${text}\r\n`;
  const parts: Readonly<Record<string, () => string>> = {
    length: () => `Content-Length: ${body.length}\r\n\r\n${body}`,
    close: () => `\r\n${body}`,
    chunks: () => {
      const all = full.map(({ data, extension }) => `${data.length.toString(16)}${extension}\r\n${data}\r\n`);
      return `Transfer-Encoding: chunked\r\n\r\n${all.join("")}0\r\n${trailers.map(lines).join("")}\r\n`;
    },
  };
  const answer = `${interims.join("")}HTTP/1.1 ${status} Said\r\n${headers.map(lines).join("")}${parts[framing]?.()}`;
  return { answer, status, headers, body, endsByClosing: framing === "close" };
});

export const cuts = fc.array(fc.nat({ max: 4000 }), { maxLength: 40 });
export const takes = fc.constantFrom(1, 2, 100, 65_536);

const edit = fc.record({
  at: fc.nat({ max: 2000 }),
  remove: fc.nat({ max: 5 }),
  text: fc.oneof(
    octets,
    fc.constantFrom("\r\n", "\n", "\r", "\r\n\r\n", "0\r\n", ":", " ", ";", "HTTP/1.1 200 OK\r\n", "ffffffff\r\n"),
  ),
});

/** A text that is no answer any more, or another one, and how it arrives. */
export const spoiltAnswer = fc.record({
  written: writtenAnswer,
  edits: fc.array(edit, { minLength: 1, maxLength: 4 }),
  cuts,
  takes,
}).map(({ written, edits, cuts, takes }) => {
  let text = written.answer;
  for (const { at, remove, text: added } of edits) {
    const start = at % (text.length + 1);
    text = text.slice(0, start) + added + text.slice(start + remove);
  }
  return { text, cuts, takes };
});

/** Throws unless an answer was made of no more bytes than there are. */
export function checkParsed({ body, unread, head }: ParsedAnswer, text: string): void {
  assert(body.length + unread <= text.length, `${body.length} + ${unread} of ${text.length}`);
  assert(head.status >= 101 && head.status <= 999, `status ${head.status}`);
}
