/** JSON lines of `/debug/records` as they come: each is read as soon as it is whole. */
import type { RecordLine } from "../../record/line.ts";
import { parseLine } from "../../record/parse_line.ts";
import { DebugError } from "./debug_source.ts";

/** Characters; a pod of many containers has some 100,000. */
const LONGEST = 16 * 2 ** 20;

/** A line without its newline; one that was cut off is not whole. */
export interface TextLine {
  readonly text: string;
  readonly isWhole: boolean;
}

/** Throws a DebugError for what is no line of this podfit's version, and where one is too long. */
export async function* readLines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<RecordLine> {
  for await (const { text } of splitLines(body)) if (text.trim() !== "") yield toLine(text);
}

/** Throws a DebugError where a line is too long. */
export async function* splitLines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<TextLine> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST) {
      throw new DebugError("BadAnswer", `Cannot read a record: it is longer than ${LONGEST} characters`);
    }
    for (const line of lines) yield { text: line, isWhole: true };
  }
  if (rest !== "") yield { text: rest, isWhole: false };
}

function toLine(text: string): RecordLine {
  const parsed = parseLine(text);
  if (parsed.ok) return parsed.value;
  const [problem] = parsed.problems;
  const place = problem === undefined || problem.path === "" ? "" : ` (${problem.path})`;
  throw new DebugError("BadAnswer", `${problem?.message ?? "Cannot read the line"}${place}`);
}
