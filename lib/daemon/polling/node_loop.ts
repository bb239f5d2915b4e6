/**
 * The life of one node with tracked pods: readings at the smallest poll interval of its pods, and changes of pods as
 * they come; one round of evaluations at a time (C20), which waits for no answer to a request (C23). One such loop per node.
 */
import type { Reading } from "../../api/usage.ts";
import type { Capacity, Observation } from "../../core/decision.ts";
import type { Compute } from "../../runtime/compute.ts";
import type { Evaluator } from "../evaluator.ts";
import type { Tracked } from "../inventory/tracked.ts";

/** The node, its readings, and who evaluates its pods. */
export interface NodeLoopOptions {
  readonly node: string;
  readonly evaluator: Pick<Evaluator, "evaluate">;
  /** The node's tracked pods at this moment. */
  readonly tracked: () => ReadonlyMap<string, Tracked>;
  readonly capacity: () => Capacity;
  /** Each is emptied when its pods are evaluated. */
  readonly readings: AsyncIterator<Reading>;
  /** Nothing is evaluated once it is aborted. */
  readonly signal: AbortSignal;
  readonly changes: Changes;
  /** The queue that all nodes' evaluations share. */
  readonly compute: Compute;
  /** Whether the tracked pods are to be evaluated with this reading. */
  readonly beginRound: () => boolean;
  readonly onReading: (reading: Reading) => void;
  readonly onEvaluated: () => void;
}

/** Resolves when the readings end, which they do when the signal aborts; rejects when an evaluation or `onReading` throws. */
export async function runNodeLoop(options: NodeLoopOptions): Promise<void> {
  const { readings, changes } = options;
  let reading = readings.next();
  for (;;) {
    const next = await Promise.race([reading, changes.wait()]);
    if (next === CHANGED) {
      await evaluate(() => changes.take(), () => ({ kind: "changed" }), options);
    } else {
      if (next.done === true) return;
      const { value } = next;
      await evaluate(() => begin(value, options), toObserver(value, options.capacity()), options);
      // The promise that it came by was awaited for so long that V8 keeps what it brought until it next collects the whole heap.
      if (value.kind === "usage") value.pods.clear();
      reading = readings.next();
    }
    options.onEvaluated();
  }
}

/** The pods that are to be evaluated with the reading. */
function begin(reading: Reading, { signal, onReading, beginRound, tracked }: NodeLoopOptions): Iterable<string> {
  if (signal.aborted) return [];
  onReading(reading);
  return beginRound() ? tracked().keys() : [];
}

/** Pods that are evaluated in one go: a node may have hundreds, and others wait for their turn. */
const AT_ONCE = 10;

/** Asks for the pods when their turn comes, and evaluates those that are still tracked when it is theirs. */
async function evaluate(
  list: () => Iterable<string>,
  observe: (tracked: Tracked) => Observation,
  { signal, tracked, evaluator, compute }: NodeLoopOptions,
): Promise<void> {
  let waiting: string[] | null = null;
  do {
    waiting = await compute(() => {
      const uids = waiting ?? [...list()];
      if (signal.aborted) return [];
      evaluator.evaluate(uids.splice(0, AT_ONCE).flatMap((uid) => tracked().get(uid) ?? []), observe);
      return uids;
    });
  } while (waiting.length > 0);
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

  /** For one waiter at a time. Each gets a new promise: a promise that lives on keeps a reaction for every race it was in. */
  wait(): Promise<typeof CHANGED> {
    if (this.#uids.size > 0) return Promise.resolve(CHANGED);
    return new Promise((resolve) => this.#wake = () => resolve(CHANGED));
  }
}
