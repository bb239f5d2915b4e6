/** `podfit record` follows /debug/records of a running podfit and writes its lines down. */
import { abortable } from "../../runtime/abortable.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import type { Access } from "../explain/access.ts";
import { answer } from "../explain/answer.ts";
import type { DebugListener, DebugQuery } from "../explain/debug_source.ts";
import { askInTurn } from "../explain/listener.ts";
import { readTexts } from "../explain/read_lines.ts";
import { writeError } from "../terminal/output.ts";
import type { RecordOptions } from "./options.ts";
import { openSink, type Sink } from "./sink.ts";

/** Resolves to the exit code: 0 = recorded, 1 = not, or not to the end. */
export function record(options: RecordOptions): Promise<number> {
  return answer(options.access, async (access, signal) => {
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

/** What is followed, and by what means. */
export interface FollowOptions extends Pick<RecordOptions, "withPast" | "forMs"> {
  /** The podfits that may know of it. */
  readonly open: (signal: AbortSignal) => Promise<readonly DebugListener[]>;
  readonly query: DebugQuery;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly clock?: Pick<Clock, "timeout">;
}

export interface Recorded {
  readonly lines: number;
  /** podfit ended it, and nobody here. */
  readonly isOver: boolean;
}

/** Opens the sink once podfit answers. Rejects where podfit says why it does not, or breaks off. */
export async function recordTo(open: () => Promise<Sink>, options: FollowOptions): Promise<Recorded> {
  const { forMs, clock = systemClock } = options;
  using timeout = forMs === null ? null : clock.timeout(forMs);
  const signal = timeout === null ? options.signal : AbortSignal.any([options.signal, timeout.signal]);
  let lines = 0;
  try {
    const response = await ask(options, signal);
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

async function ask({ open, query, withPast }: FollowOptions, signal: AbortSignal): Promise<Response> {
  const followed: DebugQuery = { ...query, watch: true, ...(withPast ? {} : { past: false }) };
  const listeners = await abortable(open(signal), signal);
  return await askInTurn(listeners, (one) => one.open(followed, signal));
}
