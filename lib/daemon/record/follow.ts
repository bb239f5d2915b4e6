/** What a ring holds and then each evaluation as it happens, for one reader, who gets no more time than a few lines give. */
import type { Records, Subject } from "./flight_recorder.ts";

/** Ends when the subject is gone, and with an error for a reader who is too far behind. Disposal ends it for its reader. */
export interface Following extends Disposable {
  readonly lines: AsyncIterable<string>;
}

/** A poll of a pod is a line; the shortest interval is a second. */
const MOST_WAITING = 256;

/** `null` where there is no such subject now. */
export function follow(
  records: Records,
  { subject, withPast }: { readonly subject: Subject; readonly withPast: boolean },
): Following | null {
  const waiting: string[] = [];
  let isOver = false;
  let isBehind = false;
  let wake = () => {};
  const watching = records.watch(subject, (line) => {
    if (line === null) isOver = true;
    else if (waiting.length >= MOST_WAITING) isBehind = true;
    else waiting.push(line);
    wake();
  });
  if (watching === null) return null;
  const past = withPast ? records.read(subject) ?? [] : [];

  async function* readLines(): AsyncGenerator<string> {
    yield* past;
    while (true) {
      while (waiting.length > 0 && !isBehind) yield waiting.shift() ?? "";
      if (isBehind) throw new Error(`Cannot follow ${subject.kind} "${subject.name}": its reader is too slow`);
      if (isOver) return;
      await new Promise<void>((resolve) => wake = resolve);
    }
  }

  return {
    lines: readLines(),
    [Symbol.dispose]() {
      watching[Symbol.dispose]();
      isOver = true;
      wake();
    },
  };
}
