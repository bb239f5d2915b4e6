/**
 * Which texts must not appear in any output? Tokens and passwords of this process are replaced by `***`.
 */

// Which texts must nobody read? Tokens and passwords that this process holds are replaced in whatever it writes. They
// are those of the process, as its output is: an error that passes many hands on its way to a log, a condition or an
// event has not always been near the one who knows the secret.

/** Has redact() replace this text from now on. */
export function keepSecret(secret: string): void {
  // Words of a line would be lost with it, and whoever uses so short a secret has none.
  if (secret.length < MIN_SECRET_LENGTH) return;
  // As a JSON line has it.
  for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1)])) {
    SECRETS.delete(form);
    SECRETS.add(form);
  }
  for (const oldest of SECRETS) {
    if (SECRETS.size <= MAX_SECRETS) break;
    SECRETS.delete(oldest);
  }
}

/** Gives the text with `***` in place of each secret that was kept. */
export function redact(text: string): string {
  let rest = text;
  for (const secret of SECRETS) rest = rest.replaceAll(secret, "***");
  return rest;
}

const MIN_SECRET_LENGTH = 8;

/** Tokens are renewed: the oldest have expired. */
const MAX_SECRETS = 64;

/** The latest last. */
const SECRETS = new Set<string>();
