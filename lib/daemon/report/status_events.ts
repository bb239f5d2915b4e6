/**
 * Publishes an event when an autoscaler's spec begins not to work as it is written (C8, C10, C15): once for each such
 * state, and again when an invalid spec has been changed and is still invalid.
 */
import type { NoticeName } from "../../core/reasons.ts";
import type { Recorder } from "./recorder.ts";
import { findTrouble } from "./status_facts.ts";
import type { StatusListener, StatusLook } from "./status_look.ts";
import type { OnTrouble } from "./trouble.ts";

/** Where the events go. */
export interface StatusEventsOptions {
  readonly recorder: Pick<Recorder, "publish">;
  readonly onTrouble: OnTrouble;
}

interface Published {
  readonly name: NoticeName | null;
  readonly generation: number;
}

/** Remembers the state that was last published for each autoscaler. */
export class StatusEvents implements StatusListener {
  readonly #options: StatusEventsOptions;
  /** By autoscaler uid: the state that was last seen. */
  readonly #published = new Map<string, Published>();

  constructor(options: StatusEventsOptions) {
    this.#options = options;
  }

  onStatus({ autoscaler, facts }: StatusLook): void {
    const { recorder, onTrouble } = this.#options;
    const { uid } = autoscaler;
    const { generation } = facts;
    const [name, message] = findTrouble(facts);
    const before = this.#published.get(uid) ?? { name: null, generation: 0 };
    if (before.name === name && (name !== "InvalidSpec" || before.generation === generation)) return;
    this.#published.set(uid, { name, generation });
    if (name === null) return;
    const notice = { autoscaler: uid, name, message };
    recorder.publish(notice, { autoscaler });
    onTrouble({ kind: "status", autoscaler, notice });
  }

  forget(uid: string): void {
    this.#published.delete(uid);
  }
}
