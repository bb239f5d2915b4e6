/** What does the server add to a pod, and what does it demand of one? */
import { parseAmount } from "../../../units/quantity.ts";
import { computeQosClass } from "../../../units/resources.ts";
import { at, isObject, type Json, type JsonObject, listAt, objectAt, openAt, setDefaults, textAt } from "../../json.ts";
import { isDeepEqual } from "../../../units/equality.ts";
import { BAD_QUANTITY, parseAmounts, rewriteQuantities } from "../../quantities.ts";
import {
  badRequest,
  duplicateValue,
  forbiddenField,
  invalidValue,
  type Problem,
  required,
  unsupportedValue,
} from "../refusal.ts";
import { DNS_LABEL_RULE, isDnsLabel } from "./names.ts";

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

/** Admission fills these in, so no manager owns them. */
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
  pod.status = { phase: "Pending", qosClass: getPodQosClass(pod) };
}

/** The quality of service class that a pod's requests and limits give it. */
export function getPodQosClass({ spec }: JsonObject): string {
  const containers = CONTAINER_LISTS.flatMap((list) => listAt(spec, list));
  const own = objectAt(spec).resources;
  return computeQosClass({
    podResources: isObject(own) ? parseAmounts(own) : null,
    containers: containers.map(({ resources }) => parseAmounts(resources)),
  });
}

/** The problems of a pod; an update may change next to nothing of its spec. */
export function validatePod(pod: JsonObject, before: JsonObject | null): readonly Problem[] {
  const problems = validateSpec(objectAt(pod, "spec"), "spec");
  if (before === null || problems.length > 0) return problems;
  return isDeepEqual(fixedPart(pod), fixedPart(before)) ? [] : [forbiddenField("spec", FIXED)];
}

/** The fields of a pod's spec that have containers. */
export const CONTAINER_LISTS = ["initContainers", "containers"] as const;

/** Fills in what the spec of a draft leaves out. `kind` is named in the words of a refusal. */
export function setSpecDefaults(spec: JsonObject, kind: string): void {
  setDefaults(spec, {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    securityContext: {},
    schedulerName: "default-scheduler",
  });
  const accountName = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  if (accountName !== "") Object.assign(spec, { serviceAccountName: accountName, serviceAccount: accountName });
  for (const list of CONTAINER_LISTS) for (const container of listAt(spec, list)) setContainerDefaults(container, kind);
  if (isObject(spec.resources)) rewrite(spec.resources, kind);
}

/** The problems of a pod's spec that stands at this path. */
export function validateSpec(spec: JsonObject, path: string): readonly Problem[] {
  const names = new Set<string>();
  const problems: Problem[] = [];
  if (listAt(spec, "containers").length === 0) problems.push(required(`${path}.containers`));
  for (const list of CONTAINER_LISTS) {
    listAt(spec, list).forEach((container, index) => {
      const field = `${path}.${list}[${index}]`;
      problems.push(...validateContainer(container, field));
      const name = textAt(container, "name");
      if (names.has(name)) problems.push(duplicateValue(`${field}.name`, name));
      names.add(name);
    });
  }
  if (isObject(spec.resources)) problems.push(...validateResources(spec.resources, `${path}.resources`));
  const policy = textAt(spec, "restartPolicy");
  const policies = ["Always", "OnFailure", "Never"];
  if (!policies.includes(policy)) problems.push(unsupportedValue(`${path}.restartPolicy`, policy, policies));
  return problems;
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

function validateResources(resources: JsonObject, path: string): readonly Problem[] {
  const problems: Problem[] = [];
  for (const side of ["limits", "requests"] as const) {
    for (const [name, value] of Object.entries(objectAt(resources, side))) {
      const amount = toMilli(value);
      const limit = at(resources, "limits", name);
      if (amount < 0) {
        problems.push(invalidValue(`${path}.${side}[${name}]`, value, "must be greater than or equal to 0"));
      } else if (side === "requests" && limit !== undefined && amount > toMilli(limit)) {
        const why = `must be less than or equal to ${name} limit of ${limit}`;
        problems.push(invalidValue(`${path}.requests`, value, why));
      }
    }
  }
  return problems;
}

function setContainerDefaults(container: JsonObject, kind: string): void {
  const image = textAt(container, "image");
  const tag = /:([^/@:]+)(@|$)/.exec(image)?.[1] ?? (image.includes("@") ? "" : "latest");
  rewrite(openAt(container, "resources"), kind);
  setDefaults(container, {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: tag === "latest" ? "Always" : "IfNotPresent",
  });
  for (const port of listAt(container, "ports")) setDefaults(port, { protocol: "TCP" });
  for (const { valueFrom } of listAt(container, "env")) {
    if (isObject(valueFrom) && isObject(valueFrom.fieldRef)) setDefaults(valueFrom.fieldRef, { apiVersion: "v1" });
  }
  for (const name of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    const probe = container[name];
    if (!isObject(probe)) continue;
    setDefaults(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
    if (isObject(probe.httpGet)) setDefaults(probe.httpGet, { path: "/", scheme: "HTTP" });
  }
}

function rewrite(resources: JsonObject, kind: string): void {
  if (!rewriteQuantities(resources)) {
    throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${BAD_QUANTITY}`);
  }
}

function validateContainer(container: JsonObject, path: string): readonly Problem[] {
  const [name, image] = [textAt(container, "name"), textAt(container, "image")];
  const problems: Problem[] = [];
  if (name === "") problems.push(required(`${path}.name`));
  else if (!isDnsLabel(name)) problems.push(invalidValue(`${path}.name`, name, DNS_LABEL_RULE));
  if (image === "") problems.push(required(`${path}.image`));
  const [policy, policies] = [textAt(container, "imagePullPolicy"), ["Always", "IfNotPresent", "Never"]];
  if (!policies.includes(policy)) problems.push(unsupportedValue(`${path}.imagePullPolicy`, policy, policies));
  listAt(container, "env").forEach((variable, index) => {
    if (textAt(variable, "name") === "") problems.push(required(`${path}.env[${index}].name`));
  });
  return [...problems, ...validateResources(objectAt(container, "resources"), `${path}.resources`)];
}

function toMilli(value: Json): number {
  const parsed = parseAmount(value, "cpu", { floats: true });
  return parsed.ok ? parsed.amount : 0;
}
