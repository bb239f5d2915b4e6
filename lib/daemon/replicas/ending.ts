/**
 * The end of a ScaledObject (R57): what is to be restored is restored, once, and the finalizer goes. It goes also where the API server does not
 * let the replicas be restored, as nobody could delete the object or its namespace else.
 */
import type { ScaleAnswer, ScaleWrite } from "../../core/replicas/input.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { FINALIZER } from "./finalizers.ts";
import type { Looked } from "./look.ts";
import type { Passes } from "./passes.ts";
import type { RunnerOptions } from "./runner_options.ts";
import { mayPass } from "./scale_client.ts";

/** How long what may pass is waited for. */
const MOST_MS = 5 * 60_000;

/** Whose end it is; `write` gives `null` where nothing was to be written. */
export interface EndingOptions
  extends Pick<RunnerOptions, "clock" | "dryRun" | "pods" | "setFinalizer" | "onUnrestored"> {
  readonly passes: Passes;
  readonly look: (signal: AbortSignal) => Promise<Looked>;
  readonly write: (
    write: ScaleWrite | null,
    of: { readonly object: ScaledObject; readonly signal: AbortSignal },
  ) => Promise<ScaleAnswer | null>;
}

/** Of one object. */
export class Ending {
  readonly #options: EndingOptions;
  #startedMs: number | null = null;
  #isSettled = false;

  constructor(options: EndingOptions) {
    this.#options = options;
  }

  /** Tries once; gives whether nothing is left to do. */
  async go(facts: ScaledObjectFacts, signal: AbortSignal): Promise<boolean> {
    const { dryRun, pods, setFinalizer } = this.#options;
    if (!this.#isSettled && !await this.#restore(facts, signal)) return false;
    this.#isSettled = true;
    pods[Symbol.dispose]();
    if (dryRun || !facts.finalizers.includes(FINALIZER)) return true;
    return await setFinalizer(facts, false, signal);
  }

  /** Gives whether that is settled, one way or the other. */
  async #restore(facts: ScaledObjectFacts, signal: AbortSignal): Promise<boolean> {
    const { clock, passes, look, write } = this.#options;
    this.#startedMs ??= clock.monotonic();
    const object = facts.scaledObject ?? facts.restoring;
    const looked = object === null ? null : await look(signal);
    const isUnread = looked?.kind === "obstructed" && looked.obstacle.kind === "scale";
    if (isUnread && (signal.aborted || !this.#isOver())) return false;
    const scale = looked?.kind === "clear" ? looked.scale : null;
    const outcome = passes.pass({ kind: "deleted", scale }, { now: clock.now() });
    if (isUnread) return this.#giveUp(facts, "the target's scale cannot be read");
    const answer = object === null ? null : await write(outcome.write, { object, signal });
    if (answer === null || answer.kind === "accepted") return true;
    if (signal.aborted || (mayPass(answer) && !this.#isOver())) return false;
    return this.#giveUp(facts, answer.kind === "dropped" ? "somebody else writes them" : answer.message);
  }

  #isOver(): boolean {
    const { clock } = this.#options;
    return this.#startedMs !== null && clock.monotonic() - this.#startedMs >= MOST_MS;
  }

  #giveUp(facts: ScaledObjectFacts, cause: string): true {
    this.#options.onUnrestored(facts, cause);
    return true;
  }
}
