/**
 * Which texts must not appear in any output? Tokens and passwords of this process are replaced by `***`.
 *
 * The list belongs to the process, like its output: an error on its way to a log, a condition or an event often passes
 * code that does not hold the secret.
 */

/** Registers a text that redact() replaces from now on. */
export function keepSecret(secret: string): void {
  // Shorter texts are ordinary words: a line would lose them, and no real secret is so short.
  if (secret.length < MIN_SECRET_LENGTH) return;
  // The form in a JSON line.
  for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1)])) {
    SECRETS.delete(form);
    SECRETS.add(form);
  }
  for (const oldest of SECRETS) {
    if (SECRETS.size <= MAX_SECRETS) break;
    SECRETS.delete(oldest);
  }
  longestFirst = [...SECRETS].sort((a, b) => b.length - a.length);
}

/** Returns the text with `***` in place of each secret that was kept. */
export function redact(text: string): string {
  let rest = text;
  for (const secret of longestFirst) rest = rest.replaceAll(secret, "***");
  return rest;
}

const MIN_SECRET_LENGTH = 8;

/** Tokens are renewed: the oldest have expired. */
const MAX_SECRETS = 64;

/** The latest last. */
const SECRETS = new Set<string>();

/** One secret may be a part of another, whose rest would be shown. */
let longestFirst: readonly string[] = [];
