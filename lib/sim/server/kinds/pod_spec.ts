/**
 * What the API server fills into a pod's spec, alone or in a workload's template, and what it demands of its containers.
 */
import { parseAmount } from "../../../units/quantity.ts";
import { at, isObject, type Json, type JsonObject, listAt, objectAt, openAt, setDefaults, textAt } from "../../json.ts";
import { DNS_LABEL_RULE, isDnsLabel } from "./names.ts";
import { BAD_QUANTITY, rewriteQuantities } from "./quantities.ts";
import { badRequest, duplicateValue, invalidValue, type Problem, required, unsupportedValue } from "../refusal.ts";

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
