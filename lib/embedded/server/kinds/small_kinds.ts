/** What does the server add to namespaces, Events and Leases, and what does it demand of them? */
import { type JsonObject, numberAt, objectAt, openAt, setDefaults, textAt } from "../../json.ts";
import { isSameMeaning } from "../../quantities.ts";
import { badRequest, invalidValue, type Problem } from "../refusal.ts";
import { DNS_LABEL_RULE, isDnsLabel, isSubdomain } from "./names.ts";

/** Gives a namespace the label of its name. */
export function setNamespaceDefaults(namespace: JsonObject): void {
  openAt(namespace, "metadata", "labels")["kubernetes.io/metadata.name"] = textAt(namespace, "metadata", "name");
}

/** Makes a new namespace active, and held by the finalizer of its content. */
export function prepareNewNamespace(namespace: JsonObject): void {
  Object.assign(openAt(namespace, "spec"), { finalizers: ["kubernetes"] });
  namespace.status = { phase: "Active" };
}

/** The problems of a namespace's name. */
export function validateNamespace(namespace: JsonObject): readonly Problem[] {
  const name = textAt(namespace, "metadata", "name");
  if (isDnsLabel(name)) return [];
  return [invalidValue("metadata.name", name, isSubdomain(name) ? "must not contain dots" : DNS_LABEL_RULE)];
}

/** Fills in what an event leaves out. Throws a Refusal for a time that is none. */
export function setEventDefaults(event: JsonObject): void {
  checkMicroTime(event.eventTime, "Event");
  // Go writes an empty value so.
  for (const key of ["eventTime", "firstTimestamp", "lastTimestamp"]) event[key] ??= null;
  setDefaults(event, { source: {}, reportingComponent: "", reportingInstance: "" });
}

/** The problems of an event: it has to be in the namespace of its object. */
export function validateEvent(event: JsonObject): readonly Problem[] {
  const about = textAt(event, "involvedObject", "namespace");
  const own = textAt(event, "metadata", "namespace");
  if (about === own || (about === "" && own === "default")) return [];
  return [invalidValue("involvedObject.namespace", about, "does not match event.namespace")];
}

/** Fills in what a lease leaves out. Throws a Refusal for a time that is none. */
export function setLeaseDefaults(lease: JsonObject): void {
  const spec = openAt(lease, "spec");
  for (const key of ["acquireTime", "renewTime"]) checkMicroTime(spec[key], "Lease");
}

/** The problems of a lease's counts. */
export function validateLease({ spec }: JsonObject): readonly Problem[] {
  const seconds = numberAt(spec, "leaseDurationSeconds");
  const transitions = numberAt(spec, "leaseTransitions") ?? 0;
  return [
    ...(seconds === null || seconds > 0
      ? []
      : [invalidValue("spec.leaseDurationSeconds", seconds, "must be greater than 0")]),
    ...(transitions >= 0
      ? []
      : [invalidValue("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]),
  ];
}

/** A spec that changed. Status and metadata begin no generation. */
export function hasNewSpec(after: JsonObject, before: JsonObject | null): boolean {
  return before === null || !isSameMeaning(objectAt(after, "spec"), objectAt(before, "spec"));
}

/** Exactly six digits of a second's fraction, which is what Go's MicroTime reads. */
function checkMicroTime(value: unknown, kind: string): void {
  if (typeof value !== "string" || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/.test(value)) return;
  const rest = value.slice("2006-01-02T15:04:05".length);
  throw badRequest(
    `${kind} in version "v1" cannot be handled as a ${kind}: parsing time "${value}" as ` +
      `"2006-01-02T15:04:05.000000Z07:00": cannot parse "${rest}" as ".000000"`,
  );
}
