/** What a run of lint has found, before anybody prints it. */
import type { Shown } from "./finding.ts";
import type { Noun } from "./kinds.ts";

/** All of it. */
export interface Report {
  readonly findings: readonly Shown[];
  /** How many objects were checked, by what they are. */
  readonly checked: ReadonlyMap<Noun, number>;
  /** How many objects of other kinds were passed over. */
  readonly others: number;
  /** What could not be checked, each with what it needs. */
  readonly unchecked: readonly string[];
  /** What could not be read at all. */
  readonly failures: readonly string[];
}
