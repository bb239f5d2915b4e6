/** A trace: a file of records, one JSON line each, as `podfit record` and /debug/records give them. */
import type { RecordLine } from "../../record/line.ts";
import { parseLine } from "../../record/parse_line.ts";
import type { Problem } from "../../units/problem.ts";
import { toStartError } from "../run/start_error.ts";

/** A line and its number in the file, from 1. */
export interface TraceLine {
  readonly number: number;
  readonly line: RecordLine;
}

/** A trace cannot be read; the message names file, line and cause. */
export class TraceError extends Error {
  override readonly name = "TraceError";
}

/** A pod has a few KB; nobody writes more by mistake. */
const MAX_LINE = 8 * 2 ** 20;
const STDIN = "-";
const MOST_PROBLEMS = 3;

/** Reads line by line; lines without text are passed over. Throws a TraceError at the first that is no record. */
export async function* readTrace(path: string): AsyncGenerator<TraceLine> {
  const name = path === STDIN ? "<stdin>" : path;
  let number = 0;
  for await (const text of readTexts(path, name)) {
    number++;
    if (text.trim() === "") continue;
    const parsed = parseLine(text);
    if (!parsed.ok) throw new TraceError(`Cannot read "${name}", line ${number}: ${formatProblems(parsed.problems)}`);
    yield { number, line: parsed.value };
  }
}

async function* readTexts(path: string, name: string): AsyncGenerator<string> {
  let rest = "";
  try {
    const bytes = path === STDIN ? Deno.stdin.readable : (await Deno.open(path)).readable;
    for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
      if (rest.length > MAX_LINE) throw new Error(`a line is longer than ${MAX_LINE / 2 ** 20} MiB`);
    }
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound;
    const why = isMissing ? "no such file or directory" : toStartError(error).message;
    throw new TraceError(`Cannot read "${name}": ${why}`, { cause: error });
  }
  yield rest;
}

function formatProblems(problems: readonly Problem[]): string {
  const said = problems.slice(0, MOST_PROBLEMS).map(({ path, message }) =>
    path === "" ? message : `${path}: ${message}`
  );
  const more = problems.length - said.length;
  return [...said, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}
