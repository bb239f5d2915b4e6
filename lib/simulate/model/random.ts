/**
 * How is a number drawn without a generator? It depends on its key alone, so the order of questions does not matter.
 */

/** What a drawn number depends on. */
export type Key = readonly (string | number)[];

/** A number in [0, 1) that is the same for the same key. */
export function draw(key: Key): number {
  let hash = 0x811c9dc5;
  const text = key.join("\u0000");
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  // FNV alone leaves like keys alike; this is the finalizer of MurmurHash3.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** Whole numbers, both ends included. */
export function drawBetween([min, max]: readonly [min: number, max: number], key: Key): number {
  return min + Math.floor(draw(key) * (max - min + 1));
}

/** `length` hexadecimal digits, as in the id of a container. */
export function drawHex(length: number, key: Key): string {
  let text = "";
  for (let part = 0; text.length < length; part++) {
    text += Math.floor(draw([...key, part]) * 2 ** 32).toString(16).padStart(8, "0");
  }
  return text.slice(0, length);
}
