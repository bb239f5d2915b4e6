/**
 * Which texts must nobody read? Tokens and passwords that this process holds are replaced in whatever it writes. They
 * are those of the process, as its output is: an error that passes many hands on its way to a log, a condition or an
 * event has not always been near the one who knows the secret.
 */

/** Has redact() replace this text from now on. */
export function keepSecret(secret: string): void {
  // Words of a line would be lost with it, and whoever uses so short a secret has none.
  if (secret.length < SHORTEST) return;
  // As a JSON line has it.
  for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1)])) {
    HELD.delete(form);
    HELD.add(form);
  }
  for (const oldest of HELD) {
    if (HELD.size <= MOST) break;
    HELD.delete(oldest);
  }
}

/** Gives the text with `***` in place of each secret that was kept. */
export function redact(text: string): string {
  let rest = text;
  for (const secret of HELD) rest = rest.replaceAll(secret, "***");
  return rest;
}

const SHORTEST = 8;
/** Tokens are renewed: the oldest have expired. */
const MOST = 64;
/** The latest last. */
const HELD = new Set<string>();
