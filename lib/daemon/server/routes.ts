/**
 * The routes: `/metrics`, `/healthz`, `/readyz` and `/debug/records`, and the index at `/`. `guardReaders` lets only
 * readers with the right pass.
 */
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { compress } from "hono/compress";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { Semaphore } from "../../runtime/limits.ts";
import type { CheckResult } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { FlightRecords, RecordSubject } from "../recorder.ts";
import type { Access, CheckReader } from "./reader_access.ts";
import { type CheckRecordsReader, POD_UID_HEADER, RECORDS_PATH } from "./records_access.ts";

/** Answers one request. `client`: where it comes from. */
export type Handler = (request: Request, client?: ClientAddress) => Response | Promise<Response>;

export interface ClientAddress {
  /** The IP address of the other end of the connection. */
  readonly address: string;
}

/** One path and its answer. */
interface Route {
  /** `/metrics` */
  readonly path: string;
  /** The text in the index. */
  readonly about: string;
  /** Middleware for every answer, such as compression. */
  readonly middleware?: readonly MiddlewareHandler[];
  readonly answer: (context: Context) => Response | Promise<Response>;
}

/**
 * Returns a handler for the routes and an index of them at `/`. Routes answer GET and HEAD only. If two routes have one
 * path, the first answers. An answer that throws becomes status 500 with its message; the handler never rejects.
 */
export function createHandler(groups: readonly (readonly Route[])[]): Handler {
  const routes = groups.flat();
  const app = new Hono<{ Bindings: Partial<ClientAddress> }>();
  const index: Route = { path: "/", about: "", answer: (context) => context.text(formatIndex(routes)) };
  for (const { path, middleware = [], answer } of [index, ...routes]) {
    for (const one of middleware) app.get(path, one);
    app.get(path, (context) => answer(context));
    app.all(path, (context) => context.text("Method not allowed\n", 405, { allow: "GET, HEAD" }));
  }
  app.notFound((context) => context.text("Not found\n", 404));
  app.onError((error, context) => context.text(`Cannot answer: ${error.message}\n`, 500));
  return (request, client) => app.fetch(request, client ?? {});
}

function formatIndex(routes: readonly Route[]): string {
  const width = Math.max(...routes.map(({ path }) => path.length));
  return ["podfit", "", ...routes.map(({ path, about }) => `${path.padEnd(width)}  ${about}`), ""].join("\n");
}

export interface HealthRoutesOptions {
  readonly isAlive: () => CheckResult;
  readonly isReady: () => CheckResult;
}

/**
 * Returns the routes `/healthz` and `/readyz` for the probes of a kubelet: 200 or 503, with a few words. A reader with
 * the right to `/metrics` gets the reasons with names, if readers are checked.
 */
export function healthRoutes(
  { isAlive, isReady }: HealthRoutesOptions,
  checkReader: CheckReader | null = null,
): readonly Route[] {
  const answer = async (context: Context, { ok, message, reason }: CheckResult, failed: string) => {
    // A probe sends no token, so it never waits for a review.
    const token = checkReader === null ? undefined : context.req.header("authorization");
    const access = token === undefined ? null : await checkReader?.(token, METRICS_PATH);
    const short = ok ? reason ?? "ok" : [failed, ...reason === undefined ? [] : [reason]].join(": ");
    return context.text(`${access?.kind === "allowed" ? message : short}\n`, ok ? 200 : 503);
  };
  return [
    { path: "/healthz", about: "is the process alive", answer: (context) => answer(context, isAlive(), "not alive") },
    { path: "/readyz", about: "is it ready to work", answer: (context) => answer(context, isReady(), "not ready") },
  ];
}

interface MetricsRoutesOptions {
  /** Absent = every client may read. */
  readonly checkReader?: CheckReader | null;
  readonly clock?: StreamClock & Pick<Clock, "timeout">;
  /** The most pages at one time; 4 by default, 2 of them for one address. A page under way needs 1 MB or more. */
  readonly maxPages?: number;
}

/**
 * Returns the route `/metrics` for Prometheus, compressed if the client accepts that. Other work continues while a page
 * is sent.
 */
export function metricsRoutes(
  metrics: Pick<Metrics, "contentType" | "render">,
  { checkReader = null, clock = systemClock, maxPages = 4 }: MetricsRoutesOptions = {},
): readonly Route[] {
  const pages = new Pages(maxPages, clock);
  const headers = { "content-type": metrics.contentType };
  return [{
    path: METRICS_PATH,
    about: "its metrics, for Prometheus",
    middleware: [
      ...(checkReader === null ? [] : [guardReaders(checkReader, METRICS_PATH)]),
      // Measured: 29 MB become 1 MB in 0.15 s, in steps of a millisecond.
      compress({ encoding: "gzip" }),
    ],
    async answer(context) {
      if (context.req.method === "HEAD") return context.body("", 200, headers);
      const page = await pages.open(metrics.render(), getAddress(context) ?? "");
      if (page === null) return context.text("Too many readers at once\n", 503, { "retry-after": "5" });
      return context.body(toTextStream(page.pieces, page, clock), 200, headers);
    },
  }];
}

