/**
 * `podfit lint` checks PodResourceAutoscalers, ScaledObjects and their authentications: in files before they are applied, and in a
 * cluster. Findings go to stdout, a summary to stderr.
 */
import { EXIT } from "../exit_codes.ts";
import { writeError, writeOutput } from "../terminal/output.ts";
import { readStyle } from "../style.ts";
import { readManifests } from "./files.ts";
import { lintManifests } from "./manifests.ts";
import type { LintOptions } from "./options.ts";
import type { Report } from "./report.ts";
import { formatReport, summarize } from "./show/report.ts";

/** Resolves to the exit code: 0 = no error, 1 = an error or nothing to check, 2 = a file or cluster that could not be read. */
export async function lint(options: LintOptions, getEnv: (name: string) => string | undefined): Promise<number> {
  const report = await makeReport(options, getEnv);
  writeOutput(formatReport(report, { format: options.format, style: readStyle(options.color, getEnv) }));
  for (const failure of report.failures) writeError(failure);
  for (const one of report.unchecked) writeError(`not checked: ${one}`);
  writeError(summarize(report));
  if (report.failures.length > 0) return EXIT.unusable;
  const isGood = report.checked.size > 0 && report.findings.every(({ level }) => level !== "error");
  return isGood ? EXIT.ok : EXIT.failed;
}

async function makeReport(options: LintOptions, getEnv: (name: string) => string | undefined): Promise<Report> {
  const { sources, failures } = await readManifests(options.paths);
  if (options.cluster === null) return { ...lintManifests(sources), unchecked: [], failures };
  const { lintCluster } = await import("./cluster/lint_cluster.ts");
  const { failures: more, ...report } = await lintCluster({ sources, options: options.cluster, getEnv });
  return { ...report, failures: [...failures, ...more] };
}
