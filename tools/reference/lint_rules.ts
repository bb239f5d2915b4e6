/** Which findings does `podfit lint` have? Made from the table that its code uses. Pure. */
import { LINT_RULES } from "../../lib/model/lint_rules.ts";
import { toCode, toPage, toTable } from "./markdown.ts";

const LEVELS = [
  ["error", "An error is refused, or cannot work. `podfit lint` ends with exit code 1."],
  ["warning", "A warning is accepted, and does not do what its author expects."],
  ["advice", "Advice is about a manifest that works and could be better."],
] as const;

/** The page of all findings, by level. */
export function toLintPage(): string {
  const parts = LEVELS.flatMap(([level, text]) => {
    const rules = Object.entries(LINT_RULES).filter(([, rule]) => rule.level === level);
    const rows = rules.map(([name, rule]) => [toCode(name), "needsCluster" in rule ? "yes" : "", rule.meaning]);
    return [
      `## ${level.charAt(0).toUpperCase()}${level.slice(1)}`,
      text,
      toTable(["name", "needs `--cluster`", "meaning"], rows),
    ];
  });
  return toPage("Lint rules", "`lib/model/lint_rules.ts`", [
    "[`podfit lint`](cli.md#podfit-lint) prints the name of a finding in brackets. A message says what to do.",
    ...parts,
  ]);
}
