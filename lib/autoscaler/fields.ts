/**
 * Reads an untrusted object field by field and collects a Problem, with its path, for everything that is not as it
 * should be. A reader gives `null` where a field is absent, null (Kubernetes takes that for absent) or no good:
 * what was read counts only when no problem was found.
 */
import { parseDuration } from "../units/duration.ts";
import { parseAmount } from "../units/quantity.ts";
import type { Resource } from "../units/resources.ts";
import { isRecord, joinPath, quote } from "../units/untrusted.ts";
import type { Problem } from "../units/problem.ts";

export interface OpenOptions {
  readonly path: string;
  readonly problems: Problem[];
  /** The fields that may be there; `null` = any. */
  readonly known: readonly string[] | null;
}

/** Reports a value that is no object, and every field that is not known. */
export function openFields(value: unknown, { path, problems, known }: OpenOptions): Fields | null {
  if (!isRecord(value)) {
    report(problems, { path, message: `Cannot use ${quote(value)} as ${lastOf(path)}: must be an object` });
    return null;
  }
  for (const key of known === null ? [] : Object.keys(value)) {
    if (known?.includes(key)) continue;
    report(problems, {
      path: joinPath(path, key),
      message: `Cannot use field ${quote(key)}: only ${known?.join(", ")} are known`,
    });
  }
  return new Fields(value, { path, problems });
}

export class Fields {
  readonly path: string;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #problems: Problem[];

  constructor(values: Readonly<Record<string, unknown>>, { path, problems }: Omit<OpenOptions, "known">) {
    this.path = path;
    this.#values = values;
    this.#problems = problems;
  }

  has(key: string): boolean {
    return this.get(key) !== null;
  }

  /** hasOwn, for an untrusted object may carry a prototype's name. */
  get(key: string): unknown {
    return (Object.hasOwn(this.#values, key) ? this.#values[key] : null) ?? null;
  }

  pathOf(key: string): string {
    return joinPath(this.path, key);
  }

  report(key: string, message: string): void {
    this.add({ path: this.pathOf(key), message });
  }

  /** For what concerns this object as a whole. */
  reportWhole(message: string): void {
    this.add({ path: this.path, message });
  }

  /** For a problem that another parser found. */
  add(problem: Problem): void {
    report(this.#problems, problem);
  }

  require(keys: readonly string[]): void {
    for (const key of keys.filter((key) => !this.has(key))) this.report(key, `Missing field "${key}"`);
  }

  object(key: string, known: readonly string[] | null): Fields | null {
    if (!this.has(key)) return null;
    return openFields(this.get(key), { path: this.pathOf(key), problems: this.#problems, known });
  }

  boolean(key: string): boolean | null {
    const value = this.get(key);
    if (value === null || typeof value === "boolean") return value;
    return this.#refuse(key, "must be true or false");
  }

  /** Within int32, as the schema says, and within min and max. */
  integer(key: string, { min = -MAX_INT32 - 1, max = MAX_INT32 }: { min?: number; max?: number } = {}): number | null {
    const value = this.get(key);
    if (value === null) return null;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    return this.#refuse(key, max === MAX_INT32 && min === 1 ? "must be an integer, 1 or more" : between(min, max));
  }

  /** An integer beyond int32, such as a generation. */
  count(key: string): number | null {
    const value = this.get(key);
    if (value === null) return null;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    return this.#refuse(key, "must be an integer, 0 or more");
  }

  word<Word extends string>(key: string, words: readonly Word[]): Word | null {
    const value = this.get(key);
    if (value === null) return null;
    const word = words.find((each) => each === value);
    return word ?? this.#refuse(key, words.length === 1 ? `must be ${words[0]}` : `must be one of ${words.join(", ")}`);
  }

  /** A string of 1 to `max` characters that the pattern takes; `rule` says in words what that is. */
  text(key: string, { max, pattern, rule }: { max: number; pattern: RegExp; rule: string }): string | null {
    const value = this.get(key);
    if (value === null) return null;
    if (typeof value === "string" && value.length <= max && pattern.test(value)) return value;
    return this.#refuse(key, rule);
  }

  durationMs(key: string): number | null {
    const value = this.get(key);
    if (value === null) return null;
    // Go reads a bare 0 without a unit, and so do the manifests in use.
    if (value === "0" || value === "+0") return 0;
    const parsed = parseDuration(value);
    if (parsed.ok) return parsed.ms;
    this.report(key, parsed.message);
    return null;
  }

  /** Signed; what sign it may have is the caller's rule. */
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

const MAX_INT32 = 2 ** 31 - 1;
/** A hostile object does not grow a list without end. */
const MAX_PROBLEMS = 100;

function report(problems: Problem[], problem: Problem): void {
  if (problems.length < MAX_PROBLEMS) problems.push(problem);
}

function between(min: number, max: number): string {
  return `must be an integer from ${min} to ${max}`;
}

function lastOf(path: string): string {
  return path === "" ? "PodResourceAutoscaler" : path.slice(path.lastIndexOf(".") + 1);
}
