import { assert, assertEquals, assertRejects } from "@std/assert";
import { BodyTooLarge, readBody, readLines, readMessage } from "../../lib/kube/body.ts";
import { settle, VirtualClock } from "../../lib/sim/virtual_clock.ts";

const NEVER = new AbortController().signal;

Deno.test("readLines() gives the same lines however the bytes are cut", async () => {
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

Deno.test("readLines() bounds a line, not the stream", async () => {
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

Deno.test("readBody() takes a body of exactly its limit", async () => {
  const bytes = await readBody(new Response("12345678"), { limitBytes: 8, signal: NEVER });
  assertEquals(new TextDecoder().decode(bytes), "12345678");
  await assertRejects(() => readBody(new Response("123456789"), { limitBytes: 8, signal: NEVER }), BodyTooLarge);
});

Deno.test("readBody() rejects when aborted, even of a body that doesn't heed the signal", async () => {
  let isCancelled = false;
  const controller = new AbortController();
  const body = new ReadableStream({ cancel: () => void (isCancelled = true) });
  const reading = readBody(new Response(body), { limitBytes: 8, signal: controller.signal });
  await settle();
  controller.abort(new Error("enough"));
  await assertRejects(() => reading, Error, "enough");
  assert(isCancelled);
});

Deno.test("readBody() counts silence from the last byte", async () => {
  const clock = new VirtualClock();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      await clock.sleep(clock.monotonic() < 3000 ? 900 : 5000);
      controller.enqueue(new Uint8Array(1));
    },
  });
  const reading = readBody(new Response(body), { limitBytes: 8, signal: NEVER, clock, silentMs: 1000 });
  const rejected = assertRejects(() => reading, DOMException, "Timed out after 1000 ms");
  await clock.advance(4599);
  assertEquals(clock.pending, 2);
  await clock.advance(1);
  await rejected;
  // Only the body's own wait is left.
  assertEquals(clock.pending, 1);
});

Deno.test("readMessage() says what fetch means, on one line", () => {
  const words = "error sending request for url (https://a/b): client error (Connect): tcp connect error:\nrefused";
  const fetchFailed = new TypeError("fetch failed", { cause: new Error(words) });
  assertEquals(readMessage(fetchFailed), "tcp connect error: refused");
  assertEquals(readMessage(new Error("Cannot reach it", { cause: fetchFailed })), "Cannot reach it");
  assertEquals(readMessage("text"), "text");
});

function chunked(bytes: Uint8Array<ArrayBuffer>, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      for (let from = 0; from < bytes.length; from += size) controller.enqueue(bytes.slice(from, from + size));
      controller.close();
    },
  });
}
