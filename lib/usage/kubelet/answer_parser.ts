/**
 * What does a server answer? The parser of HTTP/1.1 for one answer, without I/O.
 *
 * It takes no byte for granted: a head, chunks and trailers have bounds, and what is ambiguous is refused.
 *
 * https://www.rfc-editor.org/rfc/rfc9112
 */

/** The server sent something that is not an answer in HTTP/1.1, or less than the answer that it began. */
export class BadAnswer extends Error {}

/** Why an answer is not whole. */
export const CUT = "the server closed the connection before the answer ended";

/** The names of headers: https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
export const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** For one answer while it arrives. The head must fit. A kubelet's head has 150 bytes. */
export const ANSWER_MEMORY_BYTES = 16 * 1024;

/** The status line and the headers of an answer. */
export interface AnswerHead {
  /** 200 to 999, or 101. */
  readonly status: number;
  readonly statusText: string;
  /** By names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

/**
 * Parses one answer out of its own memory, and reads nothing beyond its end. All methods throw BadAnswer for bytes that
 * are not HTTP/1.1. It does no I/O.
 */
export class AnswerParser {
  readonly #memory: Memory;
  /** What has arrived and is not parsed yet lies between these two. */
  #from = 0;
  #to = 0;
  /** Up to here no end of a head was found. */
  #searched = 0;
  /** Bytes of answers before the final one (1xx). */
  #interimBytes = 0;
  #state: BodyState = "head";
  /** Bytes left of the body, or of the chunk. */
  #left = 0;
  #extensionBytes = 0;
  #trailerBytes = 0;
  #isKeptAlive = false;

  constructor(memory: Memory = new Uint8Array(ANSWER_MEMORY_BYTES)) {
    this.#memory = memory;
  }

  /** Whether the answer has ended. */
  get isDone(): boolean {
    return this.#state === "done";
  }

  /** How many bytes have arrived that are not parsed. */
  get unreadBytes(): number {
    return this.#to - this.#from;
  }

  /** Whether the connection can be used again: the answer has ended, nothing follows it, and both sides keep it open. */
  get isReusable(): boolean {
    return this.isDone && this.#isKeptAlive && this.unreadBytes === 0;
  }

  /** Returns the memory to receive into, never empty if all methods that parse have asked for more. */
  free(): Memory {
    if (this.#from > 0) {
      this.#memory.copyWithin(0, this.#from, this.#to);
      this.#to -= this.#from;
      this.#searched = Math.max(0, this.#searched - this.#from);
      this.#from = 0;
    }
    return this.#to === 0 ? this.#memory : this.#memory.subarray(this.#to);
  }

  /** Adds bytes that were received into the free memory. */
  add(bytes: number): void {
    this.#to += bytes;
  }

