/** Are two plain values equal, whatever the order of their keys? */

/**
 * Returns whether two JSON values are equal. With `isNullAbsent`, a field that is null equals one that is absent, as in
 * a merge patch. Two functions count as equal: a parsed object has one only where it also has the text behind it.
 */
export function isDeepEqual(a: unknown, b: unknown, isNullAbsent = false): boolean {
  if (a === b || (isNullAbsent && (a ?? null) === (b ?? null))) return true;
  if (typeof a === "function" && typeof b === "function") return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && isEveryEqual(a, b, isNullAbsent);
  }
  const [one, other] = [a as Readonly<Record<string, unknown>>, b as Readonly<Record<string, unknown>>];
  // Without a list of the keys: statuses are compared a hundred times a second.
  for (const key in one) {
    if (!Object.hasOwn(other, key) && !(isNullAbsent && (one[key] ?? null) === null)) return false;
    if (!isDeepEqual(one[key], other[key], isNullAbsent)) return false;
  }
  for (const key in other) {
    if (!Object.hasOwn(one, key) && !(isNullAbsent && (other[key] ?? null) === null)) return false;
  }
  return true;
}

function isEveryEqual(a: readonly unknown[], b: readonly unknown[], isNullAbsent: boolean): boolean {
  if (a.length !== b.length && !isNullAbsent) return false;
  const length = Math.max(a.length, b.length);
  for (let index = 0; index < length; index++) if (!isDeepEqual(a[index], b[index], isNullAbsent)) return false;
  return true;
}
