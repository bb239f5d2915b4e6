/** The exit codes of every command: what scripts go by, so a code never changes what it means. */

export const EXIT = {
  /** Done, and nothing was wrong. */
  ok: 0,
  /** A check found something, or podfit could not start: stderr says what. */
  failed: 1,
  /** A command that answers with 1 could not be asked: a flag, a file or a cluster is no good. */
  unusable: 2,
  /** A second SIGINT or SIGTERM, which does not wait. */
  interrupted: 130,
} as const;

const WORDS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: "done, and a check found no error",
  failed: "a check found an error, or podfit could not start or use what it was given; stderr says why",
  unusable: "a command that answers with 1 has no answer: a flag, a file or the cluster is no good",
  interrupted: "ended by a second Ctrl-C, which waits for nothing",
};

/** What --help prints of them. */
export function formatExitCodes(): string {
  const rows = Object.entries(EXIT).map(([name, code]) => `  ${code}`.padEnd(7) + WORDS[name as keyof typeof EXIT]);
  return ["", "Exit codes:", ...rows].join("\n");
}
