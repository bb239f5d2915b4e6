/**
 * How do log lines reach stderr? They wait in a bounded buffer until the reader takes them.
 *
 * A pipe whose reader has stopped accepts nothing, and a process that waits for it hangs. So lines are written in the
 * background. Lines that do not fit are dropped and counted.
 */
import { type Clock, systemClock } from "./clock.ts";
import type { LogLevel } from "./log.ts";
import { waitAtMost } from "./tasks.ts";

/** Writes whole lines in their order; disposal writes the rest, as `flush` does. */
export interface LogWriter extends AsyncDisposable {
  /** Takes a line with its newline. Neither waits nor throws. */
  write(line: string, level: LogLevel): void;
  /** Resolves when everything is written, or after a second: a reader that has stopped gets no more. Never rejects. */
  flush(): Promise<void>;
}

interface LogWriterOptions {
  /** Writes some of the bytes and returns how many; stderr by default. */
  readonly write?: (bytes: Uint8Array) => Promise<number>;
  readonly clock?: Pick<Clock, "sleep">;
  /** The most characters that wait; 4 Mi by default. */
  readonly capacity?: number;
  /** Called for each line that is lost. Must not throw. */
  readonly onDropped: () => void;
  /** Called when there is room again, with the number of lines lost since the last call. May write. */
  readonly onRoom: (lines: number) => void;
}

/** The lines that an evaluation of some 10,000 pods writes at debug. */
const CAPACITY = 2 ** 22;

/** Room for errors alone, in characters: errors are written even when the buffer is full. */
const RESERVE = 2 ** 16;

const MAX_BATCH_LINES = 2 ** 16;

const FLUSH_MS = 1_000;

export function openLogWriter(options: LogWriterOptions): LogWriter {
  const { write = writeStderr, clock = systemClock, capacity = CAPACITY, onDropped, onRoom } = options;
  const lines: string[] = [];
  /** Characters of `lines`, and of the lines that are being written. */
  let characters = 0;
  /** Lines lost since there was room. */
  let lost = 0;
  let isWriting = false;
  let written = Promise.resolve();
  return { write: put, flush, [Symbol.asyncDispose]: flush };

  function put(line: string, level: LogLevel): void {
    const isFull = level === "error"
      ? characters + line.length > capacity + RESERVE
      : lost > 0 || characters + line.length > capacity;
    if (isFull) {
      lost++;
      return onDropped();
    }
    lines.push(line);
    characters += line.length;
    if (!isWriting) written = writeLines();
  }

  async function writeLines(): Promise<void> {
    isWriting = true;
    for (let batch = takeBatch(); batch.length > 0; batch = takeBatch()) {
      const text = batch.join("");
      if (!await writeAll(text)) { for (const _line of batch) onDropped(); }
      characters -= text.length;
      if (lost > 0 && characters <= capacity / 2) tellLost();
    }
    isWriting = false;
  }

  function takeBatch(): readonly string[] {
    let length = 0;
    const count = lines.findIndex((line) => (length += line.length) > MAX_BATCH_LINES);
    return lines.splice(0, count < 0 ? lines.length : Math.max(1, count));
  }

  /** False when it failed (a closed pipe, a full disk), which cannot be reported and must not stop the process. */
  async function writeAll(text: string): Promise<boolean> {
    try {
      for (let rest = encoder.encode(text); rest.length > 0;) rest = rest.subarray(await write(rest));
      return true;
    } catch {
      return false;
    }
  }

  function tellLost(): void {
    const count = lost;
    lost = 0;
    onRoom(count);
  }

  async function flush(): Promise<void> {
    await waitAtMost(FLUSH_MS, written, clock);
  }
}

const encoder = new TextEncoder();

function writeStderr(bytes: Uint8Array): Promise<number> {
  return Deno.stderr.write(bytes);
}