/**
 * Returns the route `/debug/records`: the records of a pod or ScaledObject, and those that follow, as JSON lines.
 * Without `checkReader` every client may read.
 */
export function debugRoutes(
  records: FlightRecords,
  checkReader: CheckRecordsReader | null,
  clock: StreamClock = systemClock,
): readonly Route[] {
  return [{
    path: RECORDS_PATH,
    about: "decisions and their input, as JSON lines: ?namespace=NS&pod=NAME, &scaledObject=NAME or latest=true",
    middleware: checkReader === null ? [] : [guardRecords(checkReader)],
    answer(context) {
      const query = parseDebugQuery(new URL(context.req.url).searchParams);
      if (query.kind === "refused") return context.text(`${query.message}\n`, 400);
      const body = query.kind === "latest"
        ? toBody(records.listLatest(query.namespace), clock)
        : toSubjectBody(records, query, clock);
      if (typeof body === "string") return context.text(`${body}\n`, 404);
      if (context.req.method !== "HEAD") return context.body(body, 200, RECORDS_HEADERS);
      void body.cancel();
      return context.body(null, 200, RECORDS_HEADERS);
    },
  }];
}

/** The parsed query, or what is wrong with it. */
type DebugQuery =
  | { readonly kind: "latest"; readonly namespace: string | null }
  | { readonly kind: "one"; readonly subject: RecordSubject; readonly isWatched: boolean; readonly withPast: boolean }
  | { readonly kind: "refused"; readonly message: string };

/** Parses the query of `/debug/records`. Never throws. */
export function parseDebugQuery(query: URLSearchParams): DebugQuery {
  const known: readonly string[] = [...QUERY_FLAGS, ...QUERY_NAMES];
  for (const key of query.keys()) {
    if (!known.includes(key)) return refuseQuery(`unknown parameter "${key.slice(0, 64)}"`);
    if (query.getAll(key).length > 1) return refuseQuery(`${key} is given twice`);
    if (query.get(key) === "") return refuseQuery(`${key} is empty`);
  }
  for (const flag of QUERY_FLAGS) {
    if (!["true", "false", null].includes(query.get(flag))) return refuseQuery(`${flag} is neither true nor false`);
  }
  return toQuery(query);
}

/** The lines end when the subject is removed, and with an error if the reader is too slow. Disposal ends them too. */
interface FollowedRecords extends Disposable {
  readonly lines: AsyncIterable<string>;
}

/** A poll of a pod makes one line; the shortest interval is a second. */
const MAX_WAITING_LINES = 256;

/** Returns the stored records, then each new one; `null` if the subject is not known. */
function followRecords(
  records: FlightRecords,
  { subject, withPast }: { readonly subject: RecordSubject; readonly withPast: boolean },
): FollowedRecords | null {
  const waiting: string[] = [];
  let isOver = false;
  let isBehind = false;
  let wake = () => {};
  const watching = records.watch(subject, (line) => {
    if (line === null) isOver = true;
    else if (waiting.length >= MAX_WAITING_LINES) isBehind = true;
    else waiting.push(line);
    wake();
  });
  if (watching === null) return null;
  const past = withPast ? records.get(subject) ?? [] : [];

  async function* readLines(): AsyncGenerator<string> {
    yield* past;
    while (true) {
      while (waiting.length > 0 && !isBehind) yield waiting.shift() ?? "";
      if (isBehind) throw new Error(`Cannot follow ${subject.kind} "${subject.name}": its reader is too slow`);
      if (isOver) return;
      await new Promise<void>((resolve) => wake = resolve);
    }
  }

  return {
    lines: readLines(),
    [Symbol.dispose]() {
      watching[Symbol.dispose]();
      isOver = true;
      wake();
    },
  };
}

function guardRecords(checkReader: CheckRecordsReader): MiddlewareHandler {
  return async (context, next) => {
    const access = await checkReader({
      authorization: context.req.header("authorization") ?? null,
      podUid: context.req.header(POD_UID_HEADER) ?? null,
      address: getAddress(context),
    });
    return access.kind === "allowed" ? await next() : refuseReader(context, access, RECORDS_PATH);
  };
}

