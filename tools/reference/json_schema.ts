/** The JSON schema of a resource, for editors and for kubeconform, made from its CRD. Pure. */
import type { Crd, Schema } from "./api.ts";

/** Where the schema is: `crds/schemas/GROUP/KIND_VERSION.json`, as kubeconform and the catalogs of schemas name it. */
export function toSchemaPath({ spec: { group, names, versions } }: Crd): string {
  return `crds/schemas/${group}/${names.kind.toLowerCase()}_${versions[0]?.name}.json`;
}

/** The schema of a whole object. A misspelt field is an error, which the API server would drop in silence. */
export function toJsonSchema({ spec: { group, names, versions } }: Crd): string {
  const [version] = versions;
  if (version === undefined) throw new Error(`Cannot read CRD "${names.kind}": it has no version`);
  const { openAPIV3Schema: schema } = version.schema;
  const { properties = {}, required = [] } = schema;
  const whole = {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...toStrict({ ...schema, required: ["apiVersion", "kind", "metadata", ...required] }),
    properties: {
      ...toStrict({ properties }).properties as Readonly<Record<string, unknown>>,
      apiVersion: { description: properties["apiVersion"]?.description, enum: [`${group}/${version.name}`] },
      kind: { description: properties["kind"]?.description, enum: [names.kind] },
      metadata: { description: "Name, namespace, labels and annotations.", type: "object" },
    },
  };
  return JSON.stringify(whole, null, 2) + "\n";
}

/** Without the fields of Kubernetes, which other programs do not know, and closed where the fields are known. */
function toStrict(schema: Schema): Readonly<Record<string, unknown>> {
  const { properties, items, additionalProperties, ...rest } = schema;
  const own = Object.entries(rest).filter(([name]) => !name.startsWith("x-kubernetes-"));
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
  return {
    ...Object.fromEntries(own),
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, toStrict(field)])),
    }),
    ...(items !== undefined && { items: toStrict(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: toStrict(additionalProperties) }),
    ...(properties !== undefined && !isOpen && { additionalProperties: false }),
  };
}
