/**
 * The kinds that the API server is born with, one row each. Roles and bindings are stored for access.ts to read;
 * services are stored and nothing more, so that real manifests apply.
 */
import { setLimitRangeDefaults } from "./limit_ranges.ts";
import * as columns from "./columns.ts";
import { prepareNewDefinition, setDefinitionDefaults, validateDefinition } from "./custom/definitions.ts";
import { at, isSame } from "../../json.ts";
import { setHpaDefaults, validateHpa } from "./hpas.ts";
import * as maps from "./maps.ts";
import { prepareNewPod, setPodDefaults, validatePod } from "./pods.ts";
import type { ResourceType } from "./resource_type.ts";
import * as small from "./small_kinds.ts";
import * as workloads from "./workloads.ts";

const nothing = () => {};

/** Rows leave these out. */
const PLAIN = {
  group: "",
  version: "v1",
  shortNames: [],
  categories: [],
  isNamespaced: true,
  subresources: [],
  scale: null,
  isCustom: false,
  needsVersion: false,
  selectableFields: [],
  beginsGeneration: () => false,
  setDefaults: nothing,
  listUnknown: () => [],
  prepareNew: nothing,
  validate: () => [],
  validateStatus: () => [],
  columns: columns.PLAIN_COLUMNS,
  schema: null,
} satisfies Partial<ResourceType>;

const WORKLOAD = {
  group: "apps",
  categories: ["all"],
  subresources: ["status", "scale"],
  scale: { replicas: ["spec", "replicas"], status: ["status", "replicas"], selector: ["spec", "selector"] },
  beginsGeneration: small.hasNewSpec,
  validate: workloads.validateWorkload,
} satisfies Partial<ResourceType>;

const RBAC = { group: "rbac.authorization.k8s.io", columns: columns.CREATED_COLUMNS } satisfies Partial<ResourceType>;

type Row = Partial<ResourceType> & Pick<ResourceType, "plural" | "kind">;

