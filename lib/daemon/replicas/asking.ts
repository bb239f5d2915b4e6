/** Questions to triggers of one object that are not waited for any more once something has changed: an edit or the end does not wait for an answer. */
import type { Gather, Gathered, GatherRequest } from "./gather.ts";

/** One half at a time. */
export class Asking {
  readonly #gather: Gather;
  #current = new AbortController();

  constructor(gather: Gather) {
    this.#gather = gather;
  }

  /** `null` = it was cut short. Rejects as `gather` does. */
  async gather(request: GatherRequest): Promise<Gathered | null> {
    const { signal } = this.#current = new AbortController();
    try {
      return await this.#gather({ ...request, signal: AbortSignal.any([request.signal, signal]) });
    } catch (error) {
      if (request.signal.aborted || !signal.aborted) throw error;
      return null;
    }
  }

  cut(): void {
    this.#current.abort();
  }
}
