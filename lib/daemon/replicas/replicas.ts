/**
 * Sets the replicas of all ScaledObjects there are, one runner for each, for as long as this podfit acts. It stands on what an observer knows, and takes what
 * it remembers with it when it ends.
 */
import type { Input } from "../../core/decision.ts";
import { listCoupledSides } from "../../core/replicas/coupling.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Standing } from "../../core/standing.ts";
import type { ApiClient } from "../../kube/client.ts";
import type { Clock } from "../../runtime/clock.ts";
import { computeOn, queueCalls } from "../../runtime/compute.ts";
import { Limit } from "../../runtime/limit.ts";
import { TaskSet } from "../../runtime/tasks.ts";
import { untilAborted } from "../../runtime/waits.ts";
import { listResourceTriggers } from "../../scaled_object/list_triggers.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { createTriggerReader, type TriggerReader } from "../../triggers/trigger_reader.ts";
import type { AskTrigger } from "../../triggers/trigger_source.ts";
import type { TakeTurn } from "../act/turns.ts";
import { formatName } from "../inventory/facts.ts";
import type { Observer } from "../observer.ts";
import type { Nodes } from "../polling/nodes.ts";
import type { OnTrouble } from "../report/trouble.ts";
import { createCountPods } from "./count_pods.ts";
import { createReadCredentials } from "./credentials.ts";
import { createSetFinalizer } from "./finalizers.ts";
import { createGather } from "./gather.ts";
import { HpaPods } from "./hpa_pods.ts";
import { createLook, judge } from "./look.ts";
import { MeteredPods } from "./metered_pods.ts";
import type { ObjectsListener } from "./objects.ts";
import { PodSets } from "./pod_sets.ts";
import { createQuestions } from "./questions.ts";
import { createReadUsage } from "./read_usage.ts";
import { Runner } from "./runner.ts";
import type { RunnerParts } from "./runner_options.ts";
import { createScaleClient } from "./scale_client.ts";
import { createStarts } from "./starts.ts";
import { combineReplicasSinks, type ReplicasSink, type SeenObject } from "./sink.ts";
import { TargetPods } from "./target_pods.ts";
import { createTemplates } from "./templates.ts";
import { createDeleteHpa } from "./transfer.ts";
import { createReadWorkloadPod } from "./workload_pods.ts";

/** What replicas are set by, and who hears of it. */
export interface ReplicasOptions {
  readonly observer: Observer;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly dryRun: boolean;
  /** Where the secrets of ClusterTriggerAuthentications are. */
  readonly clusterObjectNamespace: string;
  readonly ask: AskTrigger;
  /** Shared with resizes. */
  readonly takeTurn: TakeTurn;
  readonly nodes: Pick<Nodes, "meter" | "unmeter">;
  /** How vertical stands with a pod. */
  readonly readStanding: (uid: string) => Standing | null;
  readonly isLeading: () => boolean;
  readonly sinks: readonly ReplicasSink[];
  readonly onTrouble: OnTrouble;
}

