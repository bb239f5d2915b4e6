/**
 * `pods/resize`: what of a patched pod it takes, and what it refuses, in the words of 1.36.3. Limit ranges, the node's
 * capacity and quotas are looked at afterwards, in admission.ts.
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
 */
import { isSame, type Json, type JsonObject, listAt, objectAt, takeFrom, textAt } from "../../json.ts";
import { CONTAINER_LISTS, validateSpec } from "../kinds/pod_spec.ts";
import { MIRROR_ANNOTATION, readQosClass } from "../kinds/pods.ts";
import { forbiddenField, invalidValue, type Problem } from "../refusal.ts";

/** `before` with the sizes of `sent`; everything else that was sent is dropped without a word. */
export function takeSizes(before: JsonObject, sent: JsonObject): JsonObject {
  const spec = { ...objectAt(before, "spec") };
  for (const list of CONTAINER_LISTS) {
    const [old, now] = [listAt(before, "spec", list), listAt(sent, "spec", list)];
    if (now.length === 0 && old.length === 0) continue;
    // Other containers are refused by validation, which therefore has to see them.
    spec[list] = isSame(namesOf(old), namesOf(now))
      ? old.map((container, index) => takeFrom(container, now[index] ?? {}, ["resources", "resizePolicy"]))
      : [...now];
  }
  return { ...before, spec: takeFrom(spec, objectAt(sent, "spec"), ["resources"]) };
}

/** The problems of a pod that was sent to be resized. */
export function validateResize(pod: JsonObject, before: JsonObject): readonly Problem[] {
  const problems = [...validateSpec(objectAt(pod, "spec"), "spec")];
  const isStatic = MIRROR_ANNOTATION in objectAt(before, "metadata", "annotations");
  if (isStatic) return [forbiddenField("[]", "static pods cannot be resized")];
  if (textAt(before, "spec", "os", "name") === "windows") {
    return [forbiddenField("[]", "windows pods cannot be resized")];
  }
  const qosClass = textAt(before, "status", "qosClass") || readQosClass(before);
  if (readQosClass(pod) !== qosClass) {
    problems.push(invalidValue("spec", qosClass, "Pod QOS Class may not change as a result of resizing"));
  }
  for (const list of CONTAINER_LISTS) {
    const [old, now] = [listAt(before, "spec", list), listAt(pod, "spec", list)];
    const path = `spec.${list}`;
    if (!isSame(namesOf(old), namesOf(now))) {
      problems.push(forbiddenField(path, "containers may not be added or removed on resize"));
    } else now.forEach((one, index) => problems.push(...findRemoved(one, old[index] ?? {}, `${path}[${index}]`)));
  }
  if (problems.length > 0) return problems;
  const isOnlySized = isSame(withoutCpuAndMemory(pod), withoutCpuAndMemory(before));
  return isOnlySized ? [] : [forbiddenField("spec", "only cpu and memory resources are mutable")];
}

function findRemoved(now: JsonObject, old: JsonObject, path: string): readonly Problem[] {
  return ["requests", "limits"].flatMap((side) => {
    const [had, has] = [objectAt(old, "resources", side), objectAt(now, "resources", side)];
    if (Object.keys(had).every((name) => name in has)) return [];
    return [forbiddenField(`${path}.resources.${side}`, `resource ${side} cannot be removed`)];
  });
}

function namesOf(containers: readonly JsonObject[]): Json {
  return containers.map((container) => textAt(container, "name"));
}

/** A pod's own resources may also come anew. */
function withoutCpuAndMemory({ spec }: JsonObject): Json {
  const lists = CONTAINER_LISTS.map((list) => [list, listAt(spec, list).map(stripSizes)]);
  const { resources: _resources, ...rest } = objectAt(spec);
  return { ...rest, ...Object.fromEntries(lists) };
}

function stripSizes(container: JsonObject): JsonObject {
  const resources = objectAt(container, "resources");
  const sides = ["requests", "limits"].map((side) => {
    const { cpu: _cpu, memory: _memory, ...others } = objectAt(resources, side);
    return [side, others];
  });
  return { ...container, resources: { ...resources, ...Object.fromEntries(sides) } };
}
