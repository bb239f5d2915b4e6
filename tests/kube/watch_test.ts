import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { KubeObject } from "../../lib/kube/list.ts";
import { watchList, type WatchOptions } from "../../lib/kube/watch.ts";
import { settleEventLoop, VirtualClock } from "../support/virtual_clock.ts";

const EXPIRED = { kind: "Status", message: "too old resource version: 1 (1585)", reason: "Expired", code: 410 };
const TOO_LARGE = {
  kind: "Status",
  message: "Timeout: Too large resource version: 99, current: 14",
  reason: "Timeout",
  details: { causes: [{ reason: "ResourceVersionTooLarge" }], retryAfterSeconds: 1 },
  code: 504,
};

Deno.test("watchList() gives all pages as one list, then each change", async () => {
  const watching = stream();
  await using run = start([
    () => page({ names: ["a", "b"], version: "5", continueToken: "next" }),
    () => page({ names: ["c"], version: "5" }),
    watching.answer,
  ], { path: "/api/v1/pods", labelSelector: "app=x", fieldSelector: "spec.nodeName=n", pageSize: 2 });
  await settleEventLoop();
  watching.send(event("ADDED", "d", "6"), event("MODIFIED", "a", "7"), event("DELETED", "b", "8"));
  await settleEventLoop();
  assertEquals(run.events, ["listed a b c", "added d", "modified a", "deleted b"]);
  assertEquals(run.params(0), { limit: "2", labelSelector: "app=x", fieldSelector: "spec.nodeName=n" });
  assertEquals(run.params(1), {
    limit: "2",
    continue: "next",
    labelSelector: "app=x",
    fieldSelector: "spec.nodeName=n",
  });
  assertEquals(run.params(2), {
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: "5",
    timeoutSeconds: "450",
    labelSelector: "app=x",
    fieldSelector: "spec.nodeName=n",
  });
  assertEquals(run.errors, []);
});

Deno.test("watchList() goes on from a bookmark after the server ended the watch, at once and without a new list", async () => {
  const [first, second] = [stream(), stream()];
  await using run = start([() => page({ version: "5" }), first.answer, second.answer]);
  await run.clock.advance(2000);
  first.send(event("ADDED", "b", "6"), bookmark("9"));
  first.end();
  await settleEventLoop();
  second.send(event("DELETED", "b", "10"));
  await settleEventLoop();
  assertEquals(run.events, ["listed a", "added b", "deleted b"]);
  assertEquals(run.params(2).resourceVersion, "9");
  assertEquals(run.errors, []);
});

Deno.test("watchList() reads events that are cut anywhere, also inside a character", async () => {
  const watching = stream();
  await using run = start([() => page({}), watching.answer]);
  await settleEventLoop();
  for (const byte of new TextEncoder().encode(event("ADDED", "pöd-名", "6") + event("ADDED", "c", "7"))) {
    watching.sendBytes(new Uint8Array([byte]));
  }
  await settleEventLoop();
  await settleEventLoop();
  assertEquals(run.events, ["listed a", "added pöd-名", "added c"]);
});

interface Failure {
  readonly first: () => Response | Promise<Response>;
  readonly error: string;
  /** Whether it starts over with a list, or goes on from version 5. */
  readonly relists: boolean;
  readonly waitMs?: number;
}

