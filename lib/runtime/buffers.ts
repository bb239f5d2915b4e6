/**
 * How is memory reused? Buffers for response bodies go back to a pool, and equal objects are replaced by one.
 *
 * A summary has some 100 kB and 67 of them may arrive each second. With new memory for each, the garbage collector
 * would be busy all the time.
 * https://developer.mozilla.org/en-US/docs/Web/API/ReadableStreamBYOBReader
 */

/** Keeps at most 16 MiB of spare memory. The reader of the bodies owns it. */
export class BufferPool {
  readonly #spares: ArrayBuffer[] = [];

  /** Returns an empty buffer, in spare memory if there is some. */
  take(): BodyBuffer {
    return new BodyBuffer(this.#spares.pop() ?? new ArrayBuffer(FIRST_BYTES));
  }

  /** Keeps the buffer's memory for the next one. The buffer must not be used afterwards. */
  release(buffer: BodyBuffer): void {
    const { memory } = buffer;
    if (this.#spares.length < MAX_SPARES && memory.byteLength <= MAX_SPARE_BYTES) this.#spares.push(memory);
  }
}

/** The bytes of one body while it arrives. Its memory at least doubles when it is full. */
export class BodyBuffer {
  #memory: ArrayBuffer;
  #length = 0;

  constructor(memory = new ArrayBuffer(0)) {
    this.#memory = memory;
  }

  /** How many bytes were appended. */
  get length(): number {
    return this.#length;
  }

  /** The memory behind the buffer, its free part included. */
  get memory(): ArrayBuffer {
    return this.#memory;
  }

  /**
   * The free part, never empty, to read into: as long as that brings the buffer to `most` bytes at most. A BYOB read
   * detaches the memory until `append` gets its chunk.
   */
  free(most = Infinity): Uint8Array<ArrayBuffer> {
    this.#growTo(this.#length + 1);
    return new Uint8Array(this.#memory, this.#length, Math.min(most, this.#memory.byteLength) - this.#length);
  }

  /** Adds a chunk: one that was read into the free part stays where it is, another is copied. */
  append(chunk: Uint8Array<ArrayBuffer>): void {
    if (this.#memory.detached) this.#memory = chunk.buffer;
    else if (chunk.buffer !== this.#memory) {
      this.#growTo(this.#length + chunk.length);
      new Uint8Array(this.#memory).set(chunk, this.#length);
    }
    this.#length += chunk.length;
  }

  /** All bytes so far, in the buffer's own memory. */
  bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory, 0, this.#length);
  }

  /** All bytes so far, as UTF-8. */
  decode(): string {
    return UTF8.decode(this.bytes());
  }

  #growTo(bytes: number): void {
    if (bytes <= this.#memory.byteLength) return;
    this.#memory = this.#memory.transfer(Math.max(bytes, 2 * this.#memory.byteLength));
  }
}

/**
 * Returns a function that replaces an object by the first one with the same key. The key must determine the whole
 * object. At most `most` objects are kept: 30,000 pods of a few sizes cost the memory of those few.
 */
export function createDeduplicator<T>(toKey: (one: T) => string, most = 1000): (one: T) => T {
  const known = new Map<string, T>();
  return (one) => {
    const key = toKey(one);
    const same = known.get(key);
    if (same !== undefined) return same;
    if (key.length > MAX_KEY_LENGTH) return one;
    // Objects that were returned stay in use.
    if (known.size >= most) known.clear();
    known.set(key, one);
    return one;
  };
}

const FIRST_BYTES = 64 * 1024;

/** As many nodes are polled at a time. */
const MAX_SPARES = 32;

/** The summary of a node with 110 pods has 400 kB. */
const MAX_SPARE_BYTES = 512 * 1024;

const UTF8 = new TextDecoder();

/** A longer key is not remembered: of some objects, such as labels, others decide how large they are. */
const MAX_KEY_LENGTH = 1000;
