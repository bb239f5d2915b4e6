// deno-lint-ignore-file no-console
/**
 * Writes tests/testdata/kubernetes_objects.json: the schemas of all kinds that the chart makes, as Kubernetes publishes them.
 *   deno run -P=dev tools/chart_schemas.ts FOLDER
 * FOLDER is api/openapi-spec/v3 of the Go module k8s.io/kubernetes, in the version of tests/cluster/kubernetes.
 */
import { type Document, pruneDocument } from "./openapi.ts";

/** By API: the kinds. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  "api__v1": ["ConfigMap", "Namespace", "ResourceQuota", "Service", "ServiceAccount"],
  "apis__admissionregistration.k8s.io__v1": ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"],
  "apis__apiextensions.k8s.io__v1": ["CustomResourceDefinition"],
  "apis__apps__v1": ["DaemonSet", "Deployment"],
  "apis__coordination.k8s.io__v1": ["Lease"],
  "apis__flowcontrol.apiserver.k8s.io__v1": ["FlowSchema"],
  "apis__networking.k8s.io__v1": ["NetworkPolicy"],
  "apis__policy__v1": ["PodDisruptionBudget"],
  "apis__rbac.authorization.k8s.io__v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
};

const TARGET = new URL("../tests/testdata/kubernetes_objects.json", import.meta.url);
const [folder] = Deno.args;
if (folder === undefined) throw new Error("Usage: deno run -P=dev tools/chart_schemas.ts FOLDER");
const apis: Record<string, Document["components"]["schemas"]> = {};
for (const [api, kinds] of Object.entries(KINDS)) {
  const source: Document = JSON.parse(await Deno.readTextFile(`${folder}/${api}_openapi.json`));
  // One document for each API: two of them have a "Subject", and these differ.
  apis[api.split("__").slice(-2).join("/").replace(/^api\//, "")] = pruneDocument(source, {}, kinds).components.schemas;
}
await Deno.writeTextFile(TARGET, `${JSON.stringify(apis)}\n`);
console.log(`${Object.values(KINDS).flat().length} kinds of ${Object.keys(apis).join(", ")}`);
