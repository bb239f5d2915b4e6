/**
 * What does the process say about itself? One line per message: JSON, or text for people. Both go to stderr, because
 * stdout belongs to the answers of commands, which are piped and parsed; a node's log collector reads both alike.
 * LogTape formats; its loggers are not used, as they are configured once for the whole process.
 */

import { getJsonLinesFormatter, getTextFormatter, type LogRecord, sanitizeControlSequences } from "@logtape/logtape";
import { type Clock, systemClock } from "./clock.ts";
import { type Plain, toPlain, toText } from "./log_values.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFormat = "text" | "json";
export type LogFields = Readonly<Record<string, unknown>>;

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];
export const LOG_FORMATS: readonly LogFormat[] = ["text", "json"];

/** error = a person must look; warn = degraded; info = a change was made; debug = a decision was taken. */
export interface Log {
  /** The lowest that is written: what costs time to put together asks first. */
  readonly level: LogLevel;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log, with fields that every message carries. */
  with(fields: LogFields): Log;
}

export interface LogOptions {
  /** The lowest level that is written; at debug, errors carry their stacks. */
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly clock?: Pick<Clock, "now">;
  /** Takes one whole line with its newline. */
  readonly write?: (line: string) => void;
}

export function createLog({ level, format, clock = systemClock, write = writeStderr }: LogOptions): Log {
  const lowest = LOG_LEVELS.indexOf(level);
  const values = { errorsAs: format === "json" ? "object" : "text", hasStacks: level === "debug" } as const;
  const toLine = format === "json" ? formatJson : formatText;
  return bind({});

  function bind(bound: LogFields): Log {
    return {
      level,
      debug: (message, fields) => say("debug", message, fields),
      info: (message, fields) => say("info", message, fields),
      warn: (message, fields) => say("warn", message, fields),
      error: (message, fields) => say("error", message, fields),
      with: (fields) => bind({ ...bound, ...fields }),
    };

    function say(at: LogLevel, message: string, fields: LogFields = {}): void {
      if (LOG_LEVELS.indexOf(at) < lowest) return;
      const properties = toPlain({ ...bound, ...fields }, values) as Record<string, Plain>;
      write(escapeSeparators(toLine({
        category: ["podfit"],
        level: at === "warn" ? "warning" : at,
        message: [message],
        rawMessage: message,
        timestamp: clock.now(),
        properties,
      })));
    }
  }
}

const formatFlatJson = getJsonLinesFormatter({ properties: "flatten" });

/** The keys that LogTape gives every line; a field of that name would replace them, so it takes another. */
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
    const pairs = Object.entries(record.properties).map(([key, value]) => ` ${toText(key)}=${toText(value as Plain)}`);
    return toOneLine(`${timestamp} ${level} ${message}${pairs.join("")}`);
  },
});

/** Text from the cluster can neither begin a line of its own nor move a terminal's cursor. */
function toOneLine(text: string): string {
  return sanitizeControlSequences(text, { sgr: "escape", newlines: "escape" });
}

/** U+2028 and U+2029 end a line for some readers; both formats understand the escape. */
function escapeSeparators(line: string): string {
  return line.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

const encoder = new TextEncoder();

/** A log that cannot be written (closed pipe, full disk) has nobody to tell, and must not stop the process. */
function writeStderr(line: string): void {
  let bytes = encoder.encode(line);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(Deno.stderr.writeSync(bytes));
  } catch {
    return;
  }
}
