/**
 * How much may a pod grow? The headroom of each node, and the LimitRanges and ResourceQuotas of each namespace. Both
 * are kept up to date with each change, because a sum over all pods per decision would be too slow.
 */
import type { PodFacts } from "../../model/pod.ts";
import type { Headroom, LimitRangeRule, NamespaceLimits, ResourceAmounts } from "../../model/pod_amounts.ts";
import { parseAmount } from "../../units/quantity.ts";
import {
  type Amounts,
  NO_RESOURCES,
  type Resource,
  RESOURCE_FIELDS,
  type ResourceField,
  resourceOf,
  type Resources,
} from "../../units/resources.ts";
import type { NodeFacts } from "./facts.ts";
import { replaceAllObjects } from "./tables.ts";

interface NodeHeadroomOptions {
  readonly nodes: ReadonlyMap<string, Pick<NodeFacts, "allocatable">>;
  /** False where podfit may not see all pods of a node. Then no headroom is known. */
  readonly seesAll: boolean;
  /** A node has more headroom than before. Must not throw. */
  readonly onHeadroom: (node: string) => void;
}

interface NodeUsage {
  cpuMillicores: number;
  memoryBytes: number;
  /** Undefined = it has to be computed again. */
  headroom: Headroom | null | undefined;
}

/** Growth of a pod that was requested. It counts until the watch shows the pod with it. */
interface PendingGrowth extends Amounts {
  readonly node: string;
  /** The generation in the answer; `null` until the answer arrives. */
  readonly generation: number | null;
  /** The generation that the watch shows. Its event may come before the answer. */
  readonly shown: number | null;
}

/**
 * The headroom of all nodes: allocatable amounts minus the requests of all pods that have not finished, tracked or not,
 * and minus growth that the watch does not show yet. Clauses: L30.
 */
export class NodeHeadroom {
  readonly #options: NodeHeadroomOptions;
  readonly #sums = new Map<string, NodeUsage>();
  readonly #pending = new Map<string, PendingGrowth>();

  constructor(options: NodeHeadroomOptions) {
    this.#options = options;
  }

  /**
   * Returns the headroom of the pod's node, in millicores and bytes; `null` = not known. It is the same object until it
   * changes.
   */
  find({ nodeName }: Pick<PodFacts, "nodeName">): Headroom | null {
    if (nodeName === null || !this.#options.seesAll) return null;
    const sum = this.#getOrAdd(nodeName);
    if (sum.headroom === undefined) sum.headroom = this.#compute(nodeName, sum);
    return sum.headroom;
  }

  /** A pod was added (`before` is `null`), changed or removed (`after` is `null`). */
  movePod(before: PodFacts | null, after: PodFacts | null): void {
    const { uid } = after ?? before ?? { uid: "" };
    const pending = this.#pending.get(uid);
    if (pending !== undefined) this.#show(uid, pending, after);
    const [from, to] = [findNode(before), findNode(after)];
    if (from === to && isSameRequests(before?.requests, after?.requests)) return;
    if (from !== null && before !== null) this.#add(from, before.requests, -1);
    if (to !== null && after !== null) this.#add(to, after.requests, 1);
    if (from !== null && before !== null && (from !== to || isLessRequests(after?.requests, before.requests))) {
      this.#options.onHeadroom(from);
    }
  }

  /** A node was added, changed or removed. */
  moveNode(name: string, before: Pick<NodeFacts, "allocatable"> | undefined): void {
    const after = this.#options.nodes.get(name)?.allocatable;
    const { cpuMillicores = null, memoryBytes = null } = before?.allocatable ?? {};
    if (after !== undefined && after.cpuMillicores === cpuMillicores && after.memoryBytes === memoryBytes) return;
    const sum = this.#sums.get(name);
    if (sum === undefined) return;
    sum.headroom = undefined;
    this.#forget(name, sum);
    this.#options.onHeadroom(name);
  }

  /** podfit sends a resize that raises the pod's requests by `growth`. */
  reserve({ uid, nodeName, generation }: Pick<PodFacts, "uid" | "nodeName" | "generation">, growth: Amounts): void {
    if (this.#pending.has(uid)) this.release(uid);
    if (nodeName === null || (growth.cpuMillicores === 0 && growth.memoryBytes === 0)) return;
    this.#pending.set(uid, { ...growth, node: nodeName, generation: null, shown: generation });
    this.#add(nodeName, growth, 1);
  }

  /** The resize was accepted. The watch may have shown the pod with the new size before the answer came. */
  confirm({ uid }: Pick<PodFacts, "uid">, generation: number | null): void {
    const pending = this.#pending.get(uid);
    if (pending === undefined) return;
    if (generation !== null && (pending.shown ?? 0) >= generation) this.release(uid);
    else this.#pending.set(uid, { ...pending, generation });
  }

  /** The resize was not accepted, or the pod itself counts with the new size. */
  release(uid: string): void {
    const pending = this.#pending.get(uid);
    if (pending === undefined) return;
    this.#pending.delete(uid);
    this.#add(pending.node, pending, -1);
    this.#options.onHeadroom(pending.node);
  }

  #show(uid: string, pending: PendingGrowth, after: PodFacts | null): void {
    if (after === null || isVisible(pending, after)) return this.release(uid);
    if (after.generation !== pending.shown) this.#pending.set(uid, { ...pending, shown: after.generation });
  }

  #compute(node: string, { cpuMillicores, memoryBytes }: NodeUsage): Headroom | null {
    const allocatable = this.#options.nodes.get(node)?.allocatable;
    if (allocatable === undefined || allocatable.cpuMillicores === null || allocatable.memoryBytes === null) {
      return null;
    }
    return {
      cpuMillicores: allocatable.cpuMillicores - cpuMillicores,
      memoryBytes: allocatable.memoryBytes - memoryBytes,
    };
  }