const WATCH_FAILURES: Record<string, Failure> = {
  "410 as HTTP status": { first: () => json(EXPIRED, 410), error: "410 too old", relists: true },
  "410 as an ERROR event": {
    first: () => lines({ type: "ERROR", object: EXPIRED }),
    error: "410 too old resource version",
    relists: true,
  },
  "any other ERROR event": {
    first: () => lines({ type: "ERROR", object: { code: 500, message: "etcd is gone" } }),
    error: "500 etcd is gone",
    relists: true,
  },
  "504 for a version too large": { first: () => json(TOO_LARGE, 504), error: "Too large", relists: true, waitMs: 1000 },
  "a line that is not JSON": { first: () => new Response("{oops\n"), error: "a line that is not JSON", relists: true },
  "an event of an unknown type": {
    first: () => lines({ type: "MELTED", object: object("x", "6") }),
    error: "an event of no type",
    relists: true,
  },
  "an event without a version": {
    first: () => lines({ type: "ADDED", object: { metadata: { name: "x", uid: "x" } } }),
    error: "an event without a version",
    relists: true,
  },
  "a connection refused": {
    first: () => Promise.reject(new TypeError("fetch failed", { cause: new Error("tcp connect error: refused") })),
    error: `Cannot watch "/api/v1/pods": tcp connect error: refused`,
    relists: false,
  },
  "a dropped connection": { first: () => dropped(), error: "connection reset", relists: false },
  "a very short watch": { first: () => new Response(""), error: "ended it after 0 ms", relists: false },
  "429 with Retry-After": {
    first: () => new Response("Too many requests", { status: 429, headers: { "retry-after": "7" } }),
    error: "429 Too many requests",
    relists: false,
    waitMs: 7000,
  },
  "503 with Retry-After": {
    first: () => new Response("", { status: 503, headers: { "retry-after": "3" } }),
    error: "503",
    relists: false,
    waitMs: 3000,
  },
  "500 without more": { first: () => new Response("boom", { status: 500 }), error: "500 boom", relists: false },
  "a lost right (403)": {
    first: () => json({ kind: "Status", message: "pods is forbidden" }, 403),
    error: "403 pods is forbidden",
    relists: false,
  },
  "a refused credential (401)": { first: () => json({ message: "Unauthorized" }, 401), error: "401", relists: false },
  "a removed resource (404)": {
    first: () => new Response("404 page not found", { status: 404 }),
    error: "404 page not found",
    relists: true,
  },
};

for (const [what, { first, error, relists, waitMs = 600 }] of Object.entries(WATCH_FAILURES)) {
  Deno.test(`watchList() ${relists ? "lists again" : "goes on with the watch"} after ${what}`, async () => {
    const watching = stream();
    const after = relists ? [() => page({ names: ["z"], version: "20" })] : [];
    await using run = start([() => page({ version: "5" }), first, ...after, watching.answer]);
    await run.clock.advance(waitMs - 1);
    assertEquals(run.urls.length, 2);
    await run.clock.advance(1);
    assertEquals(run.events, relists ? ["listed a", "listed z"] : ["listed a"]);
    assertEquals(run.params(run.urls.length - 1).resourceVersion, relists ? "20" : "5");
    assertEquals(run.errors.length, 1);
    assertStringIncludes(run.errors[0] ?? "", error);
  });
}

const LIST_FAILURES: Record<string, Omit<Failure, "relists">> = {
  "403": {
    first: () => json({ message: `pods is forbidden: cannot list resource "pods"` }, 403),
    error: `Cannot list "/api/v1/pods": 403 pods is forbidden`,
  },
  "404": { first: () => new Response("404 page not found", { status: 404 }), error: "404" },
  "429": {
    first: () => new Response("Too many requests", { status: 429, headers: { "retry-after": "2" } }),
    error: "429",
    waitMs: 2000,
  },
  "an HTML page": { first: () => new Response("<html>"), error: "the answer is not a list" },
  "items that are no objects": {
    first: () => json({ metadata: { resourceVersion: "1" }, items: [1] }),
    error: "no name",
  },
  "a list without a version": { first: () => json({ metadata: {}, items: [] }), error: "not a list" },
  "a list cut short": { first: () => dropped(), error: "connection reset" },
};

for (const [what, { first, error, waitMs = 600 }] of Object.entries(LIST_FAILURES)) {
  Deno.test(`watchList() reports and retries a first list that fails with ${what}`, async () => {
    await using run = start([first, () => page({}), stream().answer]);
    await run.clock.advance(waitMs - 1);
    assertEquals(run.events, []);
    await run.clock.advance(1);
    assertEquals(run.events, ["listed a"]);
    assertStringIncludes(run.errors[0] ?? "", error);
  });
}

