/** What is fuzzed: a parser, or the whole fold, with what it is given and what has to be so of what it gives. */
import type * as fc from "fast-check";

/** How a case is judged. */
export interface Target<T = unknown> {
  readonly name: string;
  /** Of all cases it has so many parts. */
  readonly weight: number;
  readonly arbitrary: fc.Arbitrary<T>;
  /** Throws where what a parser promises does not hold. */
  readonly check: (value: T) => void | Promise<void>;
}

/** Makes one of its parts; what it is given is known to its own check alone. */
export function target<T>(one: Target<T>): Target {
  return one as unknown as Target;
}

/** Throws unless it is so. */
export function must(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new Error(what);
}

/** Throws unless each number in it, however deep, is finite, and none of them negative where none may be. */
export function mustBeFinite(value: unknown, path: string, { min = -Infinity }: { readonly min?: number } = {}): void {
  if (typeof value === "number") must(Number.isFinite(value) && value >= min, `${path} is ${value}`);
  if (typeof value !== "object" || value === null) return;
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  for (const [key, one] of entries) mustBeFinite(one, `${path}.${key}`, { min });
}

const MOST_CHARACTERS = 3000;
// deno-lint-ignore no-control-regex
const BROKEN = /[\u0000-\u001f\u007f\u2028\u2029\u202e]/;

/** Throws unless a text fits on one line of a log. */
export function mustBeOneLine(text: string, what: string): void {
  must(text.length <= MOST_CHARACTERS, `${what} has ${text.length} characters`);
  must(!BROKEN.test(text), `${what} breaks its line: ${JSON.stringify(text)}`);
}
