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

// What requests leave of each node (L30): its allocatable less what all its pods count for that have not ended,
// tracked or not, and less what podfit commanded and the watch does not show yet. Kept pod by pod: adding up 30,000
// pods for each decision would take seconds.

/** What is known of nodes, and who hears of room. */
interface NodeHeadroomOptions {
  readonly nodes: ReadonlyMap<string, Pick<NodeFacts, "allocatable">>;
  /** False where pods of a node may be out of sight: then no room is known. */
  readonly seesAll: boolean;
  /** A node has more room than before. Must not throw. */
  readonly onHeadroom: (node: string) => void;
}

interface NodeUsage {
  cpuMillicores: number;
  memoryBytes: number;
  /** Undefined = to be worked out anew. */
  headroom: Headroom | null | undefined;
}

/** A growth that was commanded: it counts until the watch shows the pod with it. */
interface PendingGrowth extends Amounts {
  readonly node: string;
  /** The answer's; `null` until there is one. */
  readonly generation: number | null;
}

/** The rooms of all nodes. */
export class NodeHeadroom {
  readonly #options: NodeHeadroomOptions;
  readonly #sums = new Map<string, NodeUsage>();
  readonly #pending = new Map<string, PendingGrowth>();

  constructor(options: NodeHeadroomOptions) {
    this.#options = options;
  }

