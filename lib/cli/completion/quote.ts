/** Texts within scripts of shells. */

/** In single quotes, as sh, bash and zsh read them. */
export function quoteSh(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** In single quotes, as fish reads them. */
export function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
