/**
 * The sizes of the pods of an autoscaler in its status: the median over all pods, what podfit wants instead, and why it
 * waits.
 */
import type { WantedSize } from "../../model/decision.ts";
import { LIMIT_REASONS } from "../../model/reasons.ts";
import { isDeepEqual } from "../../units/equality.ts";
import { formatAmount, parseAmount } from "../../units/quantity.ts";
import {
  requestOrLimitOf,
  RESIZE_UNIT,
  RESOURCE_FIELDS,
  type ResourceField,
  resourceOf,
  type Resources,
} from "../../units/resources.ts";

/** `requests` and `limits` as in a pod; as the API has it. */
export type SizeText = Readonly<Partial<Record<"requests" | "limits", Readonly<Record<string, string>>>>>;

/** One container name over all pods, as the API has it. */
export interface ContainerStatus {
  readonly name: string;
  readonly pods: number;
  readonly current: SizeText;
  readonly wanted?: SizeText;
  /** A reason of reasons.ts. */
  readonly waiting?: string;
}

/** The part of a status that the sizes of all pods give. */
export interface PodSizes {
  readonly requests?: SizeText["requests"];
  readonly containers: readonly ContainerStatus[];
}

/** A container of one pod. */
export interface ContainerSize {
  readonly name: string;
  readonly current: Resources;
  /** Only fields that should change; `null` = none. */
  readonly wanted: WantedSize | null;
  /** Why it does not change; `null` = nothing waits. */
  readonly waiting: string | null;
}

/** Returns the sizes of all pods. Of containers, the first in alphabetical order count. Clauses: L59. */
export function summarizeSizes(pods: Iterable<readonly ContainerSize[]>): PodSizes {
  const byName = new Map<string, ContainerSize[]>();
  const totals: Resources[] = [];
  for (const containers of pods) {
    totals.push(addSizes(containers));
    for (const one of containers) {
      const same = byName.get(one.name);
      if (same === undefined) byName.set(one.name, [one]);
      else same.push(one);
    }
  }
  const names = [...byName.keys()].sort().slice(0, MAX_CONTAINERS);
  const { requests } = toSizeText(computeMedianSize(totals), EXACT);
  return {
    ...(requests !== undefined && { requests }),
    containers: names.map((name) => toContainerStatus(name, byName.get(name) ?? [])),
  };
}

/**
 * Returns what to publish after `before`. While pods and their sizes stay, a container keeps its `wanted` and `waiting`
 * until others have lasted: `isLasting` is asked for each container that differs. An amount that has moved by less than a
 * twentieth does not differ. Clauses: L59.
 */
export function nextContainers(
  before: readonly ContainerStatus[] | undefined,
  now: readonly ContainerStatus[],
  isLasting: (name: string) => boolean,
): readonly ContainerStatus[] {
  if (before === undefined || !isDeepEqual(before.map(toSkeleton), now.map(toSkeleton))) return now;
  return now.map((one, index) => {
    const old = before[index];
    return old === undefined || (!isNearContainer(old, one) && isLasting(one.name)) ? one : old;
  });
}

/** Returns the reason to show for all containers: one that needs an administrator goes first. `null` without any. */
export function findWaiting(containers: readonly ContainerStatus[]): string | null {
  const reasons = containers.flatMap(({ waiting }) => waiting ?? []);
  return reasons.find((reason) => LIMIT_REASONS.some((one) => one === reason)) ?? reasons[0] ?? null;
}

/**
 * Returns the median of each field; for an even number the lower one. `null` where half of the sizes or more lack the
 * field.
 */
export function computeMedianSize(sizes: readonly Resources[]): Resources {
  return computeRankedSize(sizes, (count) => Math.floor((count - 1) / 2));
}

/** Returns the smallest of each field. */
export function computeMinSize(sizes: readonly Resources[]): Resources {
  return computeRankedSize(sizes, () => 0);
}

/** Returns the largest of each field. */
export function computeMaxSize(sizes: readonly Resources[]): Resources {
  return computeRankedSize(sizes, (count) => count - 1);
}

/** Returns whether an amount has moved by less than a twentieth. */
export function isNearAmount(now: number | null, before: number | null): boolean {
  if (now === null || before === null) return now === before;
  return Math.abs(now - before) < MIN_CHANGE_SHARE * before || now === before;
}

