/**
 * Findings as workflow commands, which GitHub shows beside the line of a pull request.
 * https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#setting-an-error-message
 */
import type { Level, Shown } from "../finding.ts";
import { toLine } from "../../terminal/output.ts";
import { describePlace } from "./text.ts";

/** One command: `::error file=a.yaml,line=7,col=5,title=slow-up::MESSAGE`. */
export function formatGithub(finding: Shown): string {
  const { file, place, level, rule, object, path, message } = finding;
  const properties = [
    ...(file === null ? [] : [["file", file]]),
    ...(place === null ? [] : [["line", `${place.line}`], ["col", `${place.column}`]]),
    ["title", `podfit: ${rule}`],
  ].map(([name, value = ""]) => `${name}=${escapeProperty(value)}`);
  const subject = file === null ? describePlace(finding) : object;
  const text = [subject, path, message].filter((part) => part !== null && part !== "").join(": ");
  return `::${COMMANDS[level]} ${properties.join(",")}::${escapeData(toLine(text))}`;
}

const COMMANDS: Readonly<Record<Level, string>> = { error: "error", warning: "warning", advice: "notice" };

/** As actions/toolkit has it: packages/core/src/command.ts, escapeData. */
function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** The same file's escapeProperty. */
function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
