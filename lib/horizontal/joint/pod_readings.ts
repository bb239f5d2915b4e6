/**
 * What is the usage of a workload's pods compared with, where the same pods are resized in place?
 *
 * Two requests are computed for each pod: the one it was created with, and the largest one that the vertical autoscaler
 * can give it. A resize moves neither, so replicas do not follow resizes.
 */
import type { Autoscaler, FieldPolicy } from "../../model/autoscaler.ts";
import { chooseOwner, NEVER_EVALUATED } from "../../model/ownership.ts";
import { type ContainerFacts, findContainer, getActualSize } from "../../model/pod.ts";
import type { PodReading, PodRequests, RequestProblem } from "../../model/replicas_decision.ts";
import type { Baseline, ResourceTrigger } from "../../model/scaled_object.ts";
import {
  type AutoscalerView,
  computeShortSamples,
  findContainerState,
  isSaturated,
  type ReadableState,
} from "../../model/state.ts";
import type { Resource, ResourceField } from "../../units/resources.ts";
import {
  createFindInitialRequest,
  type FindInitialRequest,
  type PodWithInitialResources,
} from "../initial_requests.ts";
import { findPodMetric, type PodRates } from "../pod_metrics.ts";
import { computePodRequest, toMilliAmount } from "../replica_calculator.ts";

/** The readings of a cpu or memory trigger; `isCoupled`: an autoscaler resizes these requests. Clauses: R80. */
interface PodReadings {
  readonly pods: readonly PodReading[];
  readonly isCoupled: boolean;
}

/**
 * In the order of `pods`, which are all pods that the selector lists, also deleted and finished ones. `now` in epoch
 * ms.
 */
export function computePodReadings(trigger: ResourceTrigger, pods: readonly WorkloadPod[], now: number): PodReadings {
  const context: ComparisonContext = {
    trigger,
    isCoupled: hasResizedPods(trigger, pods, now),
    findInitialRequest: createFindInitialRequest(pods, trigger.type),
    now,
  };
  return { pods: pods.map((of) => computePodReading(of, context)), isCoupled: context.isCoupled };
}

function computePodReading(of: WorkloadPod, context: ComparisonContext): PodReading {
  const { pod, rates } = of;
  const { trigger: { type, container }, now } = context;
  const { requests, isClipped } = computeRequests(of, context);
  return {
    name: pod.name,
    phase: pod.phase,
    isDeleting: pod.deleting,
    startAt: pod.startAt,
    ready: pod.ready,
    metric: findPodMetric(rates, { pod, type, container, now }),
    requests,
    isClipped,
  };
}

/** How the pods of one trigger are compared. */
interface ComparisonContext {
  readonly trigger: ResourceTrigger;
  readonly isCoupled: boolean;
  readonly findInitialRequest: FindInitialRequest;
  readonly now: number;
}

/**
 * The requests of a pod. `isClipped`: its usage may be less than what it needs, which matters for scale-in.
 * Clauses: R85.
 */
type ComparedRequests = Pick<PodReading, "requests" | "isClipped">;

/** Thousandths, for the trigger's container or the pod. Clauses: R82. */
function computeRequests(of: WorkloadPod, context: ComparisonContext): ComparedRequests {
  const { trigger: { target, baseline } } = context;
  // An average value is compared with no request.
  if (target.kind === "AverageValue") return { requests: { born: 0n, full: 0n }, isClipped: false };
  if (baseline?.kind === "amount") return toComparedRequests({ born: baseline.milli, full: baseline.milli });
  return computeRequestsByContainer(of, context, baseline?.kind ?? null);
}

function toComparedRequests(requests: PodRequests): ComparedRequests {
  return { requests, isClipped: false };
}

/** One container's part of both requests, millicores or bytes. */
interface ContainerRequests {
  readonly born: number;
  readonly full: number;
  readonly isClipped: boolean;
}

interface ComparedContainer extends ContainerRequests {
  readonly name: string;
  /** Its initial request is not known: `born` is its request in force. */
  readonly isUnknown: boolean;
}

type BaselineKind = Exclude<Baseline["kind"], "amount"> | null;

