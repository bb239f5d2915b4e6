/**
 * The life of one node with tracked pods: readings at the smallest poll interval of its pods, and changes of pods as
 * they come; one turn at a time, each ended before the next begins (C20). One such loop per node, never two.
 */
import type { Reading } from "../../api/usage.ts";
import type { Capacity, Observation } from "../../core/decision.ts";
import type { Evaluator } from "../evaluator.ts";
import type { Tracked } from "../inventory/tracked.ts";

export interface NodeLoopOptions {
  readonly node: string;
  readonly evaluator: Pick<Evaluator, "evaluate">;
  /** The node's tracked pods at this moment. */
  readonly tracked: () => ReadonlyMap<string, Tracked>;
  readonly capacity: () => Capacity;
  readonly readings: AsyncIterator<Reading>;
  readonly changes: Changes;
  readonly onReading: (reading: Reading) => void;
  readonly onTurn: () => void;
}

/** Returns when the readings end. */
export async function runNodeLoop(options: NodeLoopOptions): Promise<void> {
  const { readings, changes, onReading, onTurn, tracked, evaluator } = options;
  let reading = readings.next();
  for (;;) {
    const turn = await Promise.race([reading, changes.wait()]);
    if (turn === CHANGED) {
      const pods = [...changes.take()].flatMap((uid) => tracked().get(uid) ?? []);
      await evaluator.evaluate(pods, () => ({ kind: "changed" }));
    } else {
      if (turn.done === true) return;
      onReading(turn.value);
      const observe = toObserver(turn.value, options.capacity());
      await evaluator.evaluate(tracked().values(), observe);
      reading = readings.next();
    }
    onTurn();
  }
}

function toObserver(reading: Reading, capacity: Capacity): (tracked: Tracked) => Observation {
  if (reading.kind === "failed") return () => ({ kind: "tick" });
  const { clockOffsetMs, pods } = reading;
  return ({ pod }) => {
    const usage = pods.get(pod.uid);
    return usage === undefined ? { kind: "tick" } : { kind: "usage", usage, clockOffsetMs, capacity };
  };
}

const CHANGED = Symbol("changed");

/** Pods of a node that have changed since they were last taken, and a way to wait for the first. */
export class Changes {
  #uids = new Set<string>();
  #wake: (() => void) | null = null;

  add(uid: string): void {
    this.#uids.add(uid);
    this.#wake?.();
  }

  remove(uid: string): void {
    this.#uids.delete(uid);
  }

  take(): ReadonlySet<string> {
    const taken = this.#uids;
    this.#uids = new Set();
    this.#wake = null;
    return taken;
  }

  /** One waiter at a time, a new promise each: one that lived on would gather a reaction for every race it lost. */
  wait(): Promise<typeof CHANGED> {
    if (this.#uids.size > 0) return Promise.resolve(CHANGED);
    return new Promise((resolve) => this.#wake = () => resolve(CHANGED));
  }
}
