/** Simulations as text for people. */
import { toLine } from "../terminal/output.ts";
import { compareContainer, type ComparedFigure, type Comparison, countBest } from "./compare.ts";

/** A table for each container of each workload, with a line that says who is better where several policies ran. */
export function formatComparisons(comparisons: readonly Comparison[]): string {
  return comparisons.flatMap(({ title, runs }) => {
    const simulation = runs[0]?.simulation;
    const hours = (simulation?.seconds ?? 0) / 3600;
    return (simulation?.containers ?? []).map(({ container }) => {
      const figures = compareContainer(runs, container);
      const head = `${title}, container ${container}, ${Number(hours.toFixed(2))} h`;
      return [toLine(head), "", formatFigures(figures, runs.map(({ policy }) => policy)), ""].join("\n");
    });
  }).join("\n");
}

function formatFigures(figures: readonly ComparedFigure[], policies: readonly string[]): string {
  const isCompared = policies.length > 1;
  const rows = figures.map(({ name, values, format, best }) => [
    name,
    ...values.map((value) => Number.isNaN(value) ? "-" : format(value)),
    ...(isCompared ? [best === null ? "" : policies[best] ?? ""] : []),
  ]);
  const table = alignRows([["", ...policies, ...(isCompared ? ["better"] : [])], ...rows], isCompared);
  if (!isCompared) return table;
  const counts = countBest(figures, policies.length);
  const compared = figures.filter(({ best }) => best !== null).length;
  const said = policies.map((policy, index) => `${toLine(policy)} in ${counts[index]}`).join(", ");
  return `${table}\n\nbetter, of ${compared} figures that differ: ${said}`;
}

/** Columns to the right, but for the first, and the last where it is text. */
export function alignRows(raw: readonly (readonly string[])[], endsWithText = false): string {
  const rows = raw.map((row) => row.map((cell) => toLine(cell)));
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  return rows.map((row) =>
    row.map((cell, at) => {
      const width = widths[at] ?? 0;
      const isText = at === 0 || endsWithText && at === row.length - 1;
      return isText ? cell.padEnd(width) : cell.padStart(width);
    }).join("  ").trimEnd()
  ).join("\n");
}