  #add(node: string, { cpuMillicores, memoryBytes }: Amounts, sign: 1 | -1): void {
    const sum = this.#getOrAdd(node);
    sum.cpuMillicores += sign * cpuMillicores;
    sum.memoryBytes += sign * memoryBytes;
    sum.headroom = undefined;
    this.#forget(node, sum);
  }

  /** Forgets a node that no longer exists and has no pods. */
  #forget(node: string, { cpuMillicores, memoryBytes }: NodeUsage): void {
    if (cpuMillicores === 0 && memoryBytes === 0 && !this.#options.nodes.has(node)) this.#sums.delete(node);
  }

  #getOrAdd(node: string): NodeUsage {
    const sum = this.#sums.get(node) ?? { cpuMillicores: 0, memoryBytes: 0, headroom: undefined };
    this.#sums.set(node, sum);
    return sum;
  }
}

/** Returns the node on which the pod counts; `null` = none, or it has finished. */
function findNode(pod: PodFacts | null): string | null {
  return pod === null || pod.finished ? null : pod.nodeName;
}

function isVisible({ generation }: PendingGrowth, pod: PodFacts): boolean {
  return generation !== null && (pod.generation === null || pod.generation >= generation);
}

function isSameRequests(a: Amounts | undefined, b: Amounts | undefined): boolean {
  return a?.cpuMillicores === b?.cpuMillicores && a?.memoryBytes === b?.memoryBytes;
}

function isLessRequests(after: Amounts | undefined, before: Amounts): boolean {
  return after === undefined || after.cpuMillicores < before.cpuMillicores || after.memoryBytes < before.memoryBytes;
}

/** The parts of a LimitRange or ResourceQuota that resizes need. */
export interface NamespaceRule {
  readonly kind: "limitRange" | "quota";
  readonly namespace: string;
  readonly name: string;
  readonly ranges: readonly LimitRangeRule[];
  /** What a quota has left; `null` = it does not count the resource field. */
  readonly left: Resources;
}

/** The limits of every namespace. Clauses: L32. */
export class NamespaceLimitsCache {
  readonly #rules = new Map<string, Map<string, NamespaceRule>>();
  readonly #limits = new Map<string, FoundLimits>();

