/** Hashes of texts: fast, the same on every machine, and not for secrets. */

/** The start value of FNV-1a with 32 bits. */
export const FNV_START = 0x811c9dc5;

/**
 * Returns 32 bits, not negative: FNV-1a from a start value, with the finalizer of MurmurHash3. FNV alone gives texts that
 * are alike hashes that are alike.
 * http://www.isthe.com/chongo/tech/comp/fnv/
 * https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp
 */
export function hashText(text: string, start = FNV_START): number {
  let hash = start;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
