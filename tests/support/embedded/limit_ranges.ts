/**
 * What does a LimitRange give a pod by default, and what may a pod not ask for?
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/plugin/pkg/admission/limitranger/admission.go
 */
import {
  isObject,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  openAt,
  setDefaults,
  textAt,
} from "../../../lib/embedded/json.ts";
import { parseAmounts, sumPod } from "../../../lib/embedded/quantities.ts";
import { CONTAINER_LISTS } from "../../../lib/embedded/server/kinds/pods.ts";
import { formatAmount, parseAmount } from "../../../lib/units/quantity.ts";
import type { Resource, Resources } from "../../../lib/units/resources.ts";

/** Fills in a draft of a LimitRange: `max` becomes the default limit, and this, or else `min`, the default request. */
export function setLimitRangeDefaults(range: JsonObject): void {
  for (const item of listAt(range, "spec", "limits")) {
    if (item.type !== "Container") continue;
    give(item, "default", objectAt(item, "max"));
    give(item, "defaultRequest", objectAt(item, "default"));
    give(item, "defaultRequest", objectAt(item, "min"));
  }
}

/** Fills one item of `spec.limits` into the containers of a draft that have no sizes of their own. */
export function giveDefaults(pod: JsonObject, rule: JsonObject): void {
  if (rule.type !== "Container") return;
  for (const { resources } of CONTAINER_LISTS.flatMap((list) => listAt(pod, "spec", list))) {
    if (!isObject(resources)) continue;
    give(resources, "limits", objectAt(rule, "default"));
    give(resources, "requests", objectAt(rule, "defaultRequest"));
  }
}

/** The rules of one item of `spec.limits` that a pod breaks, in words. */
export function findLimitFaults(pod: JsonObject, rule: JsonObject): readonly string[] {
  const type = textAt(rule, "type");
  if (type === "Pod") return findFaults({ amounts: sumPod(pod), spell: () => null }, { rule, type });
  if (type !== "Container") return [];
  return CONTAINER_LISTS.toReversed().flatMap((list) => listAt(pod, "spec", list)).flatMap(({ resources }) =>
    findFaults({
      amounts: parseAmounts(resources),
      spell: (side, resource) => textAt(resources, side, resource) || null,
    }, { rule, type })
  );
}

type Side = "requests" | "limits";

interface Sized {
  readonly amounts: Resources;
  /** The spelling of the manifest. */
  readonly spell: (side: Side, resource: Resource) => string | null;
}

function findFaults(
  { amounts, spell }: Sized,
  { rule, type }: { readonly rule: JsonObject; readonly type: string },
): readonly string[] {
  const found: string[] = [];
  const words = { requests: "request", limits: "limit" } as const;
  const read = (side: Side, resource: Resource) => amounts[`${resource}.${side}`];
  const show = (side: Side, resource: Resource) =>
    `${words[side]} is ${spell(side, resource) ?? formatAmount(read(side, resource) ?? 0, resource)}`;
  for (const [resource, bound] of listBounds(rule, "min")) {
    const start = `minimum ${resource} usage per ${type} is ${bound.text}`;
    const [request, limit] = [read("requests", resource), read("limits", resource)];
    if (request === null) found.push(`${start}.  No request is specified`);
    else if (request < bound.amount) found.push(`${start}, but ${show("requests", resource)}`);
    else if (limit !== null && limit < bound.amount) found.push(`${start}, but ${show("limits", resource)}`);
  }
  for (const [resource, bound] of listBounds(rule, "max")) {
    const start = `maximum ${resource} usage per ${type} is ${bound.text}`;
    const [request, limit] = [read("requests", resource), read("limits", resource)];
    if (limit === null) found.push(`${start}.  No limit is specified`);
    else if (limit > bound.amount) found.push(`${start}, but ${show("limits", resource)}`);
    else if (request !== null && request > bound.amount) found.push(`${start}, but ${show("requests", resource)}`);
  }
  for (const [resource, bound] of listBounds(rule, "maxLimitRequestRatio")) {
    const start = `${resource} max limit to request ratio per ${type} is ${bound.text}, but`;
    const [request, limit] = [read("requests", resource), read("limits", resource)];
    const ratio = (limit ?? 0) / (request ?? 1);
    if (!request) found.push(`${start} no request is specified or request is 0`);
    else if (!limit) found.push(`${start} no limit is specified or limit is 0`);
    else if (ratio > toNumber(bound.text)) found.push(`${start} provided ratio is ${ratio.toFixed(6)}`);
  }
  return found;
}

function listBounds(rule: JsonObject, name: string): readonly [Resource, { text: string; amount: number }][] {
  return (["cpu", "memory"] as const).flatMap((resource): [Resource, { text: string; amount: number }][] => {
    const value = objectAt(rule, name)[resource];
    const parsed = parseAmount(value, resource, { floats: true });
    return parsed.ok ? [[resource, { text: String(value), amount: parsed.amount }]] : [];
  });
}

function toNumber(text: string): number {
  const parsed = parseAmount(text, "cpu");
  return parsed.ok ? parsed.amount / 1000 : Infinity;
}

function give(item: JsonObject, name: string, defaults: JsonObject): void {
  if (Object.keys(defaults).length > 0) setDefaults(openAt(item, name), defaults as Record<string, Json>);
}
