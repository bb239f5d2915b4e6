/** Slips in what people are told of ScaledObjects: events, metrics, log (section 11 of the contract of replicas). */
import type { Mutations } from "../../tools/mutation.ts";

const COUNTED = "a pass is counted in KEDA's families with KEDA's labels, and in ours (R93)";
const WRITES = "only accepted writes are counted, by direction and half; others are errors of the object (R93)";
const LABELS = "every family of KEDA has KEDA's type, names of labels and values of labels (R93)";
const LATENCIES = "how late a poll began and how long its triggers took are KEDA's latencies (R93)";
const GONE = "a changed object drops the series of its triggers, a deleted one all of them (R93)";

export const REPLICAS_REPORT: Mutations = {
  R92: [
    {
      breaks: "is about a PodResourceAutoscaler",
      in: "EVENT_KINDS",
      find: "keda.sh/v1alpha1",
      replace: "keda.kedify.io/v1alpha1",
      test: "publish() writes an Event on a ScaledObject under KEDA's name, one for each rescale (R92)",
    },
  ],
  R93: [
    {
      breaks: "names a trigger by its type in the manifest",
      in: "toTriggerName",
      find: "SCALER_NAMES.get(trigger.type)",
      replace: "trigger.type",
      test: COUNTED,
    },
    {
      breaks: "writes the kind of an empty answer as the other families do",
      in: "createReplicaMetrics",
      find: "resourceType: KIND",
      replace: "resourceType: TYPE",
      test: LABELS,
    },
    {
      breaks: "counts refused writes",
      in: "recordAnswer",
      find: 'if (answer.kind !== "accepted") return;',
      replace: 'if (answer.kind === "unanswered") return;',
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
      breaks: "keeps the series of a deleted object",
      in: "createReplicasMetrics",
      find: "metrics.forget(facts)",
      replace: "metrics.forgetTriggers(facts)",
      test: GONE,
    },
  ],
  R99: [
    {
      breaks: "lists a user twice",
      in: "formatUsers",
      find: "wanted.delete(name)",
      replace: "wanted.has(name)",
      test: "formatUsers() keeps the place of names, and adds new ones in their order (R99)",
    },
    {
      breaks: "lists users of an authentication of the same name",
      in: "addUser",
      find: "isOfCluster ? null : namespace",
      replace: "namespace",
      test: "an authentication lists the ScaledObjects that use it, in the order in which they came (R99)",
    },
    {
      breaks: "checks each user when the list of users changes",
      in: "ScaledObjectCache.setAuthentication",
      find: "{ ...before, users, resourceVersion }",
      replace: "before",
      test: "a new list of users checks no ScaledObject again, and another spec does (R16, R99)",
    },
    {
      breaks: "writes a list that it sees a part of",
      in: "createReplicasManager",
      find: "options.seesCluster && ",
      replace: "",
      test: "a podfit for some namespaces leaves the lists of the cluster's authentications alone (R99)",
    },
  ],
};
