/**
 * Writes what is generated: the typed Kubernetes API (lib/api) from the committed OpenAPI document and the CRDs, the
 * pages of docs/reference, and the JSON schemas of the CRDs.   deno task generate [--fetch | --check]
 *   --fetch  first refresh lib/api/openapi/kubernetes.json from the API server that kubectl reaches
 *   --check  write nothing; fail when a written file differs from what would be generated
 */
import openapiTS, { astToString, oapiRef, type OpenAPI3, stringToAST } from "openapi-typescript";
import { parse } from "../lib/runtime/yaml.ts";
import { readCrdRoots, toCrdDocument } from "./crd.ts";
import {
  type Document,
  mergeDocuments,
  type Node,
  type Operations,
  PARTIAL_OF,
  pruneDocument,
  toReachable,
  toTypedDocument,
} from "./openapi.ts";
import { generatePages } from "./reference/pages.ts";

/** What is kept of each document below `/openapi/v3`. */
export const SOURCES: { readonly [endpoint: string]: Operations } = {
  "api/v1": {
    "/api/v1/pods": ["get"],
    "/api/v1/namespaces/{namespace}/pods": ["get"],
    "/api/v1/namespaces/{namespace}/pods/{name}": ["get"],
    "/api/v1/namespaces/{namespace}/pods/{name}/resize": ["patch"],
    "/api/v1/namespaces/{namespace}/events": ["post"],
    "/api/v1/namespaces/{namespace}/events/{name}": ["patch"],
    "/api/v1/nodes": ["get"],
    "/api/v1/nodes/{name}": ["get"],
    "/api/v1/nodes/{name}/proxy/{path}": ["get"],
    "/api/v1/namespaces/{namespace}/secrets/{name}": ["get"],
    "/api/v1/namespaces/{namespace}/configmaps/{name}": ["get"],
  },
  "apis/apps/v1": {
    ...Object.fromEntries(
      ["daemonsets", "deployments", "statefulsets"].flatMap((plural) => [
        [`/apis/apps/v1/${plural}`, ["get"]],
        [`/apis/apps/v1/namespaces/{namespace}/${plural}`, ["get"]],
      ]),
    ),
    ...Object.fromEntries(
      ["deployments", "statefulsets", "replicasets", "controllerrevisions"].map((plural) => [
        `/apis/apps/v1/namespaces/{namespace}/${plural}/{name}`,
        ["get"],
      ]),
    ),
    ...Object.fromEntries(
      ["deployments", "statefulsets"].map((plural) => [
        `/apis/apps/v1/namespaces/{namespace}/${plural}/{name}/scale`,
        ["get", "put"],
      ]),
    ),
  },
  "apis/autoscaling/v2": {
    "/apis/autoscaling/v2/horizontalpodautoscalers": ["get"],
    "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers": ["get"],
    "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/{name}": ["delete"],
  },
  "apis/coordination.k8s.io/v1": {
    "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases": ["post"],
    "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}": ["get", "put"],
  },
  "apis/authentication.k8s.io/v1": { "/apis/authentication.k8s.io/v1/tokenreviews": ["post"] },
  "apis/authorization.k8s.io/v1": { "/apis/authorization.k8s.io/v1/subjectaccessreviews": ["post"] },
  "version": { "/version/": ["get"] },
};

/** Schemas that lib/api/kubernetes.ts exports by name. */
const NAMED = [
  "Pod",
  "PodList",
  "PodPatch",
  "Node",
  "NodeList",
  "Event",
  "EventPatch",
  "Status",
  "StatusDetails",
  "DaemonSet",
  "DaemonSetList",
  "Deployment",
  "DeploymentList",
  "StatefulSet",
  "StatefulSetList",
  "Container",
  "ContainerStatus",
  "LabelSelector",
  "Lease",
  "LeaseSpec",
  "ManagedFieldsEntry",
  "ObjectMeta",
  "PodCondition",
  "ObjectReference",
  "ResourceRequirements",
  "SubjectAccessReview",
  "TokenReview",
  "Scale",
  "HorizontalPodAutoscaler",
  "HorizontalPodAutoscalerList",
  "PodTemplateSpec",
  "ReplicaSet",
  "ControllerRevision",
  "Secret",
  "ConfigMap",
];
const DOCUMENT = "lib/api/openapi/kubernetes.json";
const AUTOSCALER = "crds/podresourceautoscaler.yaml";
const SCALED_OBJECT = "crds/scaledobject.yaml";
/** What podfit reads of each: with the ScaledObject in one file, for they share what they reach. */
const AUTHENTICATIONS = ["crds/triggerauthentication.yaml", "crds/clustertriggerauthentication.yaml"];
const ROOT = new URL("../", import.meta.url);

/** File -> text of every generated file. */
export async function generate(): Promise<Map<string, string>> {
  const kubernetes = await readDocument();
  const autoscaler = await readCrd(AUTOSCALER);
  const scaledObject = await readCrd(SCALED_OBJECT);
  const authentications = await Promise.all(AUTHENTICATIONS.map(readCrd));
  const documents = {
    autoscaler: toCrdDocument(autoscaler, kubernetes, { patchesStatus: true, patchesObject: false }),
    scaledObject: mergeDocuments([
      toCrdDocument(scaledObject, kubernetes, { patchesStatus: true, patchesObject: true }),
      ...authentications.map((crd) => toCrdDocument(crd, kubernetes, { patchesStatus: false, patchesObject: false })),
    ]),
  };
  // Of an authentication nothing is patched.
  const read = authentications.flatMap(readCrdRoots).filter((name) => !name.endsWith("Patch"));
  const roots = [...readCrdRoots(scaledObject), ...read];
  const sources = [SCALED_OBJECT, ...AUTHENTICATIONS].join(", ");
  return new Map([
    ["lib/api/kubernetes.ts", await toTypes(kubernetes, NAMED, { source: DOCUMENT })],
    ["lib/api/autoscaler.ts", await toTypes(documents.autoscaler, readCrdRoots(autoscaler), { source: AUTOSCALER })],
    ["lib/api/scaled_object.ts", await toTypes(documents.scaledObject, roots, { source: sources })],
    ...await generatePages(),
  ]);
}