/** The replicas' half of an actor. */
export interface Replicas extends Pick<MeteredPods, "note"> {
  /** What is so of every object now. */
  readonly list: () => Iterable<SeenObject>;
  /** What vertical is told of a pod (R86). */
  readonly readSigns: (pod: PodFacts, now: number) => Pick<Input, "scaleInPending" | "scaledInAt">;
  /** A pod came, changed or went; `null` = it was not there, or is not any more. */
  readonly movePod: (before: PodFacts | null, after: PodFacts | null) => void;
  /** Runs until the signal aborts, and until what was sent is answered. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** For so many objects at once, what triggers and pods depend on is fetched. */
const FETCHED_AT_ONCE = 16;

interface Row {
  readonly runner: Runner;
  readonly pods: TargetPods;
  readonly reader: TriggerReader;
}

/** Nothing runs before `run` is called. */
export function createReplicas(options: ReplicasOptions): Replicas {
  const { observer, clock, random, onTrouble } = options;
  const { scaledObjects: objects, inventory } = observer;
  const fail = (message: string, facts: ScaledObjectFacts | null, error: unknown) => {
    const fields = { error, ...(facts !== null && { scaledObject: formatName(facts) }) };
    onTrouble({ kind: "failure", level: "error", message, autoscaler: null, fields });
  };
  const sink = combineReplicasSinks(options.sinks, (error) => fail("Cannot report on ScaledObject", null, error));
  const metered: MeteredPods = new MeteredPods({
    clock,
    nodes: options.nodes,
    readCapacity: (node) => observer.nodes.get(node)?.capacity ?? { cpuMillicores: null, memoryBytes: null },
    onFresh: ({ holders }) => holders.forEach((holder) => rows.get(holder)?.runner.noteUsage()),
  });
  const sets = new PodSets({
    listPods: (namespace) => inventory.pods(namespace),
    onMoved: (set, before, after) => metered.move(set, before, after),
  });
  const hpaPods = new HpaPods({ clock, objects, sets, findSelector: (workload) => inventory.findSelector(workload) });
  const fetches = new Limit(FETCHED_AT_ONCE);
  const templates = createTemplates(options);
  const readWorkloadPod = createReadWorkloadPod({ ...options, metered, templates, tracked: inventory.tracked });
  const compute = computeOn(clock);
  const readUsage = createReadUsage({ compute, readWorkloadPod });
  const scales = createScaleClient(options);
  const parts: RunnerParts = {
    clock,
    dryRun: options.dryRun,
    scales,
    look: createLook({ ...options, scales, objects, sets, hpaPods, deleteHpa: createDeleteHpa(options) }),
    gather: createGather({ templates, metered, readUsage, fetches }),
    readUsage,
    metered,
    setFinalizer: createSetFinalizer({
      ...options,
      onError: (facts, error) => fail("Cannot change the finalizer of ScaledObject", facts, error),
    }),
    onUnrestored: (facts, cause) =>
      fail("Cannot restore replicas, letting ScaledObject go", facts, new Error(`${cause}; set them by hand`)),
    sink,
    mayWrite: (object, { pods, transferredUid }) =>
      options.isLeading() && observer.canScale(object.namespace) &&
      judge({ object, set: pods.set, transferredUid }, { objects, sets }).obstacle === null,
    isKnown: observer.canScale,
  };
  const countPods = createCountPods(sets);
  const toAsk = createQuestions(queueCalls(compute, options.ask));
  const readWait = createStarts(clock);
  const rows = new Map<string, Row>();
  const tasks = new TaskSet({
    clock,
    random,
    onError: (uid, error) => fail("ScaledObject failed, starting it again", rows.get(uid)?.runner.facts ?? null, error),
  });

  function start(facts: ScaledObjectFacts): void {
    const { uid } = facts;
    const pods = new TargetPods({ sets, metered, uid });
    const readPlace = () => rows.get(uid)?.runner.facts.scaledObject ?? null;
    const own = toAsk();
    const readCredentials = createReadCredentials({ ...options, objects, readPlace });
    const reader = createTriggerReader({
      ...options,
      ask: own,
      countPods,
      readCredentials: async (wanted, signal) => {
        using _slot = await fetches.acquire(signal);
        return await readCredentials(wanted, signal);
      },
      onAsked: (asked) => sink.onAsked({ ...asked, object: rows.get(uid)?.runner.facts ?? facts }),
    });
    const startAt = clock.now() + readWait();
    const runner = new Runner({ ...parts, facts, pods, reader, startAt });
    rows.set(uid, { runner, pods, reader });
    sink.onObject(facts);
    tasks.start(uid, async (signal) => {
      const waitMs = startAt - clock.now();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      await runner.run(signal);
    });
  }

  const listener: ObjectsListener = {
    onObject(facts) {
      const row = rows.get(facts.uid);
      if (row === undefined) start(facts);
      else if (row.runner.put(facts)) sink.onObject(facts);
    },
    onObjectGone(facts) {
      const row = rows.get(facts.uid);
      if (row === undefined) return;
      row.runner.noteGone();
      rows.delete(facts.uid);
      tasks.stop(facts.uid);
      row.pods[Symbol.dispose]();
      sink.onGone(facts);
    },
    onSurroundings({ uid }) {
      const row = rows.get(uid);
      // It may have been an authentication that changed.
      row?.reader.forgetCredentials();
      row?.runner.poke();
    },
  };

  return {
    note: (reading) => metered.note(reading),
    movePod: (before, after) => sets.move(before, after),
    *list() {
      for (const { runner: { facts, state } } of rows.values()) yield { facts, state };
    },
    readSigns(pod, now) {
      for (const { holders } of sets.setsOf(pod.uid)) {
        for (const holder of holders) {
          const runner = rows.get(holder)?.runner;
          const object = runner?.facts.scaledObject ?? null;
          if (runner === undefined || object === null || runner.state === null || !runner.isCoupled) continue;
          const { isScaleInPending, scaledInAt } = runner.state;
          const sides = () => listCoupledSides(listResourceTriggers(object), readWorkloadPod(object, pod), now);
          return { ...(isScaleInPending && { scaleInPending: sides() }), ...(scaledInAt !== null && { scaledInAt }) };
        }
      }
      return {};
    },
    async run(signal) {
      using _hpaPods = hpaPods;
      await using _tasks = tasks;
      using _subscription = objects.subscribe(listener);
      await untilAborted(signal);
    },
  };
}
