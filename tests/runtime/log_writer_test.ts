/** What becomes of log lines whose reader is slow, stops, or goes away? */
import { assert, assertEquals } from "#assert";
import { type LogWriter, openLogWriter } from "../../lib/runtime/log.ts";
import { settleEventLoop, VirtualClock } from "../support/virtual_clock.ts";

Deno.test("openLogWriter() writes lines whole and in their order, however little is taken at a time", async () => {
  const reader = open();
  reader.takes = 7;
  const lines = Array.from({ length: 50 }, (_, index) => `line ${index} ü€\n`);
  for (const line of lines) reader.writer.write(line, "info");
  await reader.writer.flush();
  assertEquals(reader.text, lines.join(""));
  assertEquals([reader.dropped, reader.clock.pending], [0, 0]);
});

Deno.test("openLogWriter() waits for nobody: what finds no room is dropped, and a line says where and how many", async () => {
  const reader = open({ capacity: 100 });
  reader.stop();
  for (let index = 0; index < 100; index++) reader.writer.write(`line ${String(index).padStart(3, "0")}\n`, "info");
  // It would fit, but not where it belongs: after the line about those before it.
  reader.writer.write("\n", "info");
  await settleEventLoop();
  assertEquals([reader.text, reader.dropped], ["", 90]);
  reader.goOn();
  await reader.writer.flush();
  reader.writer.write("later\n", "info");
  await reader.writer.flush();
  const expected = Array.from({ length: 11 }, (_, index) => `line ${String(index).padStart(3, "0")}`);
  assertEquals(reader.text.split("\n"), [...expected, "90 lost", "later", ""]);
});

Deno.test("openLogWriter() has room for an error when it has none for anything else", async () => {
  const reader = open({ capacity: 100 });
  reader.stop();
  for (let index = 0; index < 20; index++) reader.writer.write("0123456789\n", "info");
  reader.writer.write("the end\n", "error");
  reader.goOn();
  await reader.writer.flush();
  assertEquals(reader.text.split("\n").slice(-3), ["the end", "11 lost", ""]);
});

Deno.test("openLogWriter() is bounded for errors too", () => {
  const reader = open({ capacity: 100 });
  reader.stop();
  for (let index = 0; index < 3_000; index++) reader.writer.write(`${"x".repeat(99)}\n`, "error");
  assert(reader.dropped > 2_000, `${reader.dropped} dropped`);
  reader.goOn();
});

Deno.test("openLogWriter() gives a reader that has stopped a second at the end, and no more", async () => {
  const reader = open();
  reader.stop();
  reader.writer.write("never read\n", "info");
  let isOver = false;
  const ended = reader.writer[Symbol.asyncDispose]().then(() => isOver = true);
  await reader.clock.advance(999);
  assertEquals(isOver, false);
  await reader.clock.advance(1);
  await ended;
  assertEquals([isOver, reader.clock.pending], [true, 0]);
  reader.goOn();
});

Deno.test("openLogWriter() counts the lines of a pipe that is closed, and asks for no room for them", async () => {
  const reader = open();
  reader.fails = true;
  for (let index = 0; index < 3; index++) reader.writer.write("to nobody\n", "info");
  await reader.writer.flush();
  reader.fails = false;
  reader.writer.write("to somebody\n", "info");
  await reader.writer.flush();
  assertEquals([reader.text, reader.dropped], ["to somebody\n", 3]);
});

interface Reader {
  readonly writer: LogWriter;
  readonly clock: VirtualClock;
  readonly text: string;
  readonly dropped: number;
  /** The most bytes of one write. */
  takes: number;
  fails: boolean;
  readonly stop: () => void;
  readonly goOn: () => void;
}

function open({ capacity }: { readonly capacity?: number } = {}): Reader {
  const clock = new VirtualClock();
  const decoder = new TextDecoder();
  let [text, dropped] = ["", 0];
  let going = Promise.withResolvers<void>();
  going.resolve();
  const writer = openLogWriter({
    clock,
    ...(capacity === undefined ? {} : { capacity }),
    async write(bytes) {
      await going.promise;
      if (reader.fails) throw new Deno.errors.BrokenPipe("Broken pipe (os error 32)");
      const taken = bytes.subarray(0, reader.takes);
      text += decoder.decode(taken, { stream: true });
      return taken.length;
    },
    onDropped: () => dropped++,
    onRoom: (lines) => writer.write(`${lines} lost\n`, "warn"),
  });
  const reader = {
    writer,
    clock,
    get text() {
      return text;
    },
    get dropped() {
      return dropped;
    },
    takes: Infinity,
    fails: false,
    stop: () => going = Promise.withResolvers<void>(),
    goOn: () => going.resolve(),
  };
  return reader;
}