function computeRequestsByContainer(
  of: WorkloadPod,
  context: ComparisonContext,
  baseline: BaselineKind,
): ComparedRequests {
  const { trigger: { type: resource, container } } = context;
  const compared: ComparedContainer[] = [];
  const addContainer = (name: string): number | null => {
    const one = compareRequests(of, name, { context, baseline });
    if (one === null) return null;
    compared.push(one);
    return Math.trunc(one.born);
  };
  const findFull = (name: string): number | null => {
    const one = compared.find((known) => known.name === name);
    return one === undefined ? null : Math.trunc(one.full);
  };
  const born = computePodRequest(of.pod, { resource, container, requestOf: addContainer });
  // Most pods cannot grow, and this runs for each of them at each loop.
  const canGrow = compared.some((one) => one.full !== one.born);
  const full = canGrow ? computePodRequest(of.pod, { resource, container, requestOf: findFull }) : born;
  const unknown = compared.find(({ isUnknown }) => isUnknown);
  if (unknown !== undefined) {
    return { requests: { problem: toUnknownRequest(of, unknown.name, resource) }, isClipped: false };
  }
  if (typeof born !== "number") return { requests: { problem: born }, isClipped: false };
  if (typeof full !== "number") return { requests: { problem: full }, isClipped: false };
  const isClipped = resource === "cpu" && compared.some((one) => one.isClipped);
  const milli = toMilliAmount(born, resource);
  return { requests: { born: milli, full: full === born ? milli : toMilliAmount(full, resource) }, isClipped };
}

/** Returns `null` for a container without a request: it has no initial request either. */
function compareRequests(
  of: WorkloadPod,
  name: string,
  { context, baseline }: { readonly context: ComparisonContext; readonly baseline: BaselineKind },
): ComparedContainer | null {
  const facts = findContainer(of.pod, name);
  const live = facts?.spec[`${context.trigger.type}.requests`] ?? null;
  if (facts === null || live === null) return null;
  const born = baseline === "live" ? live : context.findInitialRequest(of, name);
  if (born === null) return { name, born: live, full: live, isClipped: false, isUnknown: true };
  const isFixed = baseline !== null || !context.isCoupled;
  if (isFixed) return { name, born, full: born, isClipped: false, isUnknown: false };
  const { born: least, full, isClipped } = computeGrowth(of, { facts, born, context });
  return { name, born: least, full, isClipped, isUnknown: false };
}

interface GrowingContainer {
  readonly facts: ContainerFacts;
  readonly born: number;
  readonly context: ComparisonContext;
}

/** Returns how far the vertical autoscaler can change the request; the initial request if none resizes it. */
function computeGrowth(
  of: WorkloadPod,
  { facts, born, context: { trigger: { type: resource }, now } }: GrowingContainer,
): ContainerRequests {
  const owner = findRequestOwner(of, facts.name, { resource, now });
  if (owner === null) return { born, full: born, isClipped: false };
  const max = findMaxRequest(owner, facts) ?? born;
  const min = Math.min(born, max);
  const inForce = getActualSize(facts)[owner.rule.key] ?? born;
  const view = of.vertical?.state.views[owner.autoscaler.key];
  if (view !== undefined && isSaturated(owner.rule, view)) {
    return { born: min, full: Math.max(min, inForce), isClipped: false };
  }
  return { born: min, full: max, isClipped: inForce < max && view !== undefined && isClippedByLimit(owner, view) };
}

/** Returns the smaller of the request's bound and the limit's ceiling; `null` = neither limits it. */
function findMaxRequest({ autoscaler, rule }: RequestOwner, facts: ContainerFacts): number | null {
  const limit = getActualSize(facts)[`${rule.resource}.limits`];
  const limitRule = autoscaler.sides.find(({ key }) => key === `${rule.resource}.limits`);
  const ceiling = limit === null ? null : limitRule === undefined ? limit : limitRule.bounds.max;
  const max = Math.min(rule.bounds.max ?? Infinity, ceiling ?? Infinity);
  return max === Infinity ? null : max;
}

/** A limit that is too small hides what the container would use. */
function isClippedByLimit({ rule }: RequestOwner, { shortage }: Pick<AutoscalerView, "shortage">): boolean {
  return shortage.clipped >= computeShortSamples(rule);
}

function toUnknownRequest({ pod }: WorkloadPod, container: string, resource: Resource): RequestProblem {
  const message =
    `unknown initial request for ${resource} of container ${container} of Pod ${pod.name}: it was resized ` +
    "before podfit saw it, and no template has it; delete the pod, or set metadata.baseline of the trigger";
  return { reason: "BaselineUnavailable", message };
}

