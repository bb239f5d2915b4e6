/** A name that takes a terminal over, and what no output may have of it. */
import { assert, assertEquals } from "#assert";

/** Hides text (SGR), sets a title (OSC), clears the screen (CSI of ESC and of C1), goes back, rings, reverses and hides. */
export const HOSTILE =
  "x\x1b[8m\x1b]0;owned\x07\x1b[2J\x9b2J\x9d0;t\x9c\x90q\x85\r\b\x7f\v\u202e\u2066\u200f\u200b\ufeff\u2028y";

/** What a terminal obeys or hides, except the ends of lines. */
export const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Throws unless the text shows the hostile name and has no character of it that a terminal obeys or hides. */
export function assertHarmless(text: string, what: string): void {
  assert(text.includes("owned"), `${what} does not show the name:\n${text}`);
  assertEquals(UNSEEN.exec(text)?.[0] ?? null, null, `${what}: ${JSON.stringify(text)}`);
}
