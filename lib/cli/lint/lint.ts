/**
 * `podfit lint`: says what podfit finds wrong in PodResourceAutoscaler manifests before they are applied, one line per
 * finding on stdout as compilers write them, and a summary on stderr.
 */
import { readManifests } from "./files.ts";
import { type Finding, lintManifests, type Verdict } from "./manifests.ts";
import { writeError, writeOutput } from "../output.ts";

/** 0 = no error, 1 = an error or nothing to check, 2 = a file that could not be read. */
export async function lint(paths: readonly string[]): Promise<number> {
  const { sources, failures } = await readManifests(paths);
  const verdict = lintManifests(sources);
  writeOutput(verdict.findings.map((finding) => `${formatFinding(finding)}\n`).join(""));
  for (const failure of failures) writeError(failure);
  writeError(summarize(verdict));
  if (failures.length > 0) return 2;
  return verdict.autoscalers === 0 || countOf(verdict, "error") > 0 ? 1 : 0;
}

function formatFinding({ file, place, level, autoscaler, path, message }: Finding): string {
  const parts = [autoscaler, path, message].filter((part) => part !== null && part !== "");
  // A field's name is whatever the file has.
  const text = parts.join(": ").replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
  return `${file}:${place.line}:${place.column}: ${level}: ${text}`;
}

function summarize(verdict: Verdict): string {
  const { autoscalers, others } = verdict;
  const passed = others === 0 ? "" : ` (${count(others, "other object")} passed over)`;
  const found = ["error", "warning"].map((level) => count(countOf(verdict, level as Finding["level"]), level));
  return autoscalers === 0
    ? `No PodResourceAutoscaler found${passed}, ${found[0]}`
    : `${count(autoscalers, "autoscaler")}: ${found.join(", ")}${passed}`;
}

function countOf({ findings }: Verdict, level: Finding["level"]): number {
  return findings.filter((finding) => finding.level === level).length;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
