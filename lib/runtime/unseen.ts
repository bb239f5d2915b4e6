/**
 * Characters that a terminal obeys or hides: controls, formats such as bidirectional ones, lone surrogates, and
 * separators of lines. In a name from outside they rewrite what a person sees. Newlines and tabs are left alone.
 */

const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Returns the text with U+FFFD for each of them, so that a name with one never looks like the name without it. */
export function replaceUnseen(text: string): string {
  return text.replace(UNSEEN, "\ufffd");
}

/** Returns the text with the escape of JSON for each of them: strings of JSON keep their values. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (character) => character.split("").map(toEscape).join(""));
}

/** `unit`: of UTF-16; a character may have two. */
function toEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
