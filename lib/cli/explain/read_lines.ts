/** JSON lines of `/debug/records` as they come: each is read as soon as it is whole. */
import type { RecordLine } from "../../record/line.ts";
import { parseLine } from "../../record/parse_line.ts";
import { DebugError } from "./debug_source.ts";

/** Characters; a pod of many containers has some 100,000. */
const LONGEST = 16 * 2 ** 20;

/** Throws a DebugError for what is no line of this podfit's version, and where one is too long. */
export async function* readLines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<RecordLine> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST) {
      throw new DebugError("BadAnswer", `Cannot read a record: it is longer than ${LONGEST} characters`);
    }
    for (const line of lines) if (line.trim() !== "") yield toLine(line);
  }
  if (rest.trim() !== "") yield toLine(rest);
}

function toLine(text: string): RecordLine {
  const parsed = parseLine(text);
  if (parsed.ok) return parsed.value;
  const [problem] = parsed.problems;
  const place = problem === undefined || problem.path === "" ? "" : ` (${problem.path})`;
  throw new DebugError("BadAnswer", `${problem?.message ?? "Cannot read the line"}${place}`);
}
