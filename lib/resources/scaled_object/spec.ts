/**
 * Parses the spec of a ScaledObject: its target, counts of replicas, times and fallback.
 *
 * It also checks which parts must not be combined.
 */
import { type Fallback, FALLBACK_BEHAVIORS, type ScaledObject, type Target } from "../../model/scaled_object.ts";
import { ANY_TEXT, type Fields, type Findings, NAME_RULE, openObject } from "../../units/fields.ts";
import { addProblem, type Problem } from "../../units/untrusted.ts";
import { parseAdvanced, usesModifiers } from "./advanced.ts";
import { isResourceType, measuresPods, type TriggersContext } from "./metadata.ts";
import { parseTriggers, toKedaFormula } from "./triggers.ts";

/** The result of the spec. */
export type Spec = Omit<ScaledObject, "uid" | "namespace" | "name" | "generation" | "createdAt" | "annotations">;

type SpecContext = Omit<TriggersContext, "hasFormula">;

/** Returns the spec; `null` if the target is missing. Problems go to the findings; never throws. Clauses: R4. */
export function parseScalingSpec(spec: Fields, context: SpecContext): Spec | null {
  const { findings, adopted } = context;
  const { warnings } = findings;
  spec.require(["scaleTargetRef", "triggers"]);
  const target = parseScaleTarget(spec, warnings);
  const parsed = parseReplicas(spec);
  const hasFormula = usesModifiers(spec);
  const { triggers, types, names, hasCached } = parseTriggers(spec, { ...context, hasFormula });
  const advanced = parseAdvanced(spec, { names, warnings });
  const measured = toKedaFormula(triggers, { formula: advanced.formula, adopted });
  const fallback = parseFallback(spec, { types, hasFormula, warnings });
  const replicas = target === null
    ? parsed
    : checkResourceTriggers(spec, { types, target, replicas: parsed, findings });
  warnOfUnused(spec, { replicas, isPolled: hasCached || hasFormula, findings });
  return target === null ? null : { target, ...replicas, fallback, ...advanced, ...measured };
}

/**
 * Returns the replicas, with a minimum of 1 where there must be a pod. Pods that do not exist cannot be measured:
 * wh:verifyCPUMemoryScalers refuses two kinds.
 */
function checkResourceTriggers(
  spec: Fields,
  { types, target, replicas, findings }: {
    readonly types: readonly string[];
    readonly target: Target;
    readonly replicas: Replicas;
    readonly findings: Findings;
  },
): Replicas {
  if (replicas.minReplicas > 0 || types.length === 0 || !types.every(measuresPods)) return replicas;
  const why = `${
    types.every(isResourceType) ? "cpu and memory" : "cpu, memory and pods-metric"
  } triggers alone never scale to 0`;
  if (target.apiVersion === "apps/v1" && ["Deployment", "StatefulSet"].includes(target.kind)) {
    const cause = `Cannot use minReplicaCount 0${spec.has("minReplicaCount") ? "" : ", the default"}`;
    spec.report("minReplicaCount", `${cause}: ${why}, set 1 or more, or add another trigger`);
    return replicas;
  }
  addProblem(findings.warnings, {
    path: spec.pathOf("minReplicaCount"),
    message: `minReplicaCount 0 counts as 1: ${why}`,
  });
  return { ...replicas, minReplicas: 1 };
}

/** KEDA's webhook warns of these too (wh:verifyScaledObjects). */
function warnOfUnused(
  spec: Fields,
  { replicas, isPolled, findings }: {
    readonly replicas: Replicas;
    /** Triggers with useCachedMetrics, or a formula: KEDA queries for these at this interval. */
    readonly isPolled: boolean;
    readonly findings: Findings;
  },
): void {
  if (replicas.minReplicas === 0 || replicas.idleReplicas !== null) return;
  for (const key of ["cooldownPeriod", ...(isPolled ? [] : ["pollingInterval"])].filter((key) => spec.has(key))) {
    const more = key === "pollingInterval" ? ", useCachedMetrics and scalingModifiers" : "";
    addProblem(findings.warnings, {
      path: spec.pathOf(key),
      message: `${key} changes no replicas here: it is for minReplicaCount 0 and idleReplicaCount${more}`,
    });
  }
}

/**
 * Returns the target; `null` where it could not be read. Problems are reported to `spec`; never throws.
 * Clauses: R2, R6.
 */
export function parseScaleTarget(spec: Fields, warnings: Problem[]): Target | null {
  const target = openObject(spec, "scaleTargetRef", { known: TARGET_FIELDS, warnings });
  if (target === null) return null;
  target.require(["name"]);
  const name = target.text("name", NAME_RULE);
  return name === null ? null : {
    apiVersion: parseTargetText(target, "apiVersion", API_VERSION_RULE) ?? "apps/v1",
    kind: parseTargetText(target, "kind", KIND_RULE) ?? "Deployment",
    name,
    envContainer: parseTargetText(target, "envSourceContainerName", ANY_TEXT),
  };
}

