/**
 * `podfit lint` checks manifests of PodResourceAutoscalers, ScaledObjects and their authentications before they are applied: one line for
 * each finding on stdout, in the format of compilers, and a summary on stderr.
 */
import { writeError, writeOutput } from "../output.ts";
import { readManifests } from "./files.ts";
import { NOUNS } from "./kinds.ts";
import { type Finding, lintManifests, type LintResult } from "./manifests.ts";

/** Resolves to the exit code: 0 = no error, 1 = an error or nothing to check, 2 = a file that could not be read. */
export async function lint(paths: readonly string[]): Promise<number> {
  const { sources, failures } = await readManifests(paths);
  const result = lintManifests(sources);
  writeOutput(result.findings.map((finding) => `${formatFinding(finding)}\n`).join(""));
  for (const failure of failures) writeError(failure);
  writeError(summarize(result));
  if (failures.length > 0) return 2;
  return result.checked.size === 0 || countOf(result, "error") > 0 ? 1 : 0;
}

function formatFinding({ file, place, level, object, path, message }: Finding): string {
  const parts = [object, path, message].filter((part) => part !== null && part !== "");
  // The name of a field comes from the file, and may hold any character.
  const text = parts.join(": ").replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
  return `${file}:${place.line}:${place.column}: ${level}: ${text}`;
}

function summarize(result: LintResult): string {
  const { checked, others } = result;
  const passed = others === 0 ? "" : ` (${count(others, "other object")} passed over)`;
  const found = ["error", "warning"].map((level) => count(countOf(result, level as Finding["level"]), level));
  const counts = NOUNS.filter((noun) => checked.has(noun)).map((noun) => count(checked.get(noun) ?? 0, noun));
  return counts.length === 0
    ? `No PodResourceAutoscaler or ScaledObject found${passed}, ${found[0]}`
    : `${counts.join(", ")}: ${found.join(", ")}${passed}`;
}

function countOf({ findings }: LintResult, level: Finding["level"]): number {
  return findings.filter((finding) => finding.level === level).length;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
