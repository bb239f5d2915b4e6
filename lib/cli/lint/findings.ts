/** What lint reports: levels, findings with their place, and the report of one run. */
import type { LintRule } from "../../model/lint_rules.ts";
import type { Place } from "../manifests/yaml.ts";
import type { Noun } from "./check_object.ts";

/**
 * - `error`: it is refused, or cannot work.
 * - `warning`: it is accepted, and will not do what its author expects.
 * - `advice`: it works, and could be better.
 */
export const LEVELS = ["error", "warning", "advice"] as const;

export type Level = typeof LEVELS[number];

/** One thing about one object. */
export interface Statement {
  readonly level: Level;
  /** The name of the rule. It stays the same where the message changes. */
  readonly rule: LintRule;
  /** Where in the object, `spec.policy.cooldown`; empty for the object as a whole. */
  readonly path: string;
  /** What happens, and what to do. */
  readonly message: string;
}

/** A statement with its place. */
export interface LocatedStatement extends Statement {
  /** `null` for what is in the cluster. */
  readonly file: string | null;
  readonly place: Place | null;
  /** The object's kind; `null` for a finding about a file or a cluster as a whole. */
  readonly kind: string | null;
  /** `name` or `namespace/name`; `null` when it has no name, and for a finding about the file itself. */
  readonly object: string | null;
}

/** An object that is checked, under the name that files and cluster share. */
export interface Subject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** A statement about one of several objects that are compared. */
export interface Relation extends Statement {
  readonly of: Subject;
}

/** The same text of the same object only. */
export function toSubjectKey({ kind, namespace, name }: Subject): string {
  return `${kind} ${namespace}/${name}`;
}

/** All of it. */
export interface Report {
  readonly findings: readonly LocatedStatement[];
  /** The number of checked objects by kind. */
  readonly checked: ReadonlyMap<Noun, number>;
  /** The number of objects of other kinds, which are not checked. */
  readonly others: number;
  /** What could not be checked, each with what it needs. */
  readonly unchecked: readonly string[];
  /** What could not be read at all. */
  readonly failures: readonly string[];
}
