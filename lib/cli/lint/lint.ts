/**
 * `podfit lint`: checks autoscalers, ScaledObjects and their authentications in files and in a cluster.
 *
 * Findings go to stdout as text, JSON or GitHub annotations. A summary goes to stderr.
 */
import { EXIT } from "../command/process.ts";
import { readManifests } from "../manifests/files.ts";
import { type DataFormat, formatData, isData } from "../terminal/data.ts";
import { type Text, toLine, writeError, writeOutput } from "../terminal/output.ts";
import { createStyle, getStdoutStyle, type Style } from "../terminal/text.ts";
import { NOUNS } from "./check_object.ts";
import type { Level, LocatedStatement, Report } from "./findings.ts";
import { lintManifests } from "./lint_files.ts";
import type { Format, LintOptions } from "./options.ts";

/** Resolves to the exit code: 0 = no error, 1 = an error, 2 = an unreadable file or cluster, or nothing to check. */
export async function lint(options: LintOptions): Promise<number> {
  const report = await makeReport(options);
  writeOutput(formatReport(report, { format: options.format, style: getStdoutStyle(options.color, options.noColor) }));
  for (const failure of report.failures) writeError(failure);
  for (const one of report.unchecked) writeError(`not checked: ${one}`);
  // Without an object, "0 errors" would read as if the files or the cluster were fine.
  if (report.failures.length === 0 || report.checked.size > 0) writeError(summarize(report));
  if (report.failures.length > 0) return EXIT.failed;
  if (report.findings.some(({ level }) => level === "error")) return EXIT.found;
  return report.checked.size === 0 ? EXIT.failed : EXIT.ok;
}

async function makeReport(options: LintOptions): Promise<Report> {
  const { sources, failures } = await readManifests(options.paths);
  const { namespace } = options;
  if (options.cluster === null) return { ...lintManifests(sources, namespace ?? undefined), unchecked: [], failures };
  const { lintCluster } = await import("./lint_cluster.ts");
  const { failures: more, ...report } = await lintCluster(sources, { ...options.cluster, namespace });
  return { ...report, failures: [...failures, ...more] };
}

/** Returns the text for stdout. */
export function formatReport(report: Report, { format, style = createStyle(false) }: {
  readonly format: Format;
  readonly style?: Style;
}): Text {
  if (isData(format)) return formatReportData(report, format);
  const toText = format === "github" ? formatGithub : (finding: LocatedStatement) => formatText(finding, style);
  return report.findings.map((finding) => [toLine(toText(finding)), "\n"]);
}

/** Returns one line for stderr. */
export function summarize({ findings, checked, others, unchecked, failures }: Report): string {
  const passed = others === 0 ? "" : ` (${count(others, "other object")} passed over)`;
  const number = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const errors = count(number("error"), "error");
  const advised = number("advice");
  const advice = advised === 0 ? [] : [count(advised, "piece of advice", "pieces of advice")];
  const found = [errors, count(number("warning"), "warning"), ...advice];
  const counts = NOUNS.filter((noun) => checked.has(noun)).map((noun) => count(checked.get(noun) ?? 0, noun));
  return counts.length === 0
    ? `No PodResourceAutoscaler or ScaledObject found${passed}: ${
      number("error") > 0
        ? errors
        : `nothing was checked${unchecked.length > 0 ? "" : "; name other files, or another namespace"}`
    }`
    : `${counts.join(", ")}: ${found.join(", ")}${passed}${
      failures.length === 0 ? "" : "; not everything was checked"
    }`;
}

function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

/** FILE:LINE:COLUMN: LEVEL: OBJECT: FIELD: MESSAGE [RULE]; without a file, the object takes its place. */
function formatText(finding: LocatedStatement, style: Style): Text {
  const { level, rule, path, message } = finding;
  const object = finding.file === null ? null : finding.object;
  const parts = [object, path, message].filter((part) => part !== null && part !== "");
  // Messages of invalid fields are those of the condition Ready, which need no rule name.
  const name = level === "error" && rule === "invalid" ? [] : [" ", style.dim(`[${rule}]`)];
  return [style.bold(describePlace(finding)), ": ", PAINTS[level](style)(level), ": ", parts.join(": "), ...name];
}

/** The place of a finding: `web.yaml:7:5`, or `ScaledObject shop/web`. */
function describePlace({ file, place, kind, object }: LocatedStatement): string {
  if (file === null) return kind === null ? "cluster" : `${kind} ${object ?? ""}`.trim();
  return place === null ? file : `${file}:${place.line}:${place.column}`;
}

const PAINTS: Readonly<Record<Level, (style: Style) => Style["red"]>> = {
  error: ({ red }) => red,
  warning: ({ magenta }) => magenta,
  advice: ({ bold }) => bold,
};

/**
 * One command: `::error file=a.yaml,line=7,col=5,title=slow-up::MESSAGE`.
 * https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#setting-an-error-message
 */
function formatGithub(finding: LocatedStatement): string {
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

/** `version` changes when a field is removed or gets another meaning. New fields do not change it. */
function formatReportData(
  { findings, checked, others, unchecked, failures }: Report,
  format: DataFormat,
): string {
  const document = {
    version: 1,
    findings: findings.map(({ level, rule, file, place, kind, object, path, message }) => ({
      level,
      rule,
      file,
      line: place?.line ?? null,
      column: place?.column ?? null,
      kind,
      object,
      path,
      message,
    })),
    checked: Object.fromEntries(checked),
    others,
    unchecked,
    failures,
  };
  return formatData(document, format, 2);
}
