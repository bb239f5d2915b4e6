/**
 * What to make of a value nobody has checked yet: is it an object at all, and how to show it, or the path to it, in
 * a message without letting a hostile one flood the log or break its lines.
 */

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A bounded, one-line name of any value: `"12Q"`, `1.5`, `null`, `an object`. */
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

/** `spec.policy` and `cpu` make `spec.policy.cpu`, as the API server writes it; a key may be anything. */
export function joinPath(path: string, key: string): string {
  const shown = toShown(key, MAX_KEY).slice(1, -1);
  return path === "" ? shown : `${path}.${shown}`;
}

const MAX_SHOWN = 40;
/** More than a label's key usually has. */
const MAX_KEY = 100;
/** JSON leaves these as they are, and yet they break a line, hide, or turn the text around them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function toShown(text: string, max: number): string {
  return JSON.stringify(text.length > max ? `${text.slice(0, max)}...` : text)
    .replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
