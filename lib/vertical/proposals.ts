/**
 * What is wanted of each container, before limits and gates?
 *
 * Usage beyond a threshold, the sizes of siblings for a new pod, and an OOM kill each propose amounts. All proposals
 * that are followed have one direction.
 */
import {
  type Action,
  type Autoscaler,
  type DirectionPolicy,
  type FieldPolicy,
  findBaseline,
} from "../model/autoscaler.ts";
import { listAllRefusals, NO_REFUSALS, type OomResponse } from "../model/container_history.ts";
import type { ContainerCase, Decision, Direction, SizeInput } from "../model/decision.ts";
import { chooseOwner, explainOtherPodfit, findReadyAt, type OwnershipContext } from "../model/ownership.ts";
import {
  type ContainerFacts,
  findContainer,
  findSiblingSize,
  getActualSize,
  isResized,
  type PodFacts,
  type SiblingSize,
} from "../model/pod.ts";
import { computeQosAfter } from "../model/pod_amounts.ts";
import type { ResizeStatus } from "../model/resize_status.ts";
import {
  type AutoscalerView,
  type ContainerState,
  findContainerState,
  isStreakFull,
  type PodState,
  type Sample,
} from "../model/state.ts";
import { formatAmount } from "../units/quantity.ts";
import {
  counterpartOf,
  RESIZE_UNIT,
  type Resource,
  type ResourceField,
  resourceOf,
  type Resources,
} from "../units/resources.ts";
import { computeKillFloor, findOomVerdict } from "./oom.ts";
import { findUsage, type Sampled } from "./streaks.ts";
import { findEvidence } from "./windows.ts";

/**
 * Returns one case for each container that an autoscaler targets and the pod has; none if another podfit resizes the
 * pod. Clauses: C12.
 */
export function listCases(
  sampled: readonly Sampled[],
  { input, state, status }: CasesContext,
): readonly ContainerCase[] {
  const { now, pod } = input;
  if (explainOtherPodfit(input) !== null) return NO_CASES;
  const cases: ContainerCase[] = [];
  for (const name in state.containers) {
    const container = findContainer(pod, name);
    const containerState = findContainerState(state, name);
    if (container === null || containerState === undefined) continue;
    const own = findOwningSample(sampled, { now, pod, container, containerState });
    if (own === null) continue;
    const { autoscaler, view, isDue, isNewSample } = own;
    cases.push({ input, state, status, autoscaler, view, isDue, isNewSample, container, containerState });
  }
  return cases;
}

/**
 * Returns whether the case is decided now: it is due, or something changed while there are proposals or a kill.
 * Clauses: C22, C40, L10.
 */
export function isDecisionDue(it: ContainerCase): boolean {
  const { isDue, input: { observation }, view } = it;
  if (isDue) return true;
  return observation.kind === "changed" && (view.wantedSince !== null || findOomVerdict(it)?.kind === "raise");
}

/** What is wanted of one field: the amount, the cause and the urgency. */
export interface Proposal {
  readonly side: ResourceField;
  readonly direction: Direction;
  /** The recommendation: millicores or bytes, before any cap, not rounded. */
  readonly amount: number;
  /** The cause as text, for the event: `cpu.requests at 107 %`. */
  readonly why: string;
  readonly cause: ProposalCause;
  /** It moves with the other field of its resource or not at all. */
  readonly isPaired?: boolean;
  /** What an answer to an OOM kill leaves behind once it is accepted. */
  readonly reflex?: OomResponse;
}

/**
 * Returns whether a choice depends on samples of usage; all proposals of a choice have the same cause. One that does
 * not waits for no sample, cooldown or delay, and is not limited by steps.
 */
export function isByUsage(proposals: readonly Proposal[]): boolean {
  const first = proposals[0];
  return first === undefined || first.cause === "usage";
}

/** Returns whether a choice answers an OOM kill; all proposals of a choice have the same cause. */
export function isAfterOom([first]: readonly Proposal[]): boolean {
  return first?.cause === "oom";
}

/**
 * Returns the proposals in the order of the proposers, with pairs settled. Without proposals it is always the same
 * array. Clauses: L35.
 */
export function proposeSizes(it: ContainerCase): readonly Proposal[] {
  let all = NO_PROPOSALS;
  for (const proposer of PROPOSERS) {
    const some = proposer(it);
    if (some.length > 0) all = all.length === 0 ? some : [...all, ...some];
  }
  return pairUp(it, all);
}

