/**
 * What is remembered of the pods whose usage decides about replicas: their rates (R21), and the requests that they were born with (R82). Of a
 * pod that no wanted set has any more nothing is kept.
 */
import type { Reading } from "../../api/usage.ts";
import { nextRecord, type Sizes } from "../../core/replicas/births.ts";
import { nextRates, type PodRates } from "../../core/replicas/rates.ts";
import type { Capacity } from "../../core/decision.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Clock } from "../../runtime/clock.ts";
import { watchSteps } from "../../runtime/clock_steps.ts";
import type { Nodes } from "../polling/nodes.ts";
import { stepPodRates } from "./follow_clock.ts";
import type { PodSet } from "./pod_sets.ts";

/** Where usage is read. */
export interface MeteredPodsOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly nodes: Pick<Nodes, "meter" | "unmeter">;
  readonly readCapacity: (node: string) => Capacity;
  /** A reading brought something new of pods of the set. Must not throw. */
  readonly onFresh?: (set: PodSet) => void;
}

/** What is known of one pod beside its object. */
export interface Memory {
  readonly rates: PodRates | null;
  readonly recorded: Sizes | null;
}

interface Entry {
  pod: PodFacts;
  rates: PodRates | null;
  recorded: Sizes;
  /** The wanted sets that the pod is in. */
  sets: readonly PodSet[];
}

interface Wanted {
  readonly users: number;
  readonly alone: readonly PodSet[];
}

const UNKNOWN: Memory = { rates: null, recorded: null };

/** One writer for all: the readings of nodes, and the moves of pods. */
export class MeteredPods {
  readonly #options: MeteredPodsOptions;
  readonly #takeStep: () => number;
  readonly #entries = new Map<string, Entry>();
  /** How many want each set, and a list of it alone, which nearly all of its pods share. */
  readonly #wanted = new Map<PodSet, Wanted>();

  constructor(options: MeteredPodsOptions) {
    this.#options = options;
    this.#takeStep = watchSteps(options.clock);
  }

  /** Has usage of the set's pods read until it is disposed of. */
  want(set: PodSet): Disposable {
    const { users, alone } = this.#wanted.get(set) ?? { users: 0, alone: [set] };
    this.#wanted.set(set, { users: users + 1, alone });
    if (users === 0) { for (const pod of set.pods.values()) this.#put(alone, pod); }
    let isWanted = true;
    return {
      [Symbol.dispose]: () => {
        if (!isWanted) return;
        isWanted = false;
        this.#release(set);
      },
    };
  }

  /** A pod came to the set or has changed; `null` = it left. */
  move(set: PodSet, before: PodFacts | null, after: PodFacts | null): void {
    const wanted = this.#wanted.get(set);
    if (wanted === undefined) return;
    if (after !== null) this.#put(wanted.alone, after);
    else if (before !== null) this.#remove(set, before.uid);
  }

  note(reading: Reading): void {
    if (reading.kind === "failed") return;
    this.#followClock();
    const { readAt } = reading;
    const capacity = this.#options.readCapacity(reading.node);
    const fresh = new Set<PodSet>();
    for (const [uid, usage] of reading.pods) {
      const entry = this.#entries.get(uid);
      if (entry === undefined) continue;
      const rates = nextRates(entry.rates, usage, { pod: entry.pod, readAt, capacity });
      if (rates === entry.rates) continue;
      entry.rates = rates;
      for (const set of entry.sets) fresh.add(set);
    }
    for (const set of fresh) this.#options.onFresh?.(set);
  }

  read(uid: string): Memory {
    this.#followClock();
    return this.#entries.get(uid) ?? UNKNOWN;
  }

  #followClock(): void {
    const stepMs = this.#takeStep();
    if (stepMs === 0) return;
    for (const entry of this.#entries.values()) entry.rates = entry.rates && stepPodRates(entry.rates, stepMs);
  }

  /** `alone`: a list of the one set that the pod is in. */
  #put(alone: readonly PodSet[], pod: PodFacts): void {
    const entry = this.#entries.get(pod.uid);
    const before = entry?.pod;
    if (entry === undefined) {
      this.#entries.set(pod.uid, { pod, rates: null, recorded: nextRecord(null, pod), sets: alone });
    } else {
      if (!alone.every((set) => entry.sets.includes(set))) entry.sets = [...entry.sets, ...alone];
      if (before === pod) return;
      entry.pod = pod;
      entry.recorded = nextRecord(entry.recorded, pod);
    }
    if (before !== undefined && (before.nodeName !== pod.nodeName || pod.finished)) this.#options.nodes.unmeter(before);
    if (!pod.finished) this.#options.nodes.meter(pod);
  }

  #remove(set: PodSet, uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry?.sets.includes(set) !== true) return;
    entry.sets = entry.sets.filter((one) => one !== set);
    if (entry.sets.length > 0) return;
    this.#entries.delete(uid);
    this.#options.nodes.unmeter(entry.pod);
  }

  #release(set: PodSet): void {
    const { users, alone } = this.#wanted.get(set) ?? { users: 1, alone: [set] };
    if (users > 1) return void this.#wanted.set(set, { users: users - 1, alone });
    this.#wanted.delete(set);
    for (const uid of [...set.pods.keys()]) this.#remove(set, uid);
  }
}
