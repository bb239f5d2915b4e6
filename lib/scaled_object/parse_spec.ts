/** Parses the spec of a ScaledObject: its parts, and what they must not be together (R4). */
import type { Fields } from "../units/fields.ts";
import { addProblem } from "../units/problem.ts";
import type { Findings } from "./findings.ts";
import { parseAdvanced, usesModifiers } from "./parse_advanced.ts";
import { parseFallback } from "./parse_fallback.ts";
import { parseReplicas, type Replicas } from "./parse_replicas.ts";
import { parseScaleTarget } from "./parse_target.ts";
import { parseTriggers } from "./parse_triggers.ts";
import type { ScaledObject, Target } from "./scaled_object.ts";
import { isResourceType } from "./trigger_context.ts";

/** All that comes out of the spec. */
export type Spec = Omit<ScaledObject, "uid" | "namespace" | "name" | "generation" | "createdAt" | "annotations">;

export interface SpecContext {
  readonly namespace: string;
  readonly findings: Findings;
}

/** Gives the spec; `null` where there is no target to name. What is wrong goes to the findings; never throws. */
export function parseScalingSpec(spec: Fields, { namespace, findings }: SpecContext): Spec | null {
  const { warnings } = findings;
  spec.require(["scaleTargetRef", "triggers"]);
  const target = parseScaleTarget(spec, warnings);
  const replicas = parseReplicas(spec);
  const hasFormula = usesModifiers(spec);
  const { triggers, types, names, hasCached } = parseTriggers(spec, { namespace, findings, hasFormula });
  const advanced = parseAdvanced(spec, { names, warnings });
  const fallback = parseFallback(spec, { types, hasFormula, warnings });
  if (target !== null) checkResourceTriggers(spec, { types, target, replicas, findings });
  warnOfUnused(spec, { replicas, hasCached, findings });
  return target === null ? null : { target, ...replicas, fallback, ...advanced, triggers };
}

/** Nothing of a pod that is not there can be measured: wh:verifyCPUMemoryScalers knows two kinds. */
function checkResourceTriggers(
  spec: Fields,
  { types, target, replicas, findings }: {
    readonly types: readonly string[];
    readonly target: Target;
    readonly replicas: Replicas;
    readonly findings: Findings;
  },
): void {
  if (replicas.minReplicas > 0 || types.length === 0 || !types.every(isResourceType)) return;
  const why = "cpu and memory triggers alone never scale to 0";
  if (target.apiVersion === "apps/v1" && ["Deployment", "StatefulSet"].includes(target.kind)) {
    const cause = `Cannot use minReplicaCount 0${spec.has("minReplicaCount") ? "" : ", the default"}`;
    spec.report("minReplicaCount", `${cause}: ${why}, set 1 or more, or add another trigger`);
    return;
  }
  addProblem(findings.warnings, {
    path: spec.pathOf("minReplicaCount"),
    message: `minReplicaCount 0 counts as 1: ${why}`,
  });
}

/** KEDA's webhook warns of these too (wh:verifyScaledObjects). */
function warnOfUnused(
  spec: Fields,
  { replicas, hasCached, findings }: {
    readonly replicas: Replicas;
    readonly hasCached: boolean;
    readonly findings: Findings;
  },
): void {
  const isNeverZero = replicas.minReplicas > 0 && replicas.idleReplicas !== 0;
  const unused = isNeverZero
    ? ["cooldownPeriod", ...(hasCached ? [] : ["pollingInterval"])].filter((key) => spec.has(key))
    : [];
  for (const key of unused) {
    const but = key === "pollingInterval" ? ", or triggers with useCachedMetrics" : "";
    addProblem(findings.warnings, {
      path: spec.pathOf(key),
      message: `${key} changes no replicas here: it is for minReplicaCount 0 and idleReplicaCount 0${but}`,
    });
  }
}
