/** `podfit record`: which podfit it asks for which lines, what it writes, when it ends, and its options. */
import { assert, assertEquals, assertMatch, assertRejects } from "#assert";
import { CommanderError } from "commander";
import { DebugError, type DebugListener, toSearch } from "../../../lib/cli/connection/records.ts";
import { openPodfits } from "../../../lib/cli/connection/podfits.ts";
import { createRecordCommand, type RecordOptions } from "../../../lib/cli/record/options.ts";
import { type FollowOptions, openSink, type Recorded, recordTo, type Sink } from "../../../lib/cli/record/record.ts";
import { checkLine } from "../../../lib/cli/replay/replay.ts";
import { parseLine } from "../../../lib/record/parse.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { DebugRun } from "../../support/debug_run.ts";
import { HOSTILE } from "../../support/hostile_text.ts";

interface Followed {
  readonly asked: string[];
  readonly written: string[];
  readonly recorded: Promise<Recorded>;
}

const WEB = { namespace: "shop", pod: "web" };

/** By a podfit that answers so. */
function follow(answer: () => BodyInit, options: Partial<FollowOptions> = {}): Followed {
  const asked: string[] = [];
  const listener: DebugListener = {
    name: "fake",
    open(query) {
      asked.push(toSearch(query));
      return Promise.resolve().then(() => new Response(answer()));
    },
    async *read() {},
  };
  const { sink, written } = keep();
  const { signal } = new AbortController();
  const given = { open: () => Promise.resolve([listener]), query: WEB, withPast: false, forMs: null, signal };
  return { asked, written, recorded: recordTo(() => Promise.resolve(sink), { ...given, ...options }) };
}

/** `most`: so many lines are read. */
function keep(most = Infinity): { readonly sink: Sink; readonly written: string[] } {
  const written: string[] = [];
  return { sink: { write: (text) => written.push(text) <= most, [Symbol.dispose]() {} }, written };
}

Deno.test("podfit record writes whole lines as they come, and leaves out one that is cut off", async () => {
  const { asked, written, recorded } = follow(() => "a\nb\nc");
  assertEquals([await recorded, written], [{ lines: 2, isOver: true }, ["a\n", "b\n"]]);
  assertEquals(asked, ["?namespace=shop&pod=web&watch=true&past=false"]);
  const past = follow(() => "", { query: { namespace: "shop", scaledObject: "web" }, withPast: true });
  await past.recorded;
  assertEquals(past.asked, ["?namespace=shop&scaledObject=web&watch=true"]);
});

/** Two lines, of which one is not whole yet, and then nothing. */
function unending(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("a\nb")) });
}

Deno.test("podfit record ends after its time, with what has come until then", async () => {
  const clock = new VirtualClock();
  const { written, recorded } = follow(unending, { forMs: 60_000, clock });
  await clock.advance(60_000);
  assertEquals([await recorded, written, clock.pending], [{ lines: 1, isOver: false }, ["a\n"], 0]);
});

Deno.test("podfit record ends where nobody reads what it writes", async () => {
  const { sink, written } = keep(1);
  const { signal } = new AbortController();
  const listener: DebugListener = {
    name: "fake",
    open: () => Promise.resolve(new Response("a\nb\nc\n")),
    async *read() {},
  };
  const recorded = await recordTo(() => Promise.resolve(sink), {
    open: () => Promise.resolve([listener]),
    query: WEB,
    withPast: false,
    forMs: null,
    signal,
  });
  assertEquals([recorded, written], [{ lines: 1, isOver: false }, ["a\n", "b\n"]]);
});

Deno.test("podfit record says that the connection to podfit was lost", async () => {
  const broken = () => new ReadableStream({ pull: (controller) => controller.error(new TypeError("reset by peer")) });
  const { message } = await assertRejects(() => follow(broken).recorded, DebugError);
  assertEquals(message, "Cannot read more records: the connection to podfit was lost: reset by peer");
});

Deno.test("podfit record asks the podfit that owns the pod through pods/proxy, and what it wrote is decided again", async () => {
  await using debug = await DebugRun.start();
  debug.startPodfit("podfit-0");
  await debug.advance(20);
  const { run: { clock }, server } = debug;
  const { sink, written } = keep();
  const { signal } = new AbortController();
  const recording = recordTo(() => Promise.resolve(sink), {
    open: (until) => openPodfits(server, { namespace: "default", pod: "web", podfitNamespace: "default" }, until),
    query: { namespace: "default", pod: "web" },
    withPast: true,
    forMs: 60_000,
    signal,
    clock,
  });
  const endedAt = clock.now() + 60_000;
  await debug.advance(61);
  const { lines, isOver } = await recording;
  assertEquals([lines, isOver], [written.length, false]);
  assert(debug.asked.some((path) => /\/pods\/podfit-0:8081\/proxy\/debug\/records\?.*pod=web&watch=true$/.test(path)));
  const times = written.map((text) => {
    const parsed = parseLine(text);
    assert(parsed.ok);
    assertEquals(checkLine(parsed.value), []);
    return parsed.value.since;
  });
  const evaluated = debug.lines.pod("web").map(({ since }) => since).filter((at) => at < endedAt);
  assertEquals([times[0], times.at(-1)], [evaluated[0], evaluated.at(-1)]);
});

