/**
 * The log of the process: one line per message, as JSON or as text for people. LogTape formats the lines; its loggers
 * are not used, since their configuration is global to the process.
 */

import { getJsonLinesFormatter, getTextFormatter, type LogRecord, sanitizeControlSequences } from "@logtape/logtape";
import { type Clock, systemClock } from "./clock.ts";
import { type Plain, toPlain, toText } from "./log_values.ts";
import { redact } from "./secrets.ts";
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
  /** Gives the same log with fields that every message carries. */
  with(fields: LogFields): Log;
}

export interface LogOptions {
  /** The lowest level that is written. At debug, errors carry their stacks. */
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly clock?: Pick<Clock, "now">;
  /** Takes one whole line with its newline. Must not throw. */
  readonly write: (line: string, level: LogLevel) => void;
}

/** Makes a log without fields of its own. */
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
    const pairs = Object.entries(record.properties).map(([key, value]) => ` ${toText(key)}=${toText(value as Plain)}`);
    return toOneLine(`${timestamp} ${level} ${message}${pairs.join("")}`);
  },
});

/** Escapes what in a text from the cluster would begin a new line or move a terminal's cursor. */
function toOneLine(text: string): string {
  return sanitizeControlSequences(text, { sgr: "escape", newlines: "escape" });
}
