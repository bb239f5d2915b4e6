/** Findings as compilers print them, one line each: what editors and people read. */
import type { Style } from "../../style.ts";
import type { Text } from "../../terminal/output.ts";
import type { Level, Shown } from "../finding.ts";

/** FILE:LINE:COLUMN: LEVEL: OBJECT: FIELD: MESSAGE [RULE]; without a file, what it is stands in its place. */
export function formatText(finding: Shown, style: Style): Text {
  const { level, rule, path, message } = finding;
  const object = finding.file === null ? null : finding.object;
  const parts = [object, path, message].filter((part) => part !== null && part !== "");
  // What is invalid is said in the words of Ready, which need no name.
  const name = level === "error" && rule === "invalid" ? [] : [" ", style.dim(`[${rule}]`)];
  return [style.bold(describePlace(finding)), ": ", PAINTS[level](style)(level), ": ", parts.join(": "), ...name];
}

/** Where a finding is about: `web.yaml:7:5`, or `ScaledObject shop/web`. */
export function describePlace({ file, place, kind, object }: Shown): string {
  if (file === null) return kind === null ? "cluster" : `${kind} ${object ?? ""}`.trim();
  return place === null ? file : `${file}:${place.line}:${place.column}`;
}

const PAINTS: Readonly<Record<Level, (style: Style) => Style["red"]>> = {
  error: ({ red }) => red,
  warning: ({ yellow }) => yellow,
  advice: ({ cyan }) => cyan,
};
