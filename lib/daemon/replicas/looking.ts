/** Looks for the runner of one object, and remembers what a look leaves: the HPA that was taken over, what passes warn of, and what foresight goes by. */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import type { Asking } from "./asking.ts";
import type { Foresight } from "./foresight.ts";
import type { Looked } from "./look.ts";
import type { Passes } from "./passes.ts";
import type { RunnerOptions } from "./runner_options.ts";

export interface LookingOptions extends Pick<RunnerOptions, "look" | "reader" | "pods" | "clock"> {
  readonly asking: Asking;
  readonly passes: Passes;
  readonly foresight: Foresight;
  readonly listPods: () => readonly PodFacts[];
}

/** One look at a time. */
export class Looking {
  readonly #options: LookingOptions;
  #transferredUid: string | null = null;

  constructor(options: LookingOptions) {
    this.#options = options;
  }

  /** Of the HPA that was deleted for this object. */
  get transferredUid(): string | null {
    return this.#transferredUid;
  }

  /** Does not reject. */
  async look(facts: ScaledObjectFacts, signal: AbortSignal): Promise<Looked> {
    const { look, reader, pods, clock, asking, passes, foresight, listPods } = this.#options;
    const tryTriggers = (object: ScaledObject) =>
      asking.tryAll({ object, reader, pods: listPods, signal }, clock.now());
    const looked = await look({ facts, transferredUid: this.#transferredUid, tryTriggers, pods, signal });
    passes.warnings = looked.warnings;
    foresight.noteLook(looked.kind === "clear" ? looked : null);
    if (looked.kind === "clear" && looked.transferred !== null) this.#transferredUid = looked.transferred.uid;
    return looked;
  }
}
