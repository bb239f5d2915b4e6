/**
 * Which line of a Prometheus text is the value of a metrics-api trigger?
 *
 * A metric's name, with matchers of its labels.
 */
import { type Parsed, quote } from "../../units/untrusted.ts";

export interface MetricSelector {
  readonly name: string;
  readonly labels: readonly (readonly [name: string, value: string])[];
}

type ParsedMetricSelector = Parsed<{ selector: MetricSelector }>;

/**
 * Parses `name{label="value",...}`. Never throws.
 * https://prometheus.io/docs/prometheus/latest/querying/basics/#instant-vector-selectors
 * Clauses: R15.
 */
export function parseMetricSelector(text: string): ParsedMetricSelector {
  const reader = { text, at: 0 };
  const outer = take(reader, NAME);
  const matchers: Matcher[] = [];
  if (take(reader, /\s*\{/y) !== null) {
    const fault = parseMatchers(reader, matchers);
    if (fault !== null) return refuseSelector(text, fault);
  }
  if (take(reader, /\s*$/y) === null) return refuseSelector(text, "one selector, and nothing after it, is supported");
  const names = [outer?.trim(), ...matchers.filter(isName).map(({ value }) => value)].filter((name) =>
    name !== undefined
  );
  const [name, second] = names;
  if (name === undefined || name === "") return refuseSelector(text, "it names no metric");
  if (second !== undefined) return refuseSelector(text, "it names more than one metric");
  const labels = matchers.filter((one) => !isName(one)).map(({ label, value }) => [label, value] as const);
  return { ok: true, selector: { name, labels } };
}

interface TextCursor {
  readonly text: string;
  at: number;
}

interface Matcher {
  readonly label: string;
  readonly value: string;
}

const NAME = /\s*[a-zA-Z_:][a-zA-Z0-9_:]*/y;

const LABEL = /\s*[a-zA-Z_][a-zA-Z0-9_]*/y;

const OPERATOR = /\s*(?:=~|!~|!=|=)/y;

/** The alternatives begin with different characters, so no text is scanned twice. */
const QUOTED = /\s*(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)/y;

function isName({ label }: Matcher): boolean {
  return label === "__name__";
}

/** Parses up to the closing brace; returns what is wrong. */
function parseMatchers(reader: TextCursor, matchers: Matcher[]): string | null {
  while (take(reader, /\s*\}/y) === null) {
    const bare = take(reader, LABEL);
    const label = bare ?? take(reader, QUOTED);
    if (label === null) return "a label, or the closing brace, is missing";
    const key = bare === null ? unquote(label.trim()) : bare.trim();
    if (key === null) return "it has an escape that is not supported";
    if (take(reader, OPERATOR) === null) {
      if (bare !== null) return `label ${quote(key)} has no operator`;
      matchers.push({ label: "__name__", value: key });
    } else {
      const value = take(reader, QUOTED);
      const plain = value === null ? null : unquote(value.trim());
      if (plain === null) {
        return `the value of label ${quote(key)} must be quoted, with no escapes but \\\\ \\" \\' \\n \\r \\t`;
      }
      matchers.push({ label: key, value: plain });
    }
    if (take(reader, /\s*,/y) === null && !/^\s*\}/.test(reader.text.slice(reader.at))) {
      return "a comma, or the closing brace, is missing";
    }
  }
  return null;
}

function take(reader: TextCursor, pattern: RegExp): string | null {
  pattern.lastIndex = reader.at;
  const [found] = pattern.exec(reader.text) ?? [];
  if (found === undefined) return null;
  reader.at += found.length;
  return found;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\",
  '"': '"',
  "'": "'",
  n: "\n",
  r: "\r",
  t: "\t",
};

function unquote(quoted: string): string | null {
  const inner = quoted.slice(1, -1);
  if (quoted.startsWith("`")) return inner;
  const escapes = inner.match(/\\[^]/g) ?? [];
  if (escapes.some((escape) => ESCAPES[escape.charAt(1)] === undefined)) return null;
  return inner.replace(/\\([^])/g, (_, character: string) => ESCAPES[character] ?? "");
}

function refuseSelector(text: string, cause: string): ParsedMetricSelector {
  return { ok: false, message: `Cannot parse metric selector ${quote(text)}: ${cause}` };
}
