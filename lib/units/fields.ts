/**
 * Reads the fields of an object of unknown shape, and reports each fault with its path.
 *
 * The parsers of all resources use it.
 */
import { parseAmount } from "./quantity.ts";
import type { Resource } from "./resources.ts";
import { formatDuration, parseDuration } from "./time.ts";
import { addProblem, isRecord, joinPath, type Problem, quote } from "./untrusted.ts";

interface OpenOptions {
  /** The path of the object; empty for the root. */
  readonly path: string;
  /** The list to which problems are added. */
  readonly problems: Problem[];
  /** The fields that may exist; `null` for any. */
  readonly known: readonly string[] | null;
}

/** Returns a reader of the object's fields. Reports a value that is not an object, and every unknown field. */
export function openFields(value: unknown, { path, problems, known }: OpenOptions): Fields | null {
  if (!isRecord(value)) {
    addProblem(problems, { path, message: `Cannot use ${quote(value)} as ${lastOf(path)}: must be an object` });
    return null;
  }
  for (const key of known === null ? [] : Object.keys(value)) {
    if (known?.includes(key)) continue;
    addProblem(problems, {
      path: joinPath(path, key),
      message: `Cannot use field ${quote(key)}: only ${known?.join(", ")} are known`,
    });
  }
  return new Fields(value, { path, problems });
}

/** The fields of one object. */
export class Fields {
  readonly path: string;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #problems: Problem[];

  constructor(values: Readonly<Record<string, unknown>>, { path, problems }: Omit<OpenOptions, "known">) {
    this.path = path;
    this.#values = values;
    this.#problems = problems;
  }

  /** All fields, unchecked. */
  get values(): Readonly<Record<string, unknown>> {
    return this.#values;
  }

  /** Returns whether a field exists and is not null. */
  has(key: string): boolean {
    return this.get(key) !== null;
  }

