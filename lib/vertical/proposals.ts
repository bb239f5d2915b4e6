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
import { NO_REFUSALS, type OomResponse } from "../model/container_history.ts";
import type { ContainerCase, Decision, Direction, SizeInput } from "../model/decision.ts";
import { chooseOwner, explainOtherPodfit, findReadyAt, type OwnershipContext } from "../model/ownership.ts";
import {
  findContainer,
  findSiblingSize,
  getActualSize,
  isResized,
  type PodFacts,
  type SiblingSize,
} from "../model/pod.ts";
import { computeQosAfter } from "../model/pod_amounts.ts";
import type { ResizeStatus } from "../model/resize_status.ts";
import { type AutoscalerView, findContainerState, isStreakFull, type PodState, type Sample } from "../model/state.ts";
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

// Which containers of a pod are decided about, and for whom: one case per container, its owner's (C12).

/** One case per container that some contender targets and the pod has; none in a pod that another podfit resizes. */
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

/** A case is decided when it is due, and whenever something changed while proposals stand (C22, C40) or a kill does (L10). */
export function isDecisionDue(it: ContainerCase): boolean {
  const { isDue, input: { observation }, view } = it;
  if (isDue) return true;
  return observation.kind === "changed" && (view.wantedSince !== null || findOomVerdict(it)?.kind === "raise");
}

// What is wanted of a side of a container, before anything is asked whether it may be.

/** What is wanted of one side: where to, why, and how urgently. */
export interface Proposal {
  readonly side: ResourceField;
  readonly direction: Direction;
  /** The recommendation: millicores or bytes, before any cap, not rounded. */
  readonly amount: number;
  /** In words, for the event: `cpu.requests at 107 %`. */
  readonly why: string;
  readonly cause: ProposalCause;
  /** It moves with the other side of its resource or not at all (L35). */
  readonly isPaired?: boolean;
  /** What an answer to an OOM kill leaves behind once it is accepted (L11). */
  readonly reflex?: OomResponse;
}

/**
 * Whether a choice rests on samples of usage: all proposals of one have the same urgency. What does not waits for no sample,
 * cooldown or delay, and takes no steps.
 */
export function isByUsage(proposals: readonly Proposal[]): boolean {
  const first = proposals[0];
  return first === undefined || first.cause === "usage";
}

/** Whether a choice answers an OOM kill: all proposals of one have the same urgency. */
export function isAfterOom([first]: readonly Proposal[]): boolean {
  return first?.cause === "oom";
}

// Every rule that may want something of a container is asked, and of all proposals one direction is chosen.

/** In the order of the proposers, pairs settled (L35); most cases have none, and then it is always the same array. */
export function proposeSizes(it: ContainerCase): readonly Proposal[] {
  let all = NO_PROPOSALS;
  for (const proposer of PROPOSERS) {
    const some = proposer(it);
    if (some.length > 0) all = all.length === 0 ? some : [...all, ...some];
  }
  return pairUp(it, all);
}

/** A direction, and one proposal for each side that is to move in it. */
export interface Choice {
  readonly direction: Direction;
  readonly action: Action;
  readonly proposals: readonly Proposal[];
}

/**
 * Of the most urgent proposals, any that goes up wins; else those that go down (C32). Where two are about one side the
 * larger amount counts, in either direction. `null` when there are none.
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
 * The choices to be asked in their order, until one passes. A wish to go up holds every scale-down (C32), or with
 * `veto: resource` those of its own resource only: then what else goes down is a second choice (L34).
 */
export function listChoices(proposals: readonly Proposal[], { veto }: Pick<Autoscaler, "veto">): readonly Choice[] {
  const first = chooseDirection(proposals);
  if (first === null) return NO_CHOICES;
  if (veto === "all" || first.direction === "down") return [first];
  const second = chooseDirection(listVetoedScaleDowns(proposals));
  return second === null ? [first] : [first, second];
}

/** The scale-downs of resources of which no side wants up. */
export function listVetoedScaleDowns(proposals: readonly Proposal[]): readonly Proposal[] {
  return proposals.filter(({ side }) =>
    !proposals.some((one) => one.direction === "up" && resourceOf(one.side) === resourceOf(side))
  );
}

// The size that usage asks for, before anything caps it (C33).

/** usage / target in the unit of usage, not rounded. */
export function computeTargetSize({ targetUtilizationPercent }: DirectionPolicy, usage: number): number {
  return usage * 100 / targetUtilizationPercent;
}

// Every configured side as it stands with the newest sample: for proposals, and for those who show or explain one.