/** A direction, and one proposal for each field that is to move in it. */
export interface Choice {
  readonly direction: Direction;
  readonly action: Action;
  readonly proposals: readonly Proposal[];
}

/**
 * Returns the most urgent proposals of one direction: up if any goes up, else down. If two concern one field the larger
 * amount counts. `null` without proposals. Clauses: C32.
 */
export function chooseDirection(proposals: readonly Proposal[]): Choice | null {
  const first = proposals[0];
  if (first === undefined) return null;
  if (proposals.length === 1) return toChoice(first.direction, proposals);
  const urgency = Math.max(...proposals.map(({ cause }) => URGENCY[cause]));
  const urgent = proposals.filter(({ cause }) => URGENCY[cause] === urgency);
  const direction = urgent.some((one) => one.direction === "up") ? "up" : "down";
  const bySide = new Map<ResourceField, Proposal>();
  for (const one of urgent) {
    if (one.direction !== direction) continue;
    const other = bySide.get(one.side);
    if (other === undefined || one.amount > other.amount) bySide.set(one.side, one);
  }
  return toChoice(direction, [...bySide.values()]);
}

/**
 * Returns the choices in the order in which they are asked, until one passes. A wanted scale-up blocks every
 * scale-down, or with `veto: resource` only those of its resource: then the other scale-downs are a further choice. What
 * usage asks for another resource is one too: an answer to an OOM kill that is refused must not stop CPU.
 * Clauses: C32, L31, L34.
 */
export function listChoices(proposals: readonly Proposal[], { veto }: Pick<Autoscaler, "veto">): readonly Choice[] {
  const first = chooseDirection(proposals);
  if (first === null) return NO_CHOICES;
  const choices = [first];
  const others = isByUsage(first.proposals) ? null : chooseDirection(listUsageOfOthers(first, proposals));
  if (others?.direction === "up") choices.push(others);
  if (veto === "all" || first.direction === "down") return choices;
  const last = chooseDirection(listVetoedScaleDowns(proposals));
  return last === null ? choices : [...choices, last];
}

function listUsageOfOthers({ proposals: urgent }: Choice, proposals: readonly Proposal[]): readonly Proposal[] {
  const resources = new Set(urgent.map(({ side }) => resourceOf(side)));
  return proposals.filter(({ cause, side }) => cause === "usage" && !resources.has(resourceOf(side)));
}

/** Returns the scale-downs of resources of which no field must grow. */
export function listVetoedScaleDowns(proposals: readonly Proposal[]): readonly Proposal[] {
  return proposals.filter(({ side }) =>
    !proposals.some((one) => one.direction === "up" && resourceOf(one.side) === resourceOf(side))
  );
}

/** Returns usage / target in the unit of usage, not rounded. Clauses: C33. */
export function computeTargetSize({ targetUtilizationPercent }: DirectionPolicy, usage: number): number {
  return usage * 100 / targetUtilizationPercent;
}

/** One field with the newest sample. */
export interface FieldAssessment {
  readonly key: ResourceField;
  /** Measured, in millicores or bytes; `null` while no rate is known. */
  readonly usage: number | null;
  /** What it is judged and sized by: usage, or of CPU more where a limit holds it back. */
  readonly demand: number | null;
  /** The request or limit in force; `null` when it is missing or zero. */
  readonly baseline: number | null;
  readonly utilizationPercent: number | null;
  /** How many samples in a row have pointed in one direction. */
  readonly samples: number;
  /** The direction of a full streak. */
  readonly wanted: Direction | null;
}

/** Returns one assessment for each rule, in their order. */
export function assessFields(
  rules: readonly FieldPolicy[],
  view: AutoscalerView,
  actual: Resources,
): readonly FieldAssessment[] {
  return rules.map((rule) => assessField(rule, view, actual));
}

/**
 * Returns the text of `, held back 60 % of the time: demand 420m` or `, and waits for memory`; empty if usage is all that
 * is needed. Clauses: L15, L21.
 */
export function formatHeldBack(resource: Resource, sample: Sample | null): string {
  if (sample === null) return "";
  if (resource === "memory") return sample.isMemoryStalled === true ? ", and waits for memory" : "";
  const { heldBack, demandMillicores, cpuMillicores } = sample;
  const demand = Math.round(demandMillicores);
  if (heldBack === null || demand <= Math.round(cpuMillicores)) return "";
  return `, held back ${Math.round(heldBack * 100)} % of the time: demand ${formatAmount(demand, "cpu")}`;
}

/**
 * Returns whether the sizes of siblings may matter to the pod: it is new and was never resized. `wallNow` is epoch ms of
 * the wall clock. Cheap, since it is called for every pod. Clauses: L40.
 */
