/**
 * Words that stay the same while what they say does: of an error's text the parts that differ each time (ports of
 * this side, times, durations, identifiers) are left out, or each failure would be another status to write.
 */

/** `text` without what changes from one failure to the next. */
export function toSteadyWords(text: string): string {
  return CHANGING.reduce((words, [pattern, replacement]) => words.replace(pattern, replacement), text)
    .replace(/ {2,}/g, " ").trim();
}

const ADDRESS = String.raw`(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-fA-F:.%]+\])`;

const CHANGING: readonly (readonly [RegExp, string])[] = [
  // Of this side of a connection only the port changes; "read tcp 10.0.0.5:40001->10.0.0.1:10250" is Go's way.
  [new RegExp(String.raw`\bfrom ${ADDRESS}:\d+ `, "g"), ""],
  [new RegExp(String.raw`${ADDRESS}:\d+->`, "g"), ""],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "(time)"],
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, "(id)"],
  [/\b(?=[\da-f]*\d)(?=[\da-f]*[a-f])[\da-f]{12,}\b/g, "(id)"],
  // Durations as Go has them, and long numbers: counters, ports of a range, milliseconds.
  [/\b\d+(?:\.\d+)?(?:ns|µs|us|ms)\b/g, "(time)"],
  [/\b(?:\d+h)?(?:\d+m)?\d+\.\d+s\b/g, "(time)"],
  [/\b\d{7,}\b/g, "(number)"],
];
