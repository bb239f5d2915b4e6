/**
 * How is a number drawn without a generator? It depends on its key alone, so the order of questions does not matter.
 */
import { hashText } from "../../units/hash.ts";

/** What a drawn number depends on. */
export type Key = readonly (string | number)[];

/** A number in [0, 1) that is the same for the same key. */
export function draw(key: Key): number {
  return hashText(key.join("\u0000")) / 2 ** 32;
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
