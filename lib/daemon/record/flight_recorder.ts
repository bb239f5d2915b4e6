/** The flight recorder: the last hour of each pod and ScaledObject, and whoever follows one of them. Sinks fill it. */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import { formatLine, toReplicasRecord } from "../../record/format.ts";
import type { RecordLine } from "../../record/line.ts";
import { toRecord } from "../../record/record.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { ReplicasSink } from "../replicas/sink.ts";
import type { Sink } from "../report/sink.ts";
import { POD_RULES, REPLICAS_RULES, toPodLine, toScaledObjectLine } from "./rules.ts";
import { type Names, Shelf } from "./shelf.ts";

/** Whose lines: a pod's or a ScaledObject's. */
export interface Subject extends Names {
  readonly kind: RecordLine["kind"];
}

/** Hears of each later evaluation; `null` = there will be none, as the subject is gone, or podfit ends. Must not throw. */
export type OnLine = (line: string | null) => void;

/** What is told by the debug listener. */
export interface Records {
  /** Texts of whole lines, oldest first; `null` where nothing is known of the subject. */
  readonly read: (subject: Subject) => Iterable<string> | null;
  /** The newest line of each pod and object, of one namespace or of all. */
  readonly readLatest: (namespace: string | null) => Iterable<string>;
  /** Until it is disposed of; `null` where there is no such subject now. */
  readonly watch: (subject: Subject, onLine: OnLine) => Disposable | null;
}

export interface FlightRecorder extends Records {
  readonly sink: Sink;
  readonly replicasSink: ReplicasSink;
  readonly dropPod: (pod: Pick<PodFacts, "uid" | "namespace" | "name">) => void;
  /** Packs and forgets until the signal aborts. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export function createFlightRecorder(clock: Pick<Clock, "now" | "monotonic" | "sleep">): FlightRecorder {
  const pods = new Shelf(POD_RULES);
  const objects = new Shelf(REPLICAS_RULES);
  const watchers = new Map<string, Set<OnLine>>();
  const shelfOf = ({ kind }: Subject) => kind === "pod" ? pods : objects;

  function tell(subject: Subject, toLine: () => RecordLine): void {
    const hearing = watchers.get(toKey(subject));
    if (hearing === undefined) return;
    const line = `${formatLine(toLine())}\n`;
    for (const onLine of hearing) onLine(line);
  }

  function tellGone(subject: Subject): void {
    const hearing = watchers.get(toKey(subject));
    if (hearing === undefined || shelfOf(subject).has(subject)) return;
    for (const onLine of hearing) onLine(null);
  }

  return {
    sink({ before, input, outcome }) {
      const { pod: { namespace, name, uid }, now, observation } = input;
      const record = toRecord({ before, input, outcome });
      pods.add(record, { namespace, name, uid, isLast: observation.kind === "answered" });
      tell({ kind: "pod", namespace, name }, () => toPodLine({ record, count: 1, since: now }));
    },
    replicasSink: {
      onPass({ before, input, outcome }) {
        const { object: { namespace, name, uid, isDeleting }, now } = input;
        const record = toReplicasRecord({ before, input, outcome });
        objects.add(record, { namespace, name, uid, isLast: isDeleting });
        tell({ kind: "scaledObject", namespace, name }, () => toScaledObjectLine({ record, count: 1, since: now }));
      },
      onGone({ namespace, name, uid }) {
        objects.leave(uid, clock.now());
        tellGone({ kind: "scaledObject", namespace, name });
      },
    },
    dropPod({ namespace, name, uid }) {
      pods.leave(uid, clock.now());
      tellGone({ kind: "pod", namespace, name });
    },
    read: (subject) => shelfOf(subject).read(subject),
    *readLatest(namespace) {
      yield* pods.readLatest(namespace);
      yield* objects.readLatest(namespace);
    },
    watch(subject, onLine) {
      if (!shelfOf(subject).has(subject)) return null;
      const key = toKey(subject);
      const hearing = watchers.get(key) ?? new Set();
      watchers.set(key, hearing.add(onLine));
      return {
        [Symbol.dispose]() {
          hearing.delete(onLine);
          if (hearing.size === 0) watchers.delete(key);
        },
      };
    },
    async run(signal) {
      for (let expiredMs = clock.monotonic(); !signal.aborted;) {
        // Others go between two of them.
        while (pods.packOne() || objects.packOne()) await clock.sleep(0, signal).catch(() => {});
        if (clock.monotonic() - expiredMs >= EXPIRE_MS) {
          expiredMs = clock.monotonic();
          for (const shelf of [pods, objects]) shelf.expire(clock.now());
        }
        await clock.sleep(SWEEP_MS, signal).catch(() => {});
      }
      for (const hearing of watchers.values()) for (const onLine of hearing) onLine(null);
    },
  };
}

const SWEEP_MS = 1_000;
const EXPIRE_MS = 60_000;

function toKey({ kind, namespace, name }: Subject): string {
  return `${kind} ${namespace}/${name}`;
}