  /**
   * Returns the limits; `null` = none are known. It is the same object until something changes. What is outdated limits
   * nothing, because it may have been raised since: podfit relies on refusals. Defaults stay: the API server refuses
   * nothing there, it adds them.
   */
  find(namespace: string, isOutdated: (kind: NamespaceRule["kind"]) => boolean): NamespaceLimits | null {
    const rules = this.#rules.get(namespace);
    if (rules === undefined) return null;
    const outdated = { limitRange: isOutdated("limitRange"), quota: isOutdated("quota") };
    const before = this.#limits.get(namespace);
    const isSame = before?.outdated.limitRange === outdated.limitRange && before.outdated.quota === outdated.quota;
    if (isSame) return before.limits;
    const limits = toLimits([...rules.values()].map((rule) => outdated[rule.kind] ? toDefaults(rule) : rule));
    this.#limits.set(namespace, { limits, outdated });
    return limits;
  }

  set(rule: NamespaceRule): void {
    const rules = this.#rules.get(rule.namespace) ?? new Map<string, NamespaceRule>();
    this.#rules.set(rule.namespace, rules.set(toRuleKey(rule), rule));
    this.#limits.delete(rule.namespace);
  }

  remove(rule: Pick<NamespaceRule, "kind" | "namespace" | "name">): void {
    const rules = this.#rules.get(rule.namespace);
    rules?.delete(toRuleKey(rule));
    if (rules?.size === 0) this.#rules.delete(rule.namespace);
    this.#limits.delete(rule.namespace);
  }

  /**
   * `all`: every rule of the kind in the namespace, `null` = in all namespaces. Each step of the result changes one
   * rule.
   */
  replace(
    { kind, namespace }: { readonly kind: NamespaceRule["kind"]; readonly namespace: string | null },
    all: readonly NamespaceRule[],
  ): Iterable<unknown> {
    const known = [...this.#rules].flatMap(([place, rules]) =>
      namespace === null || place === namespace ? [...rules.values()].filter((rule) => rule.kind === kind) : []
    );
    return replaceAllObjects({ known, all }, {
      toKey: (rule) => `${rule.namespace}/${rule.name}`,
      set: (rule) => this.set(rule),
      remove: (rule) => this.remove(rule),
    });
  }
}

interface FoundLimits {
  readonly limits: NamespaceLimits;
  readonly outdated: Readonly<Record<NamespaceRule["kind"], boolean>>;
}

function toDefaults(rule: NamespaceRule): NamespaceRule {
  const ranges = rule.ranges.map((range) => ({ ...range, min: NONE, max: NONE, maxLimitRequestRatio: NONE }));
  return { ...rule, ranges, left: NO_RESOURCES };
}

const NONE: ResourceAmounts = { cpu: null, memory: null };

function toLimits(rules: readonly NamespaceRule[]): NamespaceLimits {
  const ranges = rules.flatMap((rule) => rule.ranges);
  return { ranges, quota: rules.map(({ left }) => left).reduce(pickTighter, NO_RESOURCES) };
}

function pickTighter(a: Resources, b: Resources): Resources {
  const tighter = { ...a };
  for (const key of RESOURCE_FIELDS) {
    const [one, other] = [a[key], b[key]];
    tighter[key] = one === null ? other : other === null ? one : Math.min(one, other);
  }
  return tighter;
}

function toRuleKey({ kind, name }: Pick<NamespaceRule, "kind" | "name">): string {
  return `${kind}/${name}`;
}

/** The fields of a LimitRange (core/v1) that podfit reads. */
export interface LimitRange {
  readonly metadata?: { readonly namespace?: string; readonly name?: string };
  readonly spec?: { readonly limits?: readonly LimitRangeItem[] };
}

interface LimitRangeItem {
  readonly type?: string;
  readonly min?: Quantities;
  readonly max?: Quantities;
  readonly default?: Quantities;
  readonly defaultRequest?: Quantities;
  readonly maxLimitRequestRatio?: Quantities;
}

