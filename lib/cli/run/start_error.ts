/** What keeps podfit from its work, in words that are printed as they are. */
import { toLine } from "../terminal/output.ts";

/** A reason not to start, as one line that says what to do. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** An error of a lower layer, whose own words name what was tried and the cause, as one line. */
export function toStartError(error: unknown, advice = ""): StartError {
  const message = error instanceof Error ? error.message : String(error);
  return new StartError(toOneLine(message) + advice, { cause: error });
}

const MAX_LENGTH = 600;

/** Servers write several lines, of any length; Deno ends with the system call and the path, which is named already. */
function toOneLine(message: string): string {
  const line = toLine(message.replace(/ \(os error \d+\)(: \w+ '[^']*')?/, "")).replace(/ +/g, " ").trim();
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH)}...`;
}
