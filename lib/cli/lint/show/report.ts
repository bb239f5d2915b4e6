/** What a run of lint has to say, in each of its formats. */
import { createStyle, type Style } from "../../style.ts";
import { type Text, toLine } from "../../terminal/output.ts";
import type { Level, Shown } from "../finding.ts";
import { NOUNS } from "../kinds.ts";
import type { Report } from "../report.ts";
import type { Format } from "./formats.ts";
import { formatGithub } from "./github.ts";
import { formatJson } from "./json.ts";
import { formatText } from "./text.ts";

/** Gives what goes to stdout. */
export function formatReport(report: Report, { format, style = createStyle(false) }: {
  readonly format: Format;
  readonly style?: Style;
}): Text {
  if (format === "json") return formatJson(report);
  const toText = format === "github" ? formatGithub : (finding: Shown) => formatText(finding, style);
  return report.findings.map((finding) => [toLine(toText(finding)), "\n"]);
}

/** One line for stderr. */
export function summarize({ findings, checked, others }: Report): string {
  const passed = others === 0 ? "" : ` (${count(others, "other object")} passed over)`;
  const number = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const errors = count(number("error"), "error");
  const advised = number("advice");
  const advice = advised === 0 ? [] : [count(advised, "piece of advice", "pieces of advice")];
  const found = [errors, count(number("warning"), "warning"), ...advice];
  const counts = NOUNS.filter((noun) => checked.has(noun)).map((noun) => count(checked.get(noun) ?? 0, noun));
  return counts.length === 0
    ? `No PodResourceAutoscaler or ScaledObject found${passed}, ${errors}`
    : `${counts.join(", ")}: ${found.join(", ")}${passed}`;
}

function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}
