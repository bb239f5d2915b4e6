/**
 * What does a scalar of a YAML file mean to Kubernetes? It is read as kubectl reads it (sigs.k8s.io/yaml, measured):
 * `yes` and `on` are true, 0644 is octal, 1_000 and 1e3 are 1000, and everything in quotes is text.
 */

/** A scalar as the file has it. */
export interface Scalar {
  readonly text: string;
  /** True when it is neither in quotes nor a block. */
  readonly isPlain: boolean;
  /** The explicit tag, such as `tag:yaml.org,2002:str` for `!!str`; `null` without one. */
  readonly tag: string | null;
}

export type ScalarValue = string | number | boolean | null;

/** Gives the value of a scalar. Never throws. */
export function resolveScalar({ text, isPlain, tag }: Scalar): ScalarValue {
  if (tag === null) return isPlain ? resolvePlain(text) : text;
  return RESOLVED_TAGS.includes(tag) ? resolvePlain(text) : text;
}

const RESOLVED_TAGS = ["bool", "int", "float", "null"].map((name) => `tag:yaml.org,2002:${name}`);

const WORDS: ReadonlyMap<string, ScalarValue> = new Map<string, ScalarValue>([
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["true", "True", "TRUE"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["false", "False", "FALSE"].map((word) => [word, false] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, -Infinity] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, NaN] as const),
]);

function resolvePlain(text: string): ScalarValue {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  return /^[-+.0-9]/.test(text) ? parseNumber(text.replaceAll("_", "")) ?? text : text;
}

/** Bases are those of Go: 0x, 0o, 0b, and a leading 0 is octal when all digits are octal (08 is 8). */
function parseNumber(text: string): number | null {
  const [, sign, digits = ""] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  const factor = sign === "-" ? -1 : 1;
  if (/^0(x[0-9a-f]+|o[0-7]+|b[01]+)$/i.test(digits)) return factor * Number(digits);
  if (/^0[0-7]+$/.test(digits)) return factor * parseInt(digits, 8);
  return /^(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i.test(digits) ? factor * Number(digits) : null;
}
