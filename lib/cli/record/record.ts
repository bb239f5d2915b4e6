/** `podfit record`: follows the records of a running podfit and writes them to a file or to stdout. */
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { abortable } from "../../runtime/tasks.ts";
import { escapeUnseen } from "../../runtime/unseen.ts";
import { toWriteError } from "../command/process.ts";
import { type Access, withAccess } from "../connection/podfits.ts";
import { askUntilAnswered, type DebugListener, type DebugQuery, readTexts } from "../connection/records.ts";
import { writeError, writeOutput } from "../terminal/output.ts";
import type { RecordOptions } from "./options.ts";

/** Resolves to exit code 0: recorded, until podfit, a signal or --for ends it. Rejects with a StartError for no records. */
export function record(options: RecordOptions): Promise<number> {
  return withAccess(options.access, async (access, signal) => {
    const { subject: { kind, name }, path } = options;
    const { namespace } = access;
    const { lines, isOver } = await recordTo(() => openSink(path), {
      ...options,
      open: (until) => openListeners(access, options, until),
      query: { namespace, [kind === "pod" ? "pod" : "scaledObject"]: name },
      signal,
    });
    const why = isOver ? `; podfit closed the stream: it is stopping, or ${kind} "${namespace}/${name}" is gone` : "";
    writeError(`${lines} evaluation${lines === 1 ? "" : "s"} recorded${why}`);
  });
}

function openListeners(
  access: Access,
  { subject: { kind, name }, withPast }: RecordOptions,
  signal: AbortSignal,
): Promise<readonly DebugListener[]> {
  return access.open({ namespace: access.namespace, pod: kind === "pod" ? name : null, mayBeGone: withPast }, signal);
}

/** The subject, and how it is followed. */
export interface FollowOptions extends Pick<RecordOptions, "withPast" | "forMs"> {
  /** The podfits that may have a record of it. */
  readonly open: (signal: AbortSignal) => Promise<readonly DebugListener[]>;
  readonly query: DebugQuery;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly clock?: Pick<Clock, "timeout">;
}

export interface Recorded {
  readonly lines: number;
  /** podfit ended the connection, not this command. */
  readonly isOver: boolean;
}

/** Opens the sink once podfit answers. Rejects with the reason of podfit, or when the connection breaks. */
export async function recordTo(open: () => Promise<Sink>, options: FollowOptions): Promise<Recorded> {
  const { forMs, clock = systemClock } = options;
  using timeout = forMs === null ? null : clock.timeout(forMs);
  const signal = timeout === null ? options.signal : AbortSignal.any([options.signal, timeout.signal]);
  let lines = 0;
  try {
    const response = await openStream(options, signal);
    using sink = await open();
    for await (const texts of readTexts(response, { signal })) {
      for (const text of texts) {
        if (!sink.write(`${text}\n`)) return { lines, isOver: false };
        lines++;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return { lines, isOver: !signal.aborted };
}

async function openStream({ open, query, withPast }: FollowOptions, signal: AbortSignal): Promise<Response> {
  const followed: DebugQuery = { ...query, watch: true, ...(withPast ? {} : { past: false }) };
  const listeners = await abortable(open(signal), signal);
  return await askUntilAnswered(listeners, (one) => one.open(followed, signal));
}

export interface Sink extends Disposable {
  /** Returns false when the reader of stdout has ended. */
  readonly write: (text: string) => boolean;
}

/** `null` = stdout. Rejects with a StartError where the file cannot be written. */
export async function openSink(path: string | null): Promise<Sink> {
  if (path === null) return { write: writeRecords, [Symbol.dispose]() {} };
  const file = await create(path);
  const encoder = new TextEncoder();
  return {
    write(text) {
      for (let rest = encoder.encode(text); rest.length > 0;) rest = rest.subarray(file.writeSync(rest));
      return true;
    },
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}

/** Lines of JSON keep their values. A raw CR in JSON is a space between values: without it the line means the same. */
function writeRecords(text: string): boolean {
  return writeOutput(escapeUnseen(text.replaceAll("\r", "")));
}

async function create(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.create(path);
  } catch (cause) {
    throw toWriteError(path, cause, `leave -o out and write > ${path}`);
  }
}