async function readCrd(file: string): Promise<Node> {
  return parse(await readText(file)) as Node;
}

/** File -> text of the OpenAPI document, as the API server that kubectl reaches has it now. */
export async function fetchDocuments(): Promise<Map<string, string>> {
  const documents: Document[] = [];
  for (const [endpoint, operations] of Object.entries(SOURCES)) {
    const source = JSON.parse(await runKubectl(["get", "--raw", `/openapi/v3/${endpoint}`])) as Document;
    // Errors of every operation are typed by Status, which no operation that is kept names.
    documents.push(pruneDocument(source, operations, endpoint === "api/v1" ? ["Status"] : []));
  }
  const document = toReachable(mergeDocuments(documents), ["Status"]);
  return new Map([[DOCUMENT, JSON.stringify(document, null, 1) + "\n"]]);
}

/** The text of lib/api/kubernetes.ts without these fields, by schema. */
export async function generateTypesWithout(fields: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const document = await readDocument();
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => {
    const properties = Object.entries(schema["properties"] ?? {}).filter(([one]) => !fields[name]?.includes(one));
    return [
      name,
      schema["properties"] === undefined ? schema : { ...schema, properties: Object.fromEntries(properties) },
    ];
  });
  return await toTypes({ ...document, components: { schemas: Object.fromEntries(schemas) } }, NAMED, {
    source: DOCUMENT,
  });
}

/** The OpenAPI document that is committed. */
export async function readDocument(): Promise<Document> {
  return JSON.parse(await readText(DOCUMENT));
}

/** The minor version that the committed document comes from. */
export async function readMinorVersion(): Promise<string> {
  return (await readDocument()).info.version;
}

/** The files of `texts` that differ from what stands in the tree. */
export async function findStale(texts: ReadonlyMap<string, string>): Promise<string[]> {
  const stale: string[] = [];
  for (const [file, text] of texts) {
    if (await readText(file).catch(() => null) !== text) stale.push(file);
  }
  return stale;
}

async function toTypes(
  document: Document,
  named: readonly string[],
  { source }: { readonly source: string },
): Promise<string> {
  const typed = toTypedDocument(document, named.filter((name) => !name.endsWith("Patch")));
  const ast = await openapiTS(typed as unknown as OpenAPI3, {
    alphabetize: true,
    defaultNonNullable: false,
    emptyObjectsUnknown: true,
    silent: true,
    transform: toPartialType as never,
  });
  const aliases = named.map((name) => `export type ${name} = components["schemas"]["${name}"];\n`);
  return [
    `// Generated by tools/generate.ts from ${source}: do not edit, run "deno task generate"\n\n`,
    `/** A merge patch of T: any part of it; null removes a field. */\n`,
    `export type DeepPartial<T> = T extends (infer E)[] ? DeepPartial<E>[]\n`,
    `  : T extends object ? { [K in keyof T]?: DeepPartial<T[K]> | null }\n  : T;\n\n`,
    astToString(ast).replaceAll(/^ +/gm, (indent) => " ".repeat(indent.length / 2)),
    "\n",
    ...aliases,
  ].join("");
}

function toPartialType(schema: Node): unknown {
  const of = schema[PARTIAL_OF];
  if (typeof of !== "string") return undefined;
  const [statement] = stringToAST("type X = DeepPartial<unknown>;") as { type: { typeArguments: unknown } }[];
  if (statement === undefined) return undefined;
  statement.type.typeArguments = [oapiRef(of)];
  return statement.type;
}

async function runKubectl(args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("kubectl", { args: [...args] }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`Cannot run "kubectl ${args.join(" ")}": ${decoder.decode(stderr).trim()}`);
  return decoder.decode(stdout);
}

function readText(file: string): Promise<string> {
  return Deno.readTextFile(new URL(file, ROOT));
}

async function write(texts: ReadonlyMap<string, string>): Promise<void> {
  for (const [file, text] of texts) {
    await Deno.mkdir(new URL("./", new URL(file, ROOT)), { recursive: true });
    await Deno.writeTextFile(new URL(file, ROOT), text);
  }
}

async function main(flag: string | undefined): Promise<number> {
  if (flag === "--check") {
    const stale = await findStale(await generate());
    if (stale.length === 0) return 0;
    await print(`Stale: ${stale.join(", ")}; run "deno task generate"`);
    return 1;
  }
  if (flag !== undefined && flag !== "--fetch") {
    await print(`Unknown option "${flag}": --fetch or --check`);
    return 2;
  }
  if (flag === "--fetch") await write(await fetchDocuments());
  await write(await generate());
  return 0;
}

async function print(line: string): Promise<void> {
  await Deno.stderr.write(new TextEncoder().encode(line + "\n"));
}

if (import.meta.main) Deno.exit(await main(Deno.args[0]));