/** Returns middleware that lets only readers with the right pass. The other answers say what is missing. */
function guardReaders(checkReader: CheckReader, path: string): MiddlewareHandler {
  return async (context, next) => {
    const access = await checkReader(context.req.header("authorization") ?? null, path);
    return access.kind === "allowed" ? await next() : refuseReader(context, access, path);
  };
}

function refuseReader(context: Context, access: Exclude<Access, { readonly kind: "allowed" }>, path: string): Response {
  switch (access.kind) {
    case "unknownReader":
      return context.text("Unauthorized: send a bearer token of this cluster\n", 401, {
        "www-authenticate": 'Bearer realm="podfit"',
      });
    case "denied":
      return context.text(
        `Forbidden: user "${access.user}" may not read this; grant the verb "get" on the nonResourceURL "${path}"\n`,
        403,
      );
    case "outsider":
      return context.text(`Forbidden: ${access.why}\n`, 403);
    case "unanswered":
      return context.text(`Cannot check the right of the reader: ${access.why}\n`, 503, { "retry-after": "5" });
    case "rightMissing":
      return context.text(`Cannot check the right of the reader: ${access.why}\n`, 500);
  }
}

/** The time between two pauses for other work, ms. */
const ENCODE_ROUND_MS = 2;

type StreamClock = Pick<Clock, "monotonic" | "sleep">;

/**
 * Returns a body that makes each piece when the reader can take it, and pauses for other work. `holding` is disposed
 * after the last piece or when the reader has gone, also before the first piece. Asynchronous pieces have to end then.
 */
function toTextStream(
  pieces: Iterable<string> | AsyncIterable<string>,
  holding: Disposable,
  clock: StreamClock,
): ReadableStream<Uint8Array> {
  const encoded = encodeInRounds(pieces, clock);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await encoded.next();
        if (done !== true) return controller.enqueue(value);
        holding[Symbol.dispose]();
        controller.close();
      } catch (error) {
        holding[Symbol.dispose]();
        throw error;
      }
    },
    async cancel() {
      holding[Symbol.dispose]();
      await encoded.return(undefined);
    },
  }, { highWaterMark: 0 });
}

async function* encodeInRounds(
  pieces: Iterable<string> | AsyncIterable<string>,
  clock: StreamClock,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let pausedAtMs = clock.monotonic();
  for await (const piece of pieces) {
    yield encoder.encode(piece);
    if (clock.monotonic() - pausedAtMs < ENCODE_ROUND_MS) continue;
    await clock.sleep(0);
    pausedAtMs = clock.monotonic();
  }
}

const METRICS_PATH = "/metrics";

/** The default scrape timeout of Prometheus. Clients that do not read are disconnected by then. */
const SLOT_TIMEOUT_MS = 10_000;

/** A page that is under way for so long may lose its place. Prometheus takes less than a second for 30 MB. */
const SLOW_PAGE_MS = 5_000;

/** How often a reader who waits looks for a slow page. */
const LOOK_MS = 1_000;

/** A page that is being sent. Its disposal frees its place. */
interface Page extends Disposable {
  readonly address: string;
  readonly startedMs: number;
  readonly pieces: Iterable<string>;
  /** Characters that were made so far. They do not depend on the compression. */
  readonly length: number;
  /** Ends the page before its end: the reader gets an error with the next piece. */
  readonly drop: () => void;
}

/**
 * The pages under way. One address has half of them at most. A reader may take two minutes for a page, but a few slow
 * readers must leave one for Prometheus: if all places are taken, an address without one takes that of the slowest page.
 */
class Pages {
  readonly #max: number;
  readonly #clock: StreamClock & Pick<Clock, "timeout">;
  readonly #slots: Semaphore;
  readonly #open = new Set<Page>();

  constructor(max: number, clock: StreamClock & Pick<Clock, "timeout">) {
    this.#max = max;
    this.#clock = clock;
    this.#slots = new Semaphore(max, { isShared: true, minShare: 1 });
  }

  /** Resolves to `null` if no place becomes free in time. */
  async open(pieces: Iterable<string>, address: string): Promise<Page | null> {
    const slot = this.#slots.tryAcquire(address) ?? await this.#wait(address);
    if (slot === null) return null;
    const page = openPage(pieces, {
      address,
      startedMs: this.#clock.monotonic(),
      onEnd: () => {
        this.#open.delete(page);
        slot[Symbol.dispose]();
      },
    });
    this.#open.add(page);
    return page;
  }

