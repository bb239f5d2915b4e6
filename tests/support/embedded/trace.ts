/**
 * How does a measured load (CSV) become a curve?
 */
import { type Curve, parseCurve, type Problem } from "../../../lib/embedded/model/load.ts";
import { quote } from "../../../lib/units/untrusted.ts";

/** A recorded trace, or what is wrong with it. */
type ParsedTrace =
  | { readonly ok: true; readonly curve: Curve }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** `repeats`: after its last row it begins again. */
export function parseTrace(csv: string, options: { readonly repeats?: boolean } = {}): ParsedTrace {
  const [head = "", ...rows] = csv.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  if (!/^seconds,(millicores|bytes)$/.test(head)) {
    return { ok: false, problems: [{ path: "line 1", message: `must be seconds,millicores, not ${quote(head)}` }] };
  }
  const problems: Problem[] = [];
  const points = rows.map((row, index) => {
    const match = /^(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/.exec(row);
    if (match === null) problems.push({ path: `line ${index + 2}`, message: `must be two numbers, not ${quote(row)}` });
    return [Number(match?.[1] ?? 0) * 1000, Number(match?.[2] ?? 0)];
  });
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, 10) };
  const curve = parseCurve({ kind: "points", points, repeats: options.repeats === true }, { path: "rows", problems });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, curve };
}