export function wantsSiblings(pod: PodFacts, contenders: readonly Autoscaler[], wallNow: number): boolean {
  for (const autoscaler of contenders) {
    if (autoscaler.newPods !== "inherit" || autoscaler.mode !== "apply") continue;
    const container = findContainer(pod, autoscaler.containerName);
    const runningAt = container?.runningAt ?? null;
    if (container === null || runningAt === null) continue;
    const newMs = computeNewMs(autoscaler);
    if (wallNow - Math.min(runningAt, wallNow) >= newMs || isOfOldPod(pod, container, wallNow - newMs)) continue;
    if (!isResized(pod, autoscaler.containerName)) return true;
  }
  return false;
}

/**
 * Returns the proposals with pairs settled. In a Guaranteed pod a field that moved alone would change the QoS class, so
 * request and limit move together: up if either must grow, down if both can shrink, to the larger amount. With the
 * field that needs most alone, a pair could alternate: 133m, 143m, 133m. Clauses: L35, C35.
 */
export function pairUp(it: ContainerCase, proposals: readonly Proposal[]): readonly Proposal[] {
  if (proposals.length === 0) return proposals;
  const pairs = listPairs(it);
  if (pairs.length === 0) return proposals;
  const settled = proposals.filter(({ side }) => !pairs.includes(resourceOf(side)));
  for (const resource of pairs) {
    const going = listPairProposals(proposals.filter(({ side }) => resourceOf(side) === resource))
      .map((one) => ({ ...one, isPaired: true, amount: computePairAmount(one, it.autoscaler.sides) }));
    settled.push(...going, ...going.map(toPartnerProposal));
  }
  return settled;
}

/** Returns why a pair stays where it is though one field would scale down; `null` where no pair is the reason. */
export function explainPair(it: ContainerCase): Extract<Decision, { readonly kind: "hold" }> | null {
  const { autoscaler: { sides }, view: { streaks } } = it;
  for (const resource of listPairs(it)) {
    const rules = sides.filter((rule) => rule.resource === resource);
    const wanting = rules.find((rule) => isStreakFull(rule, streaks));
    const other = rules.find((rule) => rule !== wanting);
    if (wanting === undefined || other === undefined) continue;
    const isShort = streaks[other.key] !== undefined;
    const message = `${wanting.key} would scale down, but ${other.key} ${isShort ? "not yet" : "is in its band"}: ` +
      "in a Guaranteed pod both move together";
    return { kind: "hold", reason: isShort ? "StreakShort" : "InBand", message };
  }
  return null;
}

interface CasesContext {
  readonly input: SizeInput;
  readonly state: PodState;
  readonly status: ResizeStatus;
}

const NO_CASES: readonly ContainerCase[] = [];

/** Returns the sample of the container's owner; `null` if it has none. Most containers have one autoscaler. */
function findOwningSample(sampled: readonly Sampled[], context: OwnershipContext): Sampled | null {
  const { name } = context.container;
  const only = sampled[0];
  if (only !== undefined && sampled.length === 1) return only.autoscaler.containerName === name ? only : null;
  const contenders = sampled.filter(({ autoscaler }) => autoscaler.containerName === name);
  const owner = chooseOwner(contenders.map(({ autoscaler }) => autoscaler), context);
  return contenders.find(({ autoscaler }) => autoscaler === owner) ?? null;
}

/** What makes a field be proposed: usage, an OOM kill, or that the pod is new. */
type ProposalCause = "usage" | "newPod" | "oom";

/** Of proposals that disagree the more urgent ones count. */
const URGENCY: Readonly<Record<ProposalCause, number>> = { usage: 0, newPod: 1, oom: 2 };

/** Shared, as most evaluations propose nothing. */
const NO_PROPOSALS: readonly Proposal[] = [];

/** Returns what it wants for a case; at most one proposal for each field. */
type Proposer = (it: ContainerCase) => readonly Proposal[];

/** All rules, in no order of rank: urgency decides between them. */
const PROPOSERS: readonly Proposer[] = [proposeByThresholds, proposeInheritance, proposeAfterOom];

function toChoice(direction: Direction, proposals: readonly Proposal[]): Choice {
  return { direction, action: direction === "up" ? "scaleUp" : "scaleDown", proposals };
}

const NO_CHOICES: readonly Choice[] = [];

/**
 * Returns one proposal for each field with a full streak. Scale-downs use the peak of their evidence, never the newest
 * sample alone.
 */
