/**
 * What does a log line look like, and how does it reach stderr? One line per message, as JSON or as text for people.
 *
 * Values are bounded in depth, length and width, because many of them come from outside. LogTape formats the lines. Its
 * loggers are not used, because their configuration is global to the process.
 *
 * A pipe whose reader has stopped accepts nothing, and a process that waits for it hangs. So lines wait in a bounded
 * buffer and are written in the background. Lines that do not fit are dropped and counted.
 */
import { getJsonLinesFormatter, getTextFormatter, type LogRecord, sanitizeControlSequences } from "@logtape/logtape";
import { type Clock, systemClock } from "./clock.ts";
import { redact } from "./secrets.ts";
import { waitAtMost } from "./tasks.ts";
import { escapeUnseen } from "./unseen.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export type LogFormat = "text" | "json";

export type LogFields = Readonly<Record<string, unknown>>;

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export const LOG_FORMATS: readonly LogFormat[] = ["text", "json"];

/**
 * A log whose fields are values of any kind. error: a person must look; warn: degraded; info: a change was made; debug:
 * a decision was taken. Writing never throws, and shows no secret of the process.
 */
export interface Log {
  /** The lowest level that is written, for callers whose fields are expensive to compute. */
  readonly level: LogLevel;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns the same log with fields that every message carries. */
  with(fields: LogFields): Log;
}

/** Returns a log without common fields. */
export function createLog({ level, format, clock = systemClock, write }: LogOptions): Log {
  const lowest = LOG_LEVELS.indexOf(level);
  const values = { errorsAs: format === "json" ? "object" : "text", hasStacks: level === "debug" } as const;
  const toLine = format === "json" ? formatJson : formatText;
  return withFields({});

  function withFields(bound: LogFields): Log {
    return {
      level,
      debug: (message, fields) => writeRecord("debug", message, fields),
      info: (message, fields) => writeRecord("info", message, fields),
      warn: (message, fields) => writeRecord("warn", message, fields),
      error: (message, fields) => writeRecord("error", message, fields),
      with: (fields) => withFields({ ...bound, ...fields }),
    };

    function writeRecord(at: LogLevel, message: string, fields: LogFields = {}): void {
      if (LOG_LEVELS.indexOf(at) < lowest) return;
      const properties = toPlain({ ...bound, ...fields }, values) as Record<string, Plain>;
      const line = toLine({
        category: ["podfit"],
        level: at === "warn" ? "warning" : at,
        message: [message],
        rawMessage: message,
        timestamp: clock.now(),
        properties,
      });
      write(escapeUnseen(redact(line)), at);
    }
  }
}

interface LogOptions {
  /** The lowest level that is written. At debug, errors carry their stacks. */
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly clock?: Pick<Clock, "now">;
  /** Takes one whole line with its newline. Must not throw. */
  readonly write: (line: string, level: LogLevel) => void;
}

const formatFlatJson = getJsonLinesFormatter({ properties: "flatten" });

/**
 * The keys that LogTape gives every line. A field with one of these names would replace it, so the field is renamed.
 */
const RESERVED: ReadonlySet<string> = new Set(["@timestamp", "level", "message", "logger"]);

function formatJson(record: LogRecord): string {
  const entries = Object.entries(record.properties);
  const properties = Object.fromEntries(entries.map(([key, value]) => [RESERVED.has(key) ? `${key}_` : key, value]));
  return formatFlatJson({ ...record, properties });
}

const formatText = getTextFormatter({
  timestamp: "rfc3339",
  level: (level) => (level === "warning" ? "WARN" : level.toUpperCase()).padEnd(5),
  sanitize: false,
  format: ({ timestamp, level, message, record }) => {
    const pairs = Object.entries(record.properties).map(([key, value]) =>
      ` ${toLogText(key)}=${toLogText(value as Plain)}`
    );
    return toOneLine(`${timestamp} ${level} ${message}${pairs.join("")}`);
  },
});

/** Escapes characters from the cluster that would begin a new line or move a terminal's cursor. */
function toOneLine(text: string): string {
  return sanitizeControlSequences(text, { sgr: "escape", newlines: "escape" });
}

/** JSON. */
type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

interface PlainOptions {
  /** `object`: as `{ name, message, cause }`; `text`: as "Cannot list pods: connection refused". */
  readonly errorsAs: "object" | "text";
  readonly hasStacks: boolean;
  /** How deep in the field's value this one lies; 0 by default. */
  readonly depth?: number;
}

const MAX_TEXT_LENGTH = 4_096;

const MAX_ITEMS = 100;

const MAX_DEPTH = 8;

/**
 * Returns the plain form of any value. The bound on depth ends circular structures; undefined entries are left out. An
 * Error is shown with its chain of causes, and with its stack on request.
 */
