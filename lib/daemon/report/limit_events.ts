/** Publishes an event when pods of an autoscaler begin to want more than they can be given (L53): on the edge, not at each look. */
import type { Recorder } from "./recorder.ts";
import type { StatusListener, StatusLook } from "./status_look.ts";

/** Where the events go. */
export interface LimitEventsOptions {
  readonly recorder: Pick<Recorder, "publish">;
}

/** Remembers which autoscalers were limited when last seen. */
export class LimitEvents implements StatusListener {
  readonly #options: LimitEventsOptions;
  /** By uid. */
  readonly #limited = new Set<string>();

  constructor(options: LimitEventsOptions) {
    this.#options = options;
  }

  onStatus({ autoscaler, status: { conditions = [] } }: StatusLook): void {
    const { uid } = autoscaler;
    const limited = conditions.find(({ type }) => type === "Limited");
    if (limited?.status !== "True") return void this.#limited.delete(uid);
    if (this.#limited.has(uid)) return;
    this.#limited.add(uid);
    this.#options.recorder.publish({ name: "Limited", message: limited.message }, { autoscaler });
  }

  forget(uid: string): void {
    this.#limited.delete(uid);
  }
}