  /** Returns a value unchecked; only own properties, because a key may be a name such as `constructor`. */
  get(key: string): unknown {
    return (Object.hasOwn(this.#values, key) ? this.#values[key] : null) ?? null;
  }

  /** Returns a reader with another value for one field, which reports to the same problems. */
  with(key: string, value: unknown): Fields {
    return new Fields({ ...this.#values, [key]: value }, { path: this.path, problems: this.#problems });
  }

  /** Returns the names of all fields, also of null ones. */
  keys(): readonly string[] {
    return Object.keys(this.#values);
  }

  /** Returns the path of a field. */
  pathOf(key: string): string {
    return joinPath(this.path, key);
  }

  /** Adds a problem of a field. */
  report(key: string, message: string): void {
    this.add({ path: this.pathOf(key), message });
  }

  /** Adds a problem of the whole object. */
  reportWhole(message: string): void {
    this.add({ path: this.path, message });
  }

  /** Adds a problem that another parser found. */
  add(problem: Problem): void {
    addProblem(this.#problems, problem);
  }

  /** Reports each missing field. */
  require(keys: readonly string[]): void {
    for (const key of keys.filter((key) => !this.has(key))) this.report(key, `Missing field "${key}"`);
  }

  /** Returns a reader of a field that is an object. */
  object(key: string, known: readonly string[] | null): Fields | null {
    if (!this.has(key)) return null;
    return openFields(this.get(key), { path: this.pathOf(key), problems: this.#problems, known });
  }

  /** Returns a reader of a list entry; the caller checks its fields. */
  entry(key: string, { index, value }: { readonly index: number; readonly value: unknown }): Fields | null {
    return openFields(value, { path: this.pathOf(`${key}[${index}]`), problems: this.#problems, known: null });
  }

  boolean(key: string): boolean | null {
    const value = this.get(key);
    if (value === null || typeof value === "boolean") return value;
    return this.#refuse(key, "must be true or false");
  }

  /** Returns an integer from `min` to `max`, by default those of int32 as in the schema. */
  integer(key: string, { min = -MAX_INT32 - 1, max = MAX_INT32 }: { min?: number; max?: number } = {}): number | null {
    const value = this.get(key);
    if (value === null) return null;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    return this.#refuse(key, max === MAX_INT32 && min === 1 ? "must be an integer, 1 or more" : between(min, max));
  }

  /** Returns an integer of 0 or more, also beyond int32, such as a generation. */
  count(key: string): number | null {
    const value = this.get(key);
    if (value === null) return null;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    return this.#refuse(key, "must be an integer, 0 or more");
  }

  /** Returns one of the words. */
  word<Word extends string>(key: string, words: readonly Word[]): Word | null {
    const value = this.get(key);
    if (value === null) return null;
    const word = words.find((each) => each === value);
    return word ?? this.#refuse(key, words.length === 1 ? `must be ${words[0]}` : `must be one of ${words.join(", ")}`);
  }

  /** Returns a string that follows the rule. */
  text(key: string, rule: TextRule): string | null {
    const value = this.get(key);
    if (value === null || isText(value, rule)) return value;
    return this.#refuse(key, rule.rule);
  }

  /** Returns a list of at most `maxItems` strings that follow the rule. */
  texts(key: string, { maxItems, ...rule }: TextRule & { readonly maxItems: number }): readonly string[] | null {
    const value = this.get(key);
    if (value === null) return null;
    if (!Array.isArray(value)) return this.#refuse(key, "must be a list");
    if (value.length > maxItems) return this.#refuse(key, `must have at most ${maxItems} entries`);
    const texts = value.filter((one) => isText(one, rule));
    for (const [index, one] of value.entries()) {
      if (!isText(one, rule)) this.report(`${key}[${index}]`, `Cannot use ${quote(one)} in ${key}: ${rule.rule}`);
    }
    return texts;
  }

  /** Returns a duration in whole ms, rounded up, from `min` to `max`, durations in ms. */
  durationMs(key: string, { min = 0, max = Infinity }: { min?: number; max?: number } = {}): number | null {
    const value = this.get(key);
    if (value === null) return null;
    // Go accepts a 0 without a unit, and manifests have it.
    const parsed = value === "0" || value === "+0" ? { ok: true, ms: 0 } as const : parseDuration(value);
    if (!parsed.ok) {
      this.report(key, parsed.message);
      return null;
    }
    if (parsed.ms >= min && parsed.ms <= max) return parsed.ms;
    return this.#refuse(key, `must be ${min === 0 ? "at most" : `${formatDuration(min)} to`} ${formatDuration(max)}`);
  }

  /** Returns an amount in millicores or bytes, rounded up. It may be negative: the caller checks the sign. */
  amount(key: string, resource: Resource): number | null {
    const value = this.get(key);
    if (value === null) return null;
    const parsed = parseAmount(value, resource);
    if (parsed.ok) return parsed.amount;
    this.report(key, parsed.message);
    return null;
  }

  #refuse(key: string, cause: string): null {
    this.report(key, `Cannot use ${quote(this.get(key))} as ${key}: ${cause}`);
    return null;
  }
}

/** At most `max` characters that match the pattern; `rule` says that in words. */
interface TextRule {
  readonly max: number;
  readonly pattern: RegExp;
  readonly rule: string;
}

/** Returns whether this is a text that follows the rule. */
export function isText(value: unknown, { max, pattern }: TextRule): value is string {
  return typeof value === "string" && value.length <= max && pattern.test(value);
}

const MAX_INT32 = 2 ** 31 - 1;

function between(min: number, max: number): string {
  return `must be an integer from ${min} to ${max}`;
}

function lastOf(path: string): string {
  return path === "" ? "PodResourceAutoscaler" : path.slice(path.lastIndexOf(".") + 1);
}

/** The lists that are filled while one object is parsed. */
export interface Findings {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

/** Returns a reader of a field that is an object, and warns of its unknown fields. */
export function openObject(
  parent: Fields,
  key: string,
  { known, warnings }: { readonly known: readonly string[]; readonly warnings: Problem[] },
): Fields | null {
  const fields = parent.object(key, null);
  if (fields !== null) warnOfUnknown(fields, { known, warnings });
  return fields;
}

/** Warns of each unknown field: KEDA's own definition may be installed, and newer than the one that podfit knows. */
export function warnOfUnknown(
  fields: Fields,
  { known, warnings }: { readonly known: readonly string[]; readonly warnings: Problem[] },
): void {
  for (const key of fields.keys().filter((key) => !known.includes(key))) {
    const message = `Cannot use field ${quote(key)}: only ${known.join(", ")} are known, it has no effect`;
    addProblem(warnings, { path: fields.pathOf(key), message });
  }
}

/** Texts of any kind, but bounded and not empty. */
export const ANY_TEXT = { max: 253, pattern: /^[^]+$/, rule: "must be 1 to 253 characters" };

/** A text that the API server writes, such as a uid; it may be empty. */
export const SERVER_TEXT = { max: 253, pattern: /^[^]*$/, rule: "must be a string" };

/** A DNS subdomain of RFC 1123: the name of most objects. */
export const NAME_RULE: TextRule = {
  max: 253,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  rule: `must be 1 to 253 lower case letters, digits, "-" and "."`,
};

/** A DNS label of RFC 1123: the name of a namespace or container. */
export const LABEL_RULE: TextRule = {
  max: 63,
  pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  rule: `must be 1 to 63 lower case letters, digits and "-"`,
};