function proposeByThresholds({ autoscaler, view, container }: ContainerCase): readonly Proposal[] {
  if (view.wantedSince === null) return NO_PROPOSALS;
  const actual = getActualSize(container);
  const proposals: Proposal[] = [];
  for (const rule of autoscaler.sides) {
    const { wanted, demand, utilizationPercent } = assessField(rule, view, actual);
    if (wanted === null || demand === null) continue;
    proposals.push({
      side: rule.key,
      direction: wanted,
      amount: computeTargetSize(rule[wanted], wanted === "up" ? demand : computeLowUsage(rule, view, demand)),
      why: `${rule.key} at ${Math.round(utilizationPercent ?? 0)} %${
        formatHeldBack(rule.resource, view.sampling.sample)
      }`,
      cause: "usage",
    });
  }
  return proposals;
}

/** Returns the percentile, else the peak of the streak, or of the window if that is higher. Clauses: L4. */
function computeLowUsage(rule: FieldPolicy, { streaks, evidence }: AutoscalerView, usage: number): number {
  const seen = findEvidence(evidence, rule);
  if (rule.down.percentile !== null) return seen ?? usage;
  const { peakUsage, olderPeakUsage } = streaks[rule.key] ?? {};
  return Math.max(usage, peakUsage ?? 0, olderPeakUsage ?? 0, seen ?? 0);
}

/** Returns the assessment of one rule's field. */
function assessField(
  rule: FieldPolicy,
  { sampling: { sample }, streaks }: AutoscalerView,
  actual: Resources,
): FieldAssessment {
  const demand = findUsage(rule, sample);
  const usage = sample !== null && rule.resource === "cpu" ? sample.cpuMillicores : demand;
  const baseline = findBaseline(rule, actual);
  const streak = streaks[rule.key];
  return {
    key: rule.key,
    usage,
    demand,
    baseline,
    utilizationPercent: usage === null || baseline === null ? null : usage / baseline * 100,
    samples: streak?.count ?? 0,
    wanted: streak !== undefined && isStreakFull(rule, streaks) && baseline !== null ? streak.direction : null,
  };
}

/** After this time a new pod gets the size of its siblings, whatever `after` and `delay` are; ms. */
const INHERIT_AFTER_MS = 5_000;

/** A container is new for this time and two polls more, in ms. After that only its own usage counts. */
const NEW_MS = 60_000;

/**
 * Returns one proposal for each managed field that differs from its siblings'; none once the container has inherited or
 * is no longer new.
 */
function proposeInheritance(it: ContainerCase): readonly Proposal[] {
  const { autoscaler, container, containerState, input } = it;
  if (autoscaler.newPods !== "inherit" || input.siblings === null || !isInheritanceDue(it, input)) return NO_PROPOSALS;
  // A refused size is not sent again here: from now on usage decides.
  if (containerState.isInherited || isAnyRefused(containerState)) return NO_PROPOSALS;
  const found = findSiblingSize(input.siblings, container.name);
  if (found === null) return NO_PROPOSALS;
  const actual = getActualSize(container);
  const proposals: Proposal[] = [];
  for (const { key } of autoscaler.sides) {
    const [own, amount] = [actual[key], findInheritedAmount(key, found, it)];
    if (own === null || amount === null || amount === own) continue;
    const direction = amount > own ? "up" : "down";
    if (direction === "down" && !mayShrink(key, it)) continue;
    const why = `Inherited: ${key} of ${found.pods === 1 ? "1 sibling" : `${found.pods} siblings`}`;
    proposals.push({ side: key, direction, amount, why, cause: "newPod" });
  }
  return proposals.length === 0 ? NO_PROPOSALS : proposals;
}

/** Returns the amount to inherit. A memory limit that has killed a sibling is not inherited. Clauses: L12, L14. */
function findInheritedAmount(
  key: ResourceField,
  { median, floorBytes }: SiblingSize,
  it: ContainerCase,
): number | null {
  const amount = median[key];
  return amount === null || key !== "memory.limits" ? amount : Math.max(amount, floorBytes, computeKillFloor(it));
}

function computeNewMs({ pollIntervalMs }: Autoscaler): number {
  return NEW_MS + 2 * pollIntervalMs;
}

/**
 * Returns whether a container has restarted in a pod that started by `sinceWall`, epoch ms. The first start of a container
 * may come much later than that of its pod, as images are pulled in between: then the pod is new.
 */
function isOfOldPod({ startAt }: PodFacts, { terminations }: ContainerFacts, sinceWall: number): boolean {
  return terminations.length > 0 && (startAt === null || startAt <= sinceWall);
}