/** Returns the text of a size; an amount is rounded up to a multiple of its unit, as a resize would round it. */
export function toSizeText(size: Readonly<Partial<Resources>>, unit: typeof RESIZE_UNIT = RESIZE_UNIT): SizeText {
  const sides: Partial<Record<"requests" | "limits", Record<string, string>>> = {};
  for (const key of RESOURCE_FIELDS) {
    const amount = size[key] ?? null;
    if (amount === null) continue;
    const [side, resource] = [requestOrLimitOf(key), resourceOf(key)];
    (sides[side] ??= {})[resource] = formatAmount(Math.ceil(amount / unit[resource]) * unit[resource], resource);
  }
  return sides;
}

/** The most that the CRD accepts. */
export const MAX_CONTAINERS = 100;

/** An amount that moves by less than this share is not published. */
const MIN_CHANGE_SHARE = 0.05;

/** A size that a pod has may be any number of bytes. */
const EXACT = { cpu: 1, memory: 1 } as typeof RESIZE_UNIT;

function computeRankedSize(sizes: readonly Resources[], rank: (count: number) => number): Resources {
  const found: Record<string, number | null> = {};
  const amounts = new Float64Array(sizes.length);
  for (const key of RESOURCE_FIELDS) {
    let count = 0;
    for (const { [key]: amount } of sizes) if (amount !== null) amounts[count++] = amount;
    found[key] = count * 2 <= sizes.length ? null : amounts.subarray(0, count).sort()[rank(count)] ?? null;
  }
  return found as Resources;
}

/** Returns the sum of each field; `null` where no container has it. */
function addSizes(containers: readonly ContainerSize[]): Resources {
  const [first] = containers;
  // Most pods have one container, and each status asks for each of its pods.
  if (first !== undefined && containers.length === 1) return first.current;
  const sum: Record<string, number | null> = {};
  for (const key of RESOURCE_FIELDS) {
    sum[key] = null;
    for (const { current } of containers) {
      if (current[key] !== null) sum[key] = (sum[key] ?? 0) + current[key];
    }
  }
  return sum as Resources;
}

function toContainerStatus(name: string, all: readonly ContainerSize[]): ContainerStatus {
  const wanted = toSizeText(computeWanted(all));
  const waiting = findMostFrequent(all);
  return {
    name,
    pods: all.length,
    current: toSizeText(computeMedianSize(all.map(({ current }) => current)), EXACT),
    ...(Object.keys(wanted).length > 0 && { wanted }),
    ...(waiting !== null && { waiting }),
  };
}

/** Returns the median of each wanted field over those that want another value of it. */
function computeWanted(all: readonly ContainerSize[]): WantedSize {
  const found: Partial<Record<ResourceField, number>> = {};
  for (const key of RESOURCE_FIELDS) {
    const amounts: number[] = [];
    for (const { wanted } of all) {
      const amount = wanted?.[key];
      if (amount !== undefined) amounts.push(amount);
    }
    const median = amounts.sort((a, b) => a - b)[Math.floor((amounts.length - 1) / 2)];
    if (median !== undefined) found[key] = median;
  }
  return found;
}

/** Returns the reason that occurs most often, the first in alphabetical order of several; `null` without any. */
function findMostFrequent(all: readonly ContainerSize[]): string | null {
  const counts = new Map<string, number>();
  for (const { waiting } of all) if (waiting !== null) counts.set(waiting, (counts.get(waiting) ?? 0) + 1);
  const [most] = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return most?.[0] ?? null;
}

function toSkeleton({ name, pods, current }: ContainerStatus): unknown {
  return [name, pods, current];
}

/** Returns whether both want the same, apart from small changes of amounts. */
function isNearContainer(a: ContainerStatus, b: ContainerStatus): boolean {
  if (a.waiting !== b.waiting) return false;
  return a.wanted === b.wanted ||
    RESOURCE_FIELDS.every((key) => isNearAmount(findAmount(b.wanted, key), findAmount(a.wanted, key)));
}

/** Returns the amount in a text; `null` if it is absent, or no amount. */
function findAmount(size: SizeText | undefined, key: ResourceField): number | null {
  const parsed = parseAmount(size?.[requestOrLimitOf(key)]?.[resourceOf(key)], resourceOf(key));
  return parsed.ok ? parsed.amount : null;
}
