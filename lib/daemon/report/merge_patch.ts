/** JSON values as a merge patch sees them (RFC 7386): objects merge key by key, `null` removes, all else is replaced whole. */

/**
 * The patch that makes `to` of `from`: all of `to`, for the server may have less than `from` by now, and `null` for each
 * key that has to go. A patch again as `to` also removes what a second `from` has.
 */
export function toMergePatch(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to;
  const removed = Object.keys(from).filter((key) => !Object.hasOwn(to, key)).map((key) => [key, null]);
  const kept = Object.entries(to).map(([key, value]) => [key, toMergePatch(from[key], value)]);
  return Object.fromEntries([...removed, ...kept]);
}

/** By value: key order and `null` for absent do not count. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b || (a ?? null) === (b ?? null)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [left, right] = [a, b] as [Record<string, unknown>, Record<string, unknown>];
  return Object.keys(left).every((key) => isEqual(left[key], right[key])) &&
    Object.keys(right).every((key) => Object.hasOwn(left, key) || (right[key] ?? null) === null);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
