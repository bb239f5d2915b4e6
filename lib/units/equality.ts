/** Are two plain values equal, whatever the order of their keys? */

/**
 * Returns whether two JSON values are equal. With `isNullAbsent`, a field that is null equals one that is absent, as in
 * a merge patch. Two functions count as equal: a parsed object has one only where it also has the text behind it.
 */
export function isDeepEqual(a: unknown, b: unknown, isNullAbsent = false): boolean {
  if (a === b || (isNullAbsent && (a ?? null) === (b ?? null))) return true;
  if (typeof a === "function" && typeof b === "function") return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [one, other] = [a, b] as [Record<string, unknown>, Record<string, unknown>];
  const isIn = (record: object, key: string, value: unknown) =>
    Object.hasOwn(record, key) || (isNullAbsent && (value ?? null) === null);
  return Object.keys(one).every((key) =>
    isIn(other, key, one[key]) && isDeepEqual(one[key], other[key], isNullAbsent)
  ) &&
    Object.keys(other).every((key) => isIn(one, key, other[key]));
}
