import { assert, assertEquals, assertRejects } from "#assert";
import { BodyTooLarge, readBytes, readLines, readText } from "../../lib/kube/body.ts";
import { BufferPool } from "../../lib/runtime/buffers.ts";
import { settleEventLoop, VirtualClock } from "../support/virtual_clock.ts";

const NEVER = new AbortController().signal;

Deno.test("listLines() gives the same lines however the bytes are cut", async () => {
  const text = '{"a":1}\n\nüß\n名前\nlast\ncut off';
  const bytes = new TextEncoder().encode(text);
  for (let size = 1; size <= bytes.length; size++) {
    const lines: string[] = [];
    for await (const some of readLines(new Response(chunked(bytes, size)), { limitBytes: 100, signal: NEVER })) {
      lines.push(...some);
    }
    assertEquals(lines, ['{"a":1}', "üß", "名前", "last"], `in chunks of ${size}`);
  }
});

Deno.test("listLines() bounds a line, not the stream", async () => {
  const short = new TextEncoder().encode("12345678\n".repeat(100));
  let lines = 0;
  for await (const some of readLines(new Response(chunked(short, 7)), { limitBytes: 8, signal: NEVER })) {
    lines += some.length;
  }
  assertEquals(lines, 100);
  const long = new TextEncoder().encode("123456789\n");
  await assertRejects(
    () => readLines(new Response(chunked(long, 7)), { limitBytes: 8, signal: NEVER }).next(),
    BodyTooLarge,
    "more than 8 bytes",
  );
});

Deno.test("readText() takes a body of exactly its limit", async () => {
  assertEquals(await readText(new Response("12345678"), { limitBytes: 8, signal: NEVER }), "12345678");
  await assertRejects(() => readText(new Response("123456789"), { limitBytes: 8, signal: NEVER }), BodyTooLarge);
});

Deno.test("readText() and readBytes() read bodies of any size and kind, one after the other and at once", async () => {
  const texts = [0, 1, 65_535, 65_536, 65_537, 200_000, 3_000_000, 7].map((length) =>
    "ä€".repeat(length).slice(0, length)
  );
  const options = { limitBytes: 2 ** 24, signal: NEVER };
  const buffers = new BufferPool();
  const readPooled = async (response: Response) => {
    const buffer = await readBytes(response, { ...options, buffers });
    const text = new TextDecoder().decode(buffer.bytes());
    buffers.release(buffer);
    return text;
  };
  for (const readBody of [(response: Response) => readText(response, options), readPooled]) {
    for (const toBody of [asIs, inChunks, asByteStream]) {
      const read = (text: string) => readBody(new Response(toBody(text)));
      for (const text of texts) assertEquals(await read(text), text);
      assertEquals(await Promise.all(texts.map(read)), texts);
    }
  }
});

Deno.test("readBytes() of one body that is cut off leaves the next alone", async () => {
  const broken = new ReadableStream<Uint8Array<ArrayBuffer>>({
    type: "bytes",
    pull(controller) {
      controller.enqueue(new TextEncoder().encode("left over"));
      controller.error(new Error("cut off"));
    },
  });
  const options = { limitBytes: 100, signal: NEVER, buffers: new BufferPool() };
  await assertRejects(() => readBytes(new Response(broken), options), Error, "cut off");
  assertEquals((await readBytes(new Response(asByteStream("whole")), options)).decode(), "whole");
});

function asIs(text: string): string {
  return text;
}

function inChunks(text: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  return chunked(new TextEncoder().encode(text), 50_000);
}

/** As fetch gives it. */
function asByteStream(text: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  let offset = 0;
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      const chunk = bytes.slice(offset, offset += 50_000);
      if (chunk.length > 0) return controller.enqueue(chunk);
      controller.close();
      controller.byobRequest?.respond(0);
    },
  });
}

Deno.test("readText() rejects when aborted, even of a body that doesn't heed the signal", async () => {
  let isCancelled = false;
  const controller = new AbortController();
  const body = new ReadableStream({ cancel: () => void (isCancelled = true) });
  const reading = readText(new Response(body), { limitBytes: 8, signal: controller.signal });
  await settleEventLoop();
  controller.abort(new Error("enough"));
  await assertRejects(() => reading, Error, "enough");
  assert(isCancelled);
});

Deno.test("readText() counts silence from the last byte", async () => {
  const clock = new VirtualClock();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      await clock.sleep(clock.monotonic() < 3000 ? 900 : 5000);
      controller.enqueue(new Uint8Array(1));
    },
  });
  const reading = readText(new Response(body), { limitBytes: 8, signal: NEVER, clock, silentMs: 1000 });
  const rejected = assertRejects(() => reading, DOMException, "Timed out after 1000 ms");
  await clock.advance(4599);
  assertEquals(clock.pending, 2);
  await clock.advance(1);
  await rejected;
  // Only the body's own wait is left.
  assertEquals(clock.pending, 1);
});

function chunked(bytes: Uint8Array<ArrayBuffer>, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      for (let from = 0; from < bytes.length; from += size) controller.enqueue(bytes.slice(from, from + size));
      controller.close();
    },
  });
}
