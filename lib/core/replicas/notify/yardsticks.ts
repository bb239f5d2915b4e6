/** KEDAScalerInfo where pods may grow so far beyond their birth that few replicas follow (R82): once, until it is so no more. */
import type { ResourceTrigger } from "../../../scaled_object/trigger.ts";
import type { TriggerReading, TriggerReadings } from "../input.ts";
import type { ReplicasNotice } from "../notices.ts";
import type { Subject } from "../subjects.ts";
import type { Proposal } from "../tick/proposal.ts";
import { type Notified, readTopic, setTopic } from "./notified.ts";

/** Beyond this the two counts of replicas are worth a person's look. */
const WIDE = 4n;

export interface YardstickFacts {
  readonly subjects: readonly Subject[];
  /** Of the subjects, in their order; empty where none was asked: then nothing is known. */
  readonly proposals: readonly Proposal[];
  readonly readings: TriggerReadings;
}

export function notifyOfYardsticks(
  before: Notified,
  { subjects, proposals, readings }: YardstickFacts,
): { readonly notified: Notified; readonly notices: readonly ReplicasNotice[] } {
  let notified = before;
  const notices: ReplicasNotice[] = [];
  for (const [place, proposal] of proposals.entries()) {
    const subject = subjects[place];
    if (subject?.kind !== "resource" || proposal.kind !== "proposal") continue;
    const topic = `yardstick ${subject.index}`;
    const isWide = hasWideSpan(subject, readings.get(subject.index));
    if (isWide && readTopic(notified, topic) === null) notices.push(toNotice(subject, proposal));
    notified = setTopic(notified, topic, isWide ? "wide" : null);
  }
  return { notified, notices };
}

/** Whoever has set a baseline knows. */
function hasWideSpan({ target, baseline }: ResourceTrigger, reading: TriggerReading | undefined): boolean {
  if (target.kind !== "Utilization" || baseline !== null || reading?.kind !== "pods" || !reading.isCoupled) {
    return false;
  }
  return reading.pods.some(({ requests }) => !("problem" in requests) && requests.full > WIDE * requests.born);
}

function toNotice({ type }: ResourceTrigger, { lo, hi }: Extract<Proposal, { kind: "proposal" }>): ReplicasNotice {
  const message = `Pods may grow in place to more than ${WIDE} times the ${type} request that they were born with: ` +
    `full-grown ones need ${lo} replicas now, as born ${hi}. Where that is too few, raise minReplicaCount, or set ` +
    "baseline: born in the trigger's metadata";
  return { name: "KEDAScalerInfo", message };
}
