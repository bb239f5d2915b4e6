/**
 * Parses and validates a ScaledObject as the API has it, with its annotations.
 *
 * Nothing here throws. What is wrong becomes a list of problems, and what has no effect a list of warnings.
 */
import type { Annotations, ScaledObject, ScaledObjectFacts } from "../../model/scaled_object.ts";
import {
  type Fields,
  LABEL_RULE,
  NAME_RULE,
  openFields,
  openObject,
  SERVER_TEXT,
  warnOfUnknown,
} from "../../units/fields.ts";
import { parseGoBoolean, parseGoInteger } from "../../units/numbers.ts";
import { parseTime } from "../../units/time.ts";
import { isRecord, type Problem, quote } from "../../units/untrusted.ts";
import { isSelected, KEDA_PAUSED, parseAdoptedTriggers, toAdoption } from "./adoption.ts";
import { tryFormula } from "./advanced.ts";
import { DEFAULT_REPLICAS, parseScaleTarget, parseScalingSpec, type Spec } from "./spec.ts";

/**
 * Returns what is known of the object; `scaledObject` is set if no problem was found but in single triggers. Accepts any
 * value and never throws. Clauses: R2, R3, R4, R60.
 */
export function parseScaledObject(object: unknown): ScaledObjectFacts {
  return checkFormulaRun(parseWithoutRun(object, { isNextToKeda: isSelected(object) }));
}

/** Returns the object, or an invalid one if its formula fails with every trigger at -1. Never throws. Clauses: R60. */
export function checkFormulaRun(facts: ScaledObjectFacts): ScaledObjectFacts {
  const { scaledObject } = facts;
  const problem = scaledObject?.formula ? tryFormula(scaledObject.formula) : null;
  if (scaledObject === null || problem === null) return facts;
  return refuseScaledObject(facts, [...facts.problems, problem]);
}

/** Returns the object without its settings. If it asks for that, its replicas are restored at its end. */
export function refuseScaledObject(facts: ScaledObjectFacts, problems: readonly Problem[]): ScaledObjectFacts {
  const { scaledObject } = facts;
  const restoring = scaledObject?.restoresReplicas === true
    ? { ...scaledObject, ...RESTORING_DEFAULTS, target: scaledObject.target }
    : facts.restoring;
  return { ...facts, scaledObject: null, restoring, problems };
}

interface ParseOptions {
  /** KEDA runs, and measures what podfit cannot. */
  readonly isNextToKeda?: boolean;
  /** False = triggers that need the metrics APIs are problems. True unless given, because a manifest does not know. */
  readonly usesMetricsApis?: boolean;
}

/**
 * As `parseScaledObject`, but it compiles the formula and does not run it: a watch parses every object of the cluster in
 * one go.
 * https://github.com/kedacore/keda/blob/v2.21.0/apis/keda/v1alpha1/scaledobject_types.go
 * Clauses: R2, R3, M3.
 */
export function parseWithoutRun(
  object: unknown,
  { isNextToKeda = false, usesMetricsApis = true }: ParseOptions = {},
): ScaledObjectFacts {
  const problems: Problem[] = [];
  const mistakes: Problem[] = [];
  const warnings: Problem[] = [];
  if (!isRecord(object)) {
    return {
      ...INVALID_SCALED_OBJECT,
      problems: [{ path: "", message: `Cannot use ${quote(object)} as ScaledObject: not an object` }],
    };
  }
  const root = openFields(object, { path: "", problems, known: null });
  if (root === null) return INVALID_SCALED_OBJECT;
  warnOfUnknown(root, { known: ROOT_FIELDS, warnings });
  root.word("apiVersion", ["keda.sh/v1alpha1"]);
  root.word("kind", ["ScaledObject"]);
  root.require(["metadata", "spec"]);
  const metadata = root.object("metadata", null);
  const seen = metadata === null ? INVALID_SCALED_OBJECT : parseObjectMetadata(metadata);
  const given = metadata?.object("annotations", null) ?? null;
  const annotations = parseAnnotations(given, isNextToKeda ? OWN_PAUSES : KEDAS_PAUSES);
  const fields = openObject(root, "spec", { known: SPEC_FIELDS, warnings });
  const { uid, namespace, name, generation, createdAt } = seen;
  const known = isNextToKeda ? parseAdoptedTriggers(object) : null;
  const adopted = known && { ...known, object: name };
  const spec = fields === null
    ? null
    : parseScalingSpec(fields, { namespace, findings: { problems, warnings }, mistakes, adopted, usesMetricsApis });
  const isValid = spec !== null && problems.length === 0;
  const own = { uid, namespace, name, generation, createdAt, annotations };
  return {
    ...seen,
    // Where KEDA runs, it restores replicas, keeps the finalizer and takes HPAs over.
    scaledObject: isValid ? { ...own, ...spec, ...(isNextToKeda && { restoresReplicas: false }) } : null,
    restoring: isValid || isNextToKeda ? null : parseRestoring(object["spec"], own),
    problems: [...problems, ...mistakes],
    warnings,
    isPaused: annotations.isPaused,
    adoption: known && toAdoption(known, {
      isKedaPaused: isKedaPaused(given),
      needsKeda: spec?.triggers.some((one) => one.kind === "external" && one.source.kind === "keda") ?? false,
    }),
    status: root.get("status"),
  };
}

const ROOT_FIELDS = ["apiVersion", "kind", "metadata", "spec", "status"];

const SPEC_FIELDS = [
  "scaleTargetRef",
  "pollingInterval",
  "cooldownPeriod",
  "initialCooldownPeriod",
  "minReplicaCount",
  "maxReplicaCount",
  "idleReplicaCount",
  "fallback",
  "advanced",
  "triggers",
];

