/**
 * The flight recorder: the evaluations of about the last hour, for each pod and each ScaledObject. Old records are
 * compressed. Deleted pods and objects are kept for ten minutes. `explain` and `/debug/records` read the records.
 */
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { PodFacts } from "../model/pod.ts";
import {
  type EvaluationRecord,
  formatLine,
  type PodLine,
  type RecordLine,
  type ReplicasRecord,
  type ScaledObjectLine,
  toRecord,
  toReplicasRecord,
} from "../record/record.ts";
import {
  comparePods,
  compareReplicas,
  isBlocked,
  type LazyRecord,
  type Packing,
  Ring,
  type RingRules,
  type Run,
  toLane,
} from "../record/ring.ts";
import type { Clock } from "../runtime/clock.ts";
import type { HeldVerdict } from "../vertical/quiet/verdict.ts";
import type { Evaluation, EvaluationSink, QuietEvaluation } from "./pods/controller.ts";
import type { ReplicasSink } from "./replicas/reports.ts";

/** The pod or the ScaledObject that the lines are about. */
export interface RecordSubject extends SubjectName {
  readonly kind: RecordLine["kind"];
}

/** Receives each new line. `null` = there are no more, because the subject is gone or podfit ends. Must not throw. */
export type OnRecordLine = (line: string | null) => void;

/** What the debug listener serves. */
export interface FlightRecords {
  /** Returns whole lines, oldest first, or `null` for an unknown subject. */
  readonly get: (subject: RecordSubject) => Iterable<string> | null;
  /** Returns the newest line of each pod and object; `null` = of all namespaces. */
  readonly listLatest: (namespace: string | null) => Iterable<string>;
  /** Calls `onLine` until the result is disposed of. Returns `null` for a subject that does not exist now. */
  readonly watch: (subject: RecordSubject, onLine: OnRecordLine) => Disposable | null;
}

export interface FlightRecorder extends FlightRecords {
  readonly sink: EvaluationSink;
  readonly replicasSink: ReplicasSink;
  readonly dropPod: (pod: Pick<PodFacts, "uid" | "namespace" | "name">) => void;
  /** Compresses and removes old records until the signal aborts. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export function createFlightRecorder(clock: Pick<Clock, "steady" | "monotonic" | "sleep">): FlightRecorder {
  const pods = new Rings(POD_RULES);
  const objects = new Rings(REPLICAS_RULES);
  const watchers = new Map<string, Set<OnRecordLine>>();
  const lazyRecords = new WeakMap<HeldVerdict, LazyRecord<EvaluationRecord>>();
  const ringsOf = ({ kind }: RecordSubject) => kind === "pod" ? pods : objects;

  function notify(subject: RecordSubject, toLine: () => RecordLine): void {
    const listeners = watchers.get(toSubjectKey(subject));
    if (listeners === undefined) return;
    const line = `${formatLine(toLine())}\n`;
    for (const onLine of listeners) onLine(line);
  }

  function notifyGone(subject: RecordSubject): void {
    const listeners = watchers.get(toSubjectKey(subject));
    if (listeners === undefined || ringsOf(subject).has(subject)) return;
    for (const onLine of listeners) onLine(null);
  }

  const sink = ({ before, input, outcome }: Evaluation) => {
    const { pod: { namespace, name, uid }, now, observation } = input;
    const record = toRecord({ before, input, outcome });
    pods.add(record, { namespace, name, uid, isLast: observation.kind === "answered" });
    notify({ kind: "pod", namespace, name }, () => toPodLine({ record, count: 1, since: now }));
  };

  /** Most are only counted. A reader, or a client that watches the pod, gets the record that was not made. */
  function onQuiet({ verdict }: QuietEvaluation): void {
    const { pod: { namespace, name, uid } } = verdict;
    let lazy = lazyRecords.get(verdict);
    if (lazy === undefined) lazyRecords.set(verdict, lazy = toLazyRecord(verdict));
    pods.repeat({ at: verdict.now, lazy, isSilent: verdict.decisions.length === 0 }, { namespace, name, uid });
    notify({ kind: "pod", namespace, name }, () => {
      return toPodLine({ record: toRecord(verdict.replay.decideLast()), count: 1, since: verdict.now });
    });
  }