Deno.test("watchList() retries a page and keeps those before it", async () => {
  await using run = start([
    () => page({ names: ["a"], continueToken: "next" }),
    () => new Response("", { status: 500 }),
    () => page({ names: ["b"] }),
    stream().answer,
  ]);
  await run.clock.advance(600);
  assertEquals(run.events, ["listed a b"]);
  assertEquals(run.params(2).continue, "next");
});

Deno.test("watchList() gives the time at which the first page of a list was asked for (C16)", async () => {
  const [first, second, third] = [stream(), stream(), stream()];
  await using run = start([first.answer, second.answer, third.answer, stream().answer]);
  const startedMs = run.clock.monotonic();
  await run.clock.advance(5_000);
  first.fail();
  await run.clock.advance(1_000);
  assertEquals(run.urls.length, 2, "asked for again");
  const askedMs = run.clock.monotonic();
  await run.clock.advance(7_000);
  second.send(await page({ names: ["a"], continueToken: "next" }).text());
  second.end();
  await run.clock.advance(7_000);
  third.send(await page({ names: ["b"] }).text());
  third.end();
  await settleEventLoop();
  assertEquals(run.events, ["listed a b"]);
  const [begunMs = Infinity] = run.begunMs;
  assert(startedMs + 5_000 < begunMs && begunMs <= askedMs, `${begunMs - startedMs} ms after the start`);
});

Deno.test("watchList() lists from the start when a continue token has expired", async () => {
  await using run = start([
    () => page({ names: ["a"], continueToken: "next" }),
    () => json(EXPIRED, 410),
    () => page({ names: ["c"] }),
    stream().answer,
  ]);
  await run.clock.advance(600);
  assertEquals(run.events, ["listed c"]);
  assertEquals(run.params(2).continue, undefined);
});

Deno.test("watchList() lists from the start where its consumer has dropped the objects after a failure", async () => {
  const watching = stream();
  await using run = start([
    () => page({ names: ["a"], continueToken: "next" }),
    () => json({ message: "no" }, 403),
    () => page({ names: ["a"] }),
    () => json({ message: "no" }, 403),
    () => page({ names: ["b"], version: "9" }),
    watching.answer,
  ], { onError: () => Promise.resolve("relist" as const) });
  await run.clock.advance(60_000);
  assertEquals(run.events, ["listed a", "listed b"]);
  assertEquals(run.params(2).continue, undefined);
  assertEquals(run.params(5).resourceVersion, "9");
});

Deno.test("watchList() gives up a list that never ends", async () => {
  const endless = Array.from({ length: 2001 }, () => () => page({ continueToken: "next" }));
  await using run = start([...endless, () => page({}), stream().answer]);
  for (let turn = 0; turn < 1000 && run.errors.length === 0; turn++) await settleEventLoop();
  assertEquals(run.errors, [`Cannot list "/api/v1/pods": more than 2000 pages`]);
  await run.clock.advance(600);
  assertEquals(run.events, ["listed a"]);
});

Deno.test("watchList() halves its pages when one is too large", async () => {
  const large = () => new Response("{}", { headers: { "content-length": String(2 ** 30) } });
  await using run = start([large, large, () => page({}), stream().answer]);
  await run.clock.advance(600 + 1200);
  assertEquals([0, 1, 2].map((index) => run.params(index).limit), ["500", "250", "125"]);
});

