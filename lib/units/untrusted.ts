/**
 * What to make of a value nobody has checked yet: is it an object at all, and how to show it in a
 * message without letting a hostile one flood the log or break its lines.
 */

const MAX_SHOWN = 40;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A bounded, one-line name of any value: `"12Q"`, `1.5`, `null`, `an object`. */
export function quote(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}...` : value);
    case "number":
    case "boolean":
      return String(value);
    case "object":
      return value === null ? "null" : "an object";
    default:
      return typeof value;
  }
}