/** One side with the newest sample. */
export interface FieldAssessment {
  readonly key: ResourceField;
  /** Measured, in millicores or bytes; `null` while no rate is known. */
  readonly usage: number | null;
  /** What it is judged and sized by: usage, or of CPU more where a limit holds it back (L21). */
  readonly demand: number | null;
  /** The request or limit in force; `null` when it is missing or zero (C37). */
  readonly baseline: number | null;
  readonly utilizationPercent: number | null;
  /** How many samples in a row have pointed in one direction. */
  readonly samples: number;
  /** The direction of a full streak. */
  readonly wanted: Direction | null;
}

/** One per rule, in their order. */
export function assessFields(
  rules: readonly FieldPolicy[],
  view: AutoscalerView,
  actual: Resources,
): readonly FieldAssessment[] {
  return rules.map((rule) => assessField(rule, view, actual));
}

// What a CPU limit hid, in words: for proposals, and for those who ask why nothing is wanted (L21).

/** `, held back 60 % of the time: demand 420m`; empty while demand is what was used, and for memory. */
export function formatHeldBack(resource: Resource, sample: Sample | null): string {
  if (resource !== "cpu" || sample === null) return "";
  const { heldBack, demandMillicores, cpuMillicores } = sample;
  const demand = Math.round(demandMillicores);
  if (heldBack === null || demand <= Math.round(cpuMillicores)) return "";
  return `, held back ${Math.round(heldBack * 100)} % of the time: demand ${formatAmount(demand, "cpu")}`;
}

// A new pod gets the size that its siblings have come to (L40), before its own usage says anything: once, after its
// `after` and `delay` or a few seconds of running, whichever comes first. Memory and limits go up only; a CPU request
// may go down, too, where nothing goes up, as one resize has one direction.

/** Whether siblings may matter to the pod now: it is new, and nobody has resized it. Cheap, for it is asked of every pod. */
export function wantsSiblings(pod: PodFacts, contenders: readonly Autoscaler[], wallNow: number): boolean {
  for (const autoscaler of contenders) {
    if (autoscaler.newPods !== "inherit" || autoscaler.mode !== "apply") continue;
    const runningAt = findContainer(pod, autoscaler.containerName)?.runningAt ?? null;
    if (runningAt === null || wallNow - Math.min(runningAt, wallNow) >= computeNewMs(autoscaler)) continue;
    if (!isResized(pod, autoscaler.containerName)) return true;
  }
  return false;
}

// Requests and limits that may only move together (L35): in a Guaranteed pod a side that moved alone would turn the
// pod Burstable, which a resize may not do (C35). So the two sides of a resource that are both managed are one pair.

/**
 * Proposals with pairs settled: up when either side wants up, down only when both want down, and each proposal stands
 * for both sides. To the larger desired: by the side that wants most a pair would go to and fro for ever, with the
 * document's bands 133m, 143m, 133m, 143m.
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

/** Why a pair stays where it is though one side would scale down; `null` where no pair is the reason. */
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

/** Most containers have one contender, and most pods one container. */
function findOwningSample(sampled: readonly Sampled[], context: OwnershipContext): Sampled | null {
  const { name } = context.container;
  const only = sampled[0];
  if (only !== undefined && sampled.length === 1) return only.autoscaler.containerName === name ? only : null;
  const contenders = sampled.filter(({ autoscaler }) => autoscaler.containerName === name);
  const owner = chooseOwner(contenders.map(({ autoscaler }) => autoscaler), context);
  return contenders.find(({ autoscaler }) => autoscaler === owner) ?? null;
}

/** What makes a side be proposed: usage, an OOM kill (L11), or that the pod is new (L40). */
type ProposalCause = "usage" | "newPod" | "oom";

/** Of proposals that disagree the more urgent ones count. */
const URGENCY: Readonly<Record<ProposalCause, number>> = { usage: 0, newPod: 1, oom: 2 };

/** Shared, as most evaluations propose nothing. */
const NO_PROPOSALS: readonly Proposal[] = [];

/** Looks at a case and returns what it wants; at most one proposal per side. */
type Proposer = (it: ContainerCase) => readonly Proposal[];

/** All rules, in no order of rank: urgency decides between them. */
const PROPOSERS: readonly Proposer[] = [proposeByThresholds, proposeInheritance, proposeAfterOom];

function toChoice(direction: Direction, proposals: readonly Proposal[]): Choice {
  return { direction, action: direction === "up" ? "scaleUp" : "scaleDown", proposals };
}

const NO_CHOICES: readonly Choice[] = [];

// The rule of the document: a side whose streak is full wants usage / target (C31, C33). A scale-down is sized by the
// most that its evidence shows, never by the newest sample alone (L1).

/** One proposal per side with a full streak; none while nothing is known. */
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