  async #wait(address: string): Promise<Disposable | null> {
    using timeout = this.#clock.timeout(SLOT_TIMEOUT_MS);
    const waiting = new AbortController();
    void this.#dropSlow(address, waiting.signal);
    const slot = await this.#slots.acquire(timeout.signal, { lane: address }).catch(() => null);
    waiting.abort();
    return slot;
  }

  async #dropSlow(address: string, signal: AbortSignal): Promise<void> {
    while (true) {
      await this.#clock.sleep(LOOK_MS, signal).catch(() => {});
      if (signal.aborted) return;
      const open = [...this.#open];
      if (open.length < this.#max || open.some((one) => one.address === address)) continue;
      this.#findSlowest(open)?.drop();
    }
  }

  #findSlowest(open: readonly Page[]): Page | null {
    const nowMs = this.#clock.monotonic();
    const toRate = ({ length, startedMs }: Page) => length / (nowMs - startedMs);
    const slow = open.filter(({ startedMs }) => nowMs - startedMs >= SLOW_PAGE_MS);
    return slow.sort((a, b) => toRate(a) - toRate(b))[0] ?? null;
  }
}

function openPage(
  pieces: Iterable<string>,
  { address, startedMs, onEnd }: Pick<Page, "address" | "startedMs"> & { readonly onEnd: () => void },
): Page {
  const made = pieces[Symbol.iterator]();
  let length = 0;
  let isDropped = false;
  function* takePieces(): Generator<string> {
    try {
      while (true) {
        if (isDropped) throw new Error("Cannot send the page to its end: its reader is slow, and others wait");
        const next = made.next();
        if (next.done === true) return;
        length += next.value.length;
        yield next.value;
      }
    } finally {
      made.return?.();
    }
  }
  return {
    address,
    startedMs,
    pieces: takePieces(),
    get length() {
      return length;
    },
    drop() {
      isDropped = true;
      // The rest of the page is not kept until the reader asks for it.
      made.return?.();
      onEnd();
    },
    [Symbol.dispose]: onEnd,
  };
}

function getAddress(context: Context): string | null {
  return (context.env as Partial<ClientAddress>).address ?? null;
}

const RECORDS_HEADERS = { "content-type": "application/x-ndjson" };

const NOTHING_TO_DISPOSE: Disposable = { [Symbol.dispose]() {} };

type ByteBody = ReadableStream<Uint8Array>;

/** Returns the body, or a message if the subject is not known. */
function toSubjectBody(
  records: FlightRecords,
  { subject, isWatched, withPast }: Extract<DebugQuery, { readonly kind: "one" }>,
  clock: StreamClock,
): ByteBody | string {
  const following = isWatched ? followRecords(records, { subject, withPast }) : null;
  if (following !== null) return toTextStream(following.lines, following, clock);
  const lines = withPast ? records.get(subject) : null;
  return lines === null ? describeUnknown(subject) : toBody(lines, clock);
}

function toBody(lines: Iterable<string>, clock: StreamClock): ByteBody {
  return toTextStream(lines, NOTHING_TO_DISPOSE, clock);
}

function describeUnknown({ kind, namespace, name }: RecordSubject): string {
  return `Nothing is known of ${kind} "${namespace}/${name}": this podfit has evaluated none of that name; where several ` +
    "run, ask the leader, or the agent of the pod's node";
}

const QUERY_FLAGS = ["watch", "past", "latest"] as const;

const QUERY_NAMES = ["namespace", "pod", "scaledObject"] as const;

const QUERY_USAGE =
  "ask for namespace=NS and pod=NAME or scaledObject=NAME, with watch=true to go on, or for latest=true";

function toQuery(query: URLSearchParams): DebugQuery {
  const [namespace, pod, scaledObject] = QUERY_NAMES.map((name) => query.get(name));
  const [isWatched, isLatest] = [query.get("watch") === "true", query.get("latest") === "true"];
  const withPast = query.get("past") !== "false";
  if (pod && scaledObject) return refuseQuery("pod and scaledObject do not go together");
  const name = pod ?? scaledObject ?? null;
  if (name === null) {
    if (!isLatest && !namespace) return refuseQuery("nothing is asked for");
    return isWatched
      ? refuseQuery("watch needs a pod or scaledObject")
      : { kind: "latest", namespace: namespace ?? null };
  }
  if (!namespace) return refuseQuery("namespace is missing");
  if (isLatest) return refuseQuery("latest is not for one pod or scaledObject");
  if (!withPast && !isWatched) return refuseQuery("past=false is for watch=true");
  return { kind: "one", subject: { kind: pod ? "pod" : "scaledObject", namespace, name }, isWatched, withPast };
}

function refuseQuery(why: string): DebugQuery {
  return { kind: "refused", message: `Cannot parse the query: ${why}; ${QUERY_USAGE}` };
}
