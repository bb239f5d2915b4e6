/**
 * Do two objects work against each other? Two autoscalers, an HPA, a VPA, or a ScaledObject and an autoscaler.
 *
 * Clauses: C12, L50, R25, R75, R78, R80, R81, R82.
 */
import { type TargetRef, toGroup, toTargetKey } from "../../../daemon/cluster/parse_objects.ts";
import { findConflict } from "../../../daemon/replicas/conflicts.ts";
import { type Autoscaler, EVERY_CONTAINER } from "../../../model/autoscaler.ts";
import { chooseOwner, NEVER_EVALUATED } from "../../../model/ownership.ts";
import { type ContainerFacts, listContainers, type PodFacts } from "../../../model/pod.ts";
import { listResourceTriggers, type ResourceTrigger, type ScaledObject } from "../../../model/scaled_object.ts";
import { formatAmount } from "../../../units/quantity.ts";
import { type Resource, resourceOf } from "../../../units/resources.ts";
import { formatSelector, matches } from "../../../units/selector.ts";
import type { Relation } from "../findings.ts";
import { type KnownObjects, listScaled, type OtherScaler } from "../known_objects.ts";
import {
  type CheckContext,
  fillSizes,
  findPods,
  findWorkload,
  listAutoscalers,
  listScaledObjects,
  toAutoscalerSubject,
  toScaledSubject,
  toWorkloadKind,
} from "./context.ts";

/** One finding for each pair, at the second of them. */
export function checkOwners({ known, isSubject }: CheckContext): readonly Relation[] {
  const all = listAutoscalers(known).toSorted(byRank);
  const pods = new Map(all.map((one) => [one, findPods(one, known)]));
  return all.flatMap((second, index) => {
    const first = all.slice(0, index).find((one) => haveSameContainer(one, second, pods));
    if (first === undefined) return [];
    const [own, other] = isSubject(toAutoscalerSubject(second)) ? [second, first] : [first, second];
    return [{
      of: toAutoscalerSubject(own),
      level: "warning",
      rule: "two-owners",
      path: "spec.containerName",
      message: describeOwners(own, other),
    }];
  });
}

/** The order in which podfit asks them. Only podfit has a rule for which of them may act first. */
function byRank(a: Autoscaler, b: Autoscaler): number {
  return b.priority - a.priority || (a.name < b.name ? -1 : 1);
}

type PodsByAutoscaler = ReadonlyMap<Autoscaler, ReturnType<typeof findPods>>;

/** One for a name and one for all others is intended. Clauses: L50. */
function haveSameContainer(a: Autoscaler, b: Autoscaler, pods: PodsByAutoscaler): boolean {
  if (a.namespace !== b.namespace || a.isWildcard !== b.isWildcard || a.mode !== b.mode) return false;
  if (!a.isWildcard && a.containerName !== b.containerName) return false;
  if (isSameWorkload(a, b)) return !a.isWildcard || haveCommon(a, b, pods) !== false;
  return haveCommon(a, b, pods) === true;
}

function isSameWorkload(a: Autoscaler, b: Autoscaler): boolean {
  if (a.target !== null) return a.target.kind === b.target?.kind && a.target.name === b.target.name;
  return a.selector !== null && b.selector !== null && formatSelector(a.selector) === formatSelector(b.selector);
}

/** Whether both own the container; `null` where neither has a known pod. */
function haveCommon(a: Autoscaler, b: Autoscaler, pods: PodsByAutoscaler): boolean | null {
  const [own, others] = [pods.get(a) ?? [], new Set(pods.get(b) ?? [])];
  if (own.length === 0 || others.size === 0) return null;
  return own.filter((pod) => others.has(pod)).some((pod) => {
    const names = listContainers(a, pod);
    return listContainers(b, pod).some((name) => names.includes(name));
  });
}

function describeOwners({ containerName, priority }: Autoscaler, other: Autoscaler): string {
  const which = containerName === EVERY_CONTAINER ? "the same containers" : `container "${containerName}"`;
  const what = priority === other.priority
    ? "only one of the two resizes it at a time, and which one changes with their cooldowns"
    : `only the one of the higher priority (${Math.max(priority, other.priority)}) ever resizes it`;
  return `autoscaler "${other.name}" is for ${which} of the same pods: ${what}: put both policies into one autoscaler`;
}

/** One finding for each autoscaler and rival, and one for each ScaledObject. */
export function checkRivals({ known }: CheckContext): readonly Relation[] {
  return [
    ...listAutoscalers(known).filter(({ mode }) => mode === "apply").flatMap((one) => checkAutoscaler(one, known)),
    ...listScaledObjects(known).flatMap((one) => checkScaledObject(one, known)),
  ];
}