function isInheritanceDue(
  { autoscaler, container, containerState }: ContainerCase,
  { now, wallAheadMs = 0, pod }: SizeInput,
): boolean {
  const { running } = containerState;
  const newMs = computeNewMs(autoscaler);
  if (running === null || isResized(pod, container.name) || now - running.since >= newMs) return false;
  if (isOfOldPod(pod, container, now + wallAheadMs - newMs)) return false;
  const start = findReadyAt(autoscaler, containerState);
  return now - running.since >= INHERIT_AFTER_MS || (start !== null && now >= start + autoscaler.delayMs);
}

/** Returns whether some size was refused. A busy server has refused none: the same is sent again after the wait. */
function isAnyRefused({ refusals }: ContainerState): boolean {
  return refusals !== NO_REFUSALS && listAllRefusals(refusals).some(({ reason }) => reason !== "RetryLater");
}

/** Returns whether a smaller request would cause neither a restart nor another QoS class. */
function mayShrink(key: ResourceField, { container, input: { pod } }: ContainerCase): boolean {
  return key === "cpu.requests" && !container.restartsOn.cpu && pod.qosClass !== "Guaranteed";
}

/**
 * Returns the memory limit, and the request in the same ratio, for each that is managed; empty if no kill is
 * unanswered.
 */
function proposeAfterOom(it: ContainerCase): readonly Proposal[] {
  const verdict = findOomVerdict(it);
  if (verdict?.kind !== "raise") return NO_PROPOSALS;
  const { kill, from, to, most, reflex } = verdict;
  const why = `OOM-killed at a memory limit of ${formatAmount(kill.limitBytes ?? from, "memory")}`;
  const proposals: Proposal[] = [];
  for (const { key, resource, bounds } of it.autoscaler.sides) {
    const amount = getActualSize(it.container)[key];
    if (resource !== "memory" || amount === null || amount >= (bounds.max ?? Infinity)) continue;
    // The request follows the limit's new size.
    const wanted = key === "memory.limits" ? to : amount * Math.min(to, most) / from;
    proposals.push({ side: key, direction: "up", amount: wanted, why, cause: "oom", reflex });
  }
  return proposals;
}

const RESOURCES: readonly Resource[] = ["cpu", "memory"];

const NO_PAIRS: readonly Resource[] = [];

/** Returns the resources whose request and limit are both managed and tied by the pod's QoS class. */
function listPairs({ autoscaler: { sides }, container, input: { pod } }: ContainerCase): readonly Resource[] {
  if (pod.qosClass !== "Guaranteed" || sides.length === 1) return NO_PAIRS;
  const actual = getActualSize(container);
  return RESOURCES.filter((resource) => {
    const [request, limit] = [`${resource}.requests`, `${resource}.limits`] as const;
    if (!actual[request] || !actual[limit]) return false;
    if (findFieldPolicy(sides, request) === undefined || findFieldPolicy(sides, limit) === undefined) return false;
    // If spec.resources of the pod is set, it alone makes the class, and its containers' fields are independent.
    const apart = { ...container.spec, [limit]: (container.spec[limit] ?? 0) + RESIZE_UNIT[resource] };
    return computeQosAfter(pod, container, apart) !== "Guaranteed";
  });
}

/** Returns the proposals that count for a pair. */
function listPairProposals(proposals: readonly Proposal[]): readonly Proposal[] {
  const up = proposals.filter(({ direction }) => direction === "up");
  if (up.length > 0) return up;
  return new Set(proposals.map(({ side }) => side)).size === 2 ? proposals : [];
}

/**
 * Returns the amount of a pair. On the way up the other field may be in its band with a lower target: the pair gets a
 * size that meets both targets.
 */
function computePairAmount({ side, direction, cause, amount }: Proposal, rules: readonly FieldPolicy[]): number {
  const target = findFieldPolicy(rules, side)?.up.targetUtilizationPercent;
  const other = findFieldPolicy(rules, counterpartOf(side))?.up.targetUtilizationPercent;
  if (cause !== "usage" || direction === "down" || target === undefined || other === undefined) return amount;
  return other < target ? amount * target / other : amount;
}

function toPartnerProposal(one: Proposal): Proposal {
  const side = counterpartOf(one.side);
  return { ...one, side, why: `${side} with ${one.side}` };
}

function findFieldPolicy(rules: readonly FieldPolicy[], key: ResourceField): FieldPolicy | undefined {
  return rules.find((rule) => rule.key === key);
}
