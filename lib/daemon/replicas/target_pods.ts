/** The pods of one object's target: by the selector that its scale has now, and metered where usage decides (R20). */
import { listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import { formatSelector, type Selector } from "../../units/selector.ts";
import type { MeteredPods } from "./metered_pods.ts";
import type { HeldPodSet, PodSet, PodSets } from "./pod_sets.ts";

/** Where pods are kept. */
export interface TargetPodsOptions {
  readonly sets: Pick<PodSets, "hold">;
  readonly metered: Pick<MeteredPods, "want">;
  readonly uid: string;
}

/** Holds one set at a time, until it is disposed of. */
export class TargetPods implements Disposable {
  readonly #options: TargetPodsOptions;
  #held: HeldPodSet | null = null;
  #metering: Disposable | null = null;

  constructor(options: TargetPodsOptions) {
    this.#options = options;
  }

  /** `null` before the scale was read. */
  get set(): PodSet | null {
    return this.#held?.set ?? null;
  }

  /** Keeps the pods of this selector from now on, and no others. */
  follow({ selector, object }: { readonly selector: Selector; readonly object: ScaledObject }): PodSet {
    const { sets, metered, uid } = this.#options;
    const isSame = this.#held !== null && formatSelector(this.#held.set.selector) === formatSelector(selector);
    if (!isSame) this[Symbol.dispose]();
    const held = this.#held ??= sets.hold(object.namespace, selector, uid);
    const isMetered = listResourceTriggers(object).length > 0;
    if (isMetered) this.#metering ??= metered.want(held.set);
    else this.#endMetering();
    return held.set;
  }

  [Symbol.dispose](): void {
    this.#endMetering();
    this.#held?.[Symbol.dispose]();
    this.#held = null;
  }

  #endMetering(): void {
    this.#metering?.[Symbol.dispose]();
    this.#metering = null;
  }
}