Deno.test("watchList() goes on from the same place with smaller pages, which grow again", async () => {
  const large = () => new Response("{}", { headers: { "content-length": String(2 ** 30) } });
  await using run = start([
    () => page({ names: ["a"], continueToken: "one" }),
    large,
    large,
    ...Array.from({ length: 9 }, (_, index) => () => page({ names: [`b${index}`], continueToken: `p${index}` })),
    () => page({ names: ["c"] }),
    stream().answer,
  ]);
  await settleEventLoop();
  const asked = Array.from({ length: 13 }, (_, index) => run.params(index)).map(({ limit }) => limit);
  // A larger page is tried after eight, not at once: where most objects are large it is read for nothing.
  assertEquals(asked, ["500", "500", "250", ...Array.from({ length: 9 }, () => "125"), "250"]);
  assertEquals([3, 4].map((index) => run.params(index).continue), ["one", "p0"]);
  assertEquals([run.events, run.errors], [["listed a b0 b1 b2 b3 b4 b5 b6 b7 b8 c"], []]);
});

Deno.test("watchList() takes one object that is larger than a page", async () => {
  const padded = { ...object("a", "1"), spec: "<".repeat(9 * 2 ** 20) };
  const large = (count: number) => () =>
    json({ metadata: { resourceVersion: "5" }, items: Array.from({ length: count }, () => padded) });
  await using run = start([large(1), large(1), large(1), stream().answer], { pageSize: 4 });
  await run.clock.advance(100);
  assertEquals([0, 1, 2].map((index) => run.params(index).limit), ["4", "2", "1"]);
  assertEquals([run.events, run.errors], [["listed a"], []]);
});

Deno.test("watchList() hands on the objects of each page before it asks for the next, and keeps none of them", async () => {
  const order: string[] = [];
  const ask = (name: string, answer: () => Response) => () => {
    order.push(`asks ${name}`);
    return answer();
  };
  await using run = start([
    ask("one", () => page({ names: ["a", "b"], continueToken: "next" })),
    ask("two", () => page({ names: ["c"] })),
    stream().answer,
  ], { onListing: { begin: () => void order.push("begins"), add: (object) => void order.push(object) } });
  await settleEventLoop();
  assertEquals(order, ["asks one", "begins", "a", "b", "asks two", "c"]);
  assertEquals(run.events, ["listed"]);
});

Deno.test("watchList() drops a silent connection after 90 s and goes on; bookmarks keep it", async () => {
  const [first, second] = [stream(), stream()];
  await using run = start([() => page({ version: "5" }), first.answer, second.answer]);
  await run.clock.advance(89_000);
  first.send(bookmark("7"));
  await run.clock.advance(89_999);
  assertEquals(run.errors, []);
  await run.clock.advance(1);
  assert(first.isGone());
  await run.clock.advance(600);
  assertEquals(run.params(2).resourceVersion, "7");
  assertEquals(run.events, ["listed a"]);
  assertStringIncludes(run.errors[0] ?? "", "went silent");
});

Deno.test("watchList() gives up a connection that brings bytes and no line, and one that brings empty lines", async () => {
  for (const [what, drop] of [["half a line", '{"type":'], ["empty lines", "\n"]] as const) {
    const dribbling = stream();
    await using run = start([() => page({}), dribbling.answer, () => page({ names: ["z"] }), stream().answer]);
    for (let sentMs = 0; sentMs < 120_000; sentMs += 10_000) {
      await run.clock.advance(10_000);
      if (!dribbling.isGone()) dribbling.send(drop);
    }
    assertEquals([dribbling.isGone(), run.events], [true, ["listed a", "listed z"]], what);
  }
});

Deno.test("watchList() lets a list have a minute for each page, however its bytes come", async () => {
  const dribbling = stream();
  await using run = start([dribbling.answer, () => page({}), stream().answer]);
  await run.clock.advance(59_000);
  dribbling.send(" ");
  assertEquals(run.errors, []);
  await run.clock.advance(1600);
  assertEquals(run.errors, [`Cannot list "/api/v1/pods": a page was not whole after 60 s`]);
  assertEquals([dribbling.isGone(), run.events], [true, ["listed a"]]);
});