function toPlain(value: unknown, options: PlainOptions): Plain {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value !== "object") return shorten(String(value));
  const { depth = 0 } = options;
  if (depth >= MAX_DEPTH) return "…";
  const deeper = { ...options, depth: depth + 1 };
  if (value instanceof Error) {
    return options.errorsAs === "text"
      ? shorten(toErrorText(value, options))
      : toPlain(toFields(value, options), deeper);
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return toPlain(value.toJSON(), deeper);
  if (value instanceof Map) return toPlain(Object.fromEntries(value), deeper);
  if (Array.isArray(value) || value instanceof Set) {
    return [...value].slice(0, MAX_ITEMS).map((item) => toPlain(item, deeper));
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined).slice(0, MAX_ITEMS);
  return Object.fromEntries(entries.map(([key, item]) => [key, toPlain(item, deeper)]));
}

/** Returns the form for either side of the `=` in a text line: bare if that is unambiguous, else JSON. */
function toLogText(value: Plain): string {
  return typeof value === "string" && /^[\w./:@%+-]+$/.test(value) ? value : JSON.stringify(value);
}

function toFields(error: Error, { hasStacks }: PlainOptions): Record<string, unknown> {
  return {
    name: error.name,
    message: error.message,
    errors: error instanceof AggregateError ? error.errors : undefined,
    cause: error.cause,
    stack: hasStacks ? error.stack : undefined,
  };
}

function toErrorText(error: Error, { hasStacks }: PlainOptions): string {
  return hasStacks ? `${toChain(error)}\n${error.stack ?? ""}` : toChain(error);
}

/** Joins the messages, outermost first. A cause that the message before it quotes already is left out. */
function toChain(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.message === "" ? error.name : error.message;
  if (depth >= MAX_DEPTH) return own;
  const parts: unknown[] = error instanceof AggregateError ? error.errors.slice(0, MAX_ITEMS) : [];
  if (error.cause !== undefined) parts.push(error.cause);
  const causes = parts.map((part) => toChain(part, depth + 1)).join("; ");
  return own.includes(causes) ? own : `${own}: ${causes}`;
}

function shorten(text: string): string {
  return text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH)}… (${text.length} characters)`;
}

/** Writes whole lines in their order; disposal writes the rest, as `flush` does. */
export interface LogWriter extends AsyncDisposable {
  /** Takes a line with its newline. Neither waits nor throws. */
  write(line: string, level: LogLevel): void;
  /** Resolves when everything is written, or after a second: a reader that has stopped gets no more. Never rejects. */
  flush(): Promise<void>;
}

interface LogWriterOptions {
  /** Writes some of the bytes and returns how many; stderr by default. */
  readonly write?: (bytes: Uint8Array) => Promise<number>;
  readonly clock?: Pick<Clock, "sleep">;
  /** The most characters that wait; 4 Mi by default. */
  readonly capacity?: number;
  /** Called for each line that is lost. Must not throw. */
  readonly onDropped: () => void;
  /** Called when there is room again, with the number of lines lost since the last call. May write. */
  readonly onRoom: (lines: number) => void;
}

/** The lines that an evaluation of some 10,000 pods writes at debug. */
const CAPACITY = 2 ** 22;

/** Room for errors alone, in characters: errors are written even when the buffer is full. */
const RESERVE = 2 ** 16;

const MAX_BATCH_LINES = 2 ** 16;

const FLUSH_MS = 1_000;

export function openLogWriter(options: LogWriterOptions): LogWriter {
  const { write = writeStderr, clock = systemClock, capacity = CAPACITY, onDropped, onRoom } = options;
  const lines: string[] = [];
  /** Characters of `lines`, and of the lines that are being written. */
  let characters = 0;
  /** Lines lost since there was room. */
  let lost = 0;
  let isWriting = false;
  let written = Promise.resolve();
  return { write: put, flush, [Symbol.asyncDispose]: flush };

  function put(line: string, level: LogLevel): void {
    const isFull = level === "error"
      ? characters + line.length > capacity + RESERVE
      : lost > 0 || characters + line.length > capacity;
    if (isFull) {
      lost++;
      return onDropped();
    }
    lines.push(line);
    characters += line.length;
    if (!isWriting) written = writeLines();
  }

  async function writeLines(): Promise<void> {
    isWriting = true;
    for (let batch = takeBatch(); batch.length > 0; batch = takeBatch()) {
      const text = batch.join("");
      if (!await writeAll(text)) { for (const _line of batch) onDropped(); }
      characters -= text.length;
      if (lost > 0 && characters <= capacity / 2) tellLost();
    }
    isWriting = false;
  }

  function takeBatch(): readonly string[] {
    let length = 0;
    const count = lines.findIndex((line) => (length += line.length) > MAX_BATCH_LINES);
    return lines.splice(0, count < 0 ? lines.length : Math.max(1, count));
  }

  /** False when it failed (a closed pipe, a full disk), which cannot be reported and must not stop the process. */
  async function writeAll(text: string): Promise<boolean> {
    try {
      for (let rest = encoder.encode(text); rest.length > 0;) rest = rest.subarray(await write(rest));
      return true;
    } catch {
      return false;
    }
  }

  function tellLost(): void {
    const count = lost;
    lost = 0;
    onRoom(count);
  }

  async function flush(): Promise<void> {
    await waitAtMost(FLUSH_MS, written, clock);
  }
}

const encoder = new TextEncoder();

function writeStderr(bytes: Uint8Array): Promise<number> {
  return Deno.stderr.write(bytes);
}
