/** What a formula computes with. An integer is a bigint and a float a number: they are two types, as in expr. */
export type Value = null | boolean | bigint | number | readonly Value[];

/** Says whether a value is a number of either type. */
export function isNumber(value: Value): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

/** Says whether a value is an array. */
export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** A value's type by the name that messages use. */
export function nameType(value: Value): string {
  if (value === null) return "nil";
  if (isArray(value)) return "an array";
  return typeof value === "bigint" ? "an integer" : typeof value === "number" ? "a float" : "a bool";
}
