/** JSON lines of `/debug/records` as they come: each is read as soon as it is whole, and one that is cut off is left out. */
import { type BodyOptions, BodyTooLarge, readLines } from "../../kube/body.ts";
import type { RecordLine } from "../../record/line.ts";
import { parseLine } from "../../record/parse_line.ts";
import { toStartError } from "../run/start_error.ts";
import { DebugError } from "./debug_source.ts";

/** A pod of many containers has some 100,000. */
const LONGEST_BYTES = 16 * 2 ** 20;

/** Throws what readTexts() throws, and a DebugError for what is no line of this podfit's version. */
export async function* readRecords(response: Response, signal: AbortSignal): AsyncGenerator<RecordLine> {
  for await (const texts of readTexts(response, { signal })) {
    for (const text of texts) if (text.trim() !== "") yield toLine(text);
  }
}

/**
 * The lines of each chunk as they are. Throws the signal's reason, a TimeoutError after `silentMs` without any, and a DebugError where a line
 * is too long or the connection breaks off.
 */
export async function* readTexts(
  response: Response,
  options: Omit<BodyOptions, "limitBytes">,
): AsyncGenerator<readonly string[]> {
  try {
    yield* readLines(response, { ...options, limitBytes: LONGEST_BYTES });
  } catch (cause) {
    options.signal.throwIfAborted();
    if (cause instanceof BodyTooLarge) {
      throw new DebugError("BadAnswer", `Cannot read a record: it is longer than ${LONGEST_BYTES} bytes`, { cause });
    }
    if (cause instanceof DOMException) throw cause;
    throw new DebugError(
      "Unreachable",
      `Cannot read more records: the connection to podfit was lost: ${toStartError(cause).message}`,
      {
        cause,
      },
    );
  }
}

function toLine(text: string): RecordLine {
  const parsed = parseLine(text);
  if (parsed.ok) return parsed.value;
  const [problem] = parsed.problems;
  const place = problem === undefined || problem.path === "" ? "" : ` (${problem.path})`;
  throw new DebugError("BadAnswer", `${problem?.message ?? "Cannot read the line"}${place}`);
}
