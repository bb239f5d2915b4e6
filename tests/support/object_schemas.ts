/** Do objects fit the schemas of Kubernetes and of podfit's definitions? A field that no schema has is a fault. */
import { type Schema, Validator } from "@cfworker/json-schema";
import published from "../testdata/kubernetes_objects.json" with { type: "json" };
import autoscaler from "../../crds/schemas/keda.kedify.io/podresourceautoscaler_v1alpha1.json" with { type: "json" };

const SCHEMAS = "#/components/schemas/";
/** Objects of the Prometheus operator, whose definitions are not part of the project. */
const FOREIGN = "monitoring.coreos.com/";
const strict = toStrict(published) as Readonly<Record<string, Readonly<Record<string, Schema>>>>;
const validators = new Map<string, Validator>();

/** One sentence for each fault; [] is what should be. */
export function listSchemaFaults(object: { readonly apiVersion: string; readonly kind: string }): readonly string[] {
  const { apiVersion, kind } = object;
  if (apiVersion.startsWith(FOREIGN)) return [];
  const id = `${apiVersion} ${kind}`;
  const validator = validators.get(id) ?? toValidator(apiVersion, kind);
  if (validator === null) return [`has no schema of ${id}`];
  validators.set(id, validator);
  const { valid, errors } = validator.validate(object);
  // The last error is the one at the innermost place.
  return valid ? [] : [`does not fit its schema: ${errors.at(-1)?.instanceLocation} ${errors.at(-1)?.error}`];
}

function toValidator(apiVersion: string, kind: string): Validator | null {
  if (kind === "PodResourceAutoscaler") return new Validator(autoscaler as unknown as Schema, "7");
  // The APIs are named "v1" and "apps/v1".
  const schemas = strict[apiVersion];
  if (schemas?.[kind] === undefined) return null;
  return new Validator({ $ref: `${SCHEMAS}${kind}`, components: { schemas } } as Schema, "2019-09", false);
}

/** The schemas, refusing fields that they do not name. */
function toStrict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toStrict);
  if (typeof schema !== "object" || schema === null) return schema;
  const next = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, toStrict(value)]));
  const isObject = "properties" in next && next["type"] === "object" && !("additionalProperties" in next);
  return isObject ? { ...next, additionalProperties: false } : next;
}
