/**
 * What does the server add to a pod, and what does it demand of one when it is created, updated or resized?
 */
import { formatAmount, parseAmount } from "../../../units/quantity.ts";
import { computeQosClass } from "../../../units/resources.ts";
import {
  at,
  isObject,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  openAt,
  setDefaults,
  takeFrom,
  textAt,
} from "../../json.ts";
import { isDeepEqual } from "../../../units/equality.ts";
import { BAD_QUANTITY, isSameMeaning, parseAmounts, rewriteQuantities, sumPod } from "../../quantities.ts";
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
  if (isObject(spec.resources)) requestOfPod(spec, spec.resources);
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
    podResources: hasSizes(own) ? parseAmounts(own) : null,
    containers: containers.map(({ resources }) => parseAmounts(resources)),
  });
}

/** The problems of a pod; an update may change next to nothing of its spec. */
export function validatePod(pod: JsonObject, before: JsonObject | null): readonly Problem[] {
  const problems = [...validateSpec(objectAt(pod, "spec"), "spec")];
  if (before === null) return [...problems, ...findRestartingInit(pod)];
  if (problems.length > 0) return problems;
  return isDeepEqual(fixedPart(pod), fixedPart(before)) ? [] : [forbiddenField("spec", FIXED)];
}

/**
 * `before` with the sizes of `sent`. The server drops everything else that was sent, and does not say so.
 * https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
 */
export function takeSizes(before: JsonObject, sent: JsonObject): JsonObject {
  const spec = { ...objectAt(before, "spec") };
  for (const list of CONTAINER_LISTS) {
    const [old, now] = [listAt(before, "spec", list), listAt(sent, "spec", list)];
    if (now.length === 0 && old.length === 0) continue;
    // Other containers are refused by validation, which therefore has to see them.
    spec[list] = isDeepEqual(namesOf(old), namesOf(now))
      ? old.map((container, index) => takeFrom(container, now[index] ?? {}, ["resources", "resizePolicy"]))
      : [...now];
  }
  return { ...before, spec: takeFrom(spec, objectAt(sent, "spec"), ["resources"]) };
}

/**
 * The problems of a pod that was sent to be resized, in the order of the real server.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/validation/validation.go (ValidatePodResize)
 */
