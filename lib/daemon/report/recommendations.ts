/** What `status.recommendations` follows from (L51): the sizes that the shadows of an autoscaler's pods have come to. */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { nextRecommended, readLeast, readMedian, readMost, type Recommended } from "../../autoscaler/recommendation.ts";
import { findContainer, type PodFacts } from "../../core/pod/pod_facts.ts";
import { isResized } from "../../core/pod/siblings.ts";
import { findSize, listViews } from "../../core/recommend/shadow.ts";
import type { PodState } from "../../core/state.ts";
import type { Resources } from "../../units/resources.ts";

/** What an autoscaler recommends; `null` when it does not. */
export type ReadRecommended = (autoscaler: Autoscaler, pods: Iterable<PodFacts>) => readonly Recommended[] | null;

/** As many as the definition of the resource takes. */
const MOST_CONTAINERS = 100;

/** Remembers what was last published of each autoscaler: what moves by little is not published again. */
export class Recommendations {
  readonly #readState: (uid: string) => PodState | null;
  readonly #published = new Map<string, readonly Recommended[]>();

  constructor(options: { readonly readState: (uid: string) => PodState | null }) {
    this.#readState = options.readState;
  }

  readonly read: ReadRecommended = (autoscaler, pods) => {
    const { uid, mode } = autoscaler;
    if (mode !== "recommend") {
      this.#published.delete(uid);
      return null;
    }
    const published = nextRecommended(this.#published.get(uid) ?? null, this.#gather(autoscaler, pods));
    this.#published.set(uid, published);
    return published;
  };

  forget(uid: string): void {
    this.#published.delete(uid);
  }

  /** By name of the container; a pod counts once it was sampled. */
  #gather(autoscaler: Autoscaler, pods: Iterable<PodFacts>): readonly Recommended[] {
    const seen = new Map<string, { readonly sizes: Resources[]; template: Resources | null }>();
    for (const pod of pods) {
      const state = this.#readState(pod.uid);
      if (state === null || state.shadow === null) continue;
      for (const { container: name, sampling } of listViews(autoscaler, state.shadow.state)) {
        const container = findContainer(pod, name);
        if (container === null || sampling.sample === null) continue;
        const one = seen.get(name) ?? { sizes: [], template: null };
        seen.set(name, one);
        one.sizes.push(findSize(state.shadow.sizes, name) ?? container.spec);
        if (!isResized(pod, name)) one.template = container.spec;
      }
    }
    return [...seen].sort(([a], [b]) => a < b ? -1 : 1).slice(0, MOST_CONTAINERS).map(([container, of]) => ({
      container,
      min: readLeast(of.sizes),
      median: readMedian(of.sizes),
      max: readMost(of.sizes),
      template: of.template,
    }));
  }
}