Deno.test("podfit record --past writes what a podfit remembers of a pod that is gone", async () => {
  await using debug = await DebugRun.start();
  debug.startPodfit("podfit-0");
  await debug.advance(30);
  await debug.run.delete("pods/web");
  await debug.advance(10);
  const { sink, written } = keep();
  const { signal } = new AbortController();
  const start = (mayBeGone: boolean) =>
    recordTo(() => Promise.resolve(sink), {
      open: (until) =>
        openPodfits(debug.server, { namespace: "default", pod: "web", podfitNamespace: "default", mayBeGone }, until),
      query: { namespace: "default", pod: "web" },
      withPast: true,
      forMs: null,
      signal,
    });
  const { lines, isOver } = await start(true);
  assert(lines > 1);
  assertEquals([lines, isOver], [written.length, true]);
  await assertRejects(() => start(false), DebugError, 'Cannot find pod "web" in namespace "default": there is none');
});

Deno.test("podfit record -o writes lines into the file as they come", async () => {
  const path = await Deno.makeTempFile();
  try {
    const line = `${JSON.stringify({ name: HOSTILE })}\n`;
    {
      using sink = await openSink(path);
      assertEquals(sink.write(line), true);
    }
    assertEquals(await Deno.readTextFile(path), line);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("podfit record -o says how a file can be written where Deno does not allow it", async () => {
  const path = `${await Deno.makeTempDir()}/no/trace.jsonl`;
  const missing = await assertRejects(() => openSink(path));
  assertMatch(String(missing), /^StartError: Cannot write ".*\/trace\.jsonl": No such file or directory$/);
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--allow-read", new URL("write_without.ts", import.meta.url).pathname],
  });
  const { stdout } = await command.output();
  assertEquals(
    new TextDecoder().decode(stdout),
    'Cannot write "trace.jsonl": Deno does not let it write there; start it with --allow-write=trace.jsonl before main.ts, ' +
      "or leave -o out and write > trace.jsonl\n",
  );
});

interface Parsed {
  readonly options: RecordOptions | null;
  readonly code: number;
  readonly said: string;
}

async function parse(...args: readonly string[]): Promise<Parsed> {
  let [options, said]: [RecordOptions | null, string] = [null, ""];
  const record = (given: RecordOptions) => Promise.resolve(void (options = given));
  const command = createRecordCommand({ getEnv: () => undefined, toComplaint: (text) => text }, record);
  command.configureOutput({ outputError: (text) => said += text });
  try {
    await command.parseAsync([...args], { from: "user" });
    return { options, code: 0, said };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { options, code: error.exitCode, said };
  }
}

Deno.test("podfit record takes a pod or a ScaledObject, and reaches podfit by the flags of explain", async () => {
  const environment = { kubeconfig: null, home: null, serviceHost: null, servicePort: null };
  const access = {
    server: { kubeconfigPaths: [], context: null, environment },
    url: null,
    tokenFile: null,
    namespace: null,
  };
  const base: RecordOptions = {
    subject: { kind: "pod", name: "web-1" },
    access: { ...access, podfitNamespace: "podfit" },
    forMs: null,
    withPast: false,
    path: null,
  };
  assertEquals((await parse("web-1")).options, base);
  assertEquals(
    (await parse("pod/web-1", "--podfit-namespace", "ops", "--kubeconfig", "a", "--kubeconfig", "b")).options,
    {
      ...base,
      access: { ...access, server: { ...access.server, kubeconfigPaths: ["a", "b"] }, podfitNamespace: "ops" },
    },
  );
  const all = ["-n", "shop", "--url", "https://x:1/a/", "--for", "10m", "--past", "-o", "f", "--token-file", "t"];
  assertEquals((await parse("so/web-1", ...all)).options, {
    subject: { kind: "scaledobject", name: "web-1" },
    access: { ...access, namespace: "shop", url: "https://x:1/a", tokenFile: "t", podfitNamespace: "podfit" },
    forMs: 600_000,
    withPast: true,
    path: "f",
  });
});

const REFUSED: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [["a/b/c"], /Cannot read "a\/b\/c": write POD, pod\/NAME or scaledobject\/NAME/],
  [["deploy/a"], /Cannot read "deploy\/a": write POD, pod\/NAME or scaledobject\/NAME/],
  [["web", "--url", "ftp://x"], /Cannot read --url "ftp:\/\/x": write an address such as http:\/\/127\.0\.0\.1:8081/],
  [["web", "--for", "soon"], /Cannot read --for "soon": write a duration/],
  [["web", "--token-file", "t"], /Cannot use --token-file without --url/],
];
for (const [args, message] of REFUSED) {
  Deno.test(`podfit record refuses ${args.join(" ")} with code 2`, async () => {
    const { options, code, said } = await parse(...args);
    assertMatch(said, message);
    assertEquals([options, code], [null, 2]);
  });
}
