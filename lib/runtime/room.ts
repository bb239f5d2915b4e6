/**
 * Room for the bytes of a body while it is read: grows as it fills, and its memory serves the next body. Of 100 kB that
 * come 67 times a second the garbage collector would otherwise do little else than clean up.
 */

const FIRST_BYTES = 64 * 1024;
/** As many as nodes are polled at a time; a body of 110 pods has 400 kB. */
const SPARES = 32;
const SPARE_BYTES = 512 * 1024;

const spares: ArrayBuffer[] = [];

export class Room {
  #buffer = spares.pop() ?? new ArrayBuffer(FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What is free, for a reader that takes the memory away until it gives it back with the chunk. */
  open(): Uint8Array<ArrayBuffer> {
    if (this.#length === this.#buffer.byteLength) this.#grow(this.#length + 1);
    return new Uint8Array(this.#buffer, this.#length);
  }

  /** One that does not lie in the room is copied to it. */
  take(chunk: Uint8Array<ArrayBuffer>): void {
    if (this.#buffer.detached) this.#buffer = chunk.buffer;
    else {
      this.#grow(this.#length + chunk.length);
      new Uint8Array(this.#buffer).set(chunk, this.#length);
    }
    this.#length += chunk.length;
  }

  /** All that was taken, as UTF-8. Nothing else may be done with the room after that. */
  close(): string {
    const text = UTF8.decode(new Uint8Array(this.#buffer, 0, this.#length));
    if (spares.length < SPARES && this.#buffer.byteLength <= SPARE_BYTES) spares.push(this.#buffer);
    return text;
  }

  #grow(bytes: number): void {
    if (bytes <= this.#buffer.byteLength) return;
    this.#buffer = this.#buffer.transfer(Math.max(bytes, 2 * this.#buffer.byteLength));
  }
}

const UTF8 = new TextDecoder();