const INVALID_SCALED_OBJECT: ScaledObjectFacts = {
  uid: "",
  namespace: "default",
  name: "",
  resourceVersion: "",
  generation: 0,
  createdAt: 0,
  isDeleting: false,
  finalizers: [],
  scaledObject: null,
  restoring: null,
  problems: [],
  warnings: [],
  isPaused: false,
  adoption: null,
  status: null,
};

/** A file has neither uid nor generation, and may omit the namespace. */
function parseObjectMetadata(metadata: Fields): ScaledObjectFacts {
  metadata.require(["name"]);
  const finalizers = metadata.get("finalizers");
  return {
    ...INVALID_SCALED_OBJECT,
    uid: metadata.text("uid", SERVER_TEXT) ?? "",
    namespace: metadata.text("namespace", LABEL_RULE) ?? "default",
    name: metadata.text("name", NAME_RULE) ?? "",
    resourceVersion: metadata.text("resourceVersion", SERVER_TEXT) ?? "",
    generation: metadata.count("generation") ?? 0,
    createdAt: parseTime(metadata.get("creationTimestamp")) ?? 0,
    isDeleting: metadata.has("deletionTimestamp"),
    finalizers: Array.isArray(finalizers) ? finalizers.filter((one) => typeof one === "string") : [],
  };
}

/**
 * Those about pauses have the prefix of the program that sets replicas. Problems are reported to the annotations; never
 * throws.
 * Clauses: R51, R55, R56, R76, R77, M3.
 */
function parseAnnotations(annotations: Fields | null, pauses: Pauses): Annotations {
  const isTrue = (key: string) => annotations?.get(key) === "true";
  return {
    isPaused: isSwitchedOn(annotations, pauses.all) || (annotations?.has(pauses.replicas) ?? false),
    pausedReplicas: annotations === null ? null : parsePausedReplicas(annotations, pauses.replicas),
    isScaleInPaused: isSwitchedOn(annotations, pauses.scaleIn),
    isScaleOutPaused: isSwitchedOn(annotations, pauses.scaleOut),
    isForcedActive: isSwitchedOn(annotations, FORCE_ACTIVATION),
    transfersHpa: pauses !== OWN_PAUSES && isTrue(TRANSFER),
    ignoresHpas: isTrue(OWNERSHIP),
  };
}

/** The annotations that pause an object. */
interface Pauses {
  readonly all: string;
  readonly replicas: string;
  readonly scaleIn: string;
  readonly scaleOut: string;
}

const KEDAS_PAUSES: Pauses = {
  all: KEDA_PAUSED,
  replicas: "autoscaling.keda.sh/paused-replicas",
  scaleIn: "autoscaling.keda.sh/paused-scale-in",
  scaleOut: "autoscaling.keda.sh/paused-scale-out",
};

/** For objects that KEDA is paused for. Clauses: M3. */
const OWN_PAUSES: Pauses = {
  all: "podfit.dev/paused",
  replicas: "podfit.dev/paused-replicas",
  scaleIn: "podfit.dev/paused-scale-in",
  scaleOut: "podfit.dev/paused-scale-out",
};

/** With a number of paused replicas KEDA sets them itself. Clauses: M2. */
function isKedaPaused(annotations: Fields | null): boolean {
  return isSwitchedOn(annotations, KEDA_PAUSED) && annotations?.has(KEDAS_PAUSES.replicas) === false;
}

const FORCE_ACTIVATION = "autoscaling.keda.sh/force-activation";

const TRANSFER = "scaledobject.keda.sh/transfer-hpa-ownership";

const OWNERSHIP = "validations.keda.sh/hpa-ownership";

/** Any text that does not mean false turns it on: scaledobject_types.go, getBoolAnnotation. */
function isSwitchedOn(annotations: Fields | null, key: string): boolean {
  if (annotations === null || !annotations.has(key)) return false;
  const value = annotations.get(key);
  return typeof value !== "string" || (parseGoBoolean(value) ?? true);
}

function parsePausedReplicas(annotations: Fields, key: string): number | null {
  if (!annotations.has(key)) return null;
  const value = annotations.get(key);
  const replicas = typeof value === "string" ? parseGoInteger(value, 32) : null;
  if (replicas !== null && replicas >= 0n) return Number(replicas);
  const message = `Cannot use ${quote(value)} as number of paused replicas: must be an integer, 0 or more, in quotes`;
  annotations.report(key, message);
  return null;
}

/**
 * Returns the object with only its target; `null` if the spec does not ask for it, or has no readable target. Never
 * throws.
 * https://github.com/kedacore/keda/blob/v2.21.0/controllers/keda/scaledobject_finalizer.go
 */
function parseRestoring(
  spec: unknown,
  rest: Omit<ScaledObject, keyof Spec>,
): ScaledObject | null {
  if (!isRecord(spec) || !isRecord(spec["advanced"])) return null;
  if (spec["advanced"]["restoreToOriginalReplicaCount"] !== true) return null;
  const problems: Problem[] = [];
  const fields = openFields(spec, { path: "spec", problems, known: null });
  const target = fields && parseScaleTarget(fields, []);
  return target === null || problems.length > 0 ? null : { ...RESTORING_DEFAULTS, ...rest, target };
}

/** Neither loop runs for it. */
const RESTORING_DEFAULTS: Omit<Spec, "target"> = {
  ...DEFAULT_REPLICAS,
  fallback: null,
  restoresReplicas: true,
  hpaName: null,
  behavior: null,
  formula: null,
  triggers: [],
};
