/**
 * How many replicas does a cpu or memory trigger ask for, where the same pods are resized in place?
 *
 * The replica calculator runs with the largest requests and with the initial ones. Between the two results replicas
 * stay as they are.
 */
import type { PodReading, ReplicasNotice, TriggerReading, TriggerReadings } from "../../model/replicas_decision.ts";
import type { ReportedTopics } from "../../model/replicas_state.ts";
import type { ResourceTrigger } from "../../model/scaled_object.ts";
import { findTopic, setTopic } from "../events.ts";
import type { ScalingMetric } from "../external_metrics.ts";
import {
  groupPods,
  type Groups,
  type GroupsProposal,
  proposeByGroups,
  type ReplicasProposal,
  type Tolerance,
} from "../replica_calculator.ts";

export interface JointInput {
  /** All pods that the selector lists. */
  readonly pods: readonly PodReading[];
  /** spec.replicas, above 0. */
  readonly replicas: number;
  /** When the scaling loop was due, epoch ms. */
  readonly now: number;
  readonly tolerance: Tolerance;
}

/** Returns a proposal. A failure has the HPA controller's words. Clauses: R33, R34, R35, R36, R37, R83. */
export function proposeByPods(trigger: ResourceTrigger, input: JointInput): ReplicasProposal {
  const fail = (cause: string): ReplicasProposal => ({
    kind: "failed",
    reason: trigger.container === null ? "FailedGetResourceMetric" : "FailedGetContainerResourceMetric",
    message: `failed to get ${trigger.type} ${
      trigger.target.kind === "Utilization" ? "utilization" : "usage"
    }: ${cause}`,
  });
  const { pods, replicas, now, tolerance } = input;
  if (pods.length === 0) return fail("no pods returned by selector while calculating replica count");
  const groups = groupPods(pods, { type: trigger.type, now });
  if (groups.ready.length === 0) return fail("did not receive metrics for targeted pods (pods might be unready)");
  const problem = trigger.target.kind === "Utilization" ? findProblem(pods) : null;
  if (problem !== null) return fail(problem);
  const run = (kind: RequestKind, isRaised = false) =>
    proposeByGroups(groups, {
      target: trigger.target,
      replicas,
      tolerance,
      requestOf: (pod) => requestsOf(pod)[kind],
      usageOf: (pod) => isRaised && pod.isClipped ? max(pod.metric.milli, requestsOf(pod).full) : pod.metric.milli,
    });
  const born = run("born");
  if (born === null) return fail("no metrics returned matched known pods");
  const full = isSplit(groups) ? run("full") ?? born : born;
  const raised = born.replicas < replicas && groups.ready.some(({ isClipped }) => isClipped) ? run("born", true) : null;
  return combineRuns({ full, born, raised }, { replicas, groups });
}

type RequestKind = "born" | "full";

interface JointRuns {
  readonly full: GroupsProposal;
  readonly born: GroupsProposal;
  /** With the usage of clipped pods raised; `null` if replicas would not fall, or no pod is clipped. */
  readonly raised: GroupsProposal | null;
}

/**
 * Scales out only if even the largest requests exceed the target, and in only if even the initial requests do not reach
 * it.
 */
function combineRuns(
  { full, born, raised }: JointRuns,
  { replicas, groups }: { readonly replicas: number; readonly groups: Groups },
): ReplicasProposal {
  const lo = Math.min(full.replicas, born.replicas);
  const hi = raised === null ? born.replicas : Math.max(born.replicas, Math.min(raised.replicas, replicas));
  const counts = { ready: groups.ready.length, unready: groups.unready.length, missing: groups.missing.length };
  const common = { kind: "proposal", lo, hi, ...counts } as const;
  if (replicas < lo) return { ...common, replicas: lo, ratio: full.ratio };
  if (replicas > hi) return { ...common, replicas: hi, ratio: (hi === born.replicas ? born : raised ?? born).ratio };
  const proposal = { ...common, replicas, ratio: full.ratio };
  if (born.replicas < replicas) return { ...proposal, hold: "VerticalUp" };
  return hi > replicas ? { ...proposal, hold: "VerticalFirst" } : proposal;
}

/** Returns whether a pod can grow. If none can, both runs are the same. */
function isSplit({ ready, unready, missing }: Groups): boolean {
  return [ready, unready, missing].some((group) => group.some((pod) => requestsOf(pod).born !== requestsOf(pod).full));
}

/** Returns the first problem of any pod, also of pods that do not count. Clauses: R25. */
function findProblem(pods: readonly PodReading[]): string | null {
  for (const { requests } of pods) if ("problem" in requests) return requests.problem.message;
  return null;
}

function requestsOf({ requests }: PodReading): Readonly<Record<RequestKind, bigint>> {
  return "problem" in requests ? NO_REQUESTS : requests;
}

/** An average value is compared with no request. */
const NO_REQUESTS = { born: 0n, full: 0n };

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Above this ratio, the two replica counts differ enough to report. */
const WIDE_GROWTH = 4n;

interface GrowthFacts {
  readonly subjects: readonly ScalingMetric[];
  /** One for each scaling metric, in their order; empty if none was computed: then nothing is known. */
  readonly proposals: readonly ReplicasProposal[];
  readonly readings: TriggerReadings;
}

/** Reports once when pods can grow very far, which leaves few replicas. Clauses: R82. */
export function reportWideGrowth(
  before: ReportedTopics,
  { subjects, proposals, readings }: GrowthFacts,
): { readonly notified: ReportedTopics; readonly notices: readonly ReplicasNotice[] } {
  let notified = before;
  const notices: ReplicasNotice[] = [];
  for (const [place, proposal] of proposals.entries()) {
    const subject = subjects[place];
    if (subject?.kind !== "resource" || proposal.kind !== "proposal") continue;
    const topic = `yardstick ${subject.index}`;
    const isWide = hasWideGrowth(subject, readings.get(subject.index));
    if (isWide && findTopic(notified, topic) === null) notices.push(toGrowthNotice(subject, proposal));
    notified = setTopic(notified, topic, isWide ? "wide" : null);
  }
  return { notified, notices };
}

/** A trigger with a baseline was configured on purpose. */
function hasWideGrowth({ target, baseline }: ResourceTrigger, reading: TriggerReading | undefined): boolean {
  if (target.kind !== "Utilization" || baseline !== null || reading?.kind !== "pods" || !reading.isCoupled) {
    return false;
  }
  return reading.pods.some(({ requests }) => !("problem" in requests) && requests.full > WIDE_GROWTH * requests.born);
}

function toGrowthNotice(
  { type }: ResourceTrigger,
  { lo, hi }: Extract<ReplicasProposal, { kind: "proposal" }>,
): ReplicasNotice {
  const message =
    `Pods may grow in place to more than ${WIDE_GROWTH} times the ${type} request that they were created with: ` +
    `with their largest request they need ${lo} replicas now, with their initial one ${hi}. If that is too few, raise minReplicaCount, or set ` +
    "baseline: initial in the trigger's metadata";
  return { name: "KEDAScalerInfo", message };
}