/** A percentile stands for what was used (L4); else the peak of the streak, or of the window where that is higher. */
function computeLowUsage(rule: FieldPolicy, { streaks, evidence }: AutoscalerView, usage: number): number {
  const seen = findEvidence(evidence, rule);
  if (rule.down.percentile !== null) return seen ?? usage;
  const { peakUsage, olderPeakUsage } = streaks[rule.key] ?? {};
  return Math.max(usage, peakUsage ?? 0, olderPeakUsage ?? 0, seen ?? 0);
}

/** The side of one rule. */
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

/** After so long it inherits, whatever `after` and `delay` say, ms: the sooner, the less it suffers from its template. */
const INHERIT_AFTER_MS = 5_000;

/** For so long, and for two polls more, a container is new, ms: what held it up until then is left to the law. */
const NEW_MS = 60_000;

/** One proposal per managed side that differs from its siblings'; none once the container has inherited or is no longer new. */
function proposeInheritance(it: ContainerCase): readonly Proposal[] {
  const { autoscaler, container, containerState, input } = it;
  if (autoscaler.newPods !== "inherit" || input.siblings === null || !isInheritanceDue(it, input)) return NO_PROPOSALS;
  // What was refused is no longer the law's to wait for: usage goes first from here on.
  if (containerState.isInherited || containerState.refusals !== NO_REFUSALS) return NO_PROPOSALS;
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

/** No memory limit is inherited that has killed a sibling (L12, L14). */
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

function isInheritanceDue({ autoscaler, container, containerState }: ContainerCase, { now, pod }: SizeInput): boolean {
  const { running } = containerState;
  if (running === null || isResized(pod, container.name) || now - running.since >= computeNewMs(autoscaler)) {
    return false;
  }
  const start = findReadyAt(autoscaler, containerState);
  return now - running.since >= INHERIT_AFTER_MS || (start !== null && now >= start + autoscaler.delayMs);
}

/** A restart, or another QoS class, is no fair price for a smaller request. */
function mayShrink(key: ResourceField, { container, input: { pod } }: ContainerCase): boolean {
  return key === "cpu.requests" && !container.restartsOn.cpu && pod.qosClass !== "Guaranteed";
}

// The answer to an OOM kill (L10, L11, L13): the limit goes up at once, however little usage was ever read. Each kill
// is answered once, by its containerID; one that cannot be answered has a word for why, which people are notified of.

/** The limit, and the request in the same ratio, each where it is managed; nothing where no kill waits for an answer. */
function proposeAfterOom(it: ContainerCase): readonly Proposal[] {
  const verdict = findOomVerdict(it);
  if (verdict?.kind !== "raise") return NO_PROPOSALS;
  const { kill, from, to, most, reflex } = verdict;
  const why = `OOM-killed at a memory limit of ${formatAmount(kill.limitBytes ?? from, "memory")}`;
  const proposals: Proposal[] = [];
  for (const { key, resource, bounds } of it.autoscaler.sides) {
    const amount = getActualSize(it.container)[key];
    if (resource !== "memory" || amount === null || amount >= (bounds.max ?? Infinity)) continue;
    // The request follows what the limit may become.
    const wanted = key === "memory.limits" ? to : amount * Math.min(to, most) / from;
    proposals.push({ side: key, direction: "up", amount: wanted, why, cause: "oom", reflex });
  }
  return proposals;
}

const RESOURCES: readonly Resource[] = ["cpu", "memory"];

const NO_PAIRS: readonly Resource[] = [];

/** The resources whose request and limit are managed, and tied to each other by the pod's class. */
function listPairs({ autoscaler: { sides }, container, input: { pod } }: ContainerCase): readonly Resource[] {
  if (pod.qosClass !== "Guaranteed" || sides.length === 1) return NO_PAIRS;
  const actual = getActualSize(container);
  return RESOURCES.filter((resource) => {
    const [request, limit] = [`${resource}.requests`, `${resource}.limits`] as const;
    if (!actual[request] || !actual[limit]) return false;
    if (findFieldPolicy(sides, request) === undefined || findFieldPolicy(sides, limit) === undefined) return false;
    // Where spec.resources of the pod is set, it alone makes the class, and nothing ties its containers' sides.
    const apart = { ...container.spec, [limit]: (container.spec[limit] ?? 0) + RESIZE_UNIT[resource] };
    return computeQosAfter(pod, container, apart) !== "Guaranteed";
  });
}

/** Those of one pair that count. */
function listPairProposals(proposals: readonly Proposal[]): readonly Proposal[] {
  const up = proposals.filter(({ direction }) => direction === "up");
  if (up.length > 0) return up;
  return new Set(proposals.map(({ side }) => side)).size === 2 ? proposals : [];
}

/** On the way up the other side may be in its band, with a lower target: the pair goes to where both have theirs. */
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
