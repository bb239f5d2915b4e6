/** `/debug/records`: what the flight recorder holds of a pod or ScaledObject, and what comes after it, as JSON lines. */
import { follow } from "../record/follow.ts";
import type { Records, Subject } from "../record/flight_recorder.ts";
import { type DebugQuery, parseDebugQuery } from "./debug_query.ts";
import type { Route } from "./handler.ts";
import type { CheckReader } from "./reader_access.ts";
import { guardReaders } from "./reader_guard.ts";
import { toTextStream } from "./text_stream.ts";

const PATH = "/debug/records";
const HEADERS = { "content-type": "application/x-ndjson" };
const HOLDING_NOTHING: Disposable = { [Symbol.dispose]() {} };

/** The one route. Without `checkReader` everybody may read. */
export function debugRoutes(records: Records, checkReader: CheckReader | null): readonly Route[] {
  return [{
    path: PATH,
    about: "what was decided and of what, as JSON lines: ?namespace=NS&pod=NAME, &scaledObject=NAME or latest=true",
    middleware: checkReader === null ? [] : [guardReaders(checkReader, PATH)],
    answer(context) {
      const query = parseDebugQuery(new URL(context.req.url).searchParams);
      if (query.kind === "refused") return context.text(`${query.message}\n`, 400);
      const body = query.kind === "latest" ? toBody(records.readLatest(query.namespace)) : readOne(records, query);
      if (typeof body === "string") return context.text(`${body}\n`, 404);
      if (context.req.method !== "HEAD") return context.body(body, 200, HEADERS);
      void body.cancel();
      return context.body(null, 200, HEADERS);
    },
  }];
}

type Body = ReadableStream<Uint8Array>;

/** What is wrong, where nothing is known. */
function readOne(
  records: Records,
  { subject, isWatched, withPast }: Extract<DebugQuery, { readonly kind: "one" }>,
): Body | string {
  const following = isWatched ? follow(records, { subject, withPast }) : null;
  if (following !== null) return toTextStream(following.lines, following);
  const lines = withPast ? records.read(subject) : null;
  return lines === null ? describe(subject) : toBody(lines);
}

function toBody(lines: Iterable<string>): Body {
  return toTextStream(lines, HOLDING_NOTHING);
}

function describe({ kind, namespace, name }: Subject): string {
  return `Nothing is known of ${kind} "${namespace}/${name}": this podfit has evaluated none of that name; where several ` +
    "run, ask the leader, or the agent of the pod's node";
}
