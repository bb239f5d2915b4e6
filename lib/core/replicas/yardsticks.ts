/**
 * What the usage of a pod is held against (R82): `born`, what it asked for when it was created, and `full`, the most that it can be
 * given in place. Neither moves when a resize does, so what replicas follow does not depend on what the vertical half does.
 */
import type { Baseline, ResourceTrigger } from "../../scaled_object/trigger.ts";
import type { Resource } from "../../units/resources.ts";
import { isSaturated, readShortSamples } from "../observe/count_shortage.ts";
import { type ContainerFacts, findContainer, readActual } from "../pod/pod_facts.ts";
import type { View } from "../state.ts";
import type { ReadBorn } from "./births.ts";
import { findRequestOwner, type Owner } from "./coupling.ts";
import type { PodReading, RequestProblem, Requests } from "./pod_reading.ts";
import { readRequest, toMilliAmount } from "./requests.ts";
import type { WorkloadPod } from "./workload_pod.ts";

/** How the pods of one trigger are measured. */
export interface YardstickContext {
  readonly trigger: ResourceTrigger;
  readonly isCoupled: boolean;
  readonly readBorn: ReadBorn;
  readonly now: number;
}

/** Of a pod; its usage may understate what it wants, which counts for scale-in (R85). */
export type Measured = Pick<PodReading, "requests" | "isClipped">;

/** Thousandths, of the trigger's container or the pod. */
export function readYardsticks(of: WorkloadPod, context: YardstickContext): Measured {
  const { trigger: { target, baseline } } = context;
  // An average value is held against no request.
  if (target.kind === "AverageValue") return { requests: { born: 0n, full: 0n }, isClipped: false };
  if (baseline?.kind === "amount") return toMeasured({ born: baseline.milli, full: baseline.milli });
  return readByContainer(of, context, baseline?.kind ?? null);
}

function toMeasured(requests: Requests): Measured {
  return { requests, isClipped: false };
}

/** One container's part of the yardsticks, millicores or bytes. */
interface Sticks {
  readonly born: number;
  readonly full: number;
  readonly isClipped: boolean;
}

function readByContainer(
  of: WorkloadPod,
  context: YardstickContext,
  baseline: Exclude<Baseline["kind"], "amount"> | null,
): Measured {
  const { trigger: { type: resource, container } } = context;
  const key = `${resource}.requests` as const;
  const sticks: (Sticks & { readonly name: string })[] = [];
  let unknown: string | null = null;
  const read = (name: string): Sticks | null => {
    const facts = findContainer(of.pod, name);
    const live = facts?.spec[key] ?? null;
    // Without any request there is nothing to be born with either (R25).
    if (facts === null || live === null) return null;
    const born = baseline === "live" ? live : context.readBorn(of, name);
    if (born === null) unknown ??= name;
    const isFixed = born === null || baseline !== null || !context.isCoupled;
    const amount = born ?? live;
    return isFixed ? { born: amount, full: amount, isClipped: false } : grow(of, { facts, born, context });
  };
  const requestOf = (yardstick: "born" | "full") => (name: string): bigint | null => {
    const known = sticks.find((one) => one.name === name);
    const stick = known ?? read(name);
    if (stick === null) return null;
    if (known === undefined) sticks.push({ name, ...stick });
    return toMilliAmount(Math.trunc(stick[yardstick]), resource);
  };
  const born = readRequest(of.pod, { resource, container, requestOf: requestOf("born") });
  // Most pods cannot grow, and this is asked for each of them at each tick.
  const canGrow = sticks.some((one) => one.full !== one.born);
  const full = canGrow ? readRequest(of.pod, { resource, container, requestOf: requestOf("full") }) : born;
  if (unknown !== null) return { requests: { problem: toUnknown(of, unknown, resource) }, isClipped: false };
  if (typeof born !== "bigint") return { requests: { problem: born }, isClipped: false };
  if (typeof full !== "bigint") return { requests: { problem: full }, isClipped: false };
  const isClipped = resource === "cpu" && sticks.some((one) => one.isClipped);
  return { requests: { born, full }, isClipped };
}

interface Growing {
  readonly facts: ContainerFacts;
  readonly born: number;
  readonly context: YardstickContext;
}

/** What the vertical half can give the container; nothing more where it does not resize it. */
function grow(of: WorkloadPod, { facts, born, context: { trigger: { type: resource }, now } }: Growing): Sticks {
  const owner = findRequestOwner(of, facts.name, { resource, now });
  if (owner === null) return { born, full: born, isClipped: false };
  const most = readMost(owner, facts) ?? born;
  const least = Math.min(born, most);
  const inForce = readActual(facts)[owner.rule.key] ?? born;
  const view = of.vertical?.state.views[owner.autoscaler.key];
  if (view !== undefined && isSaturated(owner.rule, view)) {
    return { born: least, full: Math.max(least, inForce), isClipped: false };
  }
  return { born: least, full: most, isClipped: inForce < most && view !== undefined && isAtLimit(owner, view) };
}

/** The bound of the request, or what the limit can be at most, whichever is less; `null` = neither bounds it. */
function readMost({ autoscaler, rule }: Owner, facts: ContainerFacts): number | null {
  const limit = readActual(facts)[`${rule.resource}.limits`];
  const limitRule = autoscaler.sides.find(({ key }) => key === `${rule.resource}.limits`);
  const ceiling = limit === null ? null : limitRule === undefined ? limit : limitRule.bounds.max;
  const most = Math.min(rule.bounds.max ?? Infinity, ceiling ?? Infinity);
  return most === Infinity ? null : most;
}

/** A limit that is too small hides what the container would use. */
function isAtLimit({ rule }: Owner, { shortage }: Pick<View, "shortage">): boolean {
  return shortage.clipped >= readShortSamples(rule);
}

function toUnknown({ pod }: WorkloadPod, container: string, resource: Resource): RequestProblem {
  const message =
    `unknown request for ${resource} at birth of container ${container} of Pod ${pod.name}: it was resized ` +
    "before podfit saw it, and no template has it; delete the pod, or set metadata.baseline of the trigger";
  return { reason: "BaselineUnavailable", message };
}
