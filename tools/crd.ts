/**
 * An OpenAPI document of a custom resource, made from its CustomResourceDefinition alone: no cluster is asked. Its
 * list and status operations take the shape that pods have in the core document. Pure.
 */
import { type Document, mergeDocuments, type Node, pruneSchema, toReachable, toReference } from "./openapi.ts";

/** The schema names that `toCrdDocument` defines for a kind, besides those its fields reach. */
export function readCrdRoots(crd: Node): readonly string[] {
  const { kind } = readNames(crd);
  return [kind, `${kind}List`, `${kind}Patch`, `${kind}Spec`, `${kind}Status`];
}

/** Which operations a document has beside the list. Of a kind that has no namespace only the list is there. */
export interface CrdOperations {
  /** The subresource status is patched. */
  readonly patchesStatus: boolean;
  /** The object itself is patched, for its finalizers. */
  readonly patchesObject: boolean;
}

/** `core` lends the parameters of pods, ObjectMeta, ListMeta and Status. */
export function toCrdDocument(crd: Node, core: Document, { patchesStatus, patchesObject }: CrdOperations): Document {
  const { group, version, kind, plural, schema, isNamespaced } = readNames(crd);
  const properties = schema["properties"] as { readonly [name: string]: Node };
  const { spec, status } = properties;
  if (spec === undefined || status === undefined) {
    throw new Error(`Cannot read CRD "${kind}": it needs spec and status`);
  }
  const base = `/apis/${group}/${version}`;
  const namespaced = `${base}/namespaces/{namespace}/${plural}`;
  const patched = core.paths["/api/v1/namespaces/{namespace}/pods/{name}/resize"];
  const paths = {
    [`${base}/${plural}`]: core.paths["/api/v1/pods"],
    ...(isNamespaced && { [namespaced]: core.paths["/api/v1/namespaces/{namespace}/pods"] }),
    ...(isNamespaced && patchesObject && { [`${namespaced}/{name}`]: patched }),
    ...(isNamespaced && patchesStatus && { [`${namespaced}/{name}/status`]: patched }),
  };
  const document = {
    openapi: core.openapi,
    info: { title: kind, version },
    paths: withoutStrategicMerge(renamed(paths, { Pod: kind, PodList: `${kind}List` })) as Document["paths"],
    components: {
      schemas: {
        [`${kind}Spec`]: spec,
        [`${kind}Status`]: status,
        [kind]: {
          ...schema,
          properties: {
            ...properties,
            metadata: toReference("ObjectMeta"),
            spec: toReference(`${kind}Spec`),
            status: toReference(`${kind}Status`),
          },
        },
        [`${kind}List`]: toListSchema(kind),
      },
    },
  };
  return toReachable(mergeDocuments([document, { ...core, paths: {} }]), ["Status"]);
}

function readNames(crd: Node) {
  const spec = crd["spec"] as {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly storage: boolean; readonly schema: Node }[];
  };
  const { kind, plural } = spec.names;
  const stored = spec.versions.find((version) => version.storage);
  if (stored === undefined) throw new Error(`Cannot read CRD "${kind}": no version is stored`);
  const schema = pruneSchema(stored.schema["openAPIV3Schema"] as Node);
  return { group: spec.group, version: stored.name, kind, plural, schema, isNamespaced: spec.scope === "Namespaced" };
}

function toListSchema(kind: string): Node {
  return {
    type: "object",
    required: ["items"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: toReference("ListMeta"),
      items: { type: "array", items: toReference(kind) },
    },
  };
}

function renamed(value: unknown, names: { readonly [name: string]: string }): unknown {
  return mapDeep(value, (node) => {
    const from = String(node["$ref"] ?? "").split("/").at(-1) ?? "";
    const to = names[from];
    return to === undefined ? node : toReference(to);
  });
}

/** Custom resources have no merge keys: the server refuses a strategic merge patch of them with 415. */
function withoutStrategicMerge(value: unknown): unknown {
  return mapDeep(value, (node) => {
    const { "application/strategic-merge-patch+json": _, ...rest } = node;
    return rest;
  });
}

function mapDeep(value: unknown, change: (node: Node) => Node): unknown {
  if (Array.isArray(value)) return value.map((one) => mapDeep(one, change));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, mapDeep(one, change)]);
  return change(Object.fromEntries(entries));
}
