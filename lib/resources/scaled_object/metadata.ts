/**
 * Reads the metadata of a trigger: a map of texts, each parsed as KEDA parses it for the type of its field.
 *
 * The parsers of all types of triggers use this, and return a ParsedSource.
 */
import type { TriggerSource } from "../../model/scaled_object.ts";
import type { AdoptedTriggers } from "./adoption.ts";
import type { Fields, Findings } from "../../units/fields.ts";
import { parseGoBoolean, parseGoInteger, parseJsonNumber, toMilli } from "../../units/numbers.ts";
import { parseDuration } from "../../units/time.ts";
import { addProblem, type Problem, quote } from "../../units/untrusted.ts";

/** Each method reports what is wrong, and then returns `null` as for an absent key. */
export interface Metadata {
  readonly path: string;
  has(key: string): boolean;
  text(key: string): string | null;
  /** Like text(), and reports a key that is absent. */
  requiredText(key: string): string | null;
  number(key: string): number | null;
  boolean(key: string): boolean | null;
  /** A Go duration, or an integer of milliseconds; whole milliseconds, rounded up. */
  durationMs(key: string): number | null;
  word<Word extends string>(key: string, words: readonly Word[]): Word | null;
  /** `k=v,k=v`. If a key occurs twice, the last one counts. */
  pairs(key: string): readonly (readonly [string, string])[] | null;
  require(keys: readonly string[]): void;
  report(key: string, message: string): void;
  /** Adds a problem that another parser found, with its path. */
  add(problem: Problem): void;
  warn(key: string, message: string): void;
}

interface MetadataOptions {
  /** The trigger's type, for messages. */
  readonly type: string;
  /** The keys of this type. KEDA ignores other keys, so podfit warns of them. */
  readonly keys: readonly string[];
  readonly warnings: Problem[];
}

/**
 * Returns a reader of a trigger's metadata; `null` if there is none. Never throws.
 * https://github.com/kedacore/keda/blob/v2.21.0/pkg/scalers/scalersconfig/typed_config.go
 * Clauses: R15.
 */
export function openMetadata(trigger: Fields, { type, keys, warnings }: MetadataOptions): Metadata | null {
  const fields = trigger.object("metadata", null);
  if (fields === null) return null;
  const warn = (key: string, message: string) => addProblem(warnings, { path: fields.pathOf(key), message });
  for (const key of fields.keys().filter((key) => !keys.includes(key))) warn(key, toUnknown({ type, key, keys }));
  for (const key of keys) reportNoText(fields, key);
  const text = (key: string) => findText(fields, key);
  const parse = <T>(key: string, convert: (text: string) => T | null, rule: string): T | null => {
    const given = text(key);
    const value = given === null ? null : convert(given);
    if (given !== null && value === null) fields.report(key, `Cannot use ${quote(given)} as ${key}: ${rule}`);
    return value;
  };
  const reportMissing = (missing: readonly string[]) => {
    for (const key of missing) {
      if (text(key) === null && isReadable(fields, key)) fields.report(key, toMissing(fields, key));
    }
  };
  return {
    path: fields.path,
    has: (key) => text(key) !== null,
    text,
    requiredText: (key) => {
      reportMissing([key]);
      return text(key);
    },
    number: (key) => parse(key, parseJsonNumber, 'must be a number such as "5" or "0.5", in quotes'),
    boolean: (key) => parse(key, parseGoBoolean, 'must be "true" or "false", in quotes'),
    durationMs: (key) =>
      parse(key, parseTimeout, "must be a duration such as 3s, or an integer of milliseconds, not negative"),
    word: (key, words) =>
      parse(key, (given) => words.find((word) => word === given) ?? null, `must be one of ${words.join(", ")}`),
    pairs: (key) => parse(key, parsePairs, "must be key=value, with commas between such pairs, and no other = or ,"),
    require: reportMissing,
    report: (key, message) => fields.report(key, message),
    add: (problem) => fields.add(problem),
    warn,
  };
}

/** The most characters of a text; real ones are much shorter. */
const MAX_TEXT = 1024;

const MAX_TEXTS: ReadonlyMap<string, number> = new Map([
  ["query", 8192],
  ["customHeaders", 8192],
  ["queryParameters", 8192],
  ["podSelector", 8192],
  ["selector", 8192],
  ["serverAddress", 2048],
  ["url", 2048],
]);

function getMaxText(key: string): number {
  return MAX_TEXTS.get(key) ?? MAX_TEXT;
}

