/** Pods: what the API server fills in, how it classes them, and which changes of a spec it takes. */
import { computeQosClass } from "../../../units/qos.ts";
import {
  isObject,
  isSame,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  openAt,
  setDefaults,
  textAt,
} from "../../json.ts";
import { CONTAINER_LISTS, setSpecDefaults, validateSpec } from "./pod_spec.ts";
import { readAmounts } from "../../pod_amounts.ts";
import { forbiddenField, type Problem } from "../refusal.ts";

/** The annotation of a pod that mirrors one of a node's own. */
export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** Fills in what the manifest of a pod leaves out. */
export function setPodDefaults(pod: JsonObject): void {
  // Go writes an empty value so.
  for (const condition of listAt(pod, "status", "conditions")) {
    condition.lastProbeTime ??= null;
    condition.lastTransitionTime ??= null;
  }
  const spec = openAt(pod, "spec");
  setSpecDefaults(spec, "Pod");
  setDefaults(spec, { enableServiceLinks: true });
  for (const list of CONTAINER_LISTS) {
    for (const container of listAt(spec, list)) requestWhatIsLimited(openAt(container, "resources"));
  }
}

/** Admission fills these in, so they are no manager's fields. */
export function prepareNewPod(pod: JsonObject): void {
  const spec = openAt(pod, "spec");
  setDefaults(spec, {
    serviceAccountName: "default",
    serviceAccount: textAt(spec, "serviceAccountName") || "default",
    tolerations: [],
    priority: 0,
    preemptionPolicy: "PreemptLowerPriority",
  });
  const tolerations = listAt(spec, "tolerations");
  const missing = ["not-ready", "unreachable"].map((name) => `node.kubernetes.io/${name}`)
    .filter((key) => !tolerations.some((one) => one.key === key || (one.operator === "Exists" && !one.key)));
  spec.tolerations = [
    ...tolerations,
    ...missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 })),
  ];
  pod.status = { phase: "Pending", qosClass: readQosClass(pod) };
}

/** The quality of service class that a pod's requests and limits give it. */
export function readQosClass({ spec }: JsonObject): string {
  const containers = CONTAINER_LISTS.flatMap((list) => listAt(spec, list));
  const own = objectAt(spec).resources;
  return computeQosClass({
    podResources: isObject(own) ? readAmounts(own) : null,
    containers: containers.map(({ resources }) => readAmounts(resources)),
  });
}

/** The problems of a pod; an update may change next to nothing of its spec. */
export function validatePod(pod: JsonObject, before: JsonObject | null): readonly Problem[] {
  const problems = validateSpec(objectAt(pod, "spec"), "spec");
  if (before === null || problems.length > 0) return problems;
  return isSame(fixedPart(pod), fixedPart(before)) ? [] : [forbiddenField("spec", FIXED)];
}

const FIXED = "pod updates may not change fields other than `spec.containers[*].image`," +
  "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing " +
  "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/** All of the spec that no update may change. */
function fixedPart({ spec }: JsonObject): Json {
  const { activeDeadlineSeconds: _seconds, tolerations: _tolerations, ...fixed } = objectAt(spec);
  const lists = CONTAINER_LISTS.map((list) => [list, listAt(spec, list).map(({ image: _image, ...rest }) => rest)]);
  return { ...fixed, ...Object.fromEntries(lists) };
}

function requestWhatIsLimited(resources: JsonObject): void {
  const limits = objectAt(resources, "limits");
  if (Object.keys(limits).length > 0) setDefaults(openAt(resources, "requests"), limits as Record<string, Json>);
}