Deno.test("watchList() says what shows that nothing was missed: a bookmark, and an end in good order", async () => {
  const [first, second] = [stream(), stream()];
  let shown = 0;
  await using run = start([() => page({}), first.answer, second.answer], { onCurrent: () => shown++ });
  await run.clock.advance(2000);
  first.send(event("ADDED", "b", "6"));
  await settleEventLoop();
  assertEquals(shown, 0, "it may be the first of many");
  first.send(bookmark("9"));
  await settleEventLoop();
  assertEquals(shown, 1);
  first.end();
  await settleEventLoop();
  assertEquals([shown, run.urls.length], [2, 3]);
  await run.clock.advance(2000);
  second.fail();
  await settleEventLoop();
  assertEquals([shown, run.errors.length], [2, 1]);
});

const MUTE: Record<string, Answer> = {
  "no headers": (request) =>
    new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason))),
};

for (const [what, answer] of Object.entries(MUTE)) {
  Deno.test(`watchList() lists again after a watch with ${what}: the server waits for a version of its future`, async () => {
    await using run = start([() => page({}), answer, () => page({ names: ["z"] }), stream().answer]);
    await run.clock.advance(90_600);
    assertEquals(run.events, ["listed a", "listed z"]);
    assertEquals(run.failures, [1]);
  });
}

Deno.test("watchList() lists again after a watch without a line, which is no failure: a server sends no bookmarks of what never changed", async () => {
  await using run = start([() => page({}), stream().answer, () => page({ names: ["z"] }), stream().answer]);
  for (let rounds = 1; rounds <= 2; rounds++) await run.clock.advance(90_000);
  assertEquals([run.events, run.failures], [["listed a", "listed z"], []]);
});

Deno.test("watchList() ends a watch itself that the server forgot to end", async () => {
  const [first, second] = [stream(), stream()];
  await using run = start([() => page({ version: "5" }), first.answer, second.answer]);
  for (let sentMs = 0; sentMs < 480_000; sentMs += 60_000) {
    await run.clock.advance(60_000);
    if (!first.isGone()) first.send(bookmark(String(sentMs)));
  }
  assert(first.isGone());
  assertEquals(run.urls.length, 3);
  assertEquals(run.errors, []);
});

Deno.test("watchList() refuses a line over 32 MiB", async () => {
  const watching = stream();
  await using run = start([() => page({}), watching.answer, () => page({}), stream().answer]);
  await settleEventLoop();
  const chunk = new Uint8Array(2 ** 20).fill(32);
  for (let sent = 0; sent < 33; sent++) watching.sendBytes(chunk);
  await run.clock.advance(600);
  assertStringIncludes(run.errors[0] ?? "", "more than 33554432 bytes");
  assert(watching.isGone());
  assertEquals(run.urls.length, 4);
});

