/** `podfit record`: which lines it asks for and writes, when it ends, and its options. */
import { assertEquals, assertRejects } from "@std/assert";
import { createRecordCommand, type RecordOptions } from "../../../lib/cli/record/options.ts";
import { type FollowOptions, recordTo } from "../../../lib/cli/record/record.ts";
import { VirtualClock } from "../../../lib/runtime/virtual_clock.ts";

interface Followed {
  readonly asked: string[];
  readonly written: string[];
  readonly lines: Promise<number>;
}

function follow(body: BodyInit, options: Partial<FollowOptions> = {}, status = 200): Followed {
  const asked: string[] = [];
  const written: string[] = [];
  const write = (bytes: Uint8Array) => Promise.resolve(written.push(new TextDecoder().decode(bytes)));
  const openDebug = (path: string) => {
    asked.push(path);
    return Promise.resolve(new Response(body, { status }));
  };
  const given = { kind: "pod", namespace: "shop", name: "web", withPast: false, forMs: null } as const;
  const signal = new AbortController().signal;
  return { asked, written, lines: recordTo(write, { ...given, openDebug, signal, ...options }) };
}

Deno.test("podfit record writes whole lines as they come, and leaves out one that is cut off", async () => {
  const { asked, written, lines } = follow("a\nb\nc");
  assertEquals([await lines, written], [2, ["a\n", "b\n"]]);
  assertEquals(asked, ["/debug/records?namespace=shop&pod=web&watch=true&past=false"]);
  const past = follow("", { kind: "scaledObject", withPast: true });
  await past.lines;
  assertEquals(past.asked, ["/debug/records?namespace=shop&scaledObject=web&watch=true"]);
});

Deno.test("podfit record ends after its time, with what has come until then", async () => {
  const clock = new VirtualClock();
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("a\nb")) });
  const { written, lines } = follow(body, {
    forMs: 60_000,
    clock,
    openDebug: (_, signal) => {
      const stream = new TransformStream();
      void body.pipeTo(stream.writable, { signal }).catch(() => {});
      return Promise.resolve(new Response(stream.readable));
    },
  });
  await clock.advance(60_000);
  assertEquals([await lines, written, clock.pending], [1, ["a\n"], 0]);
});

Deno.test("podfit record says what podfit answers instead of records", async () => {
  const { lines } = follow("Nothing is known of pod\n", {}, 404);
  await assertRejects(() => lines, Error, "Cannot record web: Nothing is known of pod");
});

async function parse(...args: readonly string[]): Promise<RecordOptions | null> {
  let options: RecordOptions | null = null;
  const record = (given: RecordOptions) => Promise.resolve(void (options = given));
  const command = createRecordCommand({ record, toComplaint: () => "" });
  await command.parseAsync([...args], { from: "user" });
  return options;
}

Deno.test("podfit record takes the name of a pod or of a ScaledObject, and the rest by flags", async () => {
  const base: RecordOptions = {
    kind: "pod",
    namespace: "default",
    name: "web-1",
    url: "http://127.0.0.1:8081",
    tokenPath: null,
    forMs: null,
    withPast: false,
    path: null,
  };
  assertEquals(await parse("web-1"), base);
  assertEquals(await parse("pod/web-1"), base);
  const all = ["-n", "shop", "--url", "https://x:1/a/", "--for", "10m", "--past", "-o", "f", "--token-file", "t"];
  assertEquals(await parse("scaledobject/web-1", ...all), {
    kind: "scaledObject",
    namespace: "shop",
    name: "web-1",
    url: "https://x:1/a",
    tokenPath: "t",
    forMs: 600_000,
    withPast: true,
    path: "f",
  });
});

for (const args of [["a/b/c"], ["Web"], ["node/a"], ["web", "--url", "ftp://x"], ["web", "--for", "soon"]]) {
  Deno.test(`podfit record refuses ${args.join(" ")}`, async () => {
    await assertRejects(() => parse(...args), Error, "Cannot read ");
  });
}
