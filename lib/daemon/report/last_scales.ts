/** The last resize of each autoscaler in this process: noted by a sink, read when a status is computed (C45, C51). */
import type { LastScale } from "../../autoscaler/conditions.ts";
import type { Clock } from "../../runtime/clock.ts";
import { newest } from "./status_facts.ts";

/** The newest resize by autoscaler uid. */
export class LastScales {
  readonly #clock: Pick<Clock, "now">;
  readonly #scales = new Map<string, LastScale>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Keeps the newer of this one and the one noted before. */
  note(uid: string, scale: LastScale): void {
    this.#scales.set(uid, newest(scale, this.read(uid), this.#clock.now()) ?? scale);
  }

  /** `null` when the autoscaler with this uid has resized nothing. */
  read(uid: string): LastScale | null {
    return this.#scales.get(uid) ?? null;
  }

  forget(uid: string): void {
    this.#scales.delete(uid);
  }
}
