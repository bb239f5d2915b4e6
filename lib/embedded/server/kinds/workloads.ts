/** What does the server add to a workload, and what does it demand of one? */
import { matches, parseSelector } from "../../../units/selector.ts";
import { isObject, type JsonObject, listAt, numberAt, objectAt, openAt, setDefaults, textAt } from "../../json.ts";
import { isDeepEqual } from "../../../units/equality.ts";
import { invalidValue, type Problem, required, unsupportedValue } from "../refusal.ts";
import { getLabels, validateLabels } from "./names.ts";
import { setSpecDefaults, validateSpec } from "./pods.ts";

/** Fills in what the manifest of a Deployment leaves out. */
export function setDeploymentDefaults(deployment: JsonObject): void {
  setTemplateDefaults(deployment);
  const spec = openAt(deployment, "spec");
  setDefaults(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  const strategy = openAt(spec, "strategy");
  setDefaults(strategy, { type: "RollingUpdate" });
  if (strategy.type === "RollingUpdate") {
    setDefaults(openAt(strategy, "rollingUpdate"), { maxUnavailable: "25%", maxSurge: "25%" });
  }
}

/** Fills in what the manifest of a ReplicaSet leaves out. */
export function setReplicaSetDefaults(set: JsonObject): void {
  setTemplateDefaults(set);
  setDefaults(openAt(set, "spec"), { replicas: 1 });
}

/** The status that a new one is shown with. */
export function giveStatus(status: JsonObject): (draft: JsonObject) => void {
  return (draft) => void (draft.status = structuredClone(status));
}

/** The problems of a workload: its selector has to match its template and never changes. */
export function validateWorkload(object: JsonObject, before: JsonObject | null): readonly Problem[] {
  const spec = objectAt(object, "spec");
  const problems: Problem[] = [];
  const replicas = numberAt(spec, "replicas") ?? 0;
  if (replicas < 0) problems.push(invalidValue("spec.replicas", replicas, "must be greater than or equal to 0"));
  const parsed = isObject(spec.selector) ? parseSelector(spec.selector, "spec.selector") : null;
  const labels = objectAt(spec, "template", "metadata").labels;
  if (parsed === null) problems.push(required("spec.selector"));
  else if (!parsed.ok) problems.push(invalidValue("spec.selector", spec.selector, parsed.problems[0]?.message ?? ""));
  else if (parsed.selector.requirements.length === 0) {
    problems.push(invalidValue("spec.selector", spec.selector, "empty selector is invalid for deployment"));
  }
  const isMatched = parsed !== null && parsed.ok && matches(parsed.selector, getLabels(objectAt(spec, "template")));
  if (!isMatched) {
    const why = "`selector` does not match template `labels`";
    problems.push(invalidValue("spec.template.metadata.labels", labels, why));
  }
  problems.push(...validateLabels(isObject(labels) ? labels : {}, "spec.template.metadata.labels"));
  const pod = objectAt(spec, "template", "spec");
  problems.push(...validateSpec(pod, "spec.template.spec").filter(({ field }) => !field.endsWith("restartPolicy")));
  const policy = textAt(pod, "restartPolicy");
  if (policy !== "Always") problems.push(unsupportedValue("spec.template.spec.restartPolicy", policy, ["Always"]));
  if (before !== null && !isDeepEqual(objectAt(before, "spec").selector, spec.selector)) {
    problems.push(invalidValue("spec.selector", spec.selector, "field is immutable"));
  }
  return problems;
}

/** The names or images of its containers, which `kubectl get -o wide` shows. */
export function listContainers(object: JsonObject, key: "name" | "image"): string {
  return listAt(object, "spec", "template", "spec", "containers").map((one) => textAt(one, key)).join(",");
}

/** Fills in what the template of a workload leaves out. */
export function setTemplateDefaults(object: JsonObject): void {
  const template = openAt(object, "spec", "template");
  openAt(template, "metadata");
  setSpecDefaults(openAt(template, "spec"), textAt(object, "kind"));
}
