/**
 * Values from outside: type checks, quoting for messages, and the list of problems of an object.
 *
 * Parsers return all problems at once, so one look at an object finds everything that is wrong.
 */

/** Returns whether a value is a JSON object: neither null nor a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns about how many bytes a JSON value has as text. It stops where `max` is passed, so a large value costs no more
 * than a small one. Never throws.
 */
export function measureJson(value: unknown, max = Infinity): number {
  let bytes = 0;
  const left = [value];
  while (left.length > 0 && bytes <= max) {
    const one = left.pop();
    if (typeof one === "string") bytes += one.length + 2;
    else if (typeof one !== "object" || one === null) bytes += 6;
    else if (Array.isArray(one)) {
      bytes += 2;
      for (const entry of one) {
        bytes += 1;
        left.push(entry);
        if (bytes > max) break;
      }
    } else {
      bytes += 2;
      // Object.entries() would read all values first.
      for (const key in one) {
        bytes += key.length + 4;
        left.push((one as Readonly<Record<string, unknown>>)[key]);
        if (bytes > max) break;
      }
    }
  }
  return bytes;
}

/** Returns whether the value is a text that is longer than the name of any object. */
export function isTooLong(value: unknown): boolean {
  return typeof value === "string" && value.length > MAX_NAME_LENGTH;
}

const MAX_NAME_LENGTH = 253;

/** Formats any value on one line of limited length: `"12Q"`, `1.5`, `null`, `an object`. Never throws. */
export function quote(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return toShown(value, MAX_SHOWN);
    case "number":
    case "boolean":
      return String(value);
    case "object":
      return value === null ? "null" : "an object";
    default:
      return typeof value;
  }
}

/**
 * Joins `spec.policy` and `cpu` to `spec.policy.cpu`, as the API server writes paths. An unusual key is escaped and
 * cut.
 */
export function joinPath(path: string, key: string): string {
  const shown = toShown(key, MAX_KEY).slice(1, -1);
  return path === "" ? shown : `${path}.${shown}`;
}

const MAX_SHOWN = 40;

/** Label keys are rarely longer. */
const MAX_KEY = 96;

/** Characters that JSON.stringify() keeps, although they break a line, are invisible or reverse the text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function toShown(text: string, max: number): string {
  return JSON.stringify(text.length > max ? `${text.slice(0, max)}...` : text)
    .replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** The parsed value, or a sentence that quotes the text and says what is wrong with it. */
export type Parsed<T> = ({ readonly ok: true } & Readonly<T>) | { readonly ok: false; readonly message: string };

export interface Problem {
  /** The place in the object, e.g. `spec.policy.cpu.requests.scaleUpThreshold`; empty for the whole object. */
  readonly path: string;
  /** What is wrong there and what would be right, without the path. */
  readonly message: string;
  /** The reason of the condition Ready; InvalidSpec by default. */
  readonly reason?: "NamespaceExcluded" | "TooLarge" | "TooMany" | "OverBudget";
}

/** Adds a problem to a list, which holds at most 100: a hostile object may have any number. */
export function addProblem(problems: Problem[], problem: Problem): void {
  if (problems.length < MAX_PROBLEMS) problems.push(problem);
}

const MAX_PROBLEMS = 100;
