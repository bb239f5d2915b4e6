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

  /** Asks all of them, and forgets what they say: `null`, or what they lack to be asked at all. */
  async tryAll(request: Omit<GatherRequest, "due">, at: number): Promise<string | null> {
    const gathered = await this.gather({ ...request, due: { half: "tick", at } });
    if (gathered === null) return "the ScaledObject has changed meanwhile";
    return gathered.kind === "obstructed" ? gathered.message : null;
  }

  cut(): void {
    this.#current.abort();
  }
}
