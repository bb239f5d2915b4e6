/**
 * `podfit replay` takes a trace through the fold again. A bug report is a trace: where this podfit decides otherwise than the one that
 * recorded it, it says which field differs; with another policy it says what that one would have decided.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { parseAutoscaler } from "../../autoscaler/parse_autoscaler.ts";
import { parseAll } from "../../runtime/yaml.ts";
import { isRecord } from "../../units/untrusted.ts";
import { EXIT } from "../exit_codes.ts";
import { writeError, writeLines } from "../terminal/output.ts";
import { toStartError } from "../run/start_error.ts";
import { checkLine } from "./check.ts";
import { createComparison } from "./compare.ts";
import type { ReplayOptions } from "./options.ts";
import { readTrace, TraceError } from "./trace.ts";
import { describeDifferences, describeLine } from "./words.ts";

/** Resolves to the exit code: 0 = the same was decided, 1 = something else, 2 = a file that cannot be read. */
export async function replay({ path, policyPath }: ReplayOptions): Promise<number> {
  try {
    return policyPath === null ? await check(path) : await compare(path, policyPath);
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    writeError(error.message);
    return EXIT.unusable;
  }
}

/** So many lines that differ are shown. */
const MOST_SHOWN = 3;

async function check(path: string): Promise<number> {
  let [lines, evaluations, differing] = [0, 0, 0];
  for await (const { number, line } of readTrace(path)) {
    lines++;
    evaluations += line.count;
    const differences = checkLine(line);
    if (differences.length === 0) continue;
    differing++;
    if (differing > MOST_SHOWN) continue;
    writeLines([`line ${number}, ${describeLine(line)}, differs:`, ...describeDifferences(differences)]);
  }
  if (lines === 0) throw new TraceError(`Cannot replay "${path}": it holds no record`);
  const whole = `${count(lines, "record")} of ${count(evaluations, "evaluation")}`;
  writeLines([
    differing === 0
      ? `${whole}: all decided the same`
      : `${whole}: ${differing} decided otherwise, ${lines - differing} the same`,
  ]);
  return differing === 0 ? EXIT.ok : EXIT.failed;
}

async function compare(path: string, policyPath: string): Promise<number> {
  const policy = await readPolicy(policyPath);
  const { take, summarize, isAsked } = createComparison(policy, policyPath);
  for await (const { line } of readTrace(path)) {
    if (line.kind === "pod") writeLines(take(line));
  }
  if (!isAsked()) {
    const { containerName } = policy;
    throw new TraceError(
      `Cannot compare "${path}" with "${policyPath}": the trace has no pod with an autoscaler for container "${containerName}"`,
    );
  }
  writeLines(summarize());
  return EXIT.ok;
}

async function readPolicy(path: string): Promise<Autoscaler> {
  const refuse = (why: string) => new TraceError(`Cannot read "${path}": ${why}`);
  let objects: readonly unknown[];
  try {
    objects = parseAll(await Deno.readTextFile(path));
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound;
    throw refuse(isMissing ? "no such file or directory" : toStartError(error).message);
  }
  const found = objects.filter((object) => isRecord(object) && object["kind"] === "PodResourceAutoscaler");
  if (found.length !== 1) throw refuse(`it holds ${found.length} PodResourceAutoscalers, and one is needed`);
  const parsed = parseAutoscaler(found[0]);
  if (parsed.ok) return parsed.autoscaler;
  const [first] = parsed.problems;
  throw refuse(`${first?.path}: ${first?.message}; podfit lint -f ${path} says more`);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
