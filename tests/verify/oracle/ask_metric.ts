/**
 * A metric of the types Pods, Object and External as podfit's own trigger: its metadata are parsed, the metrics API is asked, with
 * the answers of a course, and the answer is decided about, all by the daemon's own code.
 */
import { createAskMetrics } from "../../../lib/daemon/replicas/metrics_apis.ts";
import { decideReplicas } from "../../../lib/horizontal/decide.ts";
import type { ReplicasProposal } from "../../../lib/horizontal/replica_calculator.ts";
import { NEW_REPLICAS_STATE } from "../../../lib/model/replicas_state.ts";
import { type KedaSource, listExternalTriggers, type MetricSource } from "../../../lib/model/scaled_object.ts";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import { createTriggerReader } from "../../../lib/triggers/reader.ts";
import { type AskTrigger, UNCOUNTED } from "../../../lib/triggers/value.ts";
import { formatProblems } from "../../../lib/model/reasons.ts";
import type { Selector } from "../../../lib/units/selector.ts";
import { type AskedMetric, askedOf, type CourseTick, targetOf } from "./course.ts";
import { OBJECTS } from "./generate_answers.ts";
import type { MetricInput } from "./propose_metric.ts";

export async function proposeAsked(metric: AskedMetric, input: MetricInput): Promise<ReplicasProposal> {
  const { one, pods, now, behavior, replicas, statusReplicas, readyPods } = input;
  const facts = parseScaledObject({
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name: "o", namespace: "n", uid: "o", creationTimestamp: "2026-01-01T00:00:00Z", generation: 1 },
    spec: { scaleTargetRef: { name: "d" }, minReplicaCount: 1, triggers: [toTrigger(metric)] },
  });
  if (facts.scaledObject === null) throw new Error(`Cannot use a made-up metric: ${formatProblems(facts.problems)}`);
  const object = { ...facts.scaledObject, behavior, maxReplicas: 2 ** 31 - 1 };
  const ask = createAsk(one) as AskTrigger;
  const reader = createTriggerReader({
    clock: { monotonic: () => 0 },
    ask: (trigger, asked) =>
      ask(trigger, metric.type === "Pods" ? { ...asked, pods: { selector: SELECTOR, pods } } : asked),
    countPods: () => 0,
    run: UNCOUNTED.run,
    fetchCredentials: () => Promise.reject(new Error("no trigger has credentials")),
  });
  const read = await reader.read(object, "tick", { now, signal: new AbortController().signal });
  if (read.kind !== "read") throw new Error(`Cannot read ${listExternalTriggers(object)[0]?.metricName}`);
  const scale = { replicas, statusReplicas, resourceVersion: "1", uid: "d" };
  const { state, report } = decideReplicas(NEW_REPLICAS_STATE, {
    now,
    object: { ...facts, scaledObject: object },
    observation: { kind: "tick", scale, triggers: read.readings, readyPods },
    dryRun: false,
  });
  const proposal = report?.triggers[0]?.proposal ?? null;
  if (proposal !== null) return { kind: "proposal", ...proposal };
  const { reason = "absent", message = "" } = state.conditions.HPAActive ?? {};
  return { kind: "failed", reason: reason as FailureReason, message };
}

type FailureReason = Extract<ReplicasProposal, { readonly kind: "failed" }>["reason"];

/** Of the target's pods. */
const SELECTOR: Selector = {
  requirements: [{ key: "app", operator: "In", values: ["a"] }],
  source: { matchLabels: { app: "a" } },
};

/** As the table of docs/how-to/from-hpa.md has it. */
function toTrigger(metric: AskedMetric): unknown {
  const { name: metricName = "", text = "" } = askedOf(metric) ?? {};
  const target = targetOf(metric);
  const value = target.type === "Value" ? target.value : target.type === "AverageValue" ? target.averageValue : "";
  const metadata = { metricName, value, ...(text !== "" && { selector: text }) };
  const metricType = target.type;
  switch (metric.type) {
    case "Pods":
      return { type: "pods-metric", metricType, metadata };
    case "Object":
      return { type: "object-metric", metricType, metadata: { ...metadata, ...metric.object.describedObject } };
    case "External":
      return { type: "external-metric", metricType, metadata };
  }
}

/** Plays the API server. */
function createAsk({ answers = {}, refusedAnswers = {} }: CourseTick): AskTrigger<KedaSource | MetricSource> {
  const all = new Map([...Object.entries(answers), ...Object.entries(refusedAnswers)]);
  return createAskMetrics({
    client: {
      untyped: ({ path }) => {
        const { pathname, searchParams } = new URL(path, "http://api");
        searchParams.sort();
        const key = `${decodeURIComponent(pathname)}${searchParams.size === 0 ? "" : `?${searchParams}`}`;
        const data = all.get(key);
        const response = new Response(null, { status: data === undefined ? 404 : 200 });
        return Promise.resolve(data === undefined ? { response } : { data, response });
      },
    },
    clock: { timeout: () => ({ signal: new AbortController().signal, [Symbol.dispose]() {} }) },
    findPlural: ({ kind }) => {
      const plural = OBJECTS.find(({ object }) => object.kind === kind)?.plural ?? null;
      if (plural === null) return Promise.reject(new Error(`there is no ${kind}`));
      return Promise.resolve(plural.split(".")[0] ?? "");
    },
  });
}