function checkAutoscaler(autoscaler: Autoscaler, known: KnownObjects): readonly Relation[] {
  const of = toAutoscalerSubject(autoscaler);
  const hpas = listRivals(autoscaler, known.horizontalpodautoscalers, known).flatMap(({ rival, key }): Relation[] => {
    // Utilization is relative to requests, so managed limits alone do not conflict.
    if (!key.endsWith(".requests")) return [];
    const message =
      `HPA "${rival.name}" scales the same pods by utilization of their ${
        resourceOf(key)
      } requests, which this one moves: each ` +
      "resize changes the number of pods: use a ScaledObject, which podfit couples with sizes, an AverageValue, or another resource";
    return [{ of, level: "warning", rule: "hpa-same-resource", path: `spec.policy.${key}`, message }];
  });
  const vpas = listRivals(autoscaler, known.verticalpodautoscalers, known).map(({ rival, key }): Relation => {
    const message =
      `VPA "${rival.name}" sizes ${
        resourceOf(key)
      } of the same container: both resize it, and each undoes what the other does: ` +
      "set its updateMode to Off, or delete one of them";
    return { of, level: "warning", rule: "vpa-same-resource", path: `spec.policy.${key}`, message };
  });
  return [...hpas, ...vpas];
}

interface Rival {
  readonly rival: OtherScaler;
  /** The first resource field that both manage. */
  readonly key: Autoscaler["sides"][number]["key"];
}

function listRivals(autoscaler: Autoscaler, all: readonly OtherScaler[], known: KnownObjects): readonly Rival[] {
  const pods = findPods(autoscaler, known);
  return all.flatMap((rival): readonly Rival[] => {
    if (rival.namespace !== autoscaler.namespace || !isOfPods(rival, { autoscaler, pods, known })) return [];
    const containers = new Set(pods.flatMap((pod) => listContainers(autoscaler, pod)));
    const names = containers.size > 0 ? [...containers] : [autoscaler.containerName];
    const scaled = new Set(names.flatMap((name) => listScaled(rival, name)));
    const side = autoscaler.sides.find((one) =>
      scaled.has(one.resource) && (rival.hpa === null || one.side === "requests")
    );
    return side === undefined ? [] : [{ rival, key: side.key }];
  });
}

function isOfPods(
  { target, namespace }: OtherScaler,
  { autoscaler, pods, known }: {
    readonly autoscaler: Autoscaler;
    readonly pods: ReturnType<typeof findPods>;
    readonly known: KnownObjects;
  },
): boolean {
  const kind = toWorkloadKind(target.kind);
  if (target.group !== "apps" || kind === null) return false;
  if (autoscaler.target !== null) return autoscaler.target.kind === kind && autoscaler.target.name === target.name;
  const workload = findWorkload(known, { kind, namespace, name: target.name });
  if (typeof workload === "string") return false;
  const own = findPods({ ...autoscaler, target: { kind, name: target.name }, selector: null }, known);
  return own.some((pod) => pods.includes(pod));
}

/** The message is the daemon's, which sets no replicas then. An HPA that KEDA made for the object is expected. Clauses: R75, R78. */
function checkScaledObject(object: ScaledObject, known: KnownObjects): readonly Relation[] {
  const key = toTargetKey(toRef(object));
  const hpas = known.horizontalpodautoscalers.flatMap(({ hpa }) => hpa ?? [])
    .filter((hpa) => hpa.namespace === object.namespace && toTargetKey(hpa.target) === key)
    .filter(({ owners }) => object.uid === "" || !owners.includes(object.uid));
  const scaledObjects = known.scaledobjects.filter((other) => {
    const own = other.scaledObject;
    return own !== null && own !== object && !other.isDeleting && own.namespace === object.namespace &&
      toTargetKey(toRef(own)) === key;
  });
  const none = { hpas: [], scaledObjects: [] };
  const { blocker } = findConflict({ object, hpas, scaledObjects, overlapping: () => none, transferredUid: null });
  if (blocker?.kind !== "check") return [];
  const message = `podfit sets no replicas: ${blocker.message}`;
  return [{
    of: toScaledSubject(object),
    level: "warning",
    rule: "replicas-owned",
    path: "spec.scaleTargetRef",
    message,
  }];
}

function toRef({ target: { apiVersion, kind, name } }: ScaledObject): TargetRef {
  return { group: toGroup(apiVersion), kind, name };
}

/** One finding for each trigger. */
export function checkCoupling({ known }: CheckContext): readonly Relation[] {
  return listScaledObjects(known).flatMap((object) =>
    listResourceTriggers(object).filter(hasLiveBaseline).flatMap((trigger) => {
      const owner = findRequestOwner(known, { object, trigger });
      return owner === null ? [] : [toCouplingRelation(object, trigger, owner)];
    })
  );
}

