/** Collects notices, and what the views of a state remember of them. */
import type { Notice } from "../reasons.ts";
import { type PodState, readViewKey, type View } from "../state.ts";
import { nextNotified, type Notified as Edges, type Topic } from "./edge.ts";

/** A state that remembers what was published, and the notices to publish. */
export interface Notified {
  readonly state: PodState;
  readonly notices: readonly Notice[];
}

/** Takes notes of one evaluation; `end` gives what they come to. */
export class Draft {
  readonly #state: PodState;
  readonly #notices: Notice[] = [];
  /** Views that differ from the state's. */
  #views: Record<string, View> | null = null;

  constructor(state: PodState) {
    this.#state = state;
  }

  /** What the view remembers now; undefined for a contender without a view. */
  read(key: string): Edges | undefined {
    return (this.#views ?? this.#state.views)[key]?.notified;
  }

  /** The key of the view that a request or decision is about. */
  readKey(subject: { readonly autoscaler: string; readonly container: string }): string {
    return readViewKey(this.#state, subject);
  }

  /** Publishes when `value` is news of the topic. Without words it is remembered in silence. */
  note(key: string, topic: Topic, value: string | null, say: (() => Notice) | null = null): void {
    const view = (this.#views ?? this.#state.views)[key];
    if (view === undefined) return;
    const notified = nextNotified(view.notified, topic, value);
    if (notified === view.notified) return;
    this.#views ??= { ...this.#state.views };
    this.#views[key] = { ...view, notified };
    if (say !== null) this.#notices.push(say());
  }

  /** Publishes whatever was published before. */
  publish(notice: Notice): void {
    this.#notices.push(notice);
  }

  end(): Notified {
    const state = this.#views === null ? this.#state : { ...this.#state, views: this.#views };
    return { state, notices: this.#notices };
  }
}
