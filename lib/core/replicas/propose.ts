/** Asks one trigger, or the formula, how many replicas it wants (R34 to R39, R61). */
import type { Behavior } from "../../scaled_object/behavior.ts";
import type { MetricType } from "../../scaled_object/formula.ts";
import type { ResourceTrigger } from "../../scaled_object/trigger.ts";
import { COMPOSITE_NAME } from "./composite.ts";
import type { Evaluation } from "./evaluate.ts";
import type { ReplicasInput, ReplicasObservation } from "./input.ts";
import type { Subject } from "./subjects.ts";
import { proposeByPods } from "./tick/by_pods.ts";
import { proposeByValue } from "./tick/by_value.ts";
import type { Proposal } from "./tick/proposal.ts";
import { toTolerance } from "./tick/tolerance.ts";

export type Ticked = Extract<ReplicasObservation, { readonly kind: "tick" }>;

/** What a proposal may look at. */
export interface ProposalFacts {
  readonly observation: Ticked;
  readonly input: ReplicasInput;
  readonly evaluation: Evaluation;
  /** With what R56 makes of it. */
  readonly behavior: Behavior | null;
}

export function proposeFor(subject: Subject, facts: ProposalFacts): Proposal {
  switch (subject.kind) {
    case "resource":
      return proposeByResource(subject, facts);
    case "external":
      return proposeByValueOf(readExternal(subject.index, facts), { ...subject, name: subject.metricName, facts });
    case "composite":
      return proposeByValueOf(readComposite(facts), { ...subject.formula, name: COMPOSITE_NAME, facts });
  }
}

function proposeByResource(trigger: ResourceTrigger, { observation, input, behavior }: ProposalFacts): Proposal {
  const reading = observation.triggers.get(trigger.index);
  const { replicas } = observation.scale;
  if (reading?.kind === "pods") {
    return proposeByPods(trigger, { ...reading, replicas, now: input.now, tolerance: toTolerance(behavior) });
  }
  const reason = trigger.container === null ? "FailedGetResourceMetric" : "FailedGetContainerResourceMetric";
  const cause = reading?.kind === "failed" ? reading.message : "it was not read";
  return { kind: "failed", reason, message: `failed to get ${trigger.type} usage: ${cause}` };
}

/** Thousandths, or why there are none. */
type Value = { readonly milli: bigint } | { readonly error: string };

function readExternal(index: number, { evaluation }: ProposalFacts): Value {
  const result = evaluation.metrics.find(({ trigger }) => trigger.index === index)?.result;
  if (result === undefined) return { error: "it was not asked" };
  // A fallback's value counts as any other, whatever error it stands for.
  return result.kind === "value" || result.kind === "fallback" ? { milli: result.milli } : { error: result.error };
}

/** A negative value asks for nothing: the controller takes one for an overflow, and fills the cluster (R63). */
function readComposite({ evaluation: { composite } }: ProposalFacts): Value {
  if (composite === null) return { error: "it was not computed" };
  return composite.kind === "value" && composite.milli < 0n ? { milli: 0n } : composite;
}

interface Target {
  readonly name: string;
  readonly targetMilli: bigint | null;
  readonly metricType: MetricType;
  readonly facts: ProposalFacts;
}

function proposeByValueOf(value: Value, { name, targetMilli, metricType, facts }: Target): Proposal {
  if ("error" in value || targetMilli === null) {
    const cause = "error" in value ? value.error : "it has no target";
    const message = `failed to get ${name} external metric: ${cause}`;
    return { kind: "failed", reason: "FailedGetExternalMetric", message };
  }
  const { scale: { replicas, statusReplicas }, readyPods } = facts.observation;
  const tolerance = toTolerance(facts.behavior);
  return proposeByValue({
    valueMilli: value.milli,
    targetMilli,
    metricType,
    replicas,
    statusReplicas,
    readyPods,
    tolerance,
  });
}