  /** What the pod's node has left; `null` = not known. The same object until it changes. */
  find({ nodeName }: Pick<PodFacts, "nodeName">): Headroom | null {
    if (nodeName === null || !this.#options.seesAll) return null;
    const sum = this.#getOrAdd(nodeName);
    if (sum.headroom === undefined) sum.headroom = this.#compute(nodeName, sum);
    return sum.headroom;
  }

  /** A pod came (`before` is `null`), changed or went (`after` is `null`). */
  movePod(before: PodFacts | null, after: PodFacts | null): void {
    const { uid } = after ?? before ?? { uid: "" };
    const commanded = this.#pending.get(uid);
    if (commanded !== undefined && (after === null || isVisible(commanded, after))) this.release(uid);
    const [from, to] = [findNode(before), findNode(after)];
    if (from === to && isSameRequests(before?.requests, after?.requests)) return;
    if (from !== null && before !== null) this.#add(from, before.requests, -1);
    if (to !== null && after !== null) this.#add(to, after.requests, 1);
    if (from !== null && before !== null && (from !== to || isLessRequests(after?.requests, before.requests))) {
      this.#options.onHeadroom(from);
    }
  }

  /** A node came, changed or went. */
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

  /** podfit sends a resize by which the pod will count for that much more. */
  reserve({ uid, nodeName }: Pick<PodFacts, "uid" | "nodeName">, growth: Amounts): void {
    if (this.#pending.has(uid)) this.release(uid);
    if (nodeName === null || (growth.cpuMillicores === 0 && growth.memoryBytes === 0)) return;
    this.#pending.set(uid, { ...growth, node: nodeName, generation: null });
    this.#add(nodeName, growth, 1);
  }

  /** It was accepted: `pod` as the watch shows it now, which may have it already. */
  confirm(pod: PodFacts, generation: number | null): void {
    const commanded = this.#pending.get(pod.uid);
    if (commanded === undefined) return;
    this.#pending.set(pod.uid, { ...commanded, generation });
    if (generation !== null && (pod.generation ?? 0) >= generation) this.release(pod.uid);
  }

  /** It did not come to anything, or counts in the pod itself. */
  release(uid: string): void {
    const commanded = this.#pending.get(uid);
    if (commanded === undefined) return;
    this.#pending.delete(uid);
    this.#add(commanded.node, commanded, -1);
    this.#options.onHeadroom(commanded.node);
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

  /** Nodes come and go: of one that is gone nothing stays. */
  #forget(node: string, { cpuMillicores, memoryBytes }: NodeUsage): void {
    if (cpuMillicores === 0 && memoryBytes === 0 && !this.#options.nodes.has(node)) this.#sums.delete(node);
  }

  #getOrAdd(node: string): NodeUsage {
    const sum = this.#sums.get(node) ?? { cpuMillicores: 0, memoryBytes: 0, headroom: undefined };
    this.#sums.set(node, sum);
    return sum;
  }
}

/** The node on which the pod counts; `null` = on none, or not any more. */
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

// Limit ranges and quotas as the watches show them, and what they come to for a namespace (L32).

/** A LimitRange or a ResourceQuota, as far as resizes need it. */
export interface NamespaceRule {
  readonly kind: "limitRange" | "quota";
  readonly namespace: string;
  readonly name: string;
  readonly ranges: readonly LimitRangeRule[];
  /** What a quota has left; `null` = it does not count the side. */
  readonly left: Resources;
}

/** What every namespace allows. */
export class NamespaceLimitsCache {
  readonly #rules = new Map<string, Map<string, NamespaceRule>>();
  readonly #limits = new Map<string, NamespaceLimits>();

  /** `null` = none are known. The same object until something changes. */
  find(namespace: string): NamespaceLimits | null {
    return this.#limits.get(namespace) ?? null;
  }

  set(rule: NamespaceRule): void {
    const rules = this.#rules.get(rule.namespace) ?? new Map<string, NamespaceRule>();
    this.#rules.set(rule.namespace, rules.set(toRuleKey(rule), rule));
    this.#compute(rule.namespace);
  }

  remove(rule: Pick<NamespaceRule, "kind" | "namespace" | "name">): void {
    this.#rules.get(rule.namespace)?.delete(toRuleKey(rule));
    this.#compute(rule.namespace);
  }

  /** All there are of the kind in the namespace, `null` = in all. */
  replace(
    { kind, namespace }: { readonly kind: NamespaceRule["kind"]; readonly namespace: string | null },
    all: readonly NamespaceRule[],
  ): void {
    for (const [name, rules] of this.#rules) {
      if (namespace !== null && name !== namespace) continue;
      for (const rule of [...rules.values()]) if (rule.kind === kind) this.remove(rule);
    }
    for (const rule of all) this.set(rule);
  }

  #compute(namespace: string): void {
    const rules = [...this.#rules.get(namespace)?.values() ?? []];
    if (rules.length === 0) {
      this.#rules.delete(namespace);
      this.#limits.delete(namespace);
      return;
    }
    const ranges = rules.flatMap((rule) => rule.ranges);
    this.#limits.set(namespace, { ranges, quota: rules.map(({ left }) => left).reduce(pickTighter, NO_RESOURCES) });
  }
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

// From the API's LimitRange and ResourceQuota to NamespaceRule, at the edge. What cannot be read counts as absent:
// then the API server's refusal says it. https://kubernetes.io/docs/concepts/policy/limit-range/,
// https://kubernetes.io/docs/concepts/policy/resource-quotas/

/** The part of a LimitRange (core/v1) that is read. */
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

/** The part of a ResourceQuota (core/v1) that is read. */
export interface ResourceQuota {
  readonly metadata?: { readonly namespace?: string; readonly name?: string };
  readonly spec?: { readonly scopes?: readonly string[]; readonly scopeSelector?: unknown };
  readonly status?: { readonly hard?: Quantities; readonly used?: Quantities };
}

type Quantities = Readonly<Record<string, unknown>>;

/** Never throws. Items of other types than Container and Pod concern no pod. */
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

/** `cpu` and `memoryCoordinate` are short for requests. */
const QUOTA_FIELDS: Readonly<Record<string, ResourceField>> = {
  cpu: "cpu.requests",
  memory: "memory.requests",
  "requests.cpu": "cpu.requests",
  "requests.memory": "memory.requests",
  "limits.cpu": "cpu.limits",
  "limits.memory": "memory.limits",
};

/** Never throws. A quota with scopes counts some pods only: which, its refusal says. */
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

/** Plain numbers such as `1.5`: as cpu is read they are thousandths. */
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