Deno.test("watchList() doubles its wait to 30 s, and starts over after two healthy minutes", async () => {
  const refusals = Array.from({ length: 9 }, () => () => new Response("", { status: 500 }));
  const watching = stream();
  await using run = start([...refusals, () => page({}), watching.answer, ...refusals]);
  const waits: number[] = [];
  let before = 0;
  for (let seen = 1; waits.length < 9;) {
    await run.clock.advance(100);
    if (run.urls.length === seen) continue;
    seen = run.urls.length;
    waits.push(run.clock.monotonic() - before);
    before = run.clock.monotonic();
  }
  assertEquals(waits, [600, 1200, 2400, 4800, 9600, 19200, 22500, 22500, 22500]);
  assertEquals(run.failures, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (let minute = 0; minute < 3; minute++) {
    await run.clock.advance(60_000);
    watching.send(bookmark("6"));
  }
  await settleEventLoop();
  watching.fail();
  await settleEventLoop();
  assertEquals(run.failures.at(-1), 1);
});

Deno.test("watchList() lists again when the server keeps failing to watch a version for five minutes", async () => {
  await using run = start([
    () => page({}),
    ...Array.from({ length: 19 }, () => () => new Response("cannot parse version", { status: 500 })),
    () => page({ names: ["z"] }),
    stream().answer,
  ]);
  await run.clock.advance(290_000);
  assertEquals([run.events, run.failures.at(-1)], [["listed a"], 18]);
  await run.clock.advance(41_000);
  assertEquals(run.events, ["listed a", "listed z"]);
});

const ABOUT_NO_VERSION: Record<string, Answer> = {
  "nobody answers": () => Promise.reject(new TypeError("connection refused")),
  "the server is busy": () => new Response("", { status: 503 }),
  "it asks to come later": () => new Response("", { status: 429 }),
  "the right is gone": () => json({ message: "pods is forbidden" }, 403),
};

for (const [what, answer] of Object.entries(ABOUT_NO_VERSION)) {
  Deno.test(`watchList() goes on from its version, without a list, after half an hour in which ${what}`, async () => {
    let isOver = false;
    const watching = stream();
    const first = stream();
    const other: Answer = (request) => isOver ? watching.answer() : answer(request);
    await using run = start([() => page({ version: "5" }), first.answer, ...Array.from({ length: 200 }, () => other)]);
    first.send(event("ADDED", "b", "7"));
    await run.clock.advance(2000);
    first.fail();
    await run.clock.advance(1_800_000);
    isOver = true;
    await run.clock.advance(30_000);
    watching.send(event("ADDED", "c", "9"));
    await settleEventLoop();
    assertEquals(run.events, ["listed a", "added b", "added c"]);
    assertEquals(run.params(run.urls.length - 1).resourceVersion, "7");
    const waits = run.urls.length;
    assert(waits > 60 && waits < 100, `${waits} requests`);
  });
}

Deno.test("watchList() keeps counting failures when every list works and every watch expires", async () => {
  const round = [() => page({}), () => json(EXPIRED, 410)];
  await using run = start([...round, ...round, ...round, ...round]);
  await run.clock.advance(600 + 1200 + 2400);
  assertEquals(run.failures, [1, 2, 3, 4]);
});

Deno.test("watchList() lists again after an hour, when a watch ends", async () => {
  const watches = [stream(), stream()];
  await using run = start([
    () => page({}),
    ...watches.map((watching) => watching.answer),
    () => page({ names: ["z"] }),
    stream().answer,
  ], { relistMs: 60_000 });
  await run.clock.advance(59_000);
  watches[0]?.end();
  await run.clock.advance(2000);
  assertEquals(run.events, ["listed a"]);
  watches[1]?.end();
  await settleEventLoop();
  assertEquals(run.events, ["listed a", "listed z"]);
  assertEquals(run.errors, []);
});

Deno.test("watchList() lists again after an hour, also when no watch ends in good order", async () => {
  const watches = [stream(), stream()];
  await using run = start([
    () => page({}),
    ...watches.map((watching) => watching.answer),
    () => page({ names: ["z"] }),
    stream().answer,
  ], { relistMs: 60_000 });
  for (const watching of watches) {
    await run.clock.advance(50_000);
    watching.fail();
    await run.clock.advance(1200);
  }
  assertEquals(run.events, ["listed a", "listed z"]);
});

Deno.test("watchList() leaves out and reports an object that cannot be projected", async () => {
  const watching = stream();
  const project = ({ metadata: { name } }: KubeObject) => {
    if (name.startsWith("bad")) throw new Error("no spec");
    return name;
  };
  await using run = start([() => page({ names: ["a", "bad1"] }), watching.answer], { project });
  await settleEventLoop();
  watching.send(event("ADDED", "bad2", "6"), event("ADDED", "c", "7"));
  await settleEventLoop();
  assertEquals(run.events, ["listed a", "added c"]);
  assertEquals(run.errors, [`Cannot read object "bad1": no spec`, `Cannot read object "bad2": no spec`]);
  assertEquals(run.failures, [0, 0]);
});

Deno.test("watchList() ends without an error and closes its connection when its signal aborts", async () => {
  const watching = stream();
  const run = start([() => page({}), watching.answer]);
  await settleEventLoop();
  await run[Symbol.asyncDispose]();
  assert(watching.isGone());
  assertEquals(run.errors, []);
  assertEquals(run.clock.pending, 0);
});

Deno.test("watchList() closes its connection when its consumer leaves", async () => {
  const watching = stream();
  const clock = new VirtualClock();
  const answers = [() => page({}), watching.answer];
  const events = watchList(() => Promise.resolve(answers.shift()?.() ?? new Response()), toOptions(clock, {}));
  await events.next();
  const next = events.next();
  await settleEventLoop();
  watching.send(event("ADDED", "b", "6"));
  assertEquals((await next).value, { kind: "added", object: "b" });
  await events.return(undefined);
  assert(watching.isGone());
  assertEquals(clock.pending, 0);
});

type Answer = (request: Request) => Response | Promise<Response>;
type Overrides = Partial<WatchOptions<string>>;

function toOptions(clock: VirtualClock, overrides: Overrides): WatchOptions<string> {
  return {
    origin: "https://api",
    path: "/api/v1/pods",
    clock,
    random: () => 0.5,
    signal: new AbortController().signal,
    project: ({ metadata }) => metadata.name,
    onError: () => {},
    ...overrides,
  };
}

/** Watches in the background against answers given in turn; the last request hangs when they run out. */
function start(answers: readonly Answer[], overrides: Overrides = {}) {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const urls: string[] = [];
  const events: string[] = [];
  const begunMs: number[] = [];
  const errors: string[] = [];
  const failures: number[] = [];
  const watching = watchList(
    async (request) => {
      const answer = answers[urls.length] ?? stream().answer;
      urls.push(request.url);
      return await answer(request);
    },
    toOptions(clock, {
      signal: controller.signal,
      onError(error, consecutive) {
        errors.push(error.message);
        failures.push(consecutive);
      },
      ...overrides,
    }),
  );
  const ended = (async () => {
    for await (const event of watching) {
      if (event.kind === "listed") begunMs.push(event.begunMs);
      events.push(event.kind === "listed" ? ["listed", ...event.objects].join(" ") : `${event.kind} ${event.object}`);
    }
  })();
  return {
    clock,
    urls,
    events,
    begunMs,
    errors,
    failures,
    params: (index: number): Record<string, string> =>
      Object.fromEntries(new URL(urls[index] ?? "https://none").searchParams),
    async [Symbol.asyncDispose]() {
      controller.abort();
      await ended;
    },
  };
}

/** A watch's response whose lines the test sends. Doesn't heed the request's signal: the watch has to let go by itself. */
function stream() {
  let controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  let isGone = false;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (own) => void (controller = own),
    cancel: () => void (isGone = true),
  });
  return {
    answer: () => new Response(body),
    send: (...texts: string[]) => controller?.enqueue(new TextEncoder().encode(texts.join(""))),
    sendBytes: (bytes: Uint8Array<ArrayBuffer>) => controller?.enqueue(bytes),
    end: () => controller?.close(),
    fail: () => controller?.error(new Error("connection reset")),
    isGone: () => isGone,
  };
}

function dropped(): Response {
  return new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("connection reset")) }));
}

function page({ names = ["a"], version = "5", continueToken = "" }): Response {
  const items = names.map((name) => object(name, "1"));
  return json({ metadata: { resourceVersion: version, continue: continueToken }, items });
}

function object(name: string, resourceVersion: string) {
  return { metadata: { name, uid: `uid-${name}`, resourceVersion } };
}

function event(type: string, name: string, version: string): string {
  return JSON.stringify({ type, object: object(name, version) }) + "\n";
}

function bookmark(resourceVersion: string): string {
  return JSON.stringify({ type: "BOOKMARK", object: { kind: "Pod", metadata: { resourceVersion } } }) + "\n";
}

function lines(...events: readonly unknown[]): Response {
  return new Response(events.map((event) => JSON.stringify(event) + "\n").join(""));
}

function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}