  return {
    sink: Object.assign(sink, { onQuiet, replays: true }),
    replicasSink: {
      onPass({ before, input, outcome }) {
        const { object: { namespace, name, uid, isDeleting }, now } = input;
        const record = toReplicasRecord({ before, input, outcome });
        objects.add(record, { namespace, name, uid, isLast: isDeleting });
        notify({ kind: "scaledObject", namespace, name }, () => toScaledObjectLine({ record, count: 1, since: now }));
      },
      onGone({ namespace, name, uid }) {
        objects.markGone(uid, clock.steady());
        notifyGone({ kind: "scaledObject", namespace, name });
      },
    },
    dropPod({ namespace, name, uid }) {
      pods.markGone(uid, clock.steady());
      notifyGone({ kind: "pod", namespace, name });
    },
    get: (subject) => ringsOf(subject).findLines(subject),
    *listLatest(namespace) {
      yield* pods.listLatest(namespace);
      yield* objects.listLatest(namespace);
    },
    watch(subject, onLine) {
      if (!ringsOf(subject).has(subject)) return null;
      const key = toSubjectKey(subject);
      const listeners = watchers.get(key) ?? new Set();
      watchers.set(key, listeners.add(onLine));
      return {
        [Symbol.dispose]() {
          listeners.delete(onLine);
          if (listeners.size === 0) watchers.delete(key);
        },
      };
    },
    async run(signal) {
      for (let expiredMs = clock.monotonic(); !signal.aborted;) {
        // Other tasks run between two of them.
        while (pods.packOne() || objects.packOne()) await clock.sleep(0, signal).catch(() => {});
        if (clock.monotonic() - expiredMs >= EXPIRE_INTERVAL_MS) {
          expiredMs = clock.monotonic();
          for (const rings of [pods, objects]) rings.expire(clock.steady());
        }
        await clock.sleep(PACK_INTERVAL_MS, signal).catch(() => {});
      }
      for (const listeners of watchers.values()) for (const onLine of listeners) onLine(null);
    },
  };
}

/** The sketch has no states, so that they need no memory while the verdict holds. */
function toLazyRecord(verdict: HeldVerdict): LazyRecord<EvaluationRecord> {
  const { replay } = verdict;
  return { sketch: toRecord(replay.decided), make: () => toRecord(replay.decideAgain()) };
}

const PACK_INTERVAL_MS = 1_000;

const EXPIRE_INTERVAL_MS = 60_000;

function toSubjectKey({ kind, namespace, name }: RecordSubject): string {
  return `${kind} ${namespace}/${name}`;
}

interface SubjectName {
  readonly namespace: string;
  readonly name: string;
}

interface KeptRing<R> extends SubjectName {
  readonly uid: string;
  readonly ring: Ring<R>;
  /** Epoch ms; `null` while the subject exists. */
  goneAt: number | null;
}

const GONE_MS = 600_000;

const MAX_GONE = 500;

class Rings<R> {
  readonly #rules: RingRules<R>;
  readonly #kept = new Map<string, KeptRing<R>>();
  /** Oldest first. */
  readonly #gone = new Set<KeptRing<R>>();
  readonly #toPack = new Set<KeptRing<R>>();

  constructor(rules: RingRules<R>) {
    this.#rules = rules;
  }

  /** `isLast` = the record does not prove that the subject still exists. */
  add(
    record: R,
    { uid, namespace, name, isLast }: SubjectName & { readonly uid: string; readonly isLast: boolean },
  ): void {
    const one = this.#kept.get(uid) ?? { uid, namespace, name, ring: new Ring(this.#rules), goneAt: null };
    this.#kept.set(uid, one);
    if (!isLast) this.#markPresent(one);
    one.ring.add(record);
    if (one.ring.hasEnded) this.#toPack.add(one);
  }

  /** One more record that repeats the newest; see `Ring.repeat`. */
  repeat(
    { at, ...how }: { readonly at: number; readonly lazy: LazyRecord<R>; readonly isSilent: boolean },
    { uid, namespace, name }: SubjectName & { readonly uid: string },
  ): void {
    const one = this.#kept.get(uid) ?? { uid, namespace, name, ring: new Ring(this.#rules), goneAt: null };
    this.#kept.set(uid, one);
    this.#markPresent(one);
    one.ring.repeat(at, how);
    if (one.ring.hasEnded) this.#toPack.add(one);
  }

