/**
 * Records of a running podfit, as `/debug/records` returns them.
 *
 * The query, the lines of the stream, the error that says why there are none, and the newest record of each object.
 */
import { type BodyOptions, BodyTooLarge, readLines } from "../../kube/body.ts";
import { parseLine } from "../../record/parse.ts";
import type { RecordLine } from "../../record/record.ts";
import { Semaphore } from "../../runtime/limits.ts";
import type { Problem } from "../../units/untrusted.ts";
import { StartError, toStartError } from "../command/process.ts";

/** The subject; `/debug/records?namespace=NS&pod=NAME` and the like. */
export interface DebugQuery {
  readonly namespace?: string;
  readonly pod?: string;
  readonly scaledObject?: string;
  readonly latest?: true;
  /** Continues with each later evaluation. */
  readonly watch?: true;
  /** With `watch`: without the records so far. */
  readonly past?: false;
}

export interface DebugSource {
  /** For messages: `pod podfit/podfit-0` and the like. */
  readonly name: string;
  /**
   * Yields lines as they arrive. Throws a DebugError; `NothingKnown` where that podfit has no record of it. `onUnreadable`
   * hears of a line that is not a record, and the next one follows; without it that line ends the answer.
   */
  readonly read: (
    query: DebugQuery,
    signal: AbortSignal,
    onUnreadable?: (error: DebugError) => void,
  ) => AsyncIterable<RecordLine>;
}

/** A podfit that answers over HTTP. */
export interface DebugListener extends DebugSource {
  /** Resolves to the answer as lines of JSON. Rejects with a DebugError where there is none. */
  readonly open: (query: DebugQuery, signal: AbortSignal) => Promise<Response>;
}

/** Why the records are missing. It decides which podfit is tried next. */
export type DebugReason =
  | "NothingKnown"
  | "NoPod"
  | "NoPodfit"
  | "NoListener"
  | "NoRight"
  | "NeedsToken"
  | "Unreachable"
  | "BadAnswer";

/** Why there is no answer, for readers that try another podfit. */
export class DebugError extends StartError {
  override readonly name = "DebugError";
  readonly reason: DebugReason;

