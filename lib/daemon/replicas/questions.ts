/** How many triggers are asked at once: whoever does not answer holds up neither the other objects nor what needs no question. */
import { Limit } from "../../runtime/limit.ts";
import type { AskTrigger } from "../../triggers/trigger_source.ts";

/** In this process. */
const MOST_AT_ONCE = 64;
/** Of one object: one with many triggers leaves room for others. */
const MOST_OF_ONE = 8;

/** Gives each object an `ask` of its own, which waits for its turn; it rejects with the signal's reason only. */
export function createQuestions(ask: AskTrigger): () => AskTrigger {
  const all = new Limit(MOST_AT_ONCE);
  return () => {
    const own = new Limit(MOST_OF_ONE);
    return async (trigger, options) => {
      using _own = await own.acquire(options.signal);
      using _slot = await all.acquire(options.signal);
      return await ask(trigger, options);
    };
  };
}