export function validateResize(pod: JsonObject, before: JsonObject): readonly Problem[] {
  if (MIRROR_ANNOTATION in objectAt(before, "metadata", "annotations")) {
    return [forbiddenField("[]", "static pods cannot be resized")];
  }
  if (textAt(before, "spec", "os", "name") === "windows") {
    return [forbiddenField("[]", "windows pods cannot be resized")];
  }
  const problems = [...validateSpec(objectAt(pod, "spec"), "spec")];
  if (getPodQosClass(pod) !== (textAt(before, "status", "qosClass") || getPodQosClass(before))) {
    const why = "Pod QOS Class may not change as a result of resizing";
    problems.push(invalidValue("spec", textAt(pod, "status", "qosClass"), why));
  }
  if (!runsOnNodeThatResizes(before)) {
    problems.push(forbiddenField("spec", "Pod running on node without support for resize"));
  }
  problems.push(...validateOwnResize(at(pod, "spec", "resources"), at(before, "spec", "resources")));
  if (listAt(before, "status", "nodeAllocatableResourceClaimStatuses").length > 0) {
    problems.push(forbiddenField("spec", "pods with node allocatable resource claims cannot be resized"));
  }
  const disorder = (["containers", "initContainers"] as const).flatMap((list) => findDisorder(pod, before, list));
  if (disorder.length > 0) return [...problems, ...disorder];
  const pairs = CONTAINER_LISTS.flatMap((list) =>
    listAt(pod, "spec", list).map((now, index) => ({
      list,
      index,
      now,
      old: listAt(before, "spec", list)[index] ?? {},
    }))
  );
  for (const { list, index, now, old } of pairs) {
    const path = `spec.${list}[${index}].resources`;
    problems.push(...findRemoved(now.resources, old.resources, { path, noun: "resource" }));
  }
  for (const { list, now, old } of pairs) {
    if (list === "containers" && changesMoreThanSizes(now, old)) problems.push(forbiddenField("spec", ONLY_SIZES));
  }
  for (const { list, index, now, old } of pairs) {
    if (list === "initContainers") problems.push(...validateInitResize(now, old, `spec.initContainers[${index}]`));
  }
  if (problems.length > 0) return problems;
  return isSameMeaning(withoutSizes(pod), withoutSizes(before)) ? [] : [forbiddenField("spec", ONLY_SIZES)];
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
  if (isObject(spec.resources)) problems.push(...validateOwnResources(spec, `${path}.resources`));
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

/** A pod of before 1.36 may have such a resize policy, and keeps it. */
function findRestartingInit(pod: JsonObject): readonly Problem[] {
  const why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
  return listAt(pod, "spec", "initContainers").flatMap((container, index) =>
    textAt(container, "restartPolicy") === "Always" ? [] : listAt(container, "resizePolicy").flatMap((one, at) => {
      const field = `spec.initContainers[${index}].resizePolicy[${at}].restartPolicy`;
      return one.restartPolicy === "RestartContainer" ? [invalidValue(field, one.restartPolicy, why)] : [];
    })
  );
}

const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

const ONLY_SIZES = "only cpu and memory resources are mutable";

/** True unless the first running container has a status without resources: then the kubelet is one of before 1.33. */
function runsOnNodeThatResizes(pod: JsonObject): boolean {
  const running = listAt(pod, "status", "containerStatuses").find(({ state }) => isObject(at(state, "running")));
  return running === undefined || isObject(running.resources);
}

/** The problems of a change of the pod's own resources. */
function validateOwnResize(now: Json | undefined, old: Json | undefined): readonly Problem[] {
  if (![now, old].some(hasSizes)) return [];
  if (isObject(old) && !isObject(now)) {
    return [forbiddenField("spec.resources", "pod-level resources cannot be removed")];
  }
  const problems = [...findRemoved(now, old, { path: "spec.resources", noun: "pod-level resource" })];
  const others = { ...objectAt(now), ...keepSizes(now, old) };
  const isNewAndEmpty = !isObject(old) && !hasSizes(others) && listAt(others, "claims").length === 0;
  if (!isNewAndEmpty && !isSameMeaning(others, isObject(old) ? withLists(old) : null)) {
    problems.push(forbiddenField("spec", `${ONLY_SIZES} at pod-level`));
  }
  return problems;
}

function hasSizes(resources: Json | undefined): boolean {
  return Object.keys({ ...objectAt(resources, "requests"), ...objectAt(resources, "limits") }).length > 0;
}

/** Containers may not be added, removed, renamed or moved. */
function findDisorder(
  pod: JsonObject,
  before: JsonObject,
  list: (typeof CONTAINER_LISTS)[number],
): readonly Problem[] {
  const [old, now] = [namesOf(listAt(before, "spec", list)), namesOf(listAt(pod, "spec", list))];
  const path = `spec.${list}`;
  if (old.length !== now.length) return [forbiddenField(path, `${list} may not be added or removed on resize`)];
  const why = `${list} may not be renamed or reordered on resize`;
  return old.flatMap((name, index) => name === now[index] ? [] : [forbiddenField(`${path}[${index}].name`, why)]);
}

function findRemoved(
  now: Json | undefined,
  old: Json | undefined,
  { path, noun }: { readonly path: string; readonly noun: string },
): readonly Problem[] {
  return ["requests", "limits"].flatMap((side) => {
    const [had, has] = [objectAt(old, side), objectAt(now, side)];
    if (Object.keys(had).every((name) => name in has)) return [];
    return [forbiddenField(`${path}.${side}`, `${noun} ${side} cannot be removed`)];
  });
}

function validateInitResize(now: JsonObject, old: JsonObject, path: string): readonly Problem[] {
  const problems: Problem[] = [];
  if (changesMoreThanSizes(now, old)) {
    problems.push(forbiddenField(path, "only cpu and memory resources for init or sidecar containers are mutable"));
  }
  const isChanged = !isSameMeaning({ ...now, resources: withLists(now.resources) }, withWholeResources(old));
  if (!isChanged || textAt(now, "restartPolicy") === "Always") return problems;
  const why = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
  const restarting = listAt(now, "resizePolicy").filter(({ restartPolicy }) => restartPolicy === "RestartContainer");
  return [...problems, ...restarting.map(() => forbiddenField(path, why))];
}

/** The real server compares with the claims of `old`, but without those of `now`: a container with claims is refused. */
function changesMoreThanSizes(now: JsonObject, old: JsonObject): boolean {
  return !isSameMeaning({ ...now, resources: keepSizes(now.resources, old.resources) }, withWholeResources(old));
}

/** The requests and limits of `now` with the CPU and memory of `old`. */
function keepSizes(now: Json | undefined, old: Json | undefined): JsonObject {
  const lists = ["requests", "limits"].map((side) => [
    side,
    takeFrom(objectAt(now, side), objectAt(old, side), ["cpu", "memory"]),
  ]);
  return Object.fromEntries(lists);
}

function withWholeResources(container: JsonObject): JsonObject {
  return { ...container, resources: withLists(container.resources) };
}

/** The resources with both lists, because a list that is missing is the same as an empty one. */
function withLists(resources: Json | undefined): JsonObject {
  return { ...objectAt(resources), requests: objectAt(resources, "requests"), limits: objectAt(resources, "limits") };
}

function namesOf(containers: readonly JsonObject[]): readonly string[] {
  return containers.map((container) => textAt(container, "name"));
}

/** What no resize may change: the spec without containers and the pod's own sizes, which are checked one by one. */
function withoutSizes({ spec }: JsonObject): Json {
  const { initContainers: _init, containers: _containers, resources: _resources, ...rest } = objectAt(spec);
  return rest;
}

/** The sizes of the pod itself: what its containers request has to fit, and each of their limits. */
function validateOwnResources(spec: JsonObject, path: string): readonly Problem[] {
  const own = objectAt(spec, "resources");
  if (textAt(spec, "os", "name") === "windows") return [forbiddenField(path, "may not be set for a windows pod")];
  const problems: Problem[] = [];
  for (const side of ["limits", "requests"] as const) {
    for (const name of Object.keys(objectAt(own, side))) {
      if (name === "cpu" || name === "memory" || name.startsWith("hugepages-")) continue;
      problems.push(unsupportedValue(`${path}.${side}[${name}]`, name, ["cpu", "hugepages-", "memory"]));
    }
  }
  problems.push(...validateResources(own, path));
  const [given, needed] = [parseAmounts(own), sumPod({ spec: { ...spec, resources: {} } })];
  for (const resource of ["cpu", "memory"] as const) {
    const [request, sum] = [given[`${resource}.requests`], needed[`${resource}.requests`]];
    if (request === null || sum === null || sum <= request) continue;
    const why = `must be greater than or equal to aggregate container requests of ${formatAmount(sum, resource)}`;
    problems.push(invalidValue(`${path}.requests[${resource}]`, at(own, "requests", resource), why));
  }
  listAt(spec, "containers").forEach((container, index) => {
    const limits = parseAmounts(container.resources);
    for (const resource of ["cpu", "memory"] as const) {
      const [most, limit] = [given[`${resource}.limits`], limits[`${resource}.limits`]];
      if (most === null || limit === null || limit <= most) continue;
      const why = `must be less than or equal to pod limits of ${at(own, "limits", resource)}`;
      const field = `${path}.containers[${index}][${resource}].limits`;
      problems.push(invalidValue(field, at(container, "resources", "limits", resource), why));
    }
  });
  return problems;
}

/** A pod with limits of its own requests what its containers request, or else its limit. */
function requestOfPod(spec: JsonObject, own: JsonObject): void {
  const limits = objectAt(own, "limits");
  if (Object.keys(limits).length === 0) return;
  const needed = sumPod({ spec: { ...spec, resources: {} } });
  const sums = (["cpu", "memory"] as const).flatMap((resource) => {
    const sum = needed[`${resource}.requests`];
    return sum === null ? [] : [[resource, formatAmount(sum, resource)]];
  });
  setDefaults(openAt(own, "requests"), { ...limits as Record<string, Json>, ...Object.fromEntries(sums) });
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