  constructor(reason: DebugReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** `?namespace=shop&pod=web` */
export function toSearch(query: DebugQuery): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return `?${search}`;
}

/** The beginning of the debug listener's 404, which differs from that of a listener without records. */
export const NOTHING_KNOWN = /^Nothing is known of /;

/** A line of a pod with many containers has some 100,000 characters. */
const MAX_LINE_BYTES = 16 * 2 ** 20;

/** Throws what readTexts() throws, and what `onUnreadable` throws for a line that is not a record. */
async function* readRecords(
  response: Response,
  signal: AbortSignal,
  onUnreadable: (error: DebugError) => void,
): AsyncGenerator<RecordLine> {
  for await (const texts of readTexts(response, { signal })) {
    for (const text of texts) {
      if (text.trim() === "") continue;
      const parsed = parseLine(text);
      if (parsed.ok) yield parsed.value;
      else onUnreadable(toUnreadable(parsed.problems));
    }
  }
}

/**
 * Yields the lines of each chunk. Throws the signal's reason, a TimeoutError after `silentMs` without data, and a DebugError
 * where a line is too long or the connection breaks.
 */
export async function* readTexts(
  response: Response,
  options: Omit<BodyOptions, "limitBytes">,
): AsyncGenerator<readonly string[]> {
  try {
    yield* readLines(response, { ...options, limitBytes: MAX_LINE_BYTES });
  } catch (cause) {
    options.signal.throwIfAborted();
    if (cause instanceof BodyTooLarge) {
      throw new DebugError("BadAnswer", `Cannot read a record: it is longer than ${MAX_LINE_BYTES} bytes`, { cause });
    }
    if (cause instanceof DOMException) throw cause;
    throw new DebugError(
      "Unreachable",
      `Cannot read more records: the connection to podfit was lost: ${toStartError(cause).message}`,
      {
        cause,
      },
    );
  }
}

function toUnreadable([problem]: readonly Problem[]): DebugError {
  const place = problem === undefined || problem.path === "" ? "" : ` (${problem.path})`;
  return new DebugError("BadAnswer", `${problem?.message ?? "Cannot read the line"}${place}`);
}

function endReading(error: DebugError): never {
  throw error;
}

/** `isOwn`: which lines this podfit can have. Others are skipped, as are lines that nothing has asked for. */
export function createDebugListener(
  name: string,
  open: DebugListener["open"],
  isOwn: (line: RecordLine) => boolean = () => true,
): DebugListener {
  return {
    name,
    open,
    async *read(query, signal, onUnreadable = endReading) {
      for await (const line of readRecords(await open(query, signal), signal, onUnreadable)) {
        if (isOwn(line) && isAskedFor(line, query)) yield line;
      }
    },
  };
}

/** Returns whether a line is about what the query names, outside and inside of its record. */
function isAskedFor(line: RecordLine, { namespace, pod, scaledObject }: DebugQuery): boolean {
  const { kind } = line;
  const inside = kind === "pod" ? line.record.input.pod : line.record.input.object;
  return inside.namespace === line.namespace && inside.name === line.name &&
    (namespace === undefined || line.namespace === namespace) &&
    (pod === undefined || (kind === "pod" && line.name === pod)) &&
    (scaledObject === undefined || (kind === "scaledObject" && line.name === scaledObject));
}

/** Resolves to the first answer of at least one source. Rejects with the error of a source that may have a record. */
export async function askUntilAnswered<Source extends DebugSource, Answer>(
  sources: readonly Source[],
  ask: (source: Source) => Promise<Answer>,
): Promise<Answer> {
  let failure: DebugError | null = null;
  for (const source of sources) {
    try {
      return await ask(source);
    } catch (error) {
      if (!(error instanceof DebugError)) throw error;
      if (failure === null || failure.reason === "NothingKnown") failure = error;
    }
  }
  throw failure;
}

export interface RecordsOptions {
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly now: () => number;
  /** What the sources cannot know. */
  readonly unknown?: readonly string[];
}

/** There may be a podfit on each of a thousand nodes. */
const MAX_AT_ONCE = 16;

/** One hour of one pod has fewer lines. */
const MAX_LINES = 50_000;

/** The newest line of each object. */
export interface LatestRecords {
  readonly lines: readonly RecordLine[];
  /** Why lines are missing: a source did not answer, or some of its lines are not records. */
  readonly warnings: readonly string[];
}

/** Resolves to the newest line of each object that any of them has. Rejects only where no source answers. */
export async function fetchLatest(
  sources: readonly DebugSource[],
  query: DebugQuery,
  options: Pick<RecordsOptions, "signal">,
): Promise<LatestRecords> {
  const slots = new Semaphore(MAX_AT_ONCE);
  const failures: DebugError[] = [];
  const leftOut: string[] = [];
  const all = await Promise.all(sources.map(async (source) => {
    using _slot = await slots.acquire(options.signal);
    try {
      const unreadable: DebugError[] = [];
      const onUnreadable = (error: DebugError) => unreadable.push(error);
      const lines = await fetchAll(source, { ...query, latest: true }, { ...options, onUnreadable });
      const [first] = unreadable;
      if (first === undefined) return lines;
      // A podfit of another version has no line that can be read.
      if (lines.length === 0) throw first;
      const count = unreadable.length === 1 ? "one object is" : `${unreadable.length} objects are`;
      leftOut.push(`The records of ${source.name} are not complete: ${count} left out. ${first.message}`);
      return lines;
    } catch (error) {
      if (!(error instanceof DebugError)) throw error;
      failures.push(error);
      return [];
    }
  }));
  const faults = failures.filter(({ reason }) => reason !== "NothingKnown");
  const [first] = faults;
  if (first !== undefined && failures.length === sources.length) throw first;
  const newest = new Map<string, RecordLine>();
  for (const line of all.flat()) {
    // A podfit can claim any uid, so the name is a part of the key.
    const key = `${line.kind} ${line.namespace}/${line.name} ${line.uid}`;
    const other = newest.get(key);
    if (other === undefined || other.record.input.now < line.record.input.now) newest.set(key, line);
  }
  return { lines: [...newest.values()], warnings: [...faults.map(({ message }) => message), ...leftOut] };
}

export async function fetchAll(
  source: DebugSource,
  query: DebugQuery,
  { signal, onUnreadable }: Pick<RecordsOptions, "signal"> & {
    readonly onUnreadable?: (error: DebugError) => void;
  },
): Promise<readonly RecordLine[]> {
  const lines: RecordLine[] = [];
  for await (const line of source.read(query, signal, onUnreadable)) {
    lines.push(line);
    if (lines.length > MAX_LINES) {
      throw new DebugError("BadAnswer", `Cannot use the records of ${source.name}: more than ${MAX_LINES} lines`);
    }
  }
  return lines;
}
