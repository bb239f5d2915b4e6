/**
 * Finds one sample in the Prometheus text exposition format, as KEDA's parser does.
 *
 * The text must be well-formed up to that sample: nothing after it can change its value, so the rest is not read. A fault
 * is named by its line, and its text is never quoted.
 */
import type { MetricSelector } from "../resources/scaled_object/metric_selector.ts";
import { parseGoFloat } from "../units/numbers.ts";
import type { ValueResult } from "./value.ts";

/**
 * Returns the first matching series if it is untyped, a counter or a gauge. Never throws; takes time proportional to
 * the text.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 * Clauses: R15.
 */
export function parseExposition(text: string, selector: MetricSelector): ValueResult {
  const families = new Map<string, Family>();
  let number = 0;
  for (let start = 0; start <= text.length;) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    const content = text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end);
    start = end + 1;
    number++;
    const parsed = content.includes("\r") ? null : parseLine(content, families);
    if (parsed === null) {
      return { ok: false, cause: `line ${number} of the answer is not in Prometheus' text format` };
    }
    if (parsed !== EMPTY_FAMILY && isMatch(parsed, selector)) return { ok: true, value: parsed.value };
  }
  return { ok: false, cause: "no series of the answer has its name and labels" };
}

interface Family {
  readonly name: string;
  /** `null` until a TYPE line or a sample gives one. */
  type: string | null;
  hasHelp: boolean;
}

interface Sample {
  readonly family: Family;
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly value: number;
}

/** A line without a sample. */
const EMPTY_FAMILY = "nothing";

const TYPES = ["counter", "gauge", "summary", "untyped", "histogram", "gauge_histogram"];

const PLAIN_TYPES = ["counter", "gauge", "untyped"];

/** A dot would not match every character, and then the spaces before it would be tried one by one. */
const COMMENT = /^[ \t]*#[ \t]*(HELP|TYPE)[ \t]+([a-zA-Z_:][a-zA-Z0-9_:]*|"(?:[^"\\]|\\[^])*")(?:[ \t]+([^]*))?$/;

const HEAD = /[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)?[ \t]*(\{)?/y;

const LABEL = /[ \t]*(?:([a-zA-Z_][a-zA-Z0-9_]*)|"((?:[^"\\]|\\[\\"n])*)")[ \t]*/y;

const VALUE = /=[ \t]*"((?:[^"\\]|\\[\\"n])*)"[ \t]*/y;

const TAIL = /[ \t]*([^ \t]+)(?:[ \t]+(-?[0-9]{1,19}))?$/y;

/** Returns `null` for a malformed line. */
function parseLine(line: string, families: Map<string, Family>): Sample | typeof EMPTY_FAMILY | null {
  const start = line.trimStart();
  if (start === "") return EMPTY_FAMILY;
  return start.startsWith("#") ? parseComment(line, families) : parseSample(line, families);
}

function parseComment(line: string, families: Map<string, Family>): typeof EMPTY_FAMILY | null {
  const [, keyword, name, rest] = COMMENT.exec(line) ?? [];
  if (keyword === undefined || name === undefined || rest === undefined || rest === "") return EMPTY_FAMILY;
  const family = familyOf(name.startsWith('"') ? unescape(name.slice(1, -1)) : name, families);
  if (keyword === "HELP") {
    if (family.hasHelp) return null;
    family.hasHelp = true;
    return EMPTY_FAMILY;
  }
  const type = rest.trim().toLowerCase();
  if (family.type !== null || !TYPES.includes(type)) return null;
  family.type = type;
  return EMPTY_FAMILY;
}

function parseSample(line: string, families: Map<string, Family>): Sample | null {
  const [head = "", outer, brace] = matchAt(HEAD, line, 0) ?? [];
  const labels = brace === undefined ? { labels: [], name: null, end: head.length } : parseLabels(line, head.length);
  if (labels === null) return null;
  const [, text, timestamp] = matchAt(TAIL, line, labels.end) ?? [];
  const name = outer ?? labels.name;
  if (text === undefined || name === null || (outer !== undefined && labels.name !== null)) return null;
  if (timestamp !== undefined && BigInt.asIntN(64, BigInt(timestamp)) !== BigInt(timestamp)) return null;
  // The parser of the format refuses these, which ParseFloat accepts.
  const value = /[pP_]/.test(text) ? null : parseGoFloat(text);
  if (value === null) return null;
  const family = familyOf(name, families);
  family.type ??= "untyped";
  return { family, labels: labels.labels, value };
}

interface Labels {
  readonly labels: readonly (readonly [name: string, value: string])[];
  /** The metric's name inside the braces, as for a name that needs quotes. */
  readonly name: string | null;
  /** The position after the closing brace. */
  readonly end: number;
}

function parseLabels(line: string, from: number): Labels | null {
  const labels: (readonly [string, string])[] = [];
  let name: string | null = null;
  let at = from;
  while (true) {
    const closing = matchAt(/[ \t]*\}/y, line, at);
    if (closing !== null) return { labels, name, end: at + closing[0].length };
    const [whole, bare, quoted] = matchAt(LABEL, line, at) ?? [];
    if (whole === undefined) return null;
    at += whole.length;
    const key = bare ?? unescape(quoted ?? "");
    const [assigned, value] = matchAt(VALUE, line, at) ?? [];
    if (assigned !== undefined && value !== undefined) {
      if (key === "__name__") return null;
      labels.push([key, unescape(value)]);
      at += assigned.length;
    } else {
      if (bare !== undefined || name !== null) return null;
      name = key;
    }
    if (line.charAt(at) === ",") at++;
    else if (line.charAt(at) !== "}") return null;
  }
}

/** Sums, counts and buckets belong to their summary or histogram, unless a family has exactly that name. */
function familyOf(name: string, families: Map<string, Family>): Family {
  const found = families.get(name) ??
    findParentFamily(name.replace(/_(?:count|sum)$/, ""), "summary", families) ??
    findParentFamily(name.replace(/_(?:count|sum|bucket)$/, ""), "histogram", families);
  if (found !== undefined) return found;
  const family = { name, type: null, hasHelp: false };
  families.set(name, family);
  return family;
}

function findParentFamily(name: string, type: string, families: ReadonlyMap<string, Family>): Family | undefined {
  const owner = families.get(name);
  return owner?.type === type ? owner : undefined;
}

function isMatch({ family, labels }: Sample, selector: MetricSelector): boolean {
  if (family.name !== selector.name || !PLAIN_TYPES.includes(family.type ?? "")) return false;
  return selector.labels.every(([name, value]) => labels.some((label) => label[0] === name && label[1] === value));
}

function matchAt(pattern: RegExp, line: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(line);
}

function unescape(text: string): string {
  return text.replace(/\\([\\"n])/g, (_, character: string) => character === "n" ? "\n" : character);
}
