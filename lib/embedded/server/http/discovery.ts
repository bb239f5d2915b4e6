/**
 * What does the server say about itself? Its version, groups, resources, and some OpenAPI for kubectl.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
 */
import type { Json, JsonObject } from "../../json.ts";
import { apiVersionOf, type ResourceType } from "../kinds/resource_type.ts";

/** What the server serves. */
interface Offer {
  readonly types: readonly ResourceType[];
  /**
   * The media types of patches. Without the strategic merge of built-in kinds: no schema here says how, and kubectl has
   * schemas of its own.
   */
  readonly patchTypes: readonly string[];
}

/** `null` for a path that says nothing. */
export function describe(path: string, { types, patchTypes }: Offer): JsonObject | null {
  if (path === "/version") return VERSION;
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] };
  if (path === "/apis") {
    const groups = listGroups(types).map((group) => toGroup(group, types));
    return { kind: "APIGroupList", apiVersion: "v1", groups };
  }
  if (path === "/openapi/v3") {
    const paths = listGroupVersions(types).map((one): [string, Json] => {
      const prefix = toPrefix(one).slice(1);
      return [prefix, { serverRelativeURL: `/openapi/v3/${prefix}` }];
    });
    return { paths: Object.fromEntries(paths) };
  }
  const [, group] = /^\/apis\/([^/]+)$/.exec(path) ?? [];
  if (group !== undefined && listGroups(types).includes(group)) {
    return { kind: "APIGroup", apiVersion: "v1", ...toGroup(group, types) };
  }
  const version = listGroupVersions(types).find((one) => path === toPrefix(one));
  if (version !== undefined) return toResourceList(version, types);
  const spoken = listGroupVersions(types).find((one) => path === `/openapi/v3${toPrefix(one)}`);
  return spoken === undefined
    ? null
    : toOpenApi({ types: types.filter((type) => apiVersionOf(type) === spoken), patchTypes });
}

const VERSION = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.3",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "podfit",
};

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

const SUBRESOURCE_KINDS: Readonly<Record<string, JsonObject>> = {
  scale: { group: "autoscaling", version: "v1", kind: "Scale", verbs: ["get", "patch", "update"] },
  token: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest", verbs: ["create"] },
  binding: { kind: "Binding", verbs: ["create"] },
};

function listGroups(types: readonly ResourceType[]): readonly string[] {
  return [...new Set(types.map(({ group }) => group))].filter((group) => group !== "");
}

function listGroupVersions(types: readonly ResourceType[]): readonly string[] {
  return [...new Set(types.map(apiVersionOf))];
}

function toPrefix(groupVersion: string): string {
  return groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
}

function toGroup(name: string, types: readonly ResourceType[]): JsonObject {
  const versions = [...new Set(types.filter(({ group }) => group === name).map(({ version }) => version))]
    .map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions, preferredVersion: versions[0] ?? null };
}

function toResourceList(groupVersion: string, types: readonly ResourceType[]): JsonObject {
  const resources = types.filter((type) => apiVersionOf(type) === groupVersion).flatMap((type) => [
    {
      name: type.plural,
      singularName: type.singular,
      namespaced: type.isNamespaced,
      kind: type.kind,
      verbs: VERBS,
      ...(type.shortNames.length === 0 ? {} : { shortNames: [...type.shortNames] }),
      ...(type.categories.length === 0 ? {} : { categories: [...type.categories] }),
    },
    ...type.subresources.map((subresource) => ({
      name: `${type.plural}/${subresource}`,
      singularName: "",
      namespaced: type.isNamespaced,
      kind: type.kind,
      verbs: ["get", "patch", "update"],
      ...SUBRESOURCE_KINDS[subresource],
    })),
  ]);
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources };
}

/** Paths show kubectl that the server validates fields and which patches it takes; schemas are those of definitions. */
function toOpenApi({ types, patchTypes }: Offer): JsonObject {
  const paths: JsonObject = {};
  const schemas: JsonObject = {};
  for (const type of types) {
    const kind = { group: type.group, version: type.version, kind: type.kind };
    const inside = type.isNamespaced ? "/namespaces/{namespace}" : "";
    const body = Object.fromEntries(patchTypes.map((one) => [one, { schema: { type: "object" } }]));
    paths[`${toPrefix(apiVersionOf(type))}${inside}/${type.plural}/{name}`] = {
      patch: {
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": kind,
        parameters: ["dryRun", "fieldManager", "fieldValidation"].map((name) => ({
          name,
          in: "query",
          schema: { type: "string", uniqueItems: true },
        })),
        requestBody: { content: body, required: true },
        responses: { 200: { description: "OK" } },
      },
    };
    schemas[toSchemaName(type)] = {
      ...(type.schema ?? { type: "object", "x-kubernetes-preserve-unknown-fields": true }),
      "x-kubernetes-group-version-kind": [kind],
    };
  }
  return { openapi: "3.0.0", info: { title: "Kubernetes", version: "v1.36.3" }, paths, components: { schemas } };
}

/** `io.kedify.keda.v1alpha1.PodResourceAutoscaler` */
function toSchemaName({ group, version, kind }: ResourceType): string {
  return [...(group === "" ? "core" : group).split(".").reverse(), version, kind].join(".");
}
