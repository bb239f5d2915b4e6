/**
 * What does the server add to namespaces, Events, Leases, ConfigMaps and Secrets, and what does it demand of them?
 */
import { isSame, type JsonObject, numberAt, objectAt, openAt, setDefaults, textAt } from "../../json.ts";
import { isSameMeaning } from "../../quantities.ts";
import { badRequest, cannotHandle, forbiddenField, invalidValue, type Problem } from "../refusal.ts";
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

/** Plain text of a Secret becomes bytes, and its type the usual one. Throws a Refusal for bytes that are none. */
export function setSecretDefaults(secret: JsonObject): void {
  setDefaults(secret, { type: "Opaque" });
  const { stringData } = secret;
  delete secret.stringData;
  for (const [key, text] of Object.entries(objectAt(stringData))) openAt(secret, "data")[key] = toBase64(String(text));
  for (const value of Object.values(objectAt(secret, "data"))) checkBase64(String(value), "Secret");
}

/** Throws a Refusal for bytes that are none. */
export function setConfigMapDefaults(map: JsonObject): void {
  for (const value of Object.values(objectAt(map, "binaryData"))) checkBase64(String(value), "ConfigMap");
}

/** The problems of a Secret. */
export function validateSecret(secret: JsonObject, before: JsonObject | null): readonly Problem[] {
  const type = textAt(secret, "type");
  const isOther = before !== null && textAt(before, "type") !== type;
  return [
    ...validateKeys(secret, "data"),
    ...(isOther ? [invalidValue("type", type, "field is immutable")] : []),
    ...validateImmutable(secret, before, ["data"]),
  ];
}

/** The problems of a ConfigMap. */
export function validateConfigMap(map: JsonObject, before: JsonObject | null): readonly Problem[] {
  const bytes = objectAt(map, "binaryData");
  const twice = Object.keys(objectAt(map, "data")).filter((key) => Object.hasOwn(bytes, key));
  return [
    ...validateKeys(map, "data"),
    ...twice.map((key) => invalidValue(`data[${key}]`, key, "duplicate of key present in binaryData")),
    ...validateKeys(map, "binaryData"),
    ...validateImmutable(map, before, ["data", "binaryData"]),
  ];
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

const KEY_RULE = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' " +
  "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

function validateKeys(object: JsonObject, field: string): readonly Problem[] {
  return Object.keys(objectAt(object, field)).filter((key) => !/^[-._a-zA-Z0-9]+$/.test(key))
    .map((key) => invalidValue(`${field}[${key}]`, key, KEY_RULE));
}

function validateImmutable(
  object: JsonObject,
  before: JsonObject | null,
  fields: readonly string[],
): readonly Problem[] {
  if (before === null || before.immutable !== true) return [];
  const why = "field is immutable when `immutable` is set";
  const changed = fields.filter((field) => !isSame(objectAt(before, field), objectAt(object, field)));
  return [...(object.immutable === true ? [] : ["immutable"]), ...changed].map((field) => forbiddenField(field, why));
}

function toBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

function checkBase64(text: string, kind: string): void {
  const bad = /[^A-Za-z0-9+/=]/.exec(text)?.index ?? (text.length % 4 === 0 ? null : text.length);
  if (bad !== null) throw cannotHandle({ kind, version: "v1" }, `illegal base64 data at input byte ${bad}`);
}
