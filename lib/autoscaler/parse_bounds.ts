/** Parses `spec.bounds`: the bounds of each side (C4), or what is wrong with them (C7). */
import { compareQuantities } from "../units/quantity.ts";
import { type Resource, resourceOf, SIDE_KEYS, type SideKey, sideOf } from "../units/resources.ts";
import type { Fields } from "../units/fields.ts";
import type { Bounds } from "./autoscaler.ts";

/** The bounds of a side without any. */
export const NO_BOUNDS: Bounds = { min: null, max: null, step: null, stepPercent: null };

/** Gives the bounds of the sides that have some. Problems are reported to `spec`; never throws. */
export function parseBounds(spec: Fields): ReadonlyMap<SideKey, Bounds> {
  const found = new Map<SideKey, Bounds>();
  const bounds = spec.object("bounds", ["cpu", "memory"]);
  if (bounds !== null && !bounds.has("cpu") && !bounds.has("memory")) {
    bounds.reportWhole("Cannot use empty bounds: add cpu and/or memory, or remove bounds");
  }
  for (const resource of ["cpu", "memory"] as const) {
    const sides = bounds?.object(resource, ["requests", "limits"]) ?? null;
    if (sides === null) continue;
    requireSide(sides, resource);
    for (const key of SIDE_KEYS.filter((each) => resourceOf(each) === resource)) {
      const fields = sides.object(sideOf(key), ["min", "max", "step", "stepPercent"]);
      if (fields !== null) found.set(key, parseSide(fields, resource));
    }
  }
  return found;
}

/** Reports a resource that has neither requests nor limits. */
export function requireSide(sides: Fields, resource: Resource): void {
  if (sides.has("requests") || sides.has("limits")) return;
  sides.reportWhole(`Cannot use ${resource} without requests and limits: add one of them, or remove ${resource}`);
}

function parseSide(fields: Fields, resource: Resource): Bounds {
  const min = fields.amount("min", resource);
  const max = fields.amount("max", resource);
  const step = fields.amount("step", resource);
  for (const [key, amount] of Object.entries({ min, max, step })) {
    if (amount !== null && resource === "cpu" && amount >= MAX_MILLICORES) {
      fields.report(key, `Cannot use ${key} ${show(fields, key)}: must be less than 9T`);
    }
  }
  if (min !== null && min < 0) fields.report("min", `Cannot use negative min ${show(fields, "min")}`);
  if (max !== null && max < 0) fields.report("max", `Cannot use negative max ${show(fields, "max")}`);
  if (step !== null && step <= 0) {
    fields.report(
      "step",
      `Cannot use step ${show(fields, "step")}: must be greater than 0, or left out for no such cap`,
    );
  }
  if (min !== null && max !== null && compareQuantities(fields.get("min"), fields.get("max")) > 0) {
    fields.report("min", `Cannot use min ${show(fields, "min")}: greater than max ${show(fields, "max")}`);
  }
  return { min, max, step, stepPercent: fields.integer("stepPercent", { min: 1, max: 100 }) };
}

/** The schema's 9T cores. Its 8Pi bytes of memory need no check, since no larger amount is parsed. */
const MAX_MILLICORES = 9e15;

/** Writes a value as the manifest has it. Only for values that were parsed, which are short strings or integers. */
function show(fields: Fields, key: string): string {
  return JSON.stringify(fields.get(key));
}