function findText(fields: Fields, key: string): string | null {
  const value = fields.get(key);
  if (typeof value !== "string" || value.length > getMaxText(key)) return null;
  const text = value.trim();
  return text === "" ? null : text;
}

/** An absent value is an empty text. A wrong one is reported once. */
function isReadable(fields: Fields, key: string): boolean {
  const value = fields.get(key) ?? "";
  return typeof value === "string" && value.length <= getMaxText(key);
}

function reportNoText(fields: Fields, key: string): void {
  if (isReadable(fields, key)) return;
  const isText = typeof fields.get(key) === "string";
  const rule = isText ? `longer than ${getMaxText(key)} characters` : "must be a string, in quotes";
  fields.report(key, `Cannot use ${quote(fields.get(key))} as ${key}: ${rule}`);
}

function toMissing(fields: Fields, key: string): string {
  const isFromEnv = fields.has(`${key}${FROM_ENV}`);
  return `Missing field "${key}"${isFromEnv ? `: it is not read from ${key}${FROM_ENV}, write the value itself` : ""}`;
}

const FROM_ENV = "FromEnv";

/**
 * None of these types reads its metadata from the environment, neither here nor in KEDA: their fields do not have
 * resolvedEnv.
 */
function toUnknown(
  { type, key, keys }: { readonly type: string; readonly key: string; readonly keys: readonly string[] },
) {
  const why = key.endsWith(FROM_ENV) ? ` (from the environment come parameters of a TriggerAuthentication alone)` : "";
  return `Cannot use key ${quote(key)}: ${type} reads ${keys.join(", ")}, it has no effect${why}`;
}

function parseTimeout(text: string): number | null {
  if (/^[+-]?[0-9]+$/.test(text)) {
    const ms = parseGoInteger(text, 64);
    return ms === null || ms < 0n ? null : Number(ms);
  }
  const parsed = parseDuration(text);
  return parsed.ok ? parsed.ms : null;
}

function parsePairs(text: string): readonly (readonly [string, string])[] | null {
  const pairs = text.split(",").map((pair) => pair.split("=").map((part) => part.trim()));
  if (pairs.some((parts) => parts.length !== 2)) return null;
  return [...new Map(pairs.map(([key = "", value = ""]) => [key, value]))];
}

export interface ParsedSource {
  /** `null` = a problem leaves nothing to ask. */
  readonly source: TriggerSource | null;
  /** The metric's name without index, not yet normalized. */
  readonly metric: string;
  /** `null` only if a formula has its own target, or there is a problem. */
  readonly targetMilli: bigint | null;
  readonly activation: number;
}

export interface SourceContext {
  /** The namespace of the ScaledObject. */
  readonly namespace: string;
  readonly hasFormula: boolean;
  /** There is an authenticationRef. */
  readonly hasAuthentication: boolean;
}

/** Problems are reported to the metadata. Never throws. */
export type ParseSource = (metadata: Metadata, context: SourceContext) => ParsedSource;

/** Returns a target in thousandths. With a formula it is not used, so it may then be any number. Clauses: R17. */
export function parseTargetMilli(metadata: Metadata, key: string, hasFormula: boolean): bigint | null {
  const target = metadata.number(key);
  if (target === null) return null;
  const milli = toMilli(target);
  if (milli > 0n) return milli;
  const why = target > 0 ? "it counts with 3 decimals, where it is 0; use 0.0005 or more" : "must be greater than 0";
  if (!hasFormula) metadata.report(key, `Cannot use ${key} ${quote(metadata.text(key))}: ${why}`);
  return null;
}

export interface TriggersContext {
  readonly namespace: string;
  readonly findings: Findings;
  /** Problems of single triggers, which fail for that, where another one works. Clauses: R4. */
  readonly mistakes: Problem[];
  /** A formula replaces the external triggers: then some need no target. */
  readonly hasFormula: boolean;
  /** The object's name, and what KEDA measures for it; `null` = KEDA has no part in it. */
  readonly adopted: AdoptedTriggers & { readonly object: string } | null;
  /** False = triggers that need the metrics APIs are problems. Clauses: M15. */
  readonly usesMetricsApis: boolean;
}

export interface TriggerContext extends TriggersContext {
  /** The trigger's place in spec.triggers. */
  readonly index: number;
}

/** Returns whether a trigger measures only the pods of the target. */
export function isResourceType(type: unknown): boolean {
  return type === "cpu" || type === "memory";
}

/** Returns whether a trigger has no value where the target has no pod. */
export function measuresPods(type: unknown): boolean {
  return isResourceType(type) || type === "pods-metric";
}
