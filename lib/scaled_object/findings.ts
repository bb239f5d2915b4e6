/**
 * What the parsers of a ScaledObject find beside values: problems, which make it invalid, and warnings. A field that is not known is
 * a warning: KEDA's own definition may be installed, and newer than the one that podfit knows.
 */
import type { Fields } from "../units/fields.ts";
import { addProblem, type Problem } from "../units/problem.ts";
import { quote } from "../units/untrusted.ts";

/** The lists that grow while one object is parsed. */
export interface Findings {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

/** Gives a reader of a field that is an object, and warns of what is in it beyond the fields that are known. */
export function openObject(
  parent: Fields,
  key: string,
  { known, warnings }: { readonly known: readonly string[]; readonly warnings: Problem[] },
): Fields | null {
  const fields = parent.object(key, null);
  if (fields !== null) warnOfUnknown(fields, { known, warnings });
  return fields;
}

/** Warns of each field that is not known. */
export function warnOfUnknown(
  fields: Fields,
  { known, warnings }: { readonly known: readonly string[]; readonly warnings: Problem[] },
): void {
  for (const key of fields.keys().filter((key) => !known.includes(key))) {
    const message = `Cannot use field ${quote(key)}: only ${known.join(", ")} are known, it has no effect`;
    addProblem(warnings, { path: fields.pathOf(key), message });
  }
}

/** Texts of any kind, but bounded and not empty. */
export const ANY_TEXT = { max: 253, pattern: /^[^]+$/, rule: "must be 1 to 253 characters" };

/** What the API server itself writes, such as a uid; empty ones too. */
export const SERVER_TEXT = { max: 253, pattern: /^[^]*$/, rule: "must be a string" };