const TARGET_FIELDS = ["name", "apiVersion", "kind", "envSourceContainerName"];

/** The group becomes a part of a path of the API server, so it must not be "..". */
const API_VERSION_RULE = {
  max: 253,
  pattern: new RegExp(`^(${NAME_RULE.pattern.source.slice(1, -1)}/)?[A-Za-z0-9-]+$`),
  rule: "must be a group and a version, such as apps/v1",
};

const KIND_RULE = { max: 63, pattern: /^[A-Za-z0-9-]+$/, rule: "must be a kind, such as Deployment" };

/** An empty text means absent, as in Go. */
function parseTargetText(fields: Fields, key: string, rule: typeof ANY_TEXT): string | null {
  return fields.get(key) === "" ? null : fields.text(key, rule);
}

type Replicas = Pick<
  ScaledObject,
  "pollIntervalMs" | "cooldownMs" | "initialCooldownMs" | "minReplicas" | "maxReplicas" | "idleReplicas"
>;

/** The defaults of KEDA. */
export const DEFAULT_REPLICAS: Replicas = {
  pollIntervalMs: 30_000,
  cooldownMs: 300_000,
  initialCooldownMs: 0,
  minReplicas: 0,
  maxReplicas: 100,
  idleReplicas: null,
};

/** Returns the numbers with their defaults. Problems are reported to `spec`; never throws. Clauses: R2. */
function parseReplicas(spec: Fields): Replicas {
  const minReplicas = spec.integer("minReplicaCount", { min: 0 }) ?? DEFAULT_REPLICAS.minReplicas;
  const maxReplicas = spec.integer("maxReplicaCount", { min: 1 }) ?? DEFAULT_REPLICAS.maxReplicas;
  const idleReplicas = spec.integer("idleReplicaCount", { min: 0 });
  const limit = `maxReplicaCount ${maxReplicas}${spec.has("maxReplicaCount") ? "" : ", the default"}`;
  if (minReplicas > maxReplicas) {
    spec.report("minReplicaCount", `Cannot use minReplicaCount ${minReplicas}: greater than ${limit}`);
  }
  // A minimum that is given counts as 1 at least (ty:CheckReplicaCountBoundsAreValid).
  const floor = spec.has("minReplicaCount") ? Math.max(1, minReplicas) : 0;
  if (idleReplicas !== null && idleReplicas >= floor) {
    const note = spec.has("minReplicaCount")
      ? (minReplicas === 0 ? " 0, which counts as 1" : ` ${minReplicas}`)
      : ", which is not set";
    spec.report(
      "idleReplicaCount",
      `Cannot use idleReplicaCount ${idleReplicas}: must be less than minReplicaCount${note}`,
    );
  }
  return {
    pollIntervalMs: parseSecondsToMs(spec, "pollingInterval", { min: 1 }) ?? DEFAULT_REPLICAS.pollIntervalMs,
    cooldownMs: parseSecondsToMs(spec, "cooldownPeriod") ?? DEFAULT_REPLICAS.cooldownMs,
    initialCooldownMs: parseSecondsToMs(spec, "initialCooldownPeriod") ?? DEFAULT_REPLICAS.initialCooldownMs,
    minReplicas,
    maxReplicas,
    idleReplicas,
  };
}

function parseSecondsToMs(spec: Fields, key: string, { min = 0 } = {}): number | null {
  const seconds = spec.integer(key, { min });
  return seconds === null ? null : 1000 * seconds;
}

interface FallbackContext {
  /** The types of all triggers, valid or not. */
  readonly types: readonly string[];
  readonly hasFormula: boolean;
  readonly warnings: Problem[];
}

/** Returns the fallback; `null` without one. Problems are reported to `spec`; never throws. Clauses: R4, R70, R71. */
function parseFallback(spec: Fields, { types, hasFormula, warnings }: FallbackContext): Fallback | null {
  const known = ["failureThreshold", "replicas", "behavior"];
  const fallback = openObject(spec, "fallback", { known, warnings });
  if (fallback === null) return null;
  fallback.require(["failureThreshold", "replicas"]);
  const behavior = fallback.word("behavior", FALLBACK_BEHAVIORS) ?? "static";
  if (behavior === "scalingModifiers" && !hasFormula) {
    fallback.report("behavior", "Cannot use behavior scalingModifiers: it needs advanced.scalingModifiers.formula");
  }
  if (!hasFormula && types.every(isResourceType)) {
    fallback.reportWhole("Cannot use fallback: cpu and memory triggers have none, add another trigger or remove it");
  }
  return {
    failureThreshold: fallback.integer("failureThreshold", { min: 0 }) ?? 0,
    replicas: fallback.integer("replicas", { min: 0 }) ?? 0,
    behavior,
  };
}
