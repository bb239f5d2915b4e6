/** `podfit record` follows /debug/records of a running podfit and writes its lines down. */
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { splitLines } from "../explain/read_lines.ts";
import { writeError } from "../output.ts";
import { toStartError } from "../run/start_error.ts";
import { listenForSignals } from "../signals.ts";
import type { RecordOptions } from "./options.ts";

/** Asks podfit's debug listener for a path with its query, such as `/debug/records?latest=true`. Rejects where it cannot be reached. */
export type OpenDebug = (path: string, signal: AbortSignal) => Promise<Response>;

/** Resolves to the exit code: 0 = recorded, 1 = not, or not to the end. */
export async function record(options: RecordOptions): Promise<number> {
  using ending = listenForSignals();
  try {
    const openDebug = await openUrl(options);
    using file = options.path === null ? null : await create(options.path);
    const write = (bytes: Uint8Array) => writeAll(file ?? Deno.stdout, bytes);
    const lines = await recordTo(write, { ...options, openDebug, signal: ending.signal });
    writeError(`${lines} evaluation${lines === 1 ? "" : "s"} recorded`);
    return 0;
  } catch (error) {
    writeError(toStartError(error).message);
    return 1;
  }
}

/** What is followed, and by what means. */
export interface FollowOptions extends Pick<RecordOptions, "kind" | "namespace" | "name" | "withPast" | "forMs"> {
  readonly openDebug: OpenDebug;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly clock?: Pick<Clock, "timeout">;
}

/** Resolves to the number of lines when it is over; rejects where podfit says why not, or breaks off. */
export async function recordTo(
  write: (bytes: Uint8Array) => Promise<unknown>,
  options: FollowOptions,
): Promise<number> {
  const { forMs, openDebug, clock = systemClock } = options;
  using timeout = forMs === null ? null : clock.timeout(forMs);
  const signal = timeout === null ? options.signal : AbortSignal.any([options.signal, timeout.signal]);
  let lines = 0;
  try {
    const response = await openDebug(toPath(options), signal);
    if (!response.ok) throw new Error(`Cannot record ${options.name}: ${(await response.text()).trim()}`);
    if (response.body === null) return 0;
    for await (const { text, isWhole } of splitLines(response.body)) {
      if (!isWhole) continue;
      await write(encoder.encode(`${text}\n`));
      lines++;
    }
  } catch (error) {
    // The end that was asked for; a line that had not come whole is left out.
    if (!signal.aborted) throw error;
  }
  return lines;
}

const encoder = new TextEncoder();

function toPath({ kind, namespace, name, withPast }: FollowOptions): string {
  const query = new URLSearchParams({ namespace, [kind]: name, watch: "true", ...(withPast ? {} : { past: "false" }) });
  return `/debug/records?${query}`;
}

async function openUrl({ url, tokenPath }: RecordOptions): Promise<OpenDebug> {
  const token = tokenPath === null ? null : (await Deno.readTextFile(tokenPath)).trim();
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  return async (path, signal) => {
    try {
      return await fetch(url + path, { headers, signal, redirect: "error" });
    } catch (cause) {
      if (signal.aborted) throw cause;
      throw new Error(`Cannot reach podfit at "${url}": ${(cause as Error).message}; it needs --debug-listen`, {
        cause,
      });
    }
  };
}

async function writeAll(to: Pick<Deno.FsFile, "write">, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await to.write(rest));
}

async function create(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.create(path);
  } catch (cause) {
    throw new Error(`Cannot write "${path}": ${(cause as Error).message}`, { cause });
  }
}