/** A container whose request an autoscaler resizes. */
interface RequestOwner {
  readonly autoscaler: Autoscaler;
  /** Its rule for the request. */
  readonly rule: FieldPolicy;
}

/**
 * Returns the autoscaler that resizes this request of the container; `null` = none. An autoscaler in mode recommend
 * owns no container. Clauses: L51, R80.
 */
function findRequestOwner(
  of: WorkloadPod,
  container: string,
  { resource, now }: RequestOwnerQuery,
): RequestOwner | null {
  const autoscaler = findApplyingAutoscaler(of, container, now);
  if (autoscaler === null) return null;
  const wanted = `${resource}.requests`;
  for (const rule of autoscaler.sides) if (rule.key === wanted) return { autoscaler, rule };
  return null;
}

/** Which resource, and when. */
interface RequestOwnerQuery {
  readonly resource: Resource;
  readonly now: number;
}

/** Returns whether an autoscaler resizes the requests that the trigger compares with, in at least one of the pods. */
function hasResizedPods(trigger: ResourceTrigger, pods: readonly WorkloadPod[], now: number): boolean {
  if (trigger.target.kind !== "Utilization") return false;
  return pods.some((of) => listOwnedContainers(trigger, of, now).length > 0);
}

/**
 * Returns by container the resource fields that must not shrink while a scale-in is pending, requests and limits. The
 * pods that stay will get more load. It is `SizeInput.scaleInPending` of the pod's evaluation. `triggers` are those of the
 * pod's ScaledObject. Clauses: R86.
 */
export function listHeldFields(
  triggers: readonly ResourceTrigger[],
  of: WorkloadPod,
  now: number,
): Readonly<Record<string, readonly ResourceField[]>> {
  const held: Record<string, ResourceField[]> = {};
  for (const trigger of triggers) {
    if (trigger.target.kind !== "Utilization") continue;
    for (const { name, owner: { autoscaler } } of listOwnedContainers(trigger, of, now)) {
      for (const { key, resource } of autoscaler.sides) {
        const fields = Object.hasOwn(held, name) ? held[name] ?? [] : [];
        if (resource === trigger.type && !fields.includes(key)) held[name] = [...fields, key];
      }
    }
  }
  return held;
}

interface OwnedContainer {
  readonly name: string;
  readonly owner: RequestOwner;
}

/** Returns the containers that the trigger measures and an autoscaler resizes. */
function listOwnedContainers(
  { type: resource, container }: ResourceTrigger,
  of: WorkloadPod,
  now: number,
): readonly OwnedContainer[] {
  if (of.vertical === null) return NO_CONTAINERS;
  return of.pod.containers.flatMap(({ name, kind }) => {
    if (kind === "init" || (container !== null && container !== name)) return NO_CONTAINERS;
    const owner = findRequestOwner(of, name, { resource, now });
    return owner === null ? NO_CONTAINERS : [{ name, owner }];
  });
}

const NO_CONTAINERS: readonly OwnedContainer[] = [];

function findApplyingAutoscaler({ pod, vertical }: WorkloadPod, container: string, now: number): Autoscaler | null {
  const facts = findContainer(pod, container);
  if (vertical === null || facts === null) return null;
  const [first] = vertical.matching;
  // Nearly every container has one autoscaler, and this runs for each of them at each loop.
  if (first !== undefined && vertical.matching.length === 1) {
    return first.containerName === container && first.mode === "apply" ? first : null;
  }
  const applies = ({ containerName, mode }: Autoscaler) => containerName === container && mode === "apply";
  const containerState = findContainerState(vertical.state, container) ?? NEVER_EVALUATED;
  return chooseOwner(vertical.matching.filter(applies), { now, pod, container: facts, containerState });
}

/** One pod that the target's selector lists. */
export interface WorkloadPod extends PodWithInitialResources {
  readonly rates: PodRates | null;
  /**
   * The pod's state after the last `decideSize`, and its matching autoscalers (unpaused, resolved); `null` if no
   * autoscaler tracks the pod.
   */
  readonly vertical: { readonly state: ReadableState; readonly matching: readonly Autoscaler[] } | null;
}
