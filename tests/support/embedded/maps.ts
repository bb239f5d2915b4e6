/**
 * What does the server add to ConfigMaps and Secrets, and what does it demand of them?
 */
import { type JsonObject, objectAt, openAt, setDefaults, textAt } from "../../../lib/embedded/json.ts";
import { isDeepEqual } from "../../../lib/units/equality.ts";
import { cannotHandle, forbiddenField, invalidValue, type Problem } from "../../../lib/embedded/server/refusal.ts";

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
  const changed = fields.filter((field) => !isDeepEqual(objectAt(before, field), objectAt(object, field)));
  return [...(object.immutable === true ? [] : ["immutable"]), ...changed].map((field) => forbiddenField(field, why));
}

function toBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

function checkBase64(text: string, kind: string): void {
  const bad = /[^A-Za-z0-9+/=]/.exec(text)?.index ?? (text.length % 4 === 0 ? null : text.length);
  if (bad !== null) throw cannotHandle({ kind, version: "v1" }, `illegal base64 data at input byte ${bad}`);
}
