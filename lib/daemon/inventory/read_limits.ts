/**
 * From the API's LimitRange and ResourceQuota to NamespaceRule, at the edge. What cannot be read counts as absent: then
 * the API server's refusal says it.
 * https://kubernetes.io/docs/concepts/policy/limit-range/, https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */
import type { LimitRule, ResourceAmounts } from "../../core/pod/namespace_limits.ts";
import { parseAmount } from "../../units/quantity.ts";
import { NO_RESOURCES, type Resource, resourceOf, type Resources, type SideKey } from "../../units/resources.ts";
import type { NamespaceRule } from "./namespaces.ts";

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
export function readLimitRange({ metadata, spec }: LimitRange): NamespaceRule {
  const { namespace = "", name = "" } = metadata ?? {};
  const ranges = (spec?.limits ?? []).flatMap((item): LimitRule[] => {
    const { type } = item;
    if (type !== "Container" && type !== "Pod") return [];
    return [{
      name,
      type,
      min: readAmounts(item.min),
      max: readAmounts(item.max),
      maxLimitRequestRatio: readRatios(item.maxLimitRequestRatio),
      defaults: type === "Pod" ? NO_RESOURCES : readDefaults(item),
    }];
  });
  return { kind: "limitRange", namespace, name, ranges, left: NO_RESOURCES };
}

/** `cpu` and `memory` are short for requests. */
const COUNTED: Readonly<Record<string, SideKey>> = {
  cpu: "cpu.requests",
  memory: "memory.requests",
  "requests.cpu": "cpu.requests",
  "requests.memory": "memory.requests",
  "limits.cpu": "cpu.limits",
  "limits.memory": "memory.limits",
};

/** Never throws. A quota with scopes counts some pods only: which, its refusal says. */
export function readQuota({ metadata, spec, status }: ResourceQuota): NamespaceRule {
  const { namespace = "", name = "" } = metadata ?? {};
  const left: Record<SideKey, number | null> = { ...NO_RESOURCES };
  const isScoped = (spec?.scopes ?? []).length > 0 || (spec?.scopeSelector ?? null) !== null;
  for (const [counted, key] of isScoped ? [] : Object.entries(COUNTED)) {
    const [hard, used] = [readAmount(status?.hard?.[counted], key), readAmount(status?.used?.[counted], key)];
    if (hard !== null && used !== null) left[key] = Math.min(left[key] ?? Infinity, hard - used);
  }
  return { kind: "quota", namespace, name, ranges: [], left };
}

function readDefaults({ default: limits, defaultRequest: requests }: LimitRangeItem): Resources {
  return {
    "cpu.requests": readAmount(requests?.["cpu"], "cpu.requests"),
    "cpu.limits": readAmount(limits?.["cpu"], "cpu.limits"),
    "memory.requests": readAmount(requests?.["memory"], "memory.requests"),
    "memory.limits": readAmount(limits?.["memory"], "memory.limits"),
  };
}

function readAmounts(quantities: Quantities = {}): ResourceAmounts {
  return { cpu: read(quantities["cpu"], "cpu"), memory: read(quantities["memory"], "memory") };
}

/** Plain numbers such as `1.5`: as cpu is read they are thousandths. */
function readRatios(quantities: Quantities = {}): ResourceAmounts {
  const [cpu, memory] = [read(quantities["cpu"], "cpu"), read(quantities["memory"], "cpu")];
  return { cpu: cpu === null ? null : cpu / 1000, memory: memory === null ? null : memory / 1000 };
}

function readAmount(quantity: unknown, key: SideKey): number | null {
  return read(quantity, resourceOf(key));
}

function read(quantity: unknown, resource: Resource): number | null {
  const parsed = quantity === undefined ? null : parseAmount(quantity, resource);
  return parsed?.ok === true ? parsed.amount : null;
}
