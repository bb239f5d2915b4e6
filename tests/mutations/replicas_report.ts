/** Slips in what people are told of ScaledObjects: events, metrics, log (section 11 of the contract of replicas). */
import type { Mutations } from "../../tools/mutation.ts";

const COUNTED = "a pass is counted in KEDA's families with KEDA's labels, and in ours (R93)";
const WRITES = "only accepted writes are counted, by direction and half; others are errors of the object (R93)";
const LATENCIES = "how late a poll began and how long its triggers took are KEDA's latencies (R93)";
const GONE = "a changed object drops the series of its triggers, a deleted one all of them (R93)";

export const REPLICAS_REPORT: Mutations = {
  R90: [
    {
      breaks: "forgets a status that was put off",
      in: "ReplicasSweep.#look",
      find: "if (writing === null) ",
      replace: "",
      test: "a status is looked at when the object or its state is another, and until it is written (R90)",
    },
    {
      breaks: "computes each status each second",
      in: "ReplicasSweep.#look",
      find: "before.state === state && ",
      replace: "before.state !== state && ",
      test: "a status is looked at when the object or its state is another, and until it is written (R90)",
    },
    {
      breaks: "leaves the last states unwritten",
      in: "ReplicasSweep.#look",
      find: " && !pass.isLast",
      replace: "",
      test: "the last sweep looks at every object once more (R90)",
    },
    {
      breaks: "remembers what is gone",
      in: "ReplicasSweep.forget",
      find: "this.#settled.delete(uid);",
      replace: "",
      test: "an object before its first pass has no status to write, and one that is gone is forgotten (R90)",
    },
  ],
  R92: [
    {
      breaks: "is about a PodResourceAutoscaler",
      in: "EVENT_KINDS",
      find: "keda.sh/v1alpha1",
      replace: "keda.kedify.io/v1alpha1",
      test: "publish() writes an Event on a ScaledObject under KEDA's name, one for each rescale (R92)",
    },
    {
      breaks: "counts two rescales on one event",
      in: "PER_ACTION",
      find: '"SuccessfulRescale",',
      replace: "",
      test: "publish() writes an Event on a ScaledObject under KEDA's name, one for each rescale (R92)",
    },
    {
      breaks: "publishes without the kind",
      in: "createReplicasEvents",
      find: 'kind: "ScaledObject", ',
      replace: "",
      test: "notices become Events on the ScaledObject, under KEDA's names (R92)",
    },
  ],
  R93: [
    {
      breaks: "names a trigger by its type in the manifest",
      in: "SCALERS",
      find: '"prometheusScaler"',
      replace: '"prometheus"',
      test: COUNTED,
    },
    {
      breaks: "forgets the trigger's own name",
      in: "toTriggerName",
      find: "trigger.name ?? SCALERS[trigger.type]",
      replace: "SCALERS[trigger.type]",
      test: COUNTED,
    },
    {
      breaks: "counts errors of triggers for the trigger alone",
      in: "createReplicaMetrics",
      find: "objectErrors.record(toObject(trigger), isFailed ? 1 : 0);",
      replace: "",
      test: COUNTED,
    },
    {
      breaks: "counts refused writes",
      in: "recordAnswer",
      find: 'if (answer.kind !== "accepted") return;',
      replace: 'if (answer.kind === "unanswered") return;',
      test: WRITES,
    },
    {
      breaks: "takes a dropped write for an error",
      in: "recordAnswer",
      find: ' && answer.kind !== "dropped"',
      replace: "",
      test: WRITES,
    },
    {
      breaks: "shows the latency of ticks for that of polls",
      in: "recordEvaluation",
      find: 'observation.kind === "poll"',
      replace: 'observation.kind === "tick"',
      test: LATENCIES,
    },
    {
      breaks: "counts no empty answer",
      in: "createReplicasMetrics",
      find: "if (isEmpty && ",
      replace: "if (!isEmpty && ",
      test: LATENCIES,
    },
    {
      breaks: "keeps the series of old triggers",
      in: "createReplicasMetrics",
      find: "metrics.forgetTriggers(facts);",
      replace: "",
      test: GONE,
    },
    {
      breaks: "keeps the series of a deleted object",
      in: "createReplicasMetrics",
      find: "metrics.forget(facts)",
      replace: "metrics.forgetTriggers(facts)",
      test: GONE,
    },
    {
      breaks: "counts what moved as held",
      in: "recordEvaluation",
      find: "outcome.write === null && ",
      replace: "",
      test: COUNTED,
    },
    {
      breaks: "shows no need of zero ticks",
      in: "createReplicaMetrics",
      find: "if (need !== null) ",
      replace: "if (need === null) ",
      test: COUNTED,
    },
  ],
};
