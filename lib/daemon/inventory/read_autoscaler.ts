/** From the API's PodResourceAutoscaler to AutoscalerFacts, at the edge: its spec parsed, or what is wrong with it. */
import type { PodResourceAutoscaler } from "../../api/autoscaler.ts";
import { applyLimits, NO_LIMITS, type OperatorLimits } from "../../autoscaler/operator_limits.ts";
import { parseAutoscaler } from "../../autoscaler/parse_autoscaler.ts";
import type { AutoscalerFacts } from "./facts.ts";

/** Never throws: an invalid spec is among the facts. */
export function readAutoscaler(object: PodResourceAutoscaler, limits: OperatorLimits = NO_LIMITS): AutoscalerFacts {
  const { uid = "", namespace = "", name = "", resourceVersion = "", generation = 0 } = object.metadata ?? {};
  const parsed = parseAutoscaler(object);
  const limited = parsed.ok ? applyLimits(parsed.autoscaler, limits) : null;
  return {
    uid,
    namespace,
    name,
    resourceVersion,
    generation,
    autoscaler: limited?.autoscaler ?? null,
    problems: parsed.ok ? [] : parsed.problems,
    warnings: parsed.ok ? [...parsed.warnings, ...limited?.warnings ?? []] : [],
    status: object.status ?? {},
  };
}
