/**
 * Parses a ScaledObject, as the API server or a file has it: every default filled in (R2), every problem found at once with its path (R3).
 * https://github.com/kedacore/keda/blob/v2.20.2/apis/keda/v1alpha1/scaledobject_types.go
 */
import { type Fields, openFields } from "../units/fields.ts";
import { LABEL_RULE, NAME_RULE } from "../units/names.ts";
import type { Problem } from "../units/problem.ts";
import { parseTime } from "../units/time.ts";
import { isRecord, quote } from "../units/untrusted.ts";
import { openObject, SERVER_TEXT, warnOfUnknown } from "./findings.ts";
import { parseAnnotations } from "./parse_annotations.ts";
import { parseRestoring } from "./parse_restoring.ts";
import { parseScalingSpec } from "./parse_spec.ts";
import type { ScaledObjectFacts } from "./scaled_object.ts";

/** Gives what is known of the object; `scaledObject` is there when there is no problem. Takes any value and never throws. */
export function parseScaledObject(object: unknown): ScaledObjectFacts {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  if (!isRecord(object)) {
    return {
      ...NOTHING,
      problems: [{ path: "", message: `Cannot use ${quote(object)} as ScaledObject: not an object` }],
    };
  }
  const root = openFields(object, { path: "", problems, known: null });
  if (root === null) return NOTHING;
  warnOfUnknown(root, { known: ROOT_FIELDS, warnings });
  root.word("apiVersion", ["keda.sh/v1alpha1"]);
  root.word("kind", ["ScaledObject"]);
  root.require(["metadata", "spec"]);
  const metadata = root.object("metadata", null);
  const seen = metadata === null ? NOTHING : readMetadata(metadata);
  const annotations = parseAnnotations(metadata);
  const fields = openObject(root, "spec", { known: SPEC_FIELDS, warnings });
  const { namespace } = seen;
  const spec = fields === null ? null : parseScalingSpec(fields, { namespace, findings: { problems, warnings } });
  const { uid, name, generation, createdAt } = seen;
  const isValid = spec !== null && problems.length === 0;
  const own = { uid, namespace, name, generation, createdAt, annotations };
  return {
    ...seen,
    scaledObject: isValid ? { ...own, ...spec } : null,
    restoring: isValid ? null : parseRestoring(object["spec"], own),
    problems,
    warnings,
    isPaused: annotations.isPaused,
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

const NOTHING: ScaledObjectFacts = {
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
  status: null,
};

/** A file has neither uid nor generation, and may leave the namespace to whoever applies it. */
function readMetadata(metadata: Fields): ScaledObjectFacts {
  metadata.require(["name"]);
  const finalizers = metadata.get("finalizers");
  return {
    ...NOTHING,
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
