import { assert, assertEquals } from "#assert";
import { BodyBuffer, BufferPool } from "../../lib/runtime/buffers.ts";

const KI = 1024;

Deno.test("BufferPool gives the memory of a released buffer to the next one, empty", () => {
  const buffers = new BufferPool();
  const first = buffers.take();
  first.append(toBytes("some bytes"));
  buffers.release(first);
  const next = buffers.take();
  assert(next.memory === first.memory);
  assertEquals([next.length, next.decode()], [0, ""]);
  assert(buffers.take().memory !== next.memory, "memory in use is not given twice");
});

Deno.test("BufferPool keeps at most 32 buffers, and none above 512 KiB", () => {
  const buffers = new BufferPool();
  const released = Array.from({ length: 40 }, () => buffers.take());
  for (const buffer of released) buffers.release(buffer);
  const known = new Set(released.map(({ memory }) => memory));
  const taken = Array.from({ length: 40 }, () => buffers.take());
  assertEquals(taken.filter(({ memory }) => known.has(memory)).length, 32);
  const large = buffers.take();
  large.append(new Uint8Array(513 * KI));
  buffers.release(large);
  assert(buffers.take().memory !== large.memory);
});

Deno.test("BodyBuffer takes chunks that were read into it and chunks of elsewhere", () => {
  const buffer = new BodyBuffer();
  buffer.append(toBytes("ab"));
  const free = buffer.free();
  free.set(toBytes("cd"));
  // A BYOB read takes the memory away and gives it back with the chunk.
  const { byteOffset } = free;
  buffer.append(new Uint8Array(free.buffer.transfer(), byteOffset, 2));
  buffer.append(toBytes("e".repeat(100 * KI)));
  assertEquals(buffer.length, 4 + 100 * KI);
  assertEquals(buffer.decode(), `abcd${"e".repeat(100 * KI)}`);
});

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
