// deno-lint-ignore-file no-console
/**
 * A program: parses summaries that are made to cost memory, each of as many MiB as its argument says, and prints what
 * comes of each. Its own heap is small (`--max-old-space-size`), so it only ends well where they are not built.
 */
import { SummaryReader, SummaryScanner } from "../../lib/usage/kubelet/scan_summary.ts";

const SHAPES: Readonly<Record<string, readonly [head: string, unit: string, tail: string]>> = {
  "empty pods": ['{"pods":[', "{},", "{}]}"],
  "empty lists for pods": ['{"pods":[', "[],", "[]]}"],
  "pods of another node": ['{"pods":[', '{"podRef":{"uid":"x"},"containers":[{},{},{}]},', "{}]}"],
  "pods whose name comes last": ['{"pods":[', '{"containers":[{},{},{},{},{},{}],"podRef":{"uid":"x"}},', "{}]}"],
  "containers": ['{"pods":[{"podRef":{"uid":"a"},"containers":[', '{"cpu":{"psi":{"full":{}}}},', "{}]}]}"],
  "numbers": ['{"pods":[', "1.5,", "1]}"],
  "texts": ['{"pods":[', '"a",', '"a"]}'],
  "unknown fields": ["{", '"abc":{"d":[1]},', '"pods":[]}'],
  "brackets": ['{"x":', "[", ""],
  "braces": ["", '{"pods":', ""],
  "a long number": ['{"pods":[{"podRef":{"uid":"a"},"cpu":{"usageCoreNanoSeconds":', "9", "}}]}"],
  "a long text that nobody reads": ['{"x":"', "\\u0041", '"}'],
  "spaces": ['{"pods":[', " ", "]}"],
};

const reader = new SummaryReader(new SummaryScanner());
for (const [name, [head, unit, tail]] of Object.entries(SHAPES)) {
  const reading = reader.read(repeat(head, unit, tail), { tracked: new Set(["a"]) });
  console.log(`${name}: ${reading.kind}`);
}

/** In memory beside the heap. */
function repeat(...[head, unit, tail]: readonly [string, string, string]): Uint8Array {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(Number(Deno.args[0]) * 2 ** 20);
  let { written } = encoder.encodeInto(head, bytes);
  const unitBytes = encoder.encode(unit);
  for (; written + unit.length + tail.length <= bytes.length; written += unit.length) bytes.set(unitBytes, written);
  written += encoder.encodeInto(tail, bytes.subarray(written)).written;
  return bytes.subarray(0, written);
}
