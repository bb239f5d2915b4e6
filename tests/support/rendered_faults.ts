/** What is wrong with objects that the chart has rendered, whatever its values are? */
import type { Rendered } from "../../tools/helm.ts";
import type { Json } from "./api_objects.ts";
import { listSchemaFaults } from "./object_schemas.ts";

const CLUSTER_WIDE = [
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "FlowSchema",
  "Namespace",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
];
/** Of these some are in the namespaces that podfit looks after. */
const ELSEWHERE = ["Role", "RoleBinding", "Lease"];
/** By kind, which groups and versions are meant. */
const VERSIONS: Readonly<Record<string, string>> = {
  ConfigMap: "v1",
  CustomResourceDefinition: "apiextensions.k8s.io/v1",
  ClusterRole: "rbac.authorization.k8s.io/v1",
  ClusterRoleBinding: "rbac.authorization.k8s.io/v1",
  DaemonSet: "apps/v1",
  Lease: "coordination.k8s.io/v1",
  Deployment: "apps/v1",
  FlowSchema: "flowcontrol.apiserver.k8s.io/v1",
  Namespace: "v1",
  NetworkPolicy: "networking.k8s.io/v1",
  PodDisruptionBudget: "policy/v1",
  PodResourceAutoscaler: "keda.kedify.io/v1alpha1",
  PodMonitor: "monitoring.coreos.com/v1",
  PrometheusRule: "monitoring.coreos.com/v1",
  ResourceQuota: "v1",
  Role: "rbac.authorization.k8s.io/v1",
  RoleBinding: "rbac.authorization.k8s.io/v1",
  Service: "v1",
  ServiceAccount: "v1",
  ServiceMonitor: "monitoring.coreos.com/v1",
  ValidatingAdmissionPolicy: "admissionregistration.k8s.io/v1",
  ValidatingAdmissionPolicyBinding: "admissionregistration.k8s.io/v1",
};
const LABELS = ["name", "instance", "component", "version", "managed-by"].map((name) => `app.kubernetes.io/${name}`);

/** One sentence each; [] is what should be. */
export function listFaults(objects: readonly Rendered[], namespace = "podfit"): readonly string[] {
  const ids = objects.map(toId);
  return [
    ...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `${id} is there twice`),
    ...objects.flatMap((object) => listObjectFaults(object, namespace).map((fault) => `${toId(object)} ${fault}`)),
    ...listReferenceFaults(objects),
  ];
}

function toId({ kind, metadata: { name, namespace = "" } }: Rendered): string {
  return `${kind} ${namespace}/${name}`;
}

function listObjectFaults(object: Rendered, namespace: string): readonly string[] {
  const { apiVersion, kind, metadata } = object;
  const isWide = CLUSTER_WIDE.includes(kind);
  return [
    ...(VERSIONS[kind] === apiVersion ? [] : [`is of ${apiVersion}`]),
    ...(/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(metadata.name) ? [] : ["has no valid name"]),
    ...(isWide === (metadata.namespace === undefined) ? [] : [`has the namespace ${metadata.namespace}`]),
    ...(isWide || metadata.namespace === namespace || ELSEWHERE.includes(kind) ? [] : ["is in another namespace"]),
    ...[...LABELS, "helm.sh/chart"].filter((label) => !metadata.labels?.[label]).map((label) => `lacks label ${label}`),
    ...listSchemaFaults(object),
    ...(kind === "CustomResourceDefinition" ? [] : listEmpty(object, "")),
    ...(object["spec"]?.template === undefined ? [] : listWorkloadFaults(object)),
  ];
}

/** Where something is null, "" or has nothing in it. The group "" is Kubernetes' own. */
function listEmpty(value: unknown, path: string): readonly string[] {
  if (typeof value !== "object" || value === null) {
    return value === null || (value === "" && !/apiGroups\.\d+$/.test(path)) ? [`has nothing at ${path}`] : [];
  }
  const inside = Object.entries(value);
  return inside.length === 0
    ? [`has nothing in ${path}`]
    : inside.flatMap(([name, one]) => listEmpty(one, path === "" ? name : `${path}.${name}`));
}

function listWorkloadFaults({ spec: { selector, template } }: Rendered): readonly string[] {
  const { metadata: { labels }, spec } = template as Json;
  const [container, ...others] = spec.containers;
  const missing = Object.entries(selector.matchLabels).filter(([name, value]) => labels[name] !== value);
  const mounts = (container.volumeMounts ?? []).map(({ name }: Json) => name);
  const volumes = (spec.volumes ?? []).map(({ name }: Json) => name);
  return [
    ...missing.map(([name]) => `does not select its own pods by ${name}`),
    ...(others.length === 0 ? [] : ["has more than one container"]),
    ...(mounts.join() === volumes.join() ? [] : [`mounts ${mounts} of ${volumes}`]),
    ...(JSON.stringify(container.ports) === JSON.stringify(listPorts(container.args)) ? [] : ["has other ports"]),
    ...listUnsafe(spec, container),
  ];
}

/** What the Pod Security Standard "restricted" would refuse, but for volumes; and what is podfit's own habit. */
function listUnsafe(spec: Json, container: Json): readonly string[] {
  const { securityContext: own } = container;
  const checks: Readonly<Record<string, boolean>> = {
    "runs as root": spec.securityContext.runAsNonRoot === true && spec.securityContext.runAsUser === 65532,
    "has no seccomp profile": spec.securityContext.seccompProfile.type === "RuntimeDefault",
    "may escalate privileges": own.allowPrivilegeEscalation === false,
    "writes to its root": own.readOnlyRootFilesystem === true,
    "has capabilities": JSON.stringify(own.capabilities) === `{"drop":["ALL"]}`,
    "shares something with its node": !spec.hostNetwork && !spec.hostPID && !spec.hostIPC,
  };
  return Object.entries(checks).filter(([, holds]) => !holds).map(([fault]) => fault);
}

/** Accounts, roles and policies that are named and not there; an account of the operator's own excepted. */
function listReferenceFaults(objects: readonly Rendered[]): readonly string[] {
  const has = (kind: string, name: string) => objects.some((one) => one.kind === kind && one.metadata.name === name);
  return objects.flatMap((object) => {
    const { roleRef, spec } = object;
    const role = roleRef === undefined || has(roleRef.kind, roleRef.name) ? [] : [`binds no role: ${roleRef.name}`];
    const policy = spec?.policyName === undefined || has("ValidatingAdmissionPolicy", spec.policyName)
      ? []
      : [`binds no policy: ${spec.policyName}`];
    return [...role, ...policy].map((fault) => `${toId(object)} ${fault}`);
  });
}

/** Those that the flags open. */
function listPorts(args: readonly string[]): readonly unknown[] {
  const isDebugged = args.some((arg) => arg.startsWith("--debug-listen="));
  return [{ name: "http", containerPort: 8080 }, ...(isDebugged ? [{ name: "debug", containerPort: 8081 }] : [])];
}
