/** One object for all that are equal: 30,000 pods of a few sizes then cost the memory of those few, and the garbage collector as little. */

/** A longer key is not remembered: of some objects, such as labels, others decide how large they are. */
const LONGEST_KEY = 1000;

/** Gives for each object the first that had the same key, which must tell all of it. Remembers `most` of them at a time. */
export function createSharing<T>(toKey: (one: T) => string, most = 1000): (one: T) => T {
  const known = new Map<string, T>();
  return (one) => {
    const key = toKey(one);
    const same = known.get(key);
    if (same !== undefined) return same;
    if (key.length > LONGEST_KEY) return one;
    // Those that were given out live on where they are used.
    if (known.size >= most) known.clear();
    known.set(key, one);
    return one;
  };
}