const ROWS: readonly Row[] = [
  {
    plural: "pods",
    kind: "Pod",
    shortNames: ["po"],
    categories: ["all"],
    columns: columns.POD_COLUMNS,
    subresources: ["status", "resize", "binding", "proxy"],
    selectableFields: [
      ...["nodeName", "restartPolicy", "schedulerName", "serviceAccountName"].map((field) => `spec.${field}`),
      ...["phase", "podIP", "nominatedNodeName"].map((field) => `status.${field}`),
    ],
    beginsGeneration: small.hasNewSpec,
    setDefaults: setPodDefaults,
    prepareNew: prepareNewPod,
    validate: validatePod,
  },
  {
    plural: "nodes",
    kind: "Node",
    shortNames: ["no"],
    isNamespaced: false,
    columns: columns.NODE_COLUMNS,
    subresources: ["status", "proxy"],
    selectableFields: ["spec.unschedulable"],
  },
  {
    plural: "namespaces",
    kind: "Namespace",
    shortNames: ["ns"],
    isNamespaced: false,
    subresources: ["status", "finalize"],
    selectableFields: ["status.phase"],
    setDefaults: small.setNamespaceDefaults,
    prepareNew: small.prepareNewNamespace,
    validate: small.validateNamespace,
    columns: columns.NAMESPACE_COLUMNS,
  },
  {
    plural: "events",
    kind: "Event",
    shortNames: ["ev"],
    columns: columns.EVENT_COLUMNS,
    selectableFields: [
      ...["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"]
        .map((field) => `involvedObject.${field}`),
      "reason",
      "reportingComponent",
      "source",
      "type",
    ],
    setDefaults: small.setEventDefaults,
    validate: small.validateEvent,
  },
  { plural: "serviceaccounts", kind: "ServiceAccount", shortNames: ["sa"], subresources: ["token"] },
  {
    plural: "configmaps",
    kind: "ConfigMap",
    shortNames: ["cm"],
    setDefaults: maps.setConfigMapDefaults,
    validate: maps.validateConfigMap,
  },
  { plural: "secrets", kind: "Secret", setDefaults: maps.setSecretDefaults, validate: maps.validateSecret },
  { plural: "services", kind: "Service", shortNames: ["svc"], categories: ["all"], subresources: ["status"] },
  {
    plural: "limitranges",
    kind: "LimitRange",
    shortNames: ["limits"],
    columns: columns.CREATED_COLUMNS,
    setDefaults: setLimitRangeDefaults,
  },
  {
    plural: "resourcequotas",
    kind: "ResourceQuota",
    shortNames: ["quota"],
    columns: columns.QUOTA_COLUMNS,
    subresources: ["status"],
    prepareNew: workloads.giveStatus({}),
  },
  {
    group: "coordination.k8s.io",
    plural: "leases",
    kind: "Lease",
    columns: columns.LEASE_COLUMNS,
    needsVersion: true,
    setDefaults: small.setLeaseDefaults,
    validate: small.validateLease,
  },
  {
    ...WORKLOAD,
    plural: "deployments",
    kind: "Deployment",
    shortNames: ["deploy"],
    columns: columns.DEPLOYMENT_COLUMNS,
    // The one workload whose annotations count too.
    beginsGeneration: (after, before) =>
      small.hasNewSpec(after, before) ||
      !isSame(at(after, "metadata", "annotations"), at(before ?? {}, "metadata", "annotations")),
    setDefaults: workloads.setDeploymentDefaults,
    prepareNew: workloads.giveStatus({}),
  },
  {
    ...WORKLOAD,
    plural: "statefulsets",
    kind: "StatefulSet",
    shortNames: ["sts"],
    columns: columns.STATEFUL_SET_COLUMNS,
    setDefaults: workloads.setStatefulSetDefaults,
    prepareNew: workloads.giveStatus({ replicas: 0, availableReplicas: 0 }),
  },
  {
    ...WORKLOAD,
    plural: "daemonsets",
    kind: "DaemonSet",
    shortNames: ["ds"],
    subresources: ["status"],
    columns: columns.DAEMON_SET_COLUMNS,
    setDefaults: workloads.setDaemonSetDefaults,
    prepareNew: workloads.giveStatus({
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    }),
  },
  {
    ...WORKLOAD,
    plural: "replicasets",
    kind: "ReplicaSet",
    shortNames: ["rs"],
    columns: columns.REPLICA_SET_COLUMNS,
    setDefaults: workloads.setReplicaSetDefaults,
    prepareNew: workloads.giveStatus({ replicas: 0 }),
  },
  {
    group: "autoscaling",
    version: "v2",
    plural: "horizontalpodautoscalers",
    kind: "HorizontalPodAutoscaler",
    shortNames: ["hpa"],
    categories: ["all"],
    subresources: ["status"],
    setDefaults: setHpaDefaults,
    prepareNew: workloads.giveStatus({ desiredReplicas: 0, currentMetrics: null }),
    validate: validateHpa,
  },
  { ...RBAC, plural: "clusterroles", kind: "ClusterRole", isNamespaced: false },
  { ...RBAC, plural: "clusterrolebindings", kind: "ClusterRoleBinding", isNamespaced: false },
  { ...RBAC, plural: "roles", kind: "Role" },
  { ...RBAC, plural: "rolebindings", kind: "RoleBinding" },
  {
    group: "apiextensions.k8s.io",
    plural: "customresourcedefinitions",
    kind: "CustomResourceDefinition",
    shortNames: ["crd", "crds"],
    isNamespaced: false,
    subresources: ["status"],
    columns: columns.CREATED_COLUMNS,
    needsVersion: true,
    beginsGeneration: small.hasNewSpec,
    setDefaults: setDefinitionDefaults,
    prepareNew: prepareNewDefinition,
    validate: validateDefinition,
  },
];

/** Every built-in resource. */
export const BUILT_IN: readonly ResourceType[] = ROWS.map((row) => ({
  ...PLAIN,
  singular: row.kind.toLowerCase(),
  listKind: `${row.kind}List`,
  ...row,
}));
