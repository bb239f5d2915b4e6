/** Podfits that are asked for records: one of them, and one after the other. */
import { DebugError, type DebugListener, type DebugSource } from "./debug_source.ts";
import { readRecords } from "./read_lines.ts";

export function createListener(name: string, open: DebugListener["open"]): DebugListener {
  return {
    name,
    open,
    async *read(query, signal) {
      yield* readRecords(await open(query, signal), signal);
    },
  };
}

/** The answer of the first that gives one; there is at least one. Rejects with what stood in the way, where one may have known. */
export async function askInTurn<Source extends DebugSource, Answer>(
  sources: readonly Source[],
  ask: (source: Source) => Promise<Answer>,
): Promise<Answer> {
  let failure: DebugError | null = null;
  for (const source of sources) {
    try {
      return await ask(source);
    } catch (error) {
      if (!(error instanceof DebugError)) throw error;
      if (failure === null || failure.reason === "NothingKnown") failure = error;
    }
  }
  throw failure;
}
