/** Findings for programs: one JSON document, whose fields keep their meaning. */
import { toJson } from "../../terminal/output.ts";
import type { Report } from "../report.ts";

/** `version` changes when a field goes or means something else; new ones may come. */
export function formatJson({ findings, checked, others, unchecked, failures }: Report): string {
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
  return `${toJson(document, 2)}\n`;
}