/** Returns the name of an autoscaler that changes the requests which the trigger uses; `null` where there is none. */
function findRequestOwner(known: KnownObjects, { object, trigger }: TriggerRef): string | null {
  const rivals = listResizers(known, object);
  const workload = findTarget(known, object);
  if (typeof workload === "string") return rivals.find((one) => mayOwnRequests(one, trigger))?.name ?? null;
  const pod = fillSizes(workload.pod, trigger.type, known);
  if (isOfPodItself(pod, trigger)) return null;
  const growths = listCounted(pod, trigger).map((one) => computeGrowth(one, { rivals, pod, trigger }));
  return growths.find(({ owner }) => owner !== "")?.owner ?? null;
}

function findTarget(known: KnownObjects, { namespace, target }: ScaledObject): ReturnType<typeof findWorkload> {
  const kind = toWorkloadKind(target.kind);
  return kind === null ? "unknown" : findWorkload(known, { kind, namespace, name: target.name });
}

/** Only `live` uses a request that podfit changes: the initial request of a pod stays. */
function hasLiveBaseline({ target, baseline }: ResourceTrigger): boolean {
  return target.kind === "Utilization" && baseline?.kind === "live";
}

/** A trigger of an object. */
interface TriggerRef {
  readonly object: ScaledObject;
  readonly trigger: ResourceTrigger;
}

/** As far as it is known without the pods. */
function mayOwnRequests(autoscaler: Autoscaler, trigger: ResourceTrigger): boolean {
  const { containerName, isWildcard } = autoscaler;
  const isContainer = isWildcard || trigger.container === null || trigger.container === containerName;
  return isContainer && managesRequests(autoscaler, trigger);
}

/** The autoscalers that resize the pods of the object's target; by a selector only where the labels of its pods are known. */
function listResizers(known: KnownObjects, object: ScaledObject): readonly Autoscaler[] {
  const workload = findTarget(known, object);
  const isTargets = ({ target, selector }: Autoscaler) => {
    if (target !== null) {
      return target.name === object.target.name && target.kind === toWorkloadKind(object.target.kind);
    }
    return selector !== null && typeof workload !== "string" && matches(selector, workload.pod.labels);
  };
  return listAutoscalers(known).filter((one) =>
    one.namespace === object.namespace && one.mode === "apply" && isTargets(one)
  );
}

function managesRequests({ sides }: Autoscaler, { type }: ResourceTrigger): boolean {
  return sides.some(({ key }) => key === `${type}.requests`);
}

function toCouplingRelation(object: ScaledObject, { index, type }: ResourceTrigger, name: string): Relation {
  return {
    of: toScaledSubject(object),
    level: "warning",
    rule: "replicas-fight",
    path: `spec.triggers[${index}].metadata.baseline`,
    message:
      `baseline live goes by the ${type} requests that autoscaler "${name}" moves: each resize changes the number of pods, and ` +
      "each change of that the size, until one of them is at its bound: remove baseline, or set it to initial or to an amount",
  };
}

/** The daemon warns from this value on, too. */
const WIDE_GROWTH = 4;

/**
 * At most one finding for each trigger, by the template of the pods. A set baseline shows that the author decided.
 * Clauses: R82.
 */
export function checkGrowth({ known }: CheckContext): readonly Relation[] {
  return listScaledObjects(known).flatMap((object) => {
    const workload = findTarget(known, object);
    if (typeof workload === "string") return [];
    const rivals = listResizers(known, object);
    return listResourceTriggers(object).flatMap((trigger) => {
      if (trigger.target.kind !== "Utilization" || trigger.baseline !== null) return [];
      const pod = fillSizes(workload.pod, trigger.type, known);
      if (isOfPodItself(pod, trigger)) return [];
      const growths = listCounted(pod, trigger).map((one) => computeGrowth(one, { rivals, pod, trigger }));
      const endless = growths.find(({ maxRequest }) => maxRequest === Infinity);
      if (endless !== undefined) return [toEndlessRelation(object, trigger, endless)];
      return isWideGrowth(sumGrowths(growths)) ? [toGrowthRelation(object, trigger, growths)] : [];
    });
  });
}

/** Usage is compared with the pod's own request then, which no autoscaler changes. Clauses: R25. */
function isOfPodItself({ podResources, containers }: PodFacts, { type, container }: ResourceTrigger): boolean {
  if (container !== null || podResources === null) return false;
  // With any limit of the pod, the API server makes the sum of its containers' requests its own request.
  // https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go
  const hasLimit = podResources["cpu.limits"] !== null || podResources["memory.limits"] !== null;
  return podResources[`${type}.requests`] !== null ||
    (hasLimit && containers.some(({ spec }) => spec[`${type}.requests`] !== null));
}

