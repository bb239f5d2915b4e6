/**
 * A bearer token fit for a header. Text that is not would make fetch throw an error that quotes it, so it is refused where
 * it is read, in words without it.
 * https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
import { keepSecret } from "../../runtime/secrets.ts";

/**
 * Gives the token in a text, without the space and line ends around it, and keeps it out of all that podfit writes.
 * Throws what `fail` makes of the reason.
 */
export function parseToken(text: string, fail: (why: string) => Error): string {
  const token = text.trim();
  if (token === "") throw fail("it is empty");
  if (!isSendable(token)) throw fail(UNSENDABLE);
  keepSecret(token);
  return token;
}

/** Says whether a token can be sent: all of it are letters, digits and signs of ASCII. */
export function isSendable(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

/** Why a token was refused, without a word of it. */
export const UNSENDABLE =
  "it has a space, a line break or another character that no header can hold within the token; " +
  "write the token alone, on one line";