/** The fields of a ResourceQuota (core/v1) that podfit reads. */
export interface ResourceQuota {
  readonly metadata?: { readonly namespace?: string; readonly name?: string };
  readonly spec?: { readonly scopes?: readonly string[]; readonly scopeSelector?: unknown };
  readonly status?: { readonly hard?: Quantities; readonly used?: Quantities };
}

type Quantities = Readonly<Record<string, unknown>>;

/**
 * Returns the rules of a LimitRange; items for other types than Container and Pod are ignored. A field that cannot be
 * parsed counts as absent: the API server refuses the resize then. Never throws.
 * https://kubernetes.io/docs/concepts/policy/limit-range/
 */
export function parseLimitRange({ metadata, spec }: LimitRange): NamespaceRule {
  const { namespace = "", name = "" } = metadata ?? {};
  const ranges = (spec?.limits ?? []).flatMap((item): LimitRangeRule[] => {
    const { type } = item;
    if (type !== "Container" && type !== "Pod") return [];
    return [{
      name,
      type,
      min: parseAmounts(item.min),
      max: parseAmounts(item.max),
      maxLimitRequestRatio: parseRatios(item.maxLimitRequestRatio),
      defaults: type === "Pod" ? NO_RESOURCES : parseDefaults(item),
    }];
  });
  return { kind: "limitRange", namespace, name, ranges, left: NO_RESOURCES };
}

/** `cpu` and `memory` are short for requests. */
const QUOTA_FIELDS: Readonly<Record<string, ResourceField>> = {
  cpu: "cpu.requests",
  memory: "memory.requests",
  "requests.cpu": "cpu.requests",
  "requests.memory": "memory.requests",
  "limits.cpu": "cpu.limits",
  "limits.memory": "memory.limits",
};

/**
 * Returns what a ResourceQuota has left. A quota with scopes counts only some pods, so it is ignored: podfit relies on
 * its refusal. Never throws. https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */
export function parseQuota({ metadata, spec, status }: ResourceQuota): NamespaceRule {
  const { namespace = "", name = "" } = metadata ?? {};
  const left: Record<ResourceField, number | null> = { ...NO_RESOURCES };
  const isScoped = (spec?.scopes ?? []).length > 0 || (spec?.scopeSelector ?? null) !== null;
  for (const [counted, key] of isScoped ? [] : Object.entries(QUOTA_FIELDS)) {
    const [hard, used] = [
      parseFieldAmount(status?.hard?.[counted], key),
      parseFieldAmount(status?.used?.[counted], key),
    ];
    if (hard !== null && used !== null) left[key] = Math.min(left[key] ?? Infinity, hard - used);
  }
  return { kind: "quota", namespace, name, ranges: [], left };
}

function parseDefaults({ default: limits, defaultRequest: requests }: LimitRangeItem): Resources {
  return {
    "cpu.requests": parseFieldAmount(requests?.["cpu"], "cpu.requests"),
    "cpu.limits": parseFieldAmount(limits?.["cpu"], "cpu.limits"),
    "memory.requests": parseFieldAmount(requests?.["memory"], "memory.requests"),
    "memory.limits": parseFieldAmount(limits?.["memory"], "memory.limits"),
  };
}

function parseAmounts(quantities: Quantities = {}): ResourceAmounts {
  return { cpu: parseOrNull(quantities["cpu"], "cpu"), memory: parseOrNull(quantities["memory"], "memory") };
}

/** Ratios are plain numbers such as `1.5`. They are parsed as cpu, so the result is in thousandths. */
function parseRatios(quantities: Quantities = {}): ResourceAmounts {
  const [cpu, memory] = [parseOrNull(quantities["cpu"], "cpu"), parseOrNull(quantities["memory"], "cpu")];
  return { cpu: cpu === null ? null : cpu / 1000, memory: memory === null ? null : memory / 1000 };
}

function parseFieldAmount(quantity: unknown, key: ResourceField): number | null {
  return parseOrNull(quantity, resourceOf(key));
}

function parseOrNull(quantity: unknown, resource: Resource): number | null {
  const parsed = quantity === undefined ? null : parseAmount(quantity, resource);
  return parsed?.ok === true ? parsed.amount : null;
}