  /** The server has closed the connection. Only a body without a length ends so. */
  end(): void {
    if (this.#state === "untilClose") this.#state = "done";
    else if (this.#state !== "done") throw new BadAnswer(CUT);
  }

  /** Returns the head of the final answer; `null` if more bytes are needed. Called until there is one. */
  parseHead(): AnswerHead | null {
    for (;;) {
      const end = this.#findHeadEnd();
      if (end === null) return null;
      const text = LATIN1.decode(this.#memory.subarray(this.#from, end - 4));
      const head = parseHead(text);
      const isFinal = head.status >= 200 || head.status === SWITCHING_PROTOCOLS;
      if (!isFinal) {
        this.#interimBytes += end - this.#from;
        if (this.#interimBytes > MAX_HEAD_BYTES) {
          throw new BadAnswer(`the answer has more than ${MAX_HEAD_BYTES} bytes of headers`);
        }
      }
      this.#from = this.#searched = end;
      if (!isFinal) continue;
      this.#beginBody(head);
      return head;
    }
  }

  /**
   * Copies what has arrived of the body into the target, from this index on, and returns how many bytes it copied. Less
   * than the target holds means that more bytes are needed, or that the answer is done.
   */
  takeBody(target: Uint8Array, index: number): number {
    let at = index;
    for (;;) {
      switch (this.#state) {
        case "length":
        case "chunk":
        case "untilClose": {
          const bytes = Math.min(this.#left, this.unreadBytes, target.length - at);
          if (bytes === 0) return at - index;
          target.set(this.#memory.subarray(this.#from, this.#from + bytes), at);
          at += bytes;
          this.#from += bytes;
          if (this.#state === "untilClose") continue;
          this.#left -= bytes;
          if (this.#left === 0) this.#state = this.#state === "chunk" ? "chunkEnd" : "done";
          continue;
        }
        case "chunkEnd":
          if (!this.#takeChunkEnd()) return at - index;
          this.#state = "chunkSize";
          continue;
        case "chunkSize": {
          const bytes = this.#takeChunkSize();
          if (bytes === null) return at - index;
          this.#left = bytes;
          this.#state = bytes === 0 ? "trailer" : "chunk";
          continue;
        }
        case "trailer": {
          const line = this.#takeLine();
          if (line === null) return at - index;
          this.#trailerBytes += line.length + 2;
          if (this.#trailerBytes > MAX_EXTRA_BYTES) {
            throw new BadAnswer(`the answer has more than ${MAX_EXTRA_BYTES} bytes of trailers`);
          }
          if (line === "") this.#state = "done";
          else parseField(line);
          continue;
        }
        default:
          return at - index;
      }
    }
  }

  /** Returns the index after the empty line that ends a head; `null` if it has not arrived. */
  #findHeadEnd(): number | null {
    const memory = this.#memory;
    for (let at = 0; at < Math.min(HTTP.length, this.unreadBytes); at++) {
      // Another protocol may wait for podfit to say something.
      if (memory[this.#from + at] !== HTTP[at]) throw new BadAnswer("the answer is not HTTP/1.1");
    }
    for (
      let at = memory.indexOf(CR, Math.max(this.#from, this.#searched - 3));
      at !== -1;
      at = memory.indexOf(CR, at + 1)
    ) {
      if (at + 4 > this.#to) break;
      if (memory[at + 1] === LF && memory[at + 2] === CR && memory[at + 3] === LF) return at + 4;
    }
    this.#searched = this.#to;
    if (this.unreadBytes === memory.length) {
      throw new BadAnswer(`the answer has more than ${MAX_HEAD_BYTES} bytes of headers`);
    }
    return null;
  }

  #beginBody({ status, headers, isHttp10 }: ParsedHead): void {
    const encoding = headers.get("transfer-encoding");
    const length = headers.get("content-length");
    const coding = headers.get("content-encoding") ?? "identity";
    if (coding.toLowerCase() !== "identity") {
      throw new BadAnswer("the answer is compressed, which podfit did not ask for");
    }
    const connection = (headers.get("connection") ?? "").toLowerCase().split(",").map((word) => word.trim());
    this.#isKeptAlive = isHttp10 ? connection.includes("keep-alive") : !connection.includes("close");
    if (encoding !== undefined) {
      if (length !== undefined) throw new BadAnswer("the answer has both content-length and transfer-encoding");
      if (isHttp10 || encoding.toLowerCase() !== "chunked") {
        throw new BadAnswer("the answer has a transfer-encoding other than chunked");
      }
    }
    if (length !== undefined && !/^\d{1,15}$/.test(length)) {
      throw new BadAnswer("the answer has a content-length that is not one number");
    }
    if (status === SWITCHING_PROTOCOLS || status === 204 || status === 304) {
      // Some servers send a body nevertheless.
      this.#isKeptAlive = false;
      this.#state = "done";
    } else if (encoding !== undefined) {
      this.#state = "chunkSize";
    } else if (length !== undefined) {
      this.#left = Number(length);
      this.#state = this.#left === 0 ? "done" : "length";
    } else {
      this.#isKeptAlive = false;
      this.#left = Infinity;
      this.#state = "untilClose";
    }
  }

  /** Returns whether the end of a chunk has arrived. */
  #takeChunkEnd(): boolean {
    const memory = this.#memory;
    const isWrong = this.unreadBytes > 0 && memory[this.#from] !== CR;
    if (isWrong || (this.unreadBytes > 1 && memory[this.#from + 1] !== LF)) {
      throw new BadAnswer("the answer has a chunk that does not end where it should");
    }
    if (this.unreadBytes < 2) return false;
    this.#from += 2;
    return true;
  }

  /** Returns the size of the next chunk; `null` if its line has not arrived. A million chunks may have one byte each. */
  #takeChunkSize(): number | null {
    const memory = this.#memory;
    let at = this.#from;
    let size = 0;
    for (let digit = toHexDigit(memory[at]); at < this.#to && digit !== null; digit = toHexDigit(memory[++at])) {
      if (at - this.#from === MAX_SIZE_DIGITS) throw new BadAnswer(BAD_SIZE);
      size = 16 * size + digit;
    }
    if (at === this.#from && at < this.#to) throw new BadAnswer(BAD_SIZE);
    if (at + 1 < this.#to && memory[at] === CR && memory[at + 1] === LF) {
      this.#from = at + 2;
      return size;
    }
    const line = this.#takeLine();
    if (line === null) return null;
    const extension = CHUNK_EXTENSION.exec(line)?.[1];
    if (extension === undefined) throw new BadAnswer(BAD_SIZE);
    this.#extensionBytes += extension.length;
    if (this.#extensionBytes > MAX_EXTRA_BYTES) {
      throw new BadAnswer(`the answer has more than ${MAX_EXTRA_BYTES} bytes of chunk extensions`);
    }
    return size;
  }

  /** Returns the next line without its end; `null` if it has not arrived. */
  #takeLine(): string | null {
    const memory = this.#memory;
    const end = memory.indexOf(LF, this.#from);
    const isThere = end !== -1 && end < this.#to;
    if ((isThere ? end - this.#from : this.unreadBytes) > MAX_LINE_BYTES) {
      throw new BadAnswer(`the answer has a line of more than ${MAX_LINE_BYTES} bytes between chunks`);
    }
    if (!isThere) return null;
    if (end === this.#from || memory[end - 1] !== CR) {
      throw new BadAnswer("the answer has a line between chunks that does not end in CRLF");
    }
    const line = end - 1 === this.#from ? "" : LATIN1.decode(memory.subarray(this.#from, end - 1));
    this.#from = end + 1;
    return line;
  }
}

type Memory = Uint8Array<ArrayBuffer>;

interface ParsedHead extends AnswerHead {
  readonly isHttp10: boolean;
}

type BodyState = "head" | "length" | "chunk" | "chunkEnd" | "chunkSize" | "trailer" | "untilClose" | "done";

const MAX_HEAD_BYTES = ANSWER_MEMORY_BYTES;

const MAX_HEADERS = 100;

/** Of one line with the size of a chunk, or of one trailer. */
const MAX_LINE_BYTES = 4 * 1024;

/** Of all chunk extensions, and of all trailers. */
const MAX_EXTRA_BYTES = 16 * 1024;

const SWITCHING_PROTOCOLS = 101;

const CR = 13;

const LF = 10;

const LATIN1 = new TextDecoder("latin1");

const HTTP = new TextEncoder().encode("HTTP/1.");

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\uffff]*))?$/;

const FIELD_VALUE = /^[\t\x20-\x7e\x80-\uffff]*$/;

/** Up to 4 GiB. */
const MAX_SIZE_DIGITS = 8;

const CHUNK_EXTENSION = /^[0-9a-fA-F]{1,8}([\t ]*;[\t\x20-\x7e\x80-\uffff]*)$/;

const BAD_SIZE = "the answer has a malformed chunk size";

/** Returns 0 to 15; `null` for a byte that is not a digit. */
function toHexDigit(byte = 0): number | null {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : null;
}

/** Parses a head without its last empty line. Throws BadAnswer. */
function parseHead(text: string): ParsedHead {
  const lines = text.split("\r\n");
  const [, minor, status, statusText = ""] = STATUS_LINE.exec(lines[0] ?? "") ?? [];
  if (status === undefined) throw new BadAnswer("the answer has a malformed status line");
  if (lines.length > MAX_HEADERS + 1) throw new BadAnswer(`the answer has more than ${MAX_HEADERS} headers`);
  const headers = new Map<string, string>();
  for (let index = 1; index < lines.length; index++) {
    const [name, value] = parseField(lines[index] ?? "");
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { status: Number(status), statusText, headers, isHttp10: minor === "0" };
}

/** Returns the name in lower case and the value of a header or a trailer. Throws BadAnswer. */
function parseField(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(0, colon));
  const value = line.slice(colon + 1);
  if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) throw new BadAnswer("the answer has a malformed header");
  return [name.toLowerCase(), value.trim()];
}