  /** The subject was deleted at `now`, epoch ms. */
  markGone(uid: string, now: number): void {
    const one = this.#kept.get(uid);
    if (one === undefined || one.goneAt !== null) return;
    one.goneAt = now;
    this.#gone.add(one);
    const [first] = this.#gone;
    if (this.#gone.size > MAX_GONE && first !== undefined) this.#forget(first);
  }

  /** Returns whether a subject with that name exists now. */
  has(names: SubjectName): boolean {
    return this.#list(names).some(({ goneAt }) => goneAt === null);
  }

  /** Returns whole lines, oldest first, of all subjects that had the name; `null` for an unknown name. */
  findLines(names: SubjectName): Iterable<string> | null {
    const found = this.#list(names).map(({ ring }) => ring.listLines());
    return found.length === 0 ? null : concat(found);
  }

  /** Yields the newest line of each subject that exists; `null` = of all namespaces. */
  *listLatest(namespace: string | null): Generator<string> {
    for (const one of [...this.#kept.values()]) {
      if (one.goneAt !== null || (namespace !== null && one.namespace !== namespace)) continue;
      const line = one.ring.findNewest();
      if (line !== null) yield line;
    }
  }

  /** Compresses one ring. Returns false when there was none to compress. */
  packOne(): boolean {
    const [one] = this.#toPack;
    if (one === undefined) return false;
    this.#toPack.delete(one);
    one.ring.pack();
    return true;
  }

  /** Removes what is too old at `now`, epoch ms. */
  expire(now: number): void {
    for (const one of this.#kept.values()) {
      const isOver = one.goneAt !== null && Math.abs(now - one.goneAt) > GONE_MS;
      if (isOver || !one.ring.expire(now)) this.#forget(one);
    }
  }

  #list({ namespace, name }: SubjectName): readonly KeptRing<R>[] {
    return [...this.#kept.values()].filter((one) => one.name === name && one.namespace === namespace);
  }

  #markPresent(one: KeptRing<R>): void {
    one.goneAt = null;
    this.#gone.delete(one);
  }

  #forget(one: KeptRing<R>): void {
    this.#kept.delete(one.uid);
    this.#gone.delete(one);
    this.#toPack.delete(one);
  }
}

function* concat(all: readonly Iterable<string>[]): Generator<string> {
  for (const one of all) yield* one;
}

/**
 * Zstandard is 14 times as fast as DEFLATE, and its result is two thirds as large (measured on 16 lines of a busy pod). One
 * byte is one character: a string needs a tenth of the memory that a small byte array needs in addition to its bytes.
 */
const ZSTD_PACKING: Packing = {
  pack: (text) => zstdCompressSync(text).toString("latin1"),
  unpack: (packed) => zstdDecompressSync(Uint8Array.from(packed, (character) => character.charCodeAt(0))).toString(),
};

/** About one hour. */
const RETENTION = { maxAgeMs: 3_600_000, maxLines: 256, maxBytes: 13 * 1024, packing: ZSTD_PACKING };

const POD_RULES: RingRules<EvaluationRecord> = {
  ...RETENTION,
  getAt: ({ input }) => input.now,
  compare: comparePods,
  keepsFirst: isBlocked,
  getLane: () => "",
  format: (run) => formatLine(toPodLine(run)),
};

const REPLICAS_RULES: RingRules<ReplicasRecord> = {
  ...RETENTION,
  getAt: ({ input }) => input.now,
  compare: compareReplicas,
  keepsFirst: () => false,
  getLane: toLane,
  format: (run) => formatLine(toScaledObjectLine(run)),
};

function toPodLine({ record, count, since }: Run<EvaluationRecord>): PodLine {
  const { namespace, name, uid } = record.input.pod;
  return { kind: "pod", namespace, name, uid, count, since, record };
}

function toScaledObjectLine({ record, count, since }: Run<ReplicasRecord>): ScaledObjectLine {
  const { namespace, name, uid } = record.input.object;
  return { kind: "scaledObject", namespace, name, uid, count, since, record };
}