/** Sums of a file's amounts may be of any size. */
function isWideGrowth({ initialRequest, maxRequest }: RequestGrowth): boolean {
  return initialRequest > 0 && maxRequest > WIDE_GROWTH * initialRequest && Number.isSafeInteger(maxRequest);
}

interface RequestGrowth {
  readonly initialRequest: number;
  /** Infinity where there is no maximum. */
  readonly maxRequest: number;
}

interface ContainerGrowth extends RequestGrowth {
  readonly container: string;
  /** The autoscaler that changes the request; empty where there is none. */
  readonly owner: string;
}

function listCounted({ containers }: PodFacts, { container }: ResourceTrigger): readonly ContainerFacts[] {
  return containers.filter((one) => one.kind !== "init" && (container === null || one.name === container));
}

interface GrowthContext {
  /** The autoscalers of the pods. */
  readonly rivals: readonly Autoscaler[];
  readonly pod: PodFacts;
  readonly trigger: ResourceTrigger;
}

/** The owner is chosen for each container, as the daemon does. Clauses: C12, L50. */
function computeGrowth(container: ContainerFacts, { rivals, pod, trigger }: GrowthContext): ContainerGrowth {
  const { name, spec } = container;
  const contenders = rivals.filter((one) => listContainers(one, pod).includes(name));
  const owner = chooseOwner(contenders, { now: 0, pod, container, containerState: NEVER_EVALUATED });
  const request = spec[`${trigger.type}.requests`];
  const initialRequest = request ?? 0;
  if (owner === null || !managesRequests(owner, trigger)) {
    return { container: name, owner: "", initialRequest, maxRequest: initialRequest };
  }
  const most = findMaxRequest(container, owner, trigger.type) ?? (request === null ? 0 : Infinity);
  return { container: name, owner: owner.name, initialRequest, maxRequest: Math.max(initialRequest, most) };
}

function sumGrowths(growths: readonly RequestGrowth[]): RequestGrowth {
  return {
    initialRequest: sumAmounts(growths.map(({ initialRequest }) => initialRequest)),
    maxRequest: sumAmounts(growths.map(({ maxRequest }) => maxRequest)),
  };
}

/** The lower of the request's ceiling and the limit's; `null` where there is neither. */
function findMaxRequest({ spec }: ContainerFacts, { sides }: Autoscaler, resource: Resource): number | null {
  const find = (key: typeof sides[number]["key"]) => sides.find((side) => side.key === key);
  const limits = find(`${resource}.limits`);
  const given = spec[`${resource}.limits`];
  const limit = given === null || limits === undefined ? given : limits.bounds.max;
  const ceilings = [find(`${resource}.requests`)?.bounds.max ?? null, limit].filter((amount) => amount !== null);
  return ceilings.length === 0 ? null : Math.min(...ceilings);
}

function sumAmounts(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

function toEndlessRelation(
  object: ScaledObject,
  { index, type }: ResourceTrigger,
  { owner, container }: ContainerGrowth,
): Relation {
  return {
    of: toScaledSubject(object),
    level: "warning",
    rule: "no-maximum",
    path: `spec.triggers[${index}]`,
    message:
      `autoscaler "${owner}" has no maximum for the ${type} request of container "${container}": podfit compares usage ` +
      `with the initial request, and adds pods before they grow: set bounds.${type}.requests.max of the autoscaler, or, where ` +
      "that is intended, baseline: initial in the trigger's metadata",
  };
}

function toGrowthRelation(
  object: ScaledObject,
  { index, type }: ResourceTrigger,
  growths: readonly ContainerGrowth[],
): Relation {
  const { maxReplicas } = object;
  const { initialRequest, maxRequest } = sumGrowths(growths);
  const owners = growths.flatMap((one) => one.maxRequest > one.initialRequest ? [`"${one.owner}"`] : []);
  const names = [...new Set(owners)];
  const who = names.length === 1 ? `autoscaler ${names} lets` : `autoscalers ${names.join(" and ")} let`;
  const [from, to] = [initialRequest, maxRequest].map((amount) => formatAmount(amount, type));
  return {
    of: toScaledSubject(object),
    level: "advice",
    rule: "few-replicas",
    path: `spec.triggers[${index}]`,
    message: `${who} the ${type} request of a pod grow from ${from} to ${to} before pods are added: a load for ` +
      `${maxReplicas} pods as born is one for ${
        Math.ceil(maxReplicas * initialRequest / maxRequest)
      } full-grown: where that is too few, raise ` +
      "minReplicaCount, lower bounds, or set baseline: initial in the trigger's metadata",
  };
}
