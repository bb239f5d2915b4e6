/**
 * What does a log line show of a value? Plain data, bounded in depth, length and width, since much of it comes from
 * outside. An Error is shown with its chain of causes, and with its stack on request only.
 */

/** JSON. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain };

export interface PlainOptions {
  /** `object`: as `{ name, message, cause }`; `text`: as "Cannot list pods: connection refused". */
  readonly errorsAs: "object" | "text";
  readonly hasStacks: boolean;
  /** How deep in the field's value this one lies; 0 by default. */
  readonly depth?: number;
}

const LONGEST_TEXT = 4_096;
const MOST_ITEMS = 100;
const DEEPEST = 8;

/** Gives the plain form of any value. The bound on depth ends circular structures; undefined entries are left out. */
export function toPlain(value: unknown, options: PlainOptions): Plain {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value !== "object") return shorten(String(value));
  const { depth = 0 } = options;
  if (depth >= DEEPEST) return "…";
  const deeper = { ...options, depth: depth + 1 };
  if (value instanceof Error) {
    return options.errorsAs === "text"
      ? shorten(toErrorText(value, options))
      : toPlain(toFields(value, options), deeper);
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return toPlain(value.toJSON(), deeper);
  if (value instanceof Map) return toPlain(Object.fromEntries(value), deeper);
  if (Array.isArray(value) || value instanceof Set) {
    return [...value].slice(0, MOST_ITEMS).map((item) => toPlain(item, deeper));
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined).slice(0, MOST_ITEMS);
  return Object.fromEntries(entries.map(([key, item]) => [key, toPlain(item, deeper)]));
}

/** Gives the form for either side of the `=` in a text line: bare where that is unambiguous, JSON elsewhere. */
export function toText(value: Plain): string {
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
  if (depth >= DEEPEST) return own;
  const parts: unknown[] = error instanceof AggregateError ? error.errors.slice(0, MOST_ITEMS) : [];
  if (error.cause !== undefined) parts.push(error.cause);
  const causes = parts.map((part) => toChain(part, depth + 1)).join("; ");
  return own.includes(causes) ? own : `${own}: ${causes}`;
}

function shorten(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}… (${text.length} characters)`;
}
