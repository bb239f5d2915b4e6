/** What is remembered of every tracked pod between two evaluations, by uid. */
import { stepClock } from "../core/observe/clock_step.ts";
import { rest, type RestingState, wake } from "../core/rest.ts";
import type { PodState } from "../core/state.ts";
import { watchSteps } from "../runtime/clock_steps.ts";
import type { Clock } from "../runtime/clock.ts";

/** States are dated by the wall clock; what they measure is the time that passes: so they follow when it is set. */
export class States {
  readonly #resting = new Map<string, RestingState>();
  readonly #takeStep: () => number;

  constructor(clock: Pick<Clock, "now" | "monotonic">) {
    this.#takeStep = watchSteps(clock);
  }

  /** `null` before the pod's first evaluation. */
  read(uid: string): PodState | null {
    const resting = this.readStanding(uid);
    return resting === null ? null : wake(resting);
  }

  /** The same, without what only decisions need: costs nothing. It is overwritten with the next state: nobody keeps it. */
  readStanding(uid: string): RestingState | null {
    this.#followClock();
    return this.#resting.get(uid) ?? null;
  }

  /** `state` is of now. */
  put(uid: string, state: PodState): void {
    const before = this.#resting.get(uid) ?? null;
    const resting = rest(state, before);
    if (resting !== before) this.#resting.set(uid, resting);
  }

  delete(uid: string): void {
    this.#resting.delete(uid);
  }

  #followClock(): void {
    const stepMs = this.#takeStep();
    if (stepMs === 0) return;
    for (const [uid, resting] of this.#resting) this.put(uid, stepClock(wake(resting), stepMs));
  }
}
